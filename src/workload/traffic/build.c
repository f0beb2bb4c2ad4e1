// SPDX-License-Identifier: Apache-2.0
// The traffic of a task graph: groups by their set of members, and the transfer matrix.
//
// What a topology is chosen for: collectives may run over any ring of their members, transfers
// may not move. Groups of the same servers in another order are one group here, found by
// sorting. O(tasks + n^2 + members log groups).

#include "weft/workload.h"

#include <stdlib.h>
#include <string.h>

// Bytes of other collectives count as those of an AllReduce that puts as many on a ring.
#define ALLREDUCE_PASSES 2.0

// One group of the task graph while groups with the same members are being joined.
struct entry {
    uint32_t source; // group index in the task graph
    uint32_t member_count;
    const uint32_t *members; // ascending
    double size_bytes;
    uint32_t task_count;
};

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int compare_members(uint32_t a_count, const uint32_t *a, uint32_t b_count, const uint32_t *b)
{
    uint32_t shorter = a_count < b_count ? a_count : b_count;
    for (uint32_t i = 0; i < shorter; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return (a_count > b_count) - (a_count < b_count);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int order = compare_members(a->member_count, a->members, b->member_count, b->members);
    return order != 0 ? order : (a->source > b->source) - (a->source < b->source);
}

// The task graph's groups sorted by members.
struct entry_list {
    uint32_t count;
    struct entry *entries;
    uint32_t *joined_of; // which joined group each went into
};

// A joined group and its index in the order of members.
struct ranked {
    struct weft_traffic_group group;
    uint32_t joined;
};

// Falling bytes on the wire, then members; no two have the same members.
static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    if (a->group.wire_bytes != b->group.wire_bytes) {
        return a->group.wire_bytes > b->group.wire_bytes ? -1 : 1;
    }
    return (a->joined > b->joined) - (a->joined < b->joined);
}

// The task graph's groups of two members or more, each with its members ascending.
static uint32_t list_entries(struct entry *entries, const struct weft_taskgraph *graph,
                             struct weft_arena *arena)
{
    uint32_t *slot_of = WEFT_NEW_RAW(arena, uint32_t, graph->group_count);
    uint32_t *sorted = WEFT_NEW_RAW(arena, uint32_t, graph->group_first[graph->group_count]);
    uint32_t count = 0;
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t first = graph->group_first[g];
        uint32_t members = graph->group_first[g + 1] - first;
        slot_of[g] = WEFT_NONE;
        if (members >= 2) {
            memcpy(sorted + first, graph->group_members + first, sizeof *sorted * members);
            qsort(sorted + first, members, sizeof *sorted, compare_ids);
            entries[count] =
                (struct entry){.source = g, .member_count = members, .members = sorted + first};
            slot_of[g] = count++;
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t) && slot_of[graph->group[t]] != WEFT_NONE) {
            struct entry *entry = &entries[slot_of[graph->group[t]]];
            double passes = weft_task_facts[graph->kind[t]].ring_passes;
            entry->size_bytes += passes / ALLREDUCE_PASSES * (double)graph->size_bytes[t];
            entry->task_count++;
        }
    }
    return count;
}

// Joins neighbors with the same members in the sorted list; returns the number of groups.
static uint32_t join_entries(struct ranked *ranked, struct entry_list *list)
{
    const struct entry *entries = list->entries;
    uint32_t count = 0;
    for (uint32_t e = 0; e < list->count; e++) {
        const struct entry *entry = &entries[e];
        if (count == 0 || compare_members(entries[e - 1].member_count, entries[e - 1].members,
                                          entry->member_count, entry->members) != 0) {
            ranked[count] = (struct ranked){
                .group = {.member_count = entry->member_count, .members = entry->members},
                .joined = count,
            };
            count++;
        }
        struct weft_traffic_group *group = &ranked[count - 1].group;
        group->size_bytes += entry->size_bytes;
        group->task_count += entry->task_count;
        group->wire_bytes = ALLREDUCE_PASSES * (group->member_count - 1) * group->size_bytes;
        list->joined_of[e] = count - 1;
    }
    return count;
}

// Ranks the joined groups and maps the task graph's groups onto them.
static void rank_groups(struct weft_traffic_group *groups, uint32_t *group_of,
                        struct ranked *ranked, uint32_t group_count, const struct entry_list *list,
                        struct weft_arena scratch)
{
    uint32_t *rank_of = WEFT_NEW_RAW(&scratch, uint32_t, group_count);
    qsort(ranked, group_count, sizeof *ranked, compare_ranked);
    for (uint32_t g = 0; g < group_count; g++) {
        groups[g] = ranked[g].group;
        rank_of[ranked[g].joined] = g;
    }
    for (uint32_t e = 0; e < list->count; e++) {
        group_of[list->entries[e].source] = rank_of[list->joined_of[e]];
    }
}

static double *sum_transfers(double *total_bytes, const struct weft_taskgraph *graph,
                             struct weft_arena *arena)
{
    size_t n = graph->server_count;
    double *matrix = WEFT_NEW(arena, double, n *n);
    double total = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER && graph->from[t] != graph->to[t]) {
            matrix[graph->from[t] * n + graph->to[t]] += (double)graph->size_bytes[t];
            total += (double)graph->size_bytes[t];
        }
    }
    *total_bytes = total;
    return matrix;
}

void weft_traffic_build(struct weft_traffic *traffic, const struct weft_taskgraph *graph,
                        struct weft_arena *arena, struct weft_arena scratch)
{
    struct entry_list list = {
        .entries = WEFT_NEW(&scratch, struct entry, graph->group_count),
        .joined_of = WEFT_NEW_RAW(&scratch, uint32_t, graph->group_count),
    };
    list.count = list_entries(list.entries, graph, arena);
    qsort(list.entries, list.count, sizeof *list.entries, compare_entries);
    struct ranked *ranked = WEFT_NEW(&scratch, struct ranked, list.count);
    uint32_t group_count = join_entries(ranked, &list);
    struct weft_traffic_group *groups = WEFT_NEW(arena, struct weft_traffic_group, group_count);
    uint32_t *group_of = WEFT_NEW_RAW(arena, uint32_t, graph->group_count);
    memset(group_of, 0xff, sizeof *group_of * graph->group_count); // WEFT_NONE
    rank_groups(groups, group_of, ranked, group_count, &list, scratch);

    double allreduce_bytes = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        allreduce_bytes += groups[g].wire_bytes;
    }
    double transfer_bytes = 0;
    double *matrix = sum_transfers(&transfer_bytes, graph, arena);
    double all_bytes = allreduce_bytes + transfer_bytes;
    *traffic = (struct weft_traffic){
        .server_count = graph->server_count,
        .group_count = group_count,
        .groups = groups,
        .group_of = group_of,
        .transfer_bytes = matrix,
        .transfer_total_bytes = transfer_bytes,
        .allreduce_wire_bytes = allreduce_bytes,
        .allreduce_share_ratio = all_bytes > 0 ? allreduce_bytes / all_bytes : 0,
    };
}

double *weft_traffic_matrix(const struct weft_traffic *traffic, struct weft_arena *arena)
{
    size_t n = traffic->server_count;
    double *matrix = WEFT_NEW_RAW(arena, double, n *n);
    memcpy(matrix, traffic->transfer_bytes, sizeof *matrix * n * n);
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        double each_bytes = group->wire_bytes / group->member_count;
        for (uint32_t i = 0; i < group->member_count; i++) {
            uint32_t from = group->members[i];
            uint32_t to = group->members[(i + 1) % group->member_count];
            matrix[from * n + to] += each_bytes;
        }
    }
    return matrix;
}
