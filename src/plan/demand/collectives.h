// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DEMAND_COLLECTIVES_H
#define WEFT_PLAN_DEMAND_COLLECTIVES_H

// Which collectives run as something else than rings. Private to the plan room.

#include "plan/check/check.h"
#include "plan/design/search.h"

// Chooses for a plan whose network and iteration are settled, and puts choices and the shorter
// iteration into it; the rings stay where nothing is better. `work_units` of effort.
void collectives_choose(struct weft_plan *plan, const struct search *search, double work_units,
                        struct weft_arena *arena, struct weft_arena scratch);
// The certificate of a plan: without the bounds that its choices' schedules do not keep to.
bool collectives_certify(struct weft_certificate *certificate, const struct weft_plan *plan,
                         const struct weft_taskgraph *graph, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Builds every choice's schedules anew and proves them. False: what is played is not sound.
bool check_collectives(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_taskgraph *graph, struct weft_arena scratch);

#endif
