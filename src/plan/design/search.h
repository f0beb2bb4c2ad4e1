// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_SEARCH_H
#define WEFT_PLAN_DESIGN_SEARCH_H

// The search over designs by the simulated iteration itself. Private to the plan room.
//
//   templates.c ─► search.c ─► network.c ─► topology, routing, sim
//   seeds: method.c            one design as a network, and its score
//
// Effort is counted in work units (about a nanosecond each on one core of 2020), which follow from
// what was done and never from a clock, so that a seed gives the same plan on every machine and for
// any number of threads.

#include "templates.h"

#define WORK_UNITS_PER_S 1e9
// On so many servers a quick evaluation takes long, too: designs are screened by the time of their
// busiest link before, and the best of them evaluated.
#define SCREENED_SERVERS_MIN 1025u

struct design_ends;
struct incumbent;

// What an evaluation of a network came to: a quick one, with every AllReduce in one round, or a
// full one.
struct score {
    double iteration_s; // HUGE_VAL: not feasible
    double work_units;
};

struct search {
    const struct weft_taskgraph *graph;
    const struct weft_traffic *traffic;
    const struct weft_cluster *cluster;
    struct weft_sim_options sim;
    uint64_t seed;
    uint32_t threads;
    weft_stop stop;
    bool simplex;
    double paper_units; // that the paper's topology may cost, on as many paths as this affords
    uint32_t paths_max; // that a transfer may be split over
    bool paper_known;   // the paper's topology on one path was evaluated in full
    struct score paper_score;
    double good_enough_s;        // an iteration this short need not be improved
    struct design_ends *ends;    // filled by search_run beside the best; NULL = nobody asks
    struct incumbent *incumbent; // is offered what was evaluated in full; NULL = nobody asks
    // What collectives run as while networks are evaluated; none: on each network's rings. Routes
    // then heed the transfers alone.
    const struct weft_collective_choice *choices;
    uint32_t choice_count;
};

static inline struct weft_environment search_environment(const struct search *search,
                                                         struct weft_arena *results,
                                                         struct weft_arena temporaries,
                                                         struct weft_error *error)
{
    return (struct weft_environment){.arena = results,
                                     .scratch = temporaries,
                                     .seed = search->seed,
                                     .threads = search->threads,
                                     .stop = search->stop,
                                     .error = error};
}

struct scored_design {
    struct weft_design design;
    struct score score;
};
// What a search ended with, evaluated in full: the best first, no two of one time.
#define DESIGN_ENDS_MAX 24u
struct design_ends {
    struct scored_design list[DESIGN_ENDS_MAX];
    uint32_t count;
};
struct seeds {
    const struct weft_design *designs;
    uint32_t count;
};

// Simulates one iteration on a network.
struct score search_simulate(const struct search *search, const struct weft_network *network,
                             bool quick, struct weft_arena scratch);
// The same in full, with the ties of the iteration (plan/demand/ties.h); none, and first is NULL,
// where it is not the flow engine's or has none to find.
struct score search_simulate_ties(struct weft_plan_ties *ties, const struct search *search,
                                  const struct weft_network *network, struct weft_arena *arena,
                                  struct weft_arena scratch);
// Before any evaluation: how long the busiest link of a design takes for all that an iteration puts
// on it. HUGE_VAL where it does not connect all servers.
struct score search_screen(const struct search *search, const struct weft_design *design,
                           struct weft_arena scratch);
// Builds a design's network: fabric, rings by task graph group, min-max routes of the transfers
// beside the rings. False when it does not connect all servers.
bool search_network(struct weft_network *network, double *work_units, const struct search *search,
                    const struct weft_design *design, struct weft_arena *arena,
                    struct weft_arena scratch);
// Both: a design's network, simulated.
struct score search_evaluate(const struct search *search, const struct weft_design *design,
                             bool quick, struct weft_arena scratch);
// Evaluates a design in full and offers it to the incumbent. HUGE_VAL where there is none.
struct score search_offer(const struct search *search, const struct weft_design *design,
                          struct weft_arena scratch);
// The rings of traffic groups as rings of the task graph's groups.
struct weft_ring_set rings_by_graph_group(const struct weft_ring_set *rings,
                                          const struct weft_taskgraph *graph,
                                          const struct weft_traffic *traffic,
                                          struct weft_arena *arena);
// The best design found with work_units of effort, and its full score. `seeds` are tried beside the
// templates. False when no design connects the servers.
bool search_run(struct scored_design *best, const struct search *search, const struct seeds *seeds,
                double work_units, struct weft_arena *arena, struct weft_arena scratch);

#endif
