// SPDX-License-Identifier: Apache-2.0
// Scenarios on threads: the leader gives indices and takes lines in the order in which they end.

#include "sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX 64u

struct sweep_crew {
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

static void add_line(struct sweep_crew *crew, struct sweep_line line)
{
    if (crew->line_count == crew->line_room) {
        crew->line_room = 2 * crew->line_room + 16;
        crew->lines = check_memory(realloc(crew->lines, crew->line_room * sizeof *crew->lines));
    }
    crew->lines[crew->line_count++] = line;
    pthread_cond_signal(&crew->ended);
}

static void *work(void *argument)
{
    struct sweep_crew *crew = argument;
    pthread_mutex_lock(&crew->mutex);
    for (;;) {
        while (crew->todo_count == 0 && !crew->over) {
            pthread_cond_wait(&crew->given, &crew->mutex);
        }
        if (crew->todo_count == 0) {
            break;
        }
        uint32_t index = crew->todo[crew->todo_first];
        crew->todo_first = (crew->todo_first + 1) % crew->todo_room;
        crew->todo_count--;
        pthread_mutex_unlock(&crew->mutex);
        struct sweep_line line = sweep_run(crew->sweep, index);
        pthread_mutex_lock(&crew->mutex);
        add_line(crew, line);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

struct sweep_crew *sweep_crew_start(const struct sweep *sweep, uint32_t threads)
{
    struct sweep_crew *crew = check_memory(calloc(1, sizeof *crew));
    crew->sweep = sweep;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->given, NULL);
    pthread_cond_init(&crew->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    while (crew->thread_count < threads && crew->thread_count < THREADS_MAX &&
           pthread_create(&crew->threads[crew->thread_count], NULL, work, crew) == 0) {
        crew->thread_count++;
    }
    if (crew->thread_count == 0) {
        weft_fail(&sweep->cli->error, WEFT_UNSUPPORTED,
                  "no thread could be started; raise 'ulimit -u'");
        sweep_crew_end(crew);
        return NULL;
    }
    return crew;
}

void sweep_crew_give(struct sweep_crew *crew, uint32_t index)
{
    pthread_mutex_lock(&crew->mutex);
    if (crew->todo_count == crew->todo_room) {
        uint32_t room = 2 * crew->todo_room + 16;
        uint32_t *todo = check_memory(malloc(room * sizeof *todo));
        for (uint32_t i = 0; i < crew->todo_count; i++) {
            todo[i] = crew->todo[(crew->todo_first + i) % crew->todo_room];
        }
        free(crew->todo);
        crew->todo = todo;
        crew->todo_room = room;
        crew->todo_first = 0;
    }
    crew->todo[(crew->todo_first + crew->todo_count++) % crew->todo_room] = index;
    pthread_cond_signal(&crew->given);
    pthread_mutex_unlock(&crew->mutex);
}

bool sweep_crew_take(struct sweep_crew *crew, struct sweep_line *line, double wait_s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(wait_s * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&crew->mutex);
    int failed = 0;
    while (crew->line_count == 0 && failed == 0) {
        failed = pthread_cond_timedwait(&crew->ended, &crew->mutex, &until);
    }
    bool there = crew->line_count > 0;
    if (there) {
        *line = crew->lines[0];
        crew->line_count--;
        memmove(crew->lines, crew->lines + 1, crew->line_count * sizeof *crew->lines);
    }
    pthread_mutex_unlock(&crew->mutex);
    return there;
}

void sweep_crew_end(struct sweep_crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    crew->over = true;
    pthread_cond_broadcast(&crew->given);
    pthread_mutex_unlock(&crew->mutex);
    for (uint32_t i = 0; i < crew->thread_count; i++) {
        pthread_join(crew->threads[i], NULL);
    }
    for (uint32_t i = 0; i < crew->line_count; i++) {
        free(crew->lines[i].text);
    }
    free(crew->lines);
    free(crew->todo);
    pthread_cond_destroy(&crew->given);
    pthread_cond_destroy(&crew->ended);
    pthread_mutex_destroy(&crew->mutex);
    free(crew);
}
