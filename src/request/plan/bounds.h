// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PLAN_BOUNDS_H
#define WEFT_REQUEST_PLAN_BOUNDS_H

// What is said where a search was stopped before it had a plan: how short any plan can be. These
// bounds need no search, so that they are there whenever the user interrupts. Private to the
// requests.

#include "weft/request/plan.h"

// Fills result->bounds, of a task graph on a cluster. False as weft_certificate_build, and with
// STOPPED when last_stop is raised.
bool weft_request_bound_graph(struct weft_plan_result *result, const struct weft_taskgraph *graph,
                              const struct weft_cluster *cluster,
                              struct weft_request_environment *environment) WEFT_MUST_USE;
// The same of a model, for any strategy. False as weft_coplan_bounds, or so.
bool weft_request_bound_model(struct weft_plan_result *result, const struct weft_study *study,
                              struct weft_request_environment *environment) WEFT_MUST_USE;

#endif
