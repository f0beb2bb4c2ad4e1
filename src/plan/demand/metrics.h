// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_FIGURES_H
#define WEFT_PLAN_FIGURES_H

// Metrics of a network under a task graph that need no simulation. Private to the plan room.
//
// They explain an iteration time (how far bytes travel, which link is busiest), and are what weft
// check recomputes.

#include "weft/plan.h"

struct metrics {
    double demand_weighted_hops; // of transfers, by shortest paths; 0 without transfers
    double mean_hops;            // links a byte crosses as it is routed, over all bytes demanded
    uint32_t hops_max;           // of any path that carries bytes
    double max_link_load_bytes;
    double mean_link_load_bytes; // over all links of the fabric
    double bandwidth_tax_ratio;  // bytes that leave servers, relayed ones again / bytes demanded
};

// Bytes follow the routes by weight, and the rings. load_bytes[link_count] is filled unless NULL.
// O(tasks + n^2 * paths * hops).
void metrics_build(struct metrics *metrics, double *load_bytes, const struct weft_taskgraph *graph,
                   const struct weft_network *network, struct weft_arena scratch);

#endif
