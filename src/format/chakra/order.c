// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: the order in which a rank begins its collectives.
//
// A rank of ASTRA-sim's has one message or collective under way at a time and matches the
// collectives of a group by the order in which each member begins them. A rank begins its part of a
// collective when what it waits for on that rank is there, which the other members' parts may wait
// for longer. So ranks that go by readiness alone may begin in different orders, or hold back a
// message that the other members wait for, for ever. Here every part of a collective waits for the
// collective before it on its rank and for the messages that the rank sends between the two, in one
// order of all tasks that agrees with their dependencies: whatever is first of what has not ended
// can then begin, as all that it waits for has ended, and nothing that is behind it holds its
// ranks. Messages wait for nothing but their dependencies.

#include "chakra.h"

#include <stdlib.h>
#include <string.h>

// When a task can begin at the earliest, with a network that takes no time.
struct moment {
    uint64_t earliest_ps;
    uint32_t place; // in a topological order
    uint32_t task;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a;
    const struct moment *y = b;
    if (x->earliest_ps != y->earliest_ps) {
        return x->earliest_ps < y->earliest_ps ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

// All tasks in an order that agrees with their dependencies; what can begin early comes early.
static struct moment *order_tasks(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, graph->task_count);
    uint64_t *earliest_ps = WEFT_NEW(arena, uint64_t, graph->task_count);
    struct moment *moments = WEFT_NEW_RAW(arena, struct moment, graph->task_count);
    weft_taskgraph_order(graph, order, *arena);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t t = order[i];
        uint64_t end_ps = earliest_ps[t] + graph->runtime_ps[t];
        moments[i] = (struct moment){earliest_ps[t], i, t};
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint64_t *next_ps = &earliest_ps[graph->next[e]];
            *next_ps = end_ps > *next_ps ? end_ps : *next_ps;
        }
    }
    qsort(moments, graph->task_count, sizeof *moments, compare_moments);
    return moments;
}

// The messages and collectives of all ranks: CSR by rank, in the order of their tasks.
struct lanes {
    size_t *first;
    size_t *filled;
    size_t *latest;  // by rank: its latest collective, or where its lane begins
    uint64_t *nodes; // NULL while they are counted
};

static void add_lane(struct lanes *lanes, uint32_t rank, uint64_t node)
{
    size_t place = lanes->first[rank] + lanes->filled[rank]++;
    if (lanes->nodes != NULL) {
        lanes->nodes[place] = node;
    }
}

// A part of a collective waits for what its lane has from the collective before.
static void add_collective(struct chakra_placement *placement, struct lanes *lanes, uint32_t task)
{
    const struct weft_taskgraph *graph = placement->graph;
    uint32_t first = graph->group_first[graph->group[task]];
    for (uint32_t m = 0; m < weft_task_member_count(graph, task); m++) {
        uint32_t rank = placement->sorted[first + m];
        if (lanes->nodes != NULL) {
            size_t at = lanes->first[rank] + lanes->filled[rank];
            placement->waits[placement->wait_first[task] + m] = (struct chakra_wait){
                lanes->nodes + lanes->latest[rank], (uint32_t)(at - lanes->latest[rank])};
            lanes->latest[rank] = at;
        }
        add_lane(lanes, rank, chakra_task_node(task, CHAKRA_PART_MAIN));
    }
}

static void fill(struct chakra_placement *placement, struct lanes *lanes,
                 const struct moment *moments, const uint32_t *signal_first)
{
    const struct weft_taskgraph *graph = placement->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t t = moments[i].task;
        if (chakra_is_collective(graph, t)) {
            add_collective(placement, lanes, t);
        } else if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            add_lane(lanes, graph->from[t], chakra_task_node(t, CHAKRA_PART_MAIN));
        }
        for (uint32_t s = signal_first[t]; s < signal_first[t + 1]; s++) {
            add_lane(lanes, placement->signals[s].from, chakra_signal_node(placement, s, false));
        }
    }
}

void chakra_order_build(struct chakra_placement *placement, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = placement->graph;
    const struct moment *moments = order_tasks(graph, arena);
    uint32_t *signal_first = WEFT_NEW(arena, uint32_t, (size_t)graph->task_count + 1);
    size_t parts = 0;
    placement->wait_first = WEFT_NEW_RAW(arena, size_t, graph->task_count);
    for (uint32_t s = 0; s < placement->signal_count; s++) { // ascending by task
        signal_first[placement->signals[s].task + 1]++;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        signal_first[t + 1] += signal_first[t];
        placement->wait_first[t] = parts;
        parts += chakra_is_collective(graph, t) ? weft_task_member_count(graph, t) : 0;
    }
    placement->waits = WEFT_NEW_RAW(arena, struct chakra_wait, parts);
    uint32_t ranks = placement->rank_count;
    struct lanes lanes = {.first = WEFT_NEW(arena, size_t, (size_t)ranks + 1),
                          .filled = WEFT_NEW(arena, size_t, ranks),
                          .latest = WEFT_NEW_RAW(arena, size_t, ranks)};
    fill(placement, &lanes, moments, signal_first);
    for (uint32_t r = 0; r < ranks; r++) {
        lanes.first[r + 1] = lanes.first[r] + lanes.filled[r];
        lanes.filled[r] = 0;
        lanes.latest[r] = lanes.first[r];
    }
    lanes.nodes = WEFT_NEW_RAW(arena, uint64_t, lanes.first[ranks]);
    fill(placement, &lanes, moments, signal_first);
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

struct chakra_wait chakra_order_waits(const struct chakra_placement *placement, uint32_t task,
                                      uint32_t rank)
{
    uint32_t group = placement->graph->group[task];
    const uint32_t *first = placement->sorted + placement->graph->group_first[group];
    const uint32_t *member = bsearch(&rank, first, weft_task_member_count(placement->graph, task),
                                     sizeof rank, compare_ranks);
    WEFT_ASSERT(member != NULL);
    return placement->waits[placement->wait_first[task] + (size_t)(member - first)];
}
