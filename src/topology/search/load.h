// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_SEARCH_LOAD_H
#define WEFT_TOPOLOGY_SEARCH_LOAD_H

// Loads of a design's links when demand takes its shortest paths. Private to the topology room.
//
// Every server draws its bytes in equal parts over the ports that reach it from one hop nearer to
// the sender (ECMP seen from the receiver). Demand comes in lanes, parts of an iteration that may
// or may not run at the same time: lane 0 has the transfers, the others the rings of families of
// groups (mix.h).

#include "weft/base.h"
#include "weft/topology.h"

#define WEFT_LOAD_LANES 4u

struct weft_load {
    uint32_t server_count;
    uint32_t degree;
    double *demand_bytes; // [(from * n + to) * LANES + lane]
    double *link_bytes;   // [(from * degree + plane) * LANES + lane], after weft_load_measure
    double *server_bytes; // one source's flow through every server, by lane
    uint32_t *previous;   // [to * degree + plane]: which server that plane comes from
    uint32_t *distance;
    uint32_t *queue;       // one entry of slack
    uint32_t *parents;     // planes that lead to the server at hand, one entry of slack
    double transfer_bytes; // all demand in lane 0
    double scale_bytes;    // mean demand a link: the unit of the scores
    uint64_t work;         // of all calls so far, in the search's work units
};

void weft_load_init(struct weft_load *load, uint32_t server_count, uint32_t degree,
                    struct weft_arena *arena);
// Adds whole bytes (below 2^53 in all; negative takes away exactly what was added).
static inline void weft_load_add(struct weft_load *load, uint32_t from, uint32_t to, uint32_t lane,
                                 double size_bytes)
{
    load->demand_bytes[((size_t)from * load->server_count + to) * WEFT_LOAD_LANES + lane] +=
        size_bytes;
}
// The score of a design: the 8-norm over links of the whole load, and the sum of those of the lanes
// alone, half each. The first is near the busiest link's load if everything runs at once, the
// second if one lane runs after the other; and 0.2 for every mean hop of the transfers, which wait
// for it. Pairs without a path cost 100 each. O(n^2 d).
double weft_load_measure(struct weft_load *load, const struct weft_design *design);

#endif
