// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_PACKETS_H
#define WEFT_PLAN_DESIGN_PACKETS_H

// The last candidates of a search, evaluated by packets. Private to the plan room.
//
// The flow engine finds them, since packets take far longer; packets then have the last word,
// because queues and windows reorder designs that are nearly equal to a fluid (docs/plan.md,
// --judge).

#include "incumbent.h"

// A design that the flow engine has evaluated, for the task graph of its search.
struct finalist {
    struct search search; // of packets_open
    struct weft_design design;
    struct finding now; // what its search's incumbent is to say of it
    struct score flow;
    struct score score; // by packets; HUGE_VAL = not evaluated, or not feasible
};
#define FINALISTS_MAX 32u

// The share of a search's effort that is kept back for packets; 0 with the flow engine.
double packets_share(const struct weft_plan_options *options);
// The search of a finalist: as `search`, but it simulates with options->last_sim.
struct search packets_open(const struct search *search, const struct weft_plan_options *options);
// Evaluates the finalists, which stand in the order of their flow times, while the effort lasts; at
// least one is. Returns the best, WEFT_NONE where the search was stopped before any ended;
// `evaluated` counts those that were. Each is offered to the incumbent, once those before it have
// been. The same for any number of threads.
uint32_t packets_evaluate(struct finalist *finalists, uint32_t count, double work_units,
                          uint32_t *evaluated);

#endif
