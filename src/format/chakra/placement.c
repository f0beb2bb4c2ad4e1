// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: which rank holds what of a task graph, and how dependencies between
// ranks travel.
//
// A trace knows dependencies inside a rank only. So an edge stays inside a rank where its two tasks
// meet on one: a transfer ends on both of its servers, a collective on all of its members. Where
// they do not meet, a send and a receive of one byte carry the edge.

#include "chakra.h"

#include <stdlib.h>
#include <string.h>

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_members(struct chakra_placement *placement, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = placement->graph;
    uint32_t count = graph->group_count > 0 ? graph->group_first[graph->group_count] : 0;
    placement->sorted = WEFT_NEW_RAW(arena, uint32_t, count);
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t first = graph->group_first[g];
        uint32_t members = graph->group_first[g + 1] - first;
        memcpy(placement->sorted + first, graph->group_members + first, sizeof(uint32_t) * members);
        qsort(placement->sorted + first, members, sizeof(uint32_t), compare_ranks);
    }
}

static bool in_group(const struct chakra_placement *placement, uint32_t group, uint32_t rank)
{
    uint32_t first = placement->graph->group_first[group];
    uint32_t count = placement->graph->group_first[group + 1] - first;
    return bsearch(&rank, placement->sorted + first, count, sizeof rank, compare_ranks) != NULL;
}

bool chakra_is_collective(const struct weft_taskgraph *graph, uint32_t task)
{
    return weft_task_is_collective(graph, task) && weft_task_member_count(graph, task) > 1;
}

bool chakra_ends_on(const struct chakra_placement *placement, uint32_t task, uint32_t rank,
                    enum chakra_part *part)
{
    const struct weft_taskgraph *graph = placement->graph;
    *part = CHAKRA_PART_MAIN;
    if (chakra_is_collective(graph, task)) {
        return in_group(placement, graph->group[task], rank);
    }
    if (graph->kind[task] == WEFT_TASK_TRANSFER && graph->to[task] == rank) {
        *part = CHAKRA_PART_RECV;
        return true;
    }
    return placement->home[task] == rank;
}

// The rank at which a task ends, where one has to be chosen.
static uint32_t end_rank(const struct chakra_placement *placement, uint32_t task)
{
    const struct weft_taskgraph *graph = placement->graph;
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        return graph->to[task];
    }
    return chakra_is_collective(graph, task)
               ? graph->group_members[graph->group_first[graph->group[task]]]
               : placement->home[task];
}

// The rank at which a task begins, likewise.
static uint32_t start_rank(const struct chakra_placement *placement, uint32_t task)
{
    const struct weft_taskgraph *graph = placement->graph;
    return chakra_is_collective(graph, task)
               ? graph->group_members[graph->group_first[graph->group[task]]]
               : placement->home[task];
}

// ---- homes ----

// Every device its rank: an accelerator does one thing at a time, and so does a rank elsewhere.
static void place_devices(struct chakra_placement *placement, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = placement->graph;
    size_t most = (size_t)graph->server_count + graph->device_count;
    bool *taken = WEFT_NEW(arena, bool, graph->server_count);
    placement->device_rank = WEFT_NEW_RAW(arena, uint32_t, graph->device_count);
    placement->rank_server = WEFT_NEW_RAW(arena, uint32_t, most);
    placement->rank_count = graph->server_count;
    for (uint32_t s = 0; s < graph->server_count; s++) {
        placement->rank_server[s] = s;
    }
    for (uint32_t d = 0; d < graph->device_count; d++) {
        uint32_t server = graph->device_server[d];
        placement->device_rank[d] = taken[server] ? placement->rank_count++ : server;
        placement->rank_server[placement->device_rank[d]] = server;
        taken[server] = true;
    }
}

static uint32_t own_rank(const struct chakra_placement *placement, uint32_t task)
{
    const struct weft_taskgraph *graph = placement->graph;
    if (graph->device[task] != WEFT_NONE) {
        return placement->device_rank[graph->device[task]];
    }
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        return graph->from[task];
    }
    bool alone = weft_task_is_collective(graph, task) && !chakra_is_collective(graph, task);
    return alone ? graph->group_members[graph->group_first[graph->group[task]]] : WEFT_NONE;
}

