// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_BOUND_CLOSURE_H
#define WEFT_PLAN_BOUND_CLOSURE_H

// Everything that must be over before a task, not only what stands right before it: all ancestors
// that meet at one machine run there one after the other. Private to the plan room.
//
// times.c walks the graph once forward and once backward, and looks at the ancestors of every task.

#include "bounds.h"

// More tasks than these would need too much memory and time; then only neighbors are looked at.
#define CLOSURE_TASKS_MAX 30000u

enum meeting { MEET_DEVICE, MEET_SENDER, MEET_RECEIVER, MEET_COUNT };
// Whether a task uses a machine of this kind, and which.
bool meeting_uses(const struct weft_taskgraph *graph, uint32_t task, enum meeting meeting);
uint32_t meeting_key(const struct weft_taskgraph *graph, uint32_t task, enum meeting meeting);

struct closure {
    const struct weft_taskgraph *graph;
    uint32_t word_count;
    uint64_t *before;         // per task: bits of all ancestors
    uint32_t machine_count;   // devices, senders, receivers
    const uint32_t *first;    // CSR: where each machine's list starts
    uint32_t *count;          // tasks in it so far
    uint32_t *tasks;          // by ready_s
    const double *ready_s;    // per task, set before it is added
    const double *duration_s; // per task
    double latency_s;         // part of a transfer's duration that does not hold its ports
};

// ready_s and duration_s are the caller's, read when tasks are added and looked up.
// O(tasks^2 / 64 + tasks).
void closure_init(struct closure *closure, const struct bound_model *model, const double *ready_s,
                  const double *duration_s, struct weft_arena *arena);
// Notes the direct predecessors of a task, whose own are known, and returns the soonest that all of
// its ancestors can be over; 0 where the one predecessor says as much itself. O(tasks).
double closure_ready(struct closure *closure, uint32_t task, const uint32_t *previous,
                     uint32_t previous_count);
// Makes a task known as an ancestor of later ones; ready_s[task] must be set. O(tasks of a
// machine).
void closure_add(struct closure *closure, uint32_t task);

#endif
