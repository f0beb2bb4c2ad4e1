// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_CHECK_CHECK_H
#define WEFT_PLAN_CHECK_CHECK_H

// The parts of weft_plan_check. Private to the plan room.
//
//   check.c ─► fabric.c, collectives.c, job.c ─► findings.c        model.c ─► findings.c

#include "findings.h"

// Each returns whether it found nothing, so that what builds on it can be skipped.
bool check_planes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch);
bool check_links(struct findings *findings, const struct weft_plan *plan,
                 struct weft_arena scratch);
bool check_rings(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_taskgraph *graph, struct weft_arena scratch);
bool check_routes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch);

// Builds every choice's schedules anew and proves them. False: what is played is not sound.
bool check_collectives(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_taskgraph *graph, struct weft_arena scratch);

void check_job(struct findings *findings, const struct weft_plan_job *job,
               struct weft_arena scratch);

#endif
