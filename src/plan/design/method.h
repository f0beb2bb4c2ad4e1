// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_METHOD_H
#define WEFT_PLAN_DESIGN_METHOD_H

// The weft method from a task graph to a design and its network, in steps. Private to the plan
// room.
//
// weft_plan_build takes the steps once, the joint search of a model (plan/joint) for each strategy
// that it gives a topology.

#include "search.h"

// A search for this graph, its good_enough_s still 0. Keeps the pointers.
struct search method_open(const struct weft_taskgraph *graph, const struct weft_traffic *traffic,
                          const struct weft_cluster *cluster,
                          const struct weft_plan_options *options,
                          const struct weft_environment *environment);
// Evaluates the paper's topology in full and offers it where there is no plan yet: what comes
// before it comes before the first answer.
void method_offer_first(struct search *search, struct weft_arena scratch);
// An iteration this short cannot be beaten: from the bounds of the task graph alone.
bool method_bound(struct search *search, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// The paper's topology with its own rings and routes, on one path a pair. Returns how many: 0 where
// there is none.
uint32_t method_paper_design(struct weft_design *seed, const struct search *search,
                             struct weft_arena *arena, struct weft_arena scratch);
// The best design found in `seconds` of effort, evaluated in full. `known` designs are tried as
// well. False when no design connects the servers.
bool method_search(struct scored_design *best, const struct search *search, double seconds,
                   const struct seeds *known, struct weft_arena *arena, struct weft_arena scratch);
// Fills topology and network of a plan from a design. False as method_search.
bool method_publish(struct weft_plan *plan, const struct search *search,
                    const struct weft_design *design, struct weft_arena *arena,
                    struct weft_arena scratch);

#endif
