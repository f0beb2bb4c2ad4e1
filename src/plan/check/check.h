// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_CHECK_CHECK_H
#define WEFT_PLAN_CHECK_CHECK_H

// The parts of weft_plan_check. Private to the plan room.

#include "weft/plan.h"

#define VIOLATIONS_MAX 100u

// Violations in the making.
struct findings {
    struct weft_violation *list;
    uint32_t count;
    struct weft_arena *arena;
};

// Notes one violation; those beyond the list's end are dropped.
void findings_add(struct findings *findings, const char *format, ...) WEFT_PRINTF(2, 3);

// Each returns whether it found nothing, so that what builds on it can be skipped.
bool check_planes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch);
bool check_links(struct findings *findings, const struct weft_plan *plan,
                 struct weft_arena scratch);
bool check_rings(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_taskgraph *graph, struct weft_arena scratch);
bool check_routes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch);

void check_job(struct findings *findings, const struct weft_plan_job *job,
               struct weft_arena scratch);

#endif
