// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_BUILD_H
#define WEFT_PLAN_BUILD_H

// The plan of a task graph as a part of a larger search, which plans many of them and keeps one:
// what a plan is built of stands apart from the guard and the end of a request (weft_plan_build).
// Private to the plan room.

#include "plan/design/incumbent.h"

// weft_plan_build without its guard: what is found is offered to the incumbent of the larger search
// (may be NULL), which is left as that is.
bool plan_build(struct weft_plan *plan, const struct weft_taskgraph *graph,
                const struct weft_cluster *cluster, const struct weft_plan_options *options,
                struct incumbent *incumbent, const struct weft_environment *environment)
    WEFT_MUST_USE;
// Fills a plan of a design for a task graph, whose options it was searched with: network, metrics,
// certificate; collectives run on rings.
struct plan_subject {
    const struct weft_taskgraph *graph;
    const struct weft_cluster *cluster;
    const struct weft_plan_options *options;
    enum weft_topology_method method;
};
bool plan_fill(struct weft_plan *plan, const struct plan_subject *subject,
               const struct finding *finding, const struct weft_environment *environment)
    WEFT_MUST_USE;

#endif
