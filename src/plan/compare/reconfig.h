// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_COMPARE_RECONFIG_H
#define WEFT_PLAN_COMPARE_RECONFIG_H

// The OCS-reconfig baseline: a circuit controller (weft/sim.h) that follows the demand it sees.
// Private to the plan room.
//
// Whenever the period ends, the demand not yet served is collected, the traffic stops for the time
// that the optical switch needs, and new links serve it for four such times (TopoOpt, NSDI 2023,
// section 5: the baseline after Helios and c-Through). The links are chosen greedily: the pair with
// most bytes gets a duplex link and its demand counts half from then on; servers without ports are
// left out; ports that no demand wants are joined at random; components are spliced together.

#include "weft/plan.h"

// Links between n servers of degree d: width of each ordered pair (symmetric), n*n.
// demand[n*n] is what is unserved. O(n d (pairs with demand) + n^2).
void reconfig_links(uint8_t *width, const double *demand, uint32_t server_count, uint32_t degree,
                    struct weft_rng *rng, struct weft_arena scratch);

// One epoch: links, and the next hop of every pair over a shortest path.
struct reconfig_fabric {
    uint32_t server_count;
    const uint8_t *width; // n*n
    uint32_t *next_hop;   // n*n: from s towards t; WEFT_NONE where there is no way
};
// Fills next_hop. Breadth-first from every server, ties by a hash of the pair. O(n^2 d).
void reconfig_route(struct reconfig_fabric *fabric, uint64_t salt, struct weft_arena scratch);

#endif
