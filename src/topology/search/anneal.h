// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_SEARCH_ANNEAL_H
#define WEFT_TOPOLOGY_SEARCH_ANNEAL_H

// Annealing of designs by their (weighted) sum of distances. Private to the topology room.
//
// Effort is counted in work units that the moves and sums themselves report, never by a clock, so
// that a seed and an effort give one answer on every machine and for any number of threads.

#include "hops.h"
#include "weft/base.h"
#include "weft/topology.h"

#define WEFT_WORK_UNITS_PER_S 900000000.0

// What is annealed; seed, threads and the request to stop are the environment's.
struct weft_hops_options {
    uint32_t server_count;
    uint32_t cycle_count;    // Hamiltonian, both ways; two ports each
    uint32_t ring_count;     // Hamiltonian, one way; one port each
    uint32_t matching_count; // one port each
    const double *weights;   // n*n, or NULL = every pair 1
    double work_units;       // of all chains together
    uint32_t steps_max;      // of one chain
    uint64_t sum_bound;      // nothing is below this sum of unweighted distances: stop there
};

struct weft_hops_found {
    struct weft_design design; // the best found, lit, in the environment's arena
    uint64_t sum;              // its weighted sum of distances, in the units of weft_hops
    uint64_t steps;
    bool stopped;
};

// Anneals chains of several symmetries (weights: only the trivial one), first one short chain each,
// then two long chains of each of the best two, and keeps the best design of all (ties: the first
// chain). O(work_units).
void weft_hops_search(struct weft_hops_found *found, const struct weft_hops_options *options,
                      const struct weft_environment *environment);

// One chain: anneals `design` by its distances and keeps the best in `best` (of the same shape).
struct weft_hops_chain {
    struct weft_design *design;
    struct weft_design *best;
    struct weft_hops *hops; // counts the work
    double unit;            // temperatures are multiples of it
    double heat;            // the first one is this share of the usual, 0..1
    double work_units;
    uint32_t steps_max;
    uint64_t bound; // stops at this sum
    weft_stop stop;
    uint64_t best_sum; // answers
    uint64_t steps;
    bool stopped;
};
void weft_hops_chain(struct weft_hops_chain *chain, struct weft_rng *rng,
                     struct weft_arena scratch);

// Walecki's decomposition of the complete graph (Lucas, "Recreations mathematiques" II, 1892;
// Alspach 2008): cycles that share no edge, as many as there are parts, and a matching disjoint
// from them. The order of one cycle into servers[n]; index < (n-1)/2.
void weft_walecki_cycle(uint32_t *servers, uint32_t server_count, uint32_t index);
// Pairs (2i, 2i+1) that no cycle below `index` uses, into servers[n]; odd n: the last stays single.
void weft_walecki_matching(uint32_t *servers, uint32_t server_count, uint32_t index);

#endif
