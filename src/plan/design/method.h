// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_METHOD_H
#define WEFT_PLAN_DESIGN_METHOD_H

// The weft method from a task graph to a plan, in steps. Private to the plan room.

#include "search.h"

// A search for this graph, its good_enough_s still 0. Keeps the pointers.
struct search method_open(const struct weft_taskgraph *graph, const struct weft_traffic *traffic,
                          const struct weft_cluster *cluster,
                          const struct weft_plan_options *options);
// An iteration this short cannot be beaten: from the bounds of the task graph alone.
bool method_bound(struct search *search, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// The paper's topology with its own rings and routes, on one path a pair. Returns how many: 0 where
// there is none.
uint32_t method_paper_design(struct design *seed, const struct search *search,
                             struct weft_arena *arena, struct weft_arena scratch);
// The best design found in `seconds` of effort, judged truly. `known` designs are tried as well.
// False when no design connects the servers.
bool method_search(struct design *best, struct verdict *verdict, const struct search *search,
                   double seconds, const struct design *known, uint32_t known_count,
                   struct weft_arena *arena, struct weft_arena scratch);
// Fills topology and network of a plan from a design. False as method_search.
bool method_settle(struct weft_plan *plan, const struct search *search, const struct design *design,
                   struct weft_arena *arena, struct weft_arena scratch);
// Fills in everything that follows from a plan's network and iteration time.
bool method_figures(struct weft_plan *plan, const struct search *search, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
