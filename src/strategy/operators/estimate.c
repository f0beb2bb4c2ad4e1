// SPDX-License-Identifier: Apache-2.0
// The estimator: list scheduling of whole operators on servers, and a fluid network whose only
// resources are servers' ports.
//
// A task is the forward (2 * node) or backward (2 * node + 1) pass of all parts of an operator. It
// becomes ready when the last of its inputs is there and then takes each of its servers from when
// that is free. Events are: a task is ready, the transfers of an edge start, an AllReduce starts;
// between them the network's streams progress at constant rates.

#include "estimate.h"

#include "network_share.h"

#include "weft/base/heap.h"

#include <string.h>

enum event_kind { EVENT_READY, EVENT_TRANSFER, EVENT_REDUCE };

struct event {
    double time_s;
    uint32_t order; // ties are taken first in, first out
    uint16_t kind;
    uint16_t backward;
    uint32_t index; // task, edge or node
};

struct event_heap {
    struct event *entries;
    uint32_t count;
};

static inline bool is_sooner(const struct event *a, const struct event *b)
{
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->order < b->order);
}

WEFT_HEAP(events, struct event_heap, struct event, 2, is_sooner, weft_heap_no_places)

struct estimator {
    const struct weft_strategy_space *space;
    struct share *share;
    struct event_heap events;
    uint32_t order;
    double *free_s;    // per server
    double *ready_s;   // per task: what all its parts wait for
    double *part_s;    // task * server_count: what each part waits for, if `own`
    double *end_s;     // task * server_count: when each part ends
    double *last_s;    // per task: its last part's end
    uint8_t *own;      // per task
    uint32_t *waiting; // per task
    double iteration_s;
};

struct estimator *weft_estimator_init(const struct weft_strategy_space *space,
                                      struct weft_arena *arena)
{
    struct estimator *estimator = WEFT_NEW(arena, struct estimator, 1);
    size_t tasks = 2 * (size_t)space->node_count;
    size_t parts = tasks * space->server_count;
    *estimator = (struct estimator){
        .space = space,
        .share = weft_share_init(space, arena),
        .events.entries = WEFT_NEW(arena, struct event,
                                   tasks + 2 * (size_t)space->edge_count + space->node_count),
        .free_s = WEFT_NEW(arena, double, space->server_count),
        .ready_s = WEFT_NEW(arena, double, tasks),
        .part_s = WEFT_NEW(arena, double, parts),
        .end_s = WEFT_NEW(arena, double, parts),
        .last_s = WEFT_NEW(arena, double, tasks),
        .own = WEFT_NEW(arena, uint8_t, tasks),
        .waiting = WEFT_NEW(arena, uint32_t, tasks),
    };
    return estimator;
}

static void push(struct estimator *est, double time_s, enum event_kind kind, uint32_t index,
                 bool backward)
{
    events_push(&est->events,
                (struct event){time_s, est->order++, (uint16_t)kind, backward, index});
}

// ---- tasks ----

static double *row_of(const struct estimator *est, double *rows, uint32_t task)
{
    return rows + (size_t)task * est->space->server_count;
}

// One of a task's inputs is there at time_s.
static void arrive(struct estimator *est, const struct placement *placement, uint32_t task,
                   double time_s)
{
    est->ready_s[task] = time_s > est->ready_s[task] ? time_s : est->ready_s[task];
    if (--est->waiting[task] > 0) {
        return;
    }
    double key_s = est->ready_s[task];
    if (est->own[task]) {
        const double *part_s = row_of(est, est->part_s, task);
        uint32_t parts = weft_placement_choice(placement, task / 2)->parts;
        for (uint32_t i = 0; i < parts; i++) {
            key_s = part_s[i] > key_s ? part_s[i] : key_s;
        }
    }
    push(est, key_s, EVENT_READY, task, false);
}

// A task on the same parts and servers has ended: each part waits for its own twin only.
static void arrive_in_parts(struct estimator *est, const struct placement *placement, uint32_t task,
                            uint32_t from)
{
    const double *end_s = row_of(est, est->end_s, from);
    double *part_s = row_of(est, est->part_s, task);
    uint32_t parts = weft_placement_choice(placement, task / 2)->parts;
    if (!est->own[task]) {
        memcpy(part_s, end_s, sizeof *part_s * parts);
        est->own[task] = 1;
    } else {
        for (uint32_t i = 0; i < parts; i++) {
            part_s[i] = end_s[i] > part_s[i] ? end_s[i] : part_s[i];
        }
    }
    arrive(est, placement, task, 0);
}

