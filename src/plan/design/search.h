// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_SEARCH_H
#define WEFT_PLAN_DESIGN_SEARCH_H

// The search of the weft method: designs judged by the simulated iteration. Private to the plan
// room.
//
// Effort is counted in work units (about a nanosecond each on one core of 2020), which follow from
// what was done and never from a clock, so that a seed gives the same plan on every machine and for
// any number of threads.

#include "design.h"

#define WORK_UNITS_PER_S 1e9

struct search {
    const struct weft_taskgraph *graph;
    const struct weft_traffic *traffic;
    const struct weft_cluster *cluster;
    struct weft_sim_options sim;
    uint64_t seed;
    uint32_t threads;
    weft_stop stop;
    bool simplex;
    double paper_units;   // that the paper's topology may cost, on as many paths as this affords
    uint32_t paths_max;   // that a transfer may be split over
    double good_enough_s; // an iteration this short need not be improved
};

// One judged network: quickly, every AllReduce in one round, or truly.
struct verdict {
    double iteration_s; // HUGE_VAL: not feasible
    double work_units;
};

// Simulates one iteration on a network.
struct verdict search_simulate(const struct search *search, const struct weft_network *network,
                               bool quick, struct weft_arena scratch);
// Builds a design's network: fabric, rings by task graph group, min-max routes of the transfers
// beside the rings. False when it does not connect all servers.
bool search_network(struct weft_network *network, double *work_units, const struct search *search,
                    const struct design *design, struct weft_arena *arena,
                    struct weft_arena scratch);
// Both: a design's network, simulated.
struct verdict search_judge(const struct search *search, const struct design *design, bool quick,
                            struct weft_arena scratch);
// The rings of traffic groups as rings of the task graph's groups.
struct weft_ring_set search_graph_rings(const struct weft_ring_set *rings,
                                        const struct search *search, struct weft_arena *arena);
// The best design found with work_units of effort, and its true verdict. `seeds` are tried beside
// the templates. False when no design connects the servers.
bool search_run(struct design *best, struct verdict *verdict, const struct search *search,
                const struct design *seeds, uint32_t seed_count, double work_units,
                struct weft_arena *arena, struct weft_arena scratch);

#endif
