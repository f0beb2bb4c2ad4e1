// SPDX-License-Identifier: Apache-2.0
// GOAL schedules: from operations and their messages to a task graph.
//
// Operation i becomes task i: a calculation a local task on its CPU, a send a transfer, a receive a
// barrier behind its own dependencies and its message. What waits for the start of an operation
// waits for a barrier before it.

#include "goal.h"

#include <string.h>

struct lowering {
    const struct weft_goal *goal;
    const uint32_t *send_of;
    uint32_t *start; // by operation: the barrier before it, WEFT_NONE = none
    struct weft_task *tasks;
    uint32_t task_count;
    uint32_t device_count;
    uint32_t *device_server;
    uint32_t *edge_from;
    uint32_t *edge_to;
    uint64_t edge_count;
    struct weft_goal_job job; // counts
};

static void add_edge(struct lowering *lowering, uint32_t from, uint32_t to)
{
    lowering->edge_from[lowering->edge_count] = from;
    lowering->edge_to[lowering->edge_count++] = to;
}

// Devices stand by rank, then in the order in which its calculations name them.
static void add_ops(struct lowering *lowering)
{
    const struct weft_goal *goal = lowering->goal;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        uint32_t device[UINT8_MAX + 1];
        memset(device, 0xff, sizeof device);
        for (uint32_t op = goal->rank_first[rank]; op < goal->rank_first[rank + 1]; op++) {
            struct weft_task task = {.kind = WEFT_TASK_BARRIER, .device = WEFT_NONE};
            if (goal->kind[op] == WEFT_GOAL_CALC) {
                uint32_t *own = &device[goal->cpu[op]];
                if (*own == WEFT_NONE) {
                    *own = lowering->device_count++;
                    lowering->device_server[*own] = rank;
                }
                task.kind = WEFT_TASK_LOCAL;
                task.device = *own;
                task.runtime_ps = goal->size[op] * 1000;
            } else if (goal->kind[op] == WEFT_GOAL_RECV) {
                lowering->job.open_count +=
                    goal->peer[op] == WEFT_NONE || goal->tag[op] == WEFT_NONE;
            } else if (goal_is_void(goal, op)) {
                lowering->job.void_count++;
            } else {
                task.kind = WEFT_TASK_TRANSFER;
                task.from = rank;
                task.to = goal->peer[op];
                // The envelope of an empty message crosses the network, too.
                task.size_bytes = goal->size[op] > 0 ? goal->size[op] : 1;
            }
            lowering->tasks[op] = task;
        }
    }
    lowering->task_count = goal->op_count;
}

static void add_starts(struct lowering *lowering)
{
    const struct weft_goal *goal = lowering->goal;
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        uint32_t *start = &lowering->start[goal->before[e]];
        if (!goal->at_start[e] || *start != WEFT_NONE) {
            continue;
        }
        *start = lowering->task_count++;
        lowering->tasks[*start] =
            (struct weft_task){.kind = WEFT_TASK_BARRIER, .device = WEFT_NONE};
        add_edge(lowering, *start, goal->before[e]);
    }
}

static void add_edges(struct lowering *lowering)
{
    const struct weft_goal *goal = lowering->goal;
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        uint32_t before = goal->before[e];
        uint32_t after = goal->after[e];
        uint32_t entry = lowering->start[after] != WEFT_NONE ? lowering->start[after] : after;
        add_edge(lowering, goal->at_start[e] ? lowering->start[before] : before, entry);
    }
    for (uint32_t op = 0; op < goal->op_count; op++) {
        if (lowering->send_of[op] != WEFT_NONE) {
            add_edge(lowering, lowering->send_of[op], op);
        }
    }
}

bool weft_goal_lower(struct weft_goal_job *job, const struct weft_goal *goal,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    size_t ops = goal->op_count;
    uint32_t *send_of = WEFT_NEW_RAW(&scratch, uint32_t, ops);
    if (!goal_match(send_of, goal, scratch, error)) {
        return goal->path != NULL ? weft_wrap(error, "%s", goal->path) : false;
    }
    uint64_t edges = 2 * (uint64_t)goal->edge_count + ops;
    struct lowering lowering = {
        .goal = goal,
        .send_of = send_of,
        .start = WEFT_NEW_RAW(&scratch, uint32_t, ops),
        .tasks = WEFT_NEW_RAW(&scratch, struct weft_task, 2 * ops),
        .device_server = WEFT_NEW_RAW(&scratch, uint32_t, ops),
        .edge_from = WEFT_NEW_RAW(&scratch, uint32_t, edges),
        .edge_to = WEFT_NEW_RAW(&scratch, uint32_t, edges),
    };
    memset(lowering.start, 0xff, sizeof *lowering.start * ops);
    add_ops(&lowering);
    add_starts(&lowering);
    add_edges(&lowering);
    weft_task_connect(lowering.tasks, lowering.task_count, lowering.edge_from, lowering.edge_to,
                      lowering.edge_count, &scratch);
    struct weft_goal_job built = lowering.job;
    if (!weft_taskgraph_build(
            &built.graph,
            &(struct weft_taskgraph_draft){.server_count = goal->rank_count,
                                           .device_count = lowering.device_count,
                                           .device_server = lowering.device_server,
                                           .task_count = lowering.task_count,
                                           .tasks = lowering.tasks},
            arena, scratch, error)) {
        return goal->path != NULL ? weft_wrap(error, "%s", goal->path) : false;
    }
    *job = built;
    return true;
}
