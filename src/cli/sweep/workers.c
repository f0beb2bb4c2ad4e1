// SPDX-License-Identifier: Apache-2.0
// Scenarios on threads: the leader gives indices and takes lines in the order in which they end.
//
// One mutex guards a ring of indices to run and a list of lines that have ended; a worker holds it
// only to take one and to put the other. It is no weft_parallel_for, because scenarios arrive while
// others run: from another process, or when a rank asks for more.

#include "sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX 64u

struct sweep_workers {
    const struct sweep *sweep;
    pthread_mutex_t mutex; // guards what follows
    pthread_cond_t given;
    pthread_cond_t ended;
    uint32_t *todo; // a stack would run the last given first; this is a ring
    uint32_t todo_room;
    uint32_t todo_first;
    uint32_t todo_count;
    struct sweep_line *lines;
    uint32_t line_room;
    uint32_t line_count;
    bool over;
    uint32_t thread_count;
    pthread_t threads[THREADS_MAX];
};

static void *check_memory(void *memory)
{
    WEFT_ASSERT(memory != NULL);
    return memory;
}

static void add_line(struct sweep_workers *workers, struct sweep_line line)
{
    if (workers->line_count == workers->line_room) {
        workers->line_room = 2 * workers->line_room + 16;
        workers->lines =
            check_memory(realloc(workers->lines, workers->line_room * sizeof *workers->lines));
    }
    workers->lines[workers->line_count++] = line;
    pthread_cond_signal(&workers->ended);
}

static void *work(void *argument)
{
    struct sweep_workers *workers = argument;
    pthread_mutex_lock(&workers->mutex);
    for (;;) {
        while (workers->todo_count == 0 && !workers->over) {
            pthread_cond_wait(&workers->given, &workers->mutex);
        }
        if (workers->todo_count == 0) {
            break;
        }
        uint32_t index = workers->todo[workers->todo_first];
        workers->todo_first = (workers->todo_first + 1) % workers->todo_room;
        workers->todo_count--;
        pthread_mutex_unlock(&workers->mutex);
        struct sweep_line line = sweep_run(workers->sweep, index);
        pthread_mutex_lock(&workers->mutex);
        add_line(workers, line);
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

struct sweep_workers *sweep_workers_start(const struct sweep *sweep, uint32_t threads)
{
    struct sweep_workers *workers = check_memory(calloc(1, sizeof *workers));
    workers->sweep = sweep;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->given, NULL);
    pthread_cond_init(&workers->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    while (workers->thread_count < threads && workers->thread_count < THREADS_MAX &&
           pthread_create(&workers->threads[workers->thread_count], NULL, work, workers) == 0) {
        workers->thread_count++;
    }
    if (workers->thread_count == 0) {
        weft_fail(&sweep->cli->error, WEFT_UNSUPPORTED,
                  "no thread could be started; raise 'ulimit -u'");
        sweep_workers_end(workers);
        return NULL;
    }
    return workers;
}

void sweep_workers_give(struct sweep_workers *workers, uint32_t index)
{
    pthread_mutex_lock(&workers->mutex);
    if (workers->todo_count == workers->todo_room) {
        uint32_t room = 2 * workers->todo_room + 16;
        uint32_t *todo = check_memory(malloc(room * sizeof *todo));
        for (uint32_t i = 0; i < workers->todo_count; i++) {
            todo[i] = workers->todo[(workers->todo_first + i) % workers->todo_room];
        }
        free(workers->todo);
        workers->todo = todo;
        workers->todo_room = room;
        workers->todo_first = 0;
    }
    workers->todo[(workers->todo_first + workers->todo_count++) % workers->todo_room] = index;
    pthread_cond_signal(&workers->given);
    pthread_mutex_unlock(&workers->mutex);
}

bool sweep_workers_take(struct sweep_workers *workers, struct sweep_line *line, double wait_s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(wait_s * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&workers->mutex);
    int failed = 0;
    while (workers->line_count == 0 && failed == 0) {
        failed = pthread_cond_timedwait(&workers->ended, &workers->mutex, &until);
    }
    bool there = workers->line_count > 0;
    if (there) {
        *line = workers->lines[0];
        workers->line_count--;
        memmove(workers->lines, workers->lines + 1, workers->line_count * sizeof *workers->lines);
    }
    pthread_mutex_unlock(&workers->mutex);
    return there;
}

void sweep_workers_end(struct sweep_workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->over = true;
    pthread_cond_broadcast(&workers->given);
    pthread_mutex_unlock(&workers->mutex);
    for (uint32_t i = 0; i < workers->thread_count; i++) {
        pthread_join(workers->threads[i], NULL);
    }
    for (uint32_t i = 0; i < workers->line_count; i++) {
        free(workers->lines[i].text);
    }
    free(workers->lines);
    free(workers->todo);
    pthread_cond_destroy(&workers->given);
    pthread_cond_destroy(&workers->ended);
    pthread_mutex_destroy(&workers->mutex);
    free(workers);
}