// A barrier stands where its first predecessor ends, without any where its first successor begins
// (rank 0 where that is a barrier, too).
static void place_barriers(struct chakra_placement *placement, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = placement->graph;
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, graph->task_count);
    weft_taskgraph_order(graph, order, *arena);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t t = order[i];
        if (graph->kind[t] != WEFT_TASK_BARRIER) {
            continue;
        }
        uint32_t rank = WEFT_NONE;
        if (placement->prev_first[t] < placement->prev_first[t + 1]) {
            uint32_t before = placement->edge_from[placement->prev_edge[placement->prev_first[t]]];
            rank = end_rank(placement, before);
        } else if (graph->next_first[t] < graph->next_first[t + 1]) {
            rank = start_rank(placement, graph->next[graph->next_first[t]]);
        }
        placement->home[t] = rank == WEFT_NONE ? 0 : rank;
    }
}

// ---- edges ----

static void reverse_edges(struct chakra_placement *placement, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = placement->graph;
    uint32_t edge_count = graph->next_first[graph->task_count];
    uint32_t *filled = WEFT_NEW(arena, uint32_t, graph->task_count);
    placement->edge_from = WEFT_NEW_RAW(arena, uint32_t, edge_count);
    placement->prev_edge = WEFT_NEW_RAW(arena, uint32_t, edge_count);
    placement->prev_first = WEFT_NEW(arena, uint32_t, (size_t)graph->task_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        placement->prev_first[t + 1] = placement->prev_first[t] + graph->prev_count[t];
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t to = graph->next[e];
            placement->edge_from[e] = t;
            placement->prev_edge[placement->prev_first[to] + filled[to]++] = e;
        }
    }
}

// Whether the tasks of an edge meet on a rank.
static bool meet(const struct chakra_placement *placement, uint32_t before, uint32_t after)
{
    const struct weft_taskgraph *graph = placement->graph;
    enum chakra_part part;
    if (!chakra_is_collective(graph, after)) {
        return chakra_ends_on(placement, before, placement->home[after], &part);
    }
    uint32_t group = graph->group[after];
    if (!chakra_is_collective(graph, before)) {
        bool transfer = graph->kind[before] == WEFT_TASK_TRANSFER;
        return in_group(placement, group, placement->home[before]) ||
               (transfer && in_group(placement, group, graph->to[before]));
    }
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        if (in_group(placement, graph->group[before], graph->group_members[i])) {
            return true;
        }
    }
    return false;
}

// Edges of one task to one rank share a signal.
static void place_signals(struct chakra_placement *placement, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = placement->graph;
    uint32_t edge_count = graph->next_first[graph->task_count];
    uint32_t *latest = WEFT_NEW(arena, uint32_t, placement->rank_count); // signal + 1 to a rank
    placement->edge_signal = WEFT_NEW_RAW(arena, uint32_t, edge_count);
    placement->signals = WEFT_NEW_RAW(arena, struct chakra_signal, edge_count);
    for (uint32_t e = 0; e < edge_count; e++) {
        uint32_t before = placement->edge_from[e];
        placement->edge_signal[e] = WEFT_NONE;
        if (meet(placement, before, graph->next[e])) {
            continue;
        }
        uint32_t to = start_rank(placement, graph->next[e]);
        uint32_t signal = latest[to] - 1;
        if (latest[to] == 0 || placement->signals[signal].task != before) {
            signal = placement->signal_count++;
            placement->signals[signal] =
                (struct chakra_signal){before, end_rank(placement, before), to};
            latest[to] = signal + 1;
        }
        placement->edge_signal[e] = signal;
    }
}

void chakra_placement_build(struct chakra_placement *placement, const struct weft_taskgraph *graph,
                            struct weft_arena *arena)
{
    *placement = (struct chakra_placement){.graph = graph};
    place_devices(placement, arena);
    placement->home = WEFT_NEW_RAW(arena, uint32_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        placement->home[t] = own_rank(placement, t);
    }
    sort_members(placement, arena);
    reverse_edges(placement, arena);
    place_barriers(placement, arena);
    place_signals(placement, arena);
}
