// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_JOINT_DESCENT_H
#define WEFT_PLAN_JOINT_DESCENT_H

// Descent: systematic small changes of a strategy of operators, evaluated by simulation: runs of
// operators take placements that others have, the most promising first by the search's estimate.
// Private to the plan room.

#include "plan/design/search.h"

// What a simulation of a strategy's task graph came to.
struct descent_score {
    double quick_s;     // with every AllReduce in one round; HUGE_VAL = not feasible or not wanted
    double iteration_s; // HUGE_VAL: not feasible, or the quick one was beyond its limit
    double quick_units; // work units of the two simulations
    double full_units;
    double work_units; // of all
};

// Simulates a task graph. limit_s 0: in full; else quickly first, and in full only if that is not
// longer than limit_s.
typedef struct descent_score (*descent_evaluate)(const void *context,
                                                 const struct weft_taskgraph *graph, double limit_s,
                                                 struct weft_arena scratch);

struct descent_job {
    const struct weft_study *study;
    const struct weft_strategy_space *space; // its estimates order the steps
    descent_evaluate evaluate;
    const void *context;
    uint32_t threads;
    weft_stop stop;
    double work_units;      // may be spent
    uint32_t patience;      // changes in a row that may gain nothing
    uint32_t perturbations; // random changes first, to get out of where a descent ended
    struct weft_rng *rng;
    double goal_s; // what stays this far behind is not followed; HUGE_VAL = no matter
};

// A evaluation on a network that stands, after `work_units` of work.
struct descent_score descent_simulate(const struct search *search,
                                      const struct weft_network *network, double limit_s,
                                      double work_units, struct weft_arena scratch);
// Descends from *strategy, whose end takes its place, in `arena`. Batches are evaluated side by
// side, and the best of one is taken: the same end for any number of threads. *iteration_s is
// HUGE_VAL where perturbations lead nowhere or the strategy cannot be evaluated. Returns the work
// units.
double descent_run(struct weft_strategy *strategy, double *iteration_s,
                   const struct descent_job *job, struct weft_arena *arena,
                   struct weft_arena scratch);

#endif
