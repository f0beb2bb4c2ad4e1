// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PLAN_H
#define WEFT_FORMAT_PLAN_H

// Plans, and the strategies in them (JSON, schema weft.plan/2): docs/plan-format.md.

#include "weft/base.h"
#include "weft/plan.h"
#include "weft/strategy.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// Deterministic text: the same plan gives the same bytes.
const char *weft_plan_write(const struct weft_plan *plan, struct weft_arena *arena);
// The hash that the file of this plan states. A file that was changed after it was written has
// another one than its contents.
uint64_t weft_plan_digest(const struct weft_plan *plan, struct weft_arena scratch);
bool weft_plan_read(struct weft_plan *plan, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_plan_load(struct weft_plan *plan, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The value of "graph" in a plan file, alone.
const char *weft_taskgraph_write(const struct weft_taskgraph *graph, struct weft_arena *arena);

// The value of "strategy" in a plan file, alone; names of operators for the operators space.
const char *weft_strategy_write(const struct weft_strategy *strategy, const char *const *names,
                                uint32_t operator_count, struct weft_arena *arena);

WEFT_API_END

#endif
