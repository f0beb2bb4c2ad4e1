// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_PLAY_H
#define WEFT_VERIFY_PLAY_H

// The checker's own executor of a task graph on a plan's network.
//
// play.c plays it; time.c lays it out, and holds what comes of it against what the plan states.

#include "rates.h"

enum event_kind { TASK_ENDS, RINGS_START, ROUND_STARTS, DEVICE_CHOOSES };

struct event {
    double time_ps;
    uint64_t order; // in which it was caused
    enum event_kind kind;
    uint32_t id; // task, run or device
};

// One ring of one collective.
struct run {
    uint32_t task;
    uint32_t ring; // of the group's
    uint32_t rounds_left;
    uint32_t flows_left;
    double bytes; // that each member sends in a round, with headers
    double round_end_ps;
    uint64_t hash;
};

// Per task.
struct player_tasks {
    uint32_t *waits;  // for so many predecessors
    uint32_t *parts;  // of it that are under way
    double *end_ps;   // of its parts so far
    uint32_t *next;   // in a queue
    double *ready_ps; // when it waited for nothing more
    uint32_t *rank;   // of tasks of one device that are ready at one instant, the least runs first
    bool *over;
};

// Per device: the tasks that wait for it, whether one runs, when the last one ended, whether it is
// about to choose.
struct player_devices {
    uint32_t *head;
    bool *busy;
    double *free_ps;
    bool *pending;
};

struct player {
    const struct weft_plan *plan;
    const struct weft_taskgraph *graph;
    struct rates rates;
    const uint32_t *first_ring;
    const uint32_t *ring_path; // per ring of the plan: the path of its first hop
    struct player_tasks tasks;
    struct player_devices devices;
    uint32_t ready_head;
    uint32_t ready_tail;
    struct run *runs;
    uint32_t run_count;
    struct event *events; // heap by time, then order
    uint32_t event_count;
    uint64_t order;
    uint64_t jitter; // 0: none; else which
    double now_ps;
    double last_ps; // the last end of a task
    uint32_t left;  // tasks
};

// Plays until nothing is left to happen, or until so many flows have started.
void player_play(struct player *player, uint64_t flows_max);
// Puts a task at the end of a queue.
void player_append(struct player *player, uint32_t *head, uint32_t *tail, uint32_t task);

#endif
