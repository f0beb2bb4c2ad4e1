// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DEMAND_DEMAND_H
#define WEFT_PLAN_DEMAND_DEMAND_H

// What each task of a graph asks of a network: a transfer's bytes from one server to another, or
// what an AllReduce puts on every hop of every ring of its group. Private to the plan room.

#include "weft/plan.h"

struct ask {
    uint32_t from;
    uint32_t to;
    double bytes;
    const uint32_t *links; // link_count = 0: routes decide
    uint32_t link_count;
};

struct asks {
    const struct weft_taskgraph *graph;
    const struct weft_network *network;
    const uint32_t *ring_first; // per group: its rings are ring_first[g] ..
    const uint32_t *ring_count; // 0: one ring in the group's own order
};

// Rings are by task graph group; those of one group must stand together and match it (asserted).
struct asks asks_open(const struct weft_taskgraph *graph, const struct weft_network *network,
                      struct weft_arena *arena);
// The index-th thing that a task asks; false past the last.
bool asks_get(const struct asks *asks, uint32_t task, uint32_t index, struct ask *ask);

#endif
