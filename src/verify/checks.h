// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_CHECKS_H
#define WEFT_VERIFY_CHECKS_H

// The parts of weft_verify_plan.
//
//   verify.c ─► fabric.c, topology.c, cost.c, loads.c, bounds.c, collectives.c, job.c, model.c
//   bounds.c ─► ideal.c, loads.c      verify.c ─► time.c ─► play.c ─► rates.c

#include "findings.h"

// ---- what needs the file alone ----

// Each returns whether it found nothing, so that what builds on it can be skipped.
bool check_planes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch);
bool check_links(struct findings *findings, const struct weft_plan *plan,
                 struct weft_arena scratch);
bool check_rings(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_taskgraph *graph, struct weft_arena scratch);
bool check_routes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch);
// Hops, diameter, generators, and the rings that the planes were made for. After the checks above.
void check_topology(struct findings *findings, const struct weft_plan *plan,
                    struct weft_arena scratch);
// Parts, price book, cost and power.
void check_cost(struct findings *findings, const struct weft_plan *plan);
// Names, classes, who binds, the gap; no bound above the iteration.
void check_certificate(struct findings *findings, const struct weft_plan *plan);
// Strategy, memory, rounds and variants.
void check_job(struct findings *findings, const struct weft_plan *plan, struct weft_arena scratch);

// ---- what needs the task graph ----

// Whether what is played is the job with a sound schedule for each collective that was chosen one.
bool check_collectives(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_verify_input *input, bool *balanced,
                       struct weft_arena scratch);
// Whether all that sends has a route. `graph` is the job, `played` the same with the chosen
// collectives as transfers.
bool check_routed(struct findings *findings, const struct weft_plan *plan,
                  const struct weft_taskgraph *played, struct weft_arena scratch);
void check_loads(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_taskgraph *played, struct weft_arena scratch);
// Every bound but those of any strategy, from the task graph.
void check_bounds(struct findings *findings, const struct weft_plan *plan,
                  const struct weft_taskgraph *graph, bool balanced, struct weft_arena scratch);
// The iteration, played; returns the number of its flows.
uint64_t check_time(struct findings *findings, const struct weft_plan *plan,
                    const struct weft_taskgraph *graph, const struct weft_taskgraph *played,
                    struct weft_arena scratch);

// ---- what needs the model ----

void check_model(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_verify_model *model, struct weft_arena scratch);

#endif
