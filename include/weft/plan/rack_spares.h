// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RACK_SPARES_H
#define WEFT_PLAN_RACK_SPARES_H

// How many spare accelerators a photonic rack needs so that whatever fails can be replaced in it.
//
//   chips, risk groups, target ──► [spares] ──► K, P(F <= k), servers that are touched
//
// A risk group is a set of chips that fail together: a chip alone, the chips of a server, those
// behind one power supply. Groups fail independently of each other. LUMION (arXiv 2505.23105)
// counts F, the sum of the sizes of the groups that failed; docs/photonic-rack.md derives it.

#include "weft/base.h"

WEFT_API_BEGIN

#define WEFT_SPARES_CHIPS_MAX 4096u
#define WEFT_SPARES_KINDS_MAX 16u

// `count` groups of `size` chips each, one after the other from the rack's first chip.
struct weft_risk_kind {
    uint32_t size;
    uint32_t count;
    double probability; // that one of them fails before it is repaired
};
struct weft_spares_request {
    uint32_t chip_count;
    double chip_probability;   // of every chip alone; 0 = chips fail with their groups only
    uint32_t chips_per_server; // 0 = servers are not counted
    uint32_t kind_count;
    const struct weft_risk_kind *kinds;
    double target; // P(F <= spares) >= target, in [0, 1)
};
struct weft_spares {
    uint32_t spares; // the fewest that reach the target
    // Entry k: P(F <= k), k = 0 .. chips + sum of size * count: a chip that fails alone and with
    // its server counts twice, as published.
    uint32_t probability_count;
    const double *probability;
    double mean; // of F
    // The same of the number of distinct chips lost, which spares have to replace, and of distinct
    // servers with a lost chip. They are known where each size of a group divides the next larger
    // one and (servers) the chips of a server divide or are divided by each; else NULL.
    uint32_t distinct_spares;
    uint32_t distinct_count; // chip_count + 1
    const double *distinct;
    uint32_t server_count; // that hold chips
    const double *servers; // entry k: P(at most k servers are touched), server_count + 1 entries
};
// Fails with INPUT naming the field: no chips or more than WEFT_SPARES_CHIPS_MAX, a probability
// outside [0, 1], a target outside [0, 1), a group larger than the rack, more groups of a kind than
// fit. Exact convolution, O((chips + sum of size * count)^2).
bool weft_rack_spares(struct weft_spares *spares, const struct weft_spares_request *request,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// Whole racks kept free instead, to which the jobs of a rack that lost a chip move: the fewest s
// with P(at most s of rack_count racks lose a chip) >= target, when one loses none with
// probability `whole`. O(rack_count^2).
uint32_t weft_rack_reserve(uint32_t rack_count, double whole, double target,
                           struct weft_arena scratch);

WEFT_API_END

#endif
