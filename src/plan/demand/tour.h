// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DEMAND_TOUR_H
#define WEFT_PLAN_DEMAND_TOUR_H

// Rings for fabrics that come without: short tours of each group's members. Private to the plan
// room.
//
// They depend on the task graph, so that one fabric has other rings for each strategy.

#include "weft/plan.h"

// Two rings, there and back, for each task graph group of more than two members (one for pairs), in
// an order that is short in hops of the network's routes: nearest neighbor, then 2-opt. Routes
// decide each hop. O(groups * members^2 * passes + n^2 * hops).
struct weft_ring_set tour_rings(const struct weft_taskgraph *graph,
                                const struct weft_network *network, struct weft_arena *arena,
                                struct weft_arena scratch);

#endif
