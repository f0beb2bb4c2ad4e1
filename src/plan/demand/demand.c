// SPDX-License-Identifier: Apache-2.0
// What each task asks of a network.

#include "demand.h"

struct asks asks_open(const struct weft_taskgraph *graph, const struct weft_network *network,
                      struct weft_arena *arena)
{
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)graph->group_count + 1);
    uint32_t *count = WEFT_NEW(arena, uint32_t, (size_t)graph->group_count + 1);
    for (uint32_t r = 0; r < network->rings.ring_count; r++) {
        uint32_t group = network->rings.rings[r].group;
        WEFT_ASSERT(group < graph->group_count);
        if (count[group] == 0) {
            first[group] = r;
        }
        WEFT_ASSERT(first[group] + count[group] == r);
        count[group]++;
    }
    return (struct asks){graph, network, first, count};
}

static bool get_hop(const struct asks *asks, uint32_t task, uint32_t index, struct ask *ask)
{
    const struct weft_taskgraph *graph = asks->graph;
    uint32_t group = graph->group[task];
    uint32_t first = graph->group_first[group];
    uint32_t k = graph->group_first[group + 1] - first;
    uint32_t ring_count = asks->ring_count[group] == 0 ? 1 : asks->ring_count[group];
    if (k < 2 || index >= k * ring_count) {
        return false;
    }
    uint32_t hop = index % k;
    double bytes = weft_task_ring_bytes(graph, task);
    if (asks->ring_count[group] == 0) {
        const uint32_t *members = graph->group_members + first;
        *ask = (struct ask){members[hop], members[(hop + 1) % k], bytes, NULL, 0};
        return true;
    }
    const struct weft_ring *ring = &asks->network->rings.rings[asks->ring_first[group] + index / k];
    WEFT_ASSERT(ring->member_count == k);
    *ask = (struct ask){ring->members[hop], ring->members[(hop + 1) % k], bytes * ring->share_ratio,
                        NULL, 0};
    if (ring->hop_first != NULL) {
        ask->links = ring->hop_links + ring->hop_first[hop];
        ask->link_count = ring->hop_first[hop + 1] - ring->hop_first[hop];
    }
    return true;
}

bool asks_get(const struct asks *asks, uint32_t task, uint32_t index, struct ask *ask)
{
    const struct weft_taskgraph *graph = asks->graph;
    if (weft_task_is_collective(graph, task)) {
        return get_hop(asks, task, index, ask);
    }
    if (graph->kind[task] != WEFT_TASK_TRANSFER || index > 0 ||
        graph->from[task] == graph->to[task]) {
        return false;
    }
    double bytes = (double)graph->size_bytes[task];
    *ask = (struct ask){graph->from[task], graph->to[task], bytes, NULL, 0};
    return true;
}
