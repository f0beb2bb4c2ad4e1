// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DEMAND_DEMAND_H
#define WEFT_PLAN_DEMAND_DEMAND_H

// What each task of a graph demands of a network: a transfer's bytes from one server to another, or
// what a collective puts on every hop of every ring of its group. Private to the plan room.
//
// Metrics and bounds of a fabric walk over these items, so that both count the same bytes.

#include "weft/plan.h"

struct demand_item {
    uint32_t from;
    uint32_t to;
    double bytes;
    const uint32_t *links; // link_count = 0: routes decide
    uint32_t link_count;
};

struct demand {
    const struct weft_taskgraph *graph;
    const struct weft_network *network;
    const uint32_t *ring_first; // per group: its rings are ring_first[g] ..
    const uint32_t *ring_count; // 0: one ring in the group's own order
};

// Rings are by task graph group; those of one group must stand together and match it (asserted).
struct demand demand_open(const struct weft_taskgraph *graph, const struct weft_network *network,
                          struct weft_arena *arena);
// The index-th item of a task; false past the last.
bool demand_get(const struct demand *demand, uint32_t task, uint32_t index,
                struct demand_item *item);

#endif
