// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DEMAND_TIES_H
#define WEFT_PLAN_DEMAND_TIES_H

// Which task of a device ran first where several became ready at one instant: a plan's file keeps
// it, since the checker of plans plays the iteration anew and could not know. Private to the plan
// room.

#include "weft/plan.h"
#include "weft/sim.h"

// The ties of an iteration that the flow engine played; none where tasks need more than a device.
// O(tasks log tasks + edges).
void ties_build(struct weft_plan_ties *ties, const struct weft_taskgraph *graph,
                const struct weft_task_times *times, struct weft_arena *arena,
                struct weft_arena scratch);
// A copy that takes no more memory than it needs.
struct weft_plan_ties ties_copy(const struct weft_plan_ties *ties, struct weft_arena *arena);

#endif
