// SPDX-License-Identifier: Apache-2.0
// What each task of a graph demands of a network.
//
// A transfer demands its bytes between two servers; a collective demands of every hop of every ring
// of its group the bytes that the ring's share puts there. Hops that a ring binds to links come
// with them, all others take the routes. Items are computed one at a time, so that nothing is
// stored.

#include "demand.h"

struct demand demand_open(const struct weft_taskgraph *graph, const struct weft_network *network,
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
    return (struct demand){graph, network, first, count};
}

// The index-th hop of a collective: ring by ring, hop by hop.
static bool get_hop(const struct demand *demand, uint32_t task, uint32_t index,
                    struct demand_item *item)
{
    const struct weft_taskgraph *graph = demand->graph;
    uint32_t group = graph->group[task];
    uint32_t first = graph->group_first[group];
    uint32_t k = graph->group_first[group + 1] - first;
    uint32_t ring_count = demand->ring_count[group] == 0 ? 1 : demand->ring_count[group];
    if (k < 2 || index >= k * ring_count) {
        return false;
    }
    uint32_t hop = index % k;
    double bytes = weft_task_ring_bytes(graph, task);
    if (demand->ring_count[group] == 0) {
        const uint32_t *members = graph->group_members + first;
        *item = (struct demand_item){members[hop], members[(hop + 1) % k], bytes, NULL, 0};
        return true;
    }
    const struct weft_ring *ring =
        &demand->network->rings.rings[demand->ring_first[group] + index / k];
    WEFT_ASSERT(ring->member_count == k);
    *item = (struct demand_item){ring->members[hop], ring->members[(hop + 1) % k],
                                 bytes * ring->share_ratio, NULL, 0};
    if (ring->hop_first != NULL) {
        item->links = ring->hop_links + ring->hop_first[hop];
        item->link_count = ring->hop_first[hop + 1] - ring->hop_first[hop];
    }
    return true;
}

bool demand_get(const struct demand *demand, uint32_t task, uint32_t index,
                struct demand_item *item)
{
    const struct weft_taskgraph *graph = demand->graph;
    if (weft_task_is_collective(graph, task)) {
        return get_hop(demand, task, index, item);
    }
    if (graph->kind[task] != WEFT_TASK_TRANSFER || index > 0 ||
        graph->from[task] == graph->to[task]) {
        return false;
    }
    double bytes = (double)graph->size_bytes[task];
    *item = (struct demand_item){graph->from[task], graph->to[task], bytes, NULL, 0};
    return true;
}
