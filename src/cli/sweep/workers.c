// SPDX-License-Identifier: Apache-2.0
// Scenarios on threads: the leader gives indices and takes lines in the order in which they end.
//
// The problem: scenarios arrive while others run, from another process or when a rank asks for
// more, and the leader writes lines meanwhile. So no round of weft_team_play fits. The method: a
// team (weft/base.h) whose helpers play one round for as long as the sweep lasts, one index each,
// whose call takes scenarios from a queue until that is closed; the leader gives and takes beside
// them (weft_team_begin). Where the system refuses every thread, the leader plays a scenario when
// it comes to take a line.
//
// Both queues are rings of one size. The leader never has more than threads + SWEEP_AHEAD scenarios
// under way here, so neither ring can be full, and no memory is asked for while scenarios run. A
// worker holds the mutex only to take an index and to put a line: a scenario takes a millisecond
// and more, a ring's turn well below one microsecond.

#include "sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

// Counts only grow; each names the next place of its ring, taken modulo `room`.
struct sweep_workers {
    const struct sweep *sweep;
    struct weft_team *team;
    uint32_t room;
    uint32_t *todo;
    struct sweep_line *lines;
    pthread_mutex_t mutex; // guards what the rings hold, and what follows
    pthread_cond_t given;
    pthread_cond_t ended;
    bool is_closed;
    uint64_t given_count;
    uint64_t begun_count;
    uint64_t ended_count;
    uint64_t taken_count;
};

// Takes the next scenario and plays it. The caller holds the mutex, and one was given.
static void play_next(struct sweep_workers *workers)
{
    uint32_t scenario = workers->todo[workers->begun_count++ % workers->room];
    pthread_mutex_unlock(&workers->mutex);
    // Raises nothing: what memory a scenario is refused is an error of its own.
    struct sweep_line line = sweep_run(workers->sweep, scenario);
    pthread_mutex_lock(&workers->mutex);
    workers->lines[workers->ended_count++ % workers->room] = line;
    pthread_cond_signal(&workers->ended);
}

// What a helper does as long as the sweep lasts.
static void work(void *context, uint32_t index, struct weft_arena scratch)
{
    (void)index, (void)scratch;
    struct sweep_workers *workers = context;
    pthread_mutex_lock(&workers->mutex);
    for (;;) {
        while (workers->begun_count == workers->given_count && !workers->is_closed) {
            pthread_cond_wait(&workers->given, &workers->mutex);
        }
        if (workers->begun_count == workers->given_count) {
            break;
        }
        play_next(workers);
    }
    pthread_mutex_unlock(&workers->mutex);
}

static bool is_alone(const struct sweep_workers *workers)
{
    return weft_team_size(workers->team) == 1;
}

struct sweep_workers *sweep_workers_start(const struct sweep *sweep, uint32_t threads)
{
    struct cli *cli = sweep->cli;
    struct sweep_workers *workers = WEFT_NEW(&cli->arena, struct sweep_workers, 1);
    *workers = (struct sweep_workers){.sweep = sweep, .room = threads + SWEEP_AHEAD};
    workers->todo = WEFT_NEW(&cli->arena, uint32_t, workers->room);
    workers->lines = WEFT_NEW(&cli->arena, struct sweep_line, workers->room);
    if (!weft_team_open(&workers->team, threads + 1, &cli->error)) {
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->given, NULL);
    pthread_cond_init(&workers->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    const struct weft_team_work round = {
        .play = work, .context = workers, .count = weft_team_size(workers->team) - 1};
    if (!is_alone(workers)) {
        weft_team_begin(workers->team, &round);
    }
    return workers;
}

void sweep_workers_give(struct sweep_workers *workers, uint32_t index)
{
    pthread_mutex_lock(&workers->mutex);
    WEFT_ASSERT(workers->given_count - workers->taken_count < workers->room);
    workers->todo[workers->given_count++ % workers->room] = index;
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
    if (is_alone(workers) && workers->begun_count < workers->given_count) {
        play_next(workers);
    }
    int failed = 0;
    while (workers->taken_count == workers->ended_count && failed == 0) {
        failed = pthread_cond_timedwait(&workers->ended, &workers->mutex, &until);
    }
    bool there = workers->taken_count < workers->ended_count;
    if (there) {
        *line = workers->lines[workers->taken_count++ % workers->room];
    }
    pthread_mutex_unlock(&workers->mutex);
    return there;
}

void sweep_workers_end(struct sweep_workers *workers)
{
    pthread_mutex_lock(&workers->mutex);
    workers->is_closed = true;
    pthread_cond_broadcast(&workers->given);
    pthread_mutex_unlock(&workers->mutex);
    if (!is_alone(workers)) {
        weft_team_end(workers->team);
    }
    weft_team_close(workers->team);
    while (workers->taken_count < workers->ended_count) {
        free(workers->lines[workers->taken_count++ % workers->room].text);
    }
    pthread_cond_destroy(&workers->given);
    pthread_cond_destroy(&workers->ended);
    pthread_mutex_destroy(&workers->mutex);
}