static void pass_on(struct estimator *est, const struct placement *placement, uint32_t e,
                    uint32_t from, uint32_t to, bool backward)
{
    const struct edge_traffic *traffic = &placement->traffic[e];
    if (traffic->same) {
        arrive_in_parts(est, placement, to, from);
    } else if (traffic->flows == 0) {
        arrive(est, placement, to, est->last_s[from]);
    } else {
        push(est, est->last_s[from], EVENT_TRANSFER, e, backward);
    }
}

static void run_parts(struct estimator *est, const struct placement *placement, uint32_t task)
{
    const struct choice *choice = weft_placement_choice(placement, task / 2);
    const uint32_t *servers = weft_placement_servers(placement, task / 2);
    const double *part_s = row_of(est, est->part_s, task);
    double *end_s = row_of(est, est->end_s, task);
    double runtime_s = task % 2 == 0 ? choice->forward_s : choice->backward_s;
    double ready_s = est->ready_s[task];
    double last_s = 0;
    bool own = est->own[task];
    for (uint32_t i = 0; i < choice->parts; i++) {
        double start_s = est->free_s[servers[i]];
        start_s = ready_s > start_s ? ready_s : start_s;
        start_s = own && part_s[i] > start_s ? part_s[i] : start_s;
        double stop_s = start_s + runtime_s;
        est->free_s[servers[i]] = stop_s;
        end_s[i] = stop_s;
        last_s = stop_s > last_s ? stop_s : last_s;
    }
    est->last_s[task] = last_s;
    est->iteration_s = last_s > est->iteration_s ? last_s : est->iteration_s;
}

static void run_task(struct estimator *est, const struct placement *placement, uint32_t task)
{
    const struct weft_strategy_space *space = est->space;
    const struct node *node = &space->nodes[task / 2];
    run_parts(est, placement, task);
    if (task % 2 == 0) {
        arrive_in_parts(est, placement, task + 1, task);
        for (uint32_t i = 0; i < node->out_count; i++) {
            uint32_t e = space->outs[node->out_first + i];
            pass_on(est, placement, e, task, 2 * space->edges[e].to, false);
        }
        return;
    }
    for (uint32_t e = node->in_first; e < node->in_first + node->in_count; e++) {
        pass_on(est, placement, e, task, 2 * space->edges[e].from + 1, true);
    }
    const struct choice *choice = weft_placement_choice(placement, task / 2);
    if (choice->shard_bytes > 0 && choice->sample_parts > 1) {
        push(est, est->last_s[task] + choice->inside_s, EVENT_REDUCE, task / 2, false);
    } else if (choice->shard_bytes > 0) {
        double end_s = est->last_s[task] + choice->inside_s;
        est->iteration_s = end_s > est->iteration_s ? end_s : est->iteration_s;
    }
}

// ---- the loop ----

static void begin(struct estimator *est, const struct placement *placement)
{
    const struct weft_strategy_space *space = est->space;
    est->events.count = 0;
    est->order = 0;
    est->iteration_s = 0;
    memset(est->free_s, 0, sizeof *est->free_s * space->server_count);
    memset(est->ready_s, 0, sizeof *est->ready_s * 2 * space->node_count);
    memset(est->own, 0, sizeof *est->own * 2 * space->node_count);
    weft_share_begin(est->share, placement);
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct node *node = &space->nodes[i];
        uint32_t task = 2 * i;
        est->waiting[task] = node->in_count > 0 ? node->in_count : 1;
        est->waiting[task + 1] = 1 + node->out_count;
        if (node->in_count == 0) {
            arrive(est, placement, task, 0);
        }
    }
}

static void handle(struct estimator *est, const struct placement *placement,
                   const struct event *event)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_READY:
        run_task(est, placement, event->index);
        return;
    case EVENT_TRANSFER:
        weft_share_transfer(est->share, placement, event->index, event->backward != 0,
                            event->time_s);
        return;
    case EVENT_REDUCE:
        weft_share_reduce(est->share, placement, event->index, event->time_s);
        return;
    }
    WEFT_ASSERT(false); // an event kind
}

double weft_estimate(struct estimator *est, const struct placement *placement)
{
    const struct weft_strategy_space *space = est->space;
    begin(est, placement);
    for (;;) {
        double event_s = est->events.count > 0 ? est->events.entries[0].time_s : HUGE_VAL;
        struct share_end end;
        if (weft_share_next(est->share, event_s, &end)) {
            if (end.reduce) {
                est->iteration_s = end.time_s > est->iteration_s ? end.time_s : est->iteration_s;
                continue;
            }
            const struct edge *edge = &space->edges[end.index];
            uint32_t task = end.backward ? 2 * edge->from + 1 : 2 * edge->to;
            arrive(est, placement, task, end.time_s);
            continue;
        }
        if (est->events.count == 0) {
            return est->iteration_s;
        }
        struct event event = events_pop(&est->events);
        handle(est, placement, &event);
    }
}
