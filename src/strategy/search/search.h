// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_SEARCH_SEARCH_H
#define WEFT_STRATEGY_SEARCH_SEARCH_H

// Annealing chains over placements, and the best k placements that they find, no two with the same
// splits, best first. Private to the strategy room; what other rooms may call is in
// weft/strategy.h.

#include "moves.h"
#include "strategy/operators/estimate.h"
#include "weft/base/anneal.h"

// The best placements that a chain has seen, no two with the same splits, best first.
struct best_k {
    uint32_t room;
    uint32_t count;
    struct kept {
        double seconds;
        uint64_t splits; // hash
        uint32_t *choice;
        uint32_t *servers;
    } * kept;
};

// Room for one placement.
struct kept weft_kept_new(const struct weft_strategy_space *space, struct weft_arena *arena);
void weft_kept_copy(struct kept *to, const struct kept *from,
                    const struct weft_strategy_space *space);
void weft_best_k_init(struct best_k *best, const struct weft_strategy_space *space, uint32_t room,
                      struct weft_arena *arena);
// Keeps a placement that fits, if it is among the best.
void weft_best_k_add(struct best_k *best, const struct placement *placement, double seconds);
void weft_best_k_merge(struct best_k *best, const struct best_k *other,
                       const struct weft_strategy_space *space);
void weft_kept_load(struct placement *placement, const struct kept *kept);

// One chain: simulated annealing from a placement.
struct chain {
    const struct weft_strategy_space *space;
    struct placement *placement; // where it starts; where it stands at the end
    struct weft_rng rng;
    uint64_t evaluations; // to make
    struct weft_anneal_cooling cooling;
    uint32_t apart; // operators that never run on all servers at once: so many at least
    bool nested;    // see moves.h
    bool flexflow;  // the artifact's moves
    uint64_t reset; // back to the best every so many evaluations; 0 = never
    weft_stop stop;
    _Atomic uint64_t *progress_ps;
    struct best_k *best;
    // Out.
    uint64_t made;
    double least_bytes;  // memory of the leanest placement seen
    struct kept leanest; // that placement, while none fits; its arrays are the caller's
};

// Operators, beside tables, that run on fewer than all servers.
uint32_t weft_chain_apart(const struct placement *placement);
void weft_chain_run(struct chain *chain, struct weft_arena scratch);

#endif
