// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_SEARCH_HOPS_H
#define WEFT_TOPOLOGY_SEARCH_HOPS_H

// Sums of distances over a design's links, 64 sources at a time. Private to the topology room.
//
// Bit j of row v says whether server v is within h hops of source j (or, in a directed design, the
// source of v: the sums are the same). One round ORs the rows of v's neighbors, so all distances
// from 64 sources cost one word operation a link and hop. Weighted sums keep the demand as bit
// planes: plane b holds bit b of every pair's weight.

#include "weft/base.h"
#include "weft/topology.h"

#define WEFT_HOPS_PLANE_MAX 12u // bits of a quantised weight

struct weft_hops {
    uint32_t server_count;
    uint32_t source_count;
    uint32_t word_count; // of a row
    uint64_t *rows[2];
    uint32_t plane_count; // 0 = uniform
    uint64_t *planes;     // plane_count * server_count * word_count
    uint64_t weight_total;
    uint64_t pair_count; // pairs with a weight
    uint64_t work;       // cost of all calls so far, in the search's work units
};

struct weft_hops_result {
    uint64_t sum;      // weight times distance; a pair without path counts as the levels tried + n
    uint64_t missing;  // weight of pairs without path
    uint32_t diameter; // rounds until nothing changed any more
};

// Sources are the first `source_count` servers (the orbits); weights[n*n] is NULL for 1 each, else
// they are scaled to at most 2^WEFT_HOPS_PLANE_MAX - 1 (a demand above 0 stays above 0).
// Weights need source_count == server_count.
void weft_hops_init(struct weft_hops *hops, uint32_t server_count, uint32_t source_count,
                    const double *weights, struct weft_arena *arena);
struct weft_hops_result weft_hops_sum(struct weft_hops *hops, const struct weft_design *design);
// The mean weight of the pairs that have one: a natural unit of changes.
static inline double weft_hops_mean_weight(const struct weft_hops *hops)
{
    return hops->pair_count == 0 ? 1 : (double)hops->weight_total / (double)hops->pair_count;
}

#endif
