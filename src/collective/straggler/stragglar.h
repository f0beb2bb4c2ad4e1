// SPDX-License-Identifier: Apache-2.0
#ifndef STRAGGLAR_H
#define STRAGGLAR_H

// StragglAR (arXiv 2505.23523): an AllReduce for one late rank, "the straggler". The m = n - 1
// others, "the healthy", reduce-scatter while it is late; then it meets one of them a round, chunk
// by chunk, and final chunks spread among the healthy. K = m * factor chunks; chunk c belongs to
// healthy rank c mod m and is exchanged in round c; rounds count from the straggler's arrival.

#include "weft/collective.h"

#define STRAGGLAR_CHUNKS_MAX (1u << 30)

// How one chunk spreads, the same for all but for a rotation: healthy rank (c + y) mod m gets chunk
// c in round c + age[y], from healthy rank (c + sender[y]) mod m. age[0] = 0: from the straggler.
struct stragglar_pattern {
    uint32_t healthy_count;
    uint32_t age_last;      // the largest age
    const uint32_t *age;    // [healthy_count]
    const uint32_t *sender; // [healthy_count], sender[0] = WEFT_NONE
};

// Finds a pattern for m >= 3 by M. Hall's theorem (1952) and a matching; deterministic. age_last is
// L for n = 2^L, else L + 1 for every n that was tried (docs/stragglar.md), L = ceil(log2 n).
// False: none found. O(m^2) a try.
bool stragglar_find_pattern(struct stragglar_pattern *pattern, uint32_t healthy_count,
                            struct weft_arena *arena, struct weft_arena scratch);

// A final chunk on its way to one more healthy rank; `from` is healthy_count for the straggler.
struct stragglar_move {
    uint32_t round;
    uint32_t chunk;
    uint32_t from;
    uint32_t to;
};

struct stragglar_plan {
    uint32_t healthy_count;
    uint32_t chunk_count; // K
    uint32_t round_count;
    struct stragglar_pattern pattern; // in rounds 0 .. K-1
    uint32_t move_count;
    const struct stragglar_move *moves; // from round K on, in order of round
};

// The lower bound, the fewest rounds that any order of exchanges needs: K - 1 + ceil(log2 n)
// (stragglar_bound.c has the proof).
uint32_t stragglar_bound(uint32_t rank_count, uint32_t chunk_count);
// The rounds of the straggler's part. n >= 4, K = (n-1) * factor. False: no pattern found.
bool stragglar_make_plan(struct stragglar_plan *plan, uint32_t rank_count, uint32_t factor,
                         struct weft_arena *arena, struct weft_arena scratch);

// Tries to end in `round_count` rounds, by a matching a round from round K on: fills plan->moves
// and plan->round_count. False: this seed does not.
bool stragglar_spread(struct stragglar_plan *plan, uint32_t round_count, uint64_t seed,
                      struct weft_arena *arena, struct weft_arena scratch);

// Ends as the pattern goes on, in K + age_last rounds.
void stragglar_end_by_pattern(struct stragglar_plan *plan, struct weft_arena *arena);

// The closed form with nobody late; n >= 3, factor > 0.
double stragglar_seconds(uint32_t rank_count, uint32_t factor, double size_bytes,
                         const struct weft_cost_model *model);

bool weft_stragglar_build(struct weft_schedule *schedule,
                          const struct weft_algorithm_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
