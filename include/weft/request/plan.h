// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PLAN_H
#define WEFT_REQUEST_PLAN_H

// A fabric for a job, with its certificate: for a task graph, or for a model whose strategy is
// searched together with the fabric.

#include "weft/plan.h"
#include "weft/report.h"
#include "weft/request/parameter.h"
#include "weft/request/strategy.h"

WEFT_API_BEGIN

struct weft_plan_request {
    const char *path;            // a job's file, as weft_request_load takes it; NULL: job.model
    struct weft_request_job job; // of a task graph: nothing
    struct weft_request_trace trace;
    struct weft_request_hardware hardware;
    struct weft_request_search search;
    enum weft_plan_collectives collectives;
    enum weft_sim_engine last_engine; // that evaluates the search's last candidates
    bool report;                      // the result has a page, too
    struct weft_report_origin origin; // that the page states
    // Of a model alone.
    struct weft_plan_request_model {
        bool given; // something of this was asked for
        enum weft_coplan_variant variant;
        bool all_variants;    // both, and what the other three come to
        uint32_t rounds;      // between strategy and topology; 0: till nothing better is found
        const char *strategy; // of a transformer: this strategy; only its fabric is searched
    } model;
};

// Its parameters by name, in groups; the names of jobs and files are the door's.
extern const struct weft_parameter_group weft_plan_parameters[];

struct weft_plan_result {
    const struct weft_plan *plan; // NULL: `estimate` or `bounds` has the answer
    const char *page; // HTML that needs no other file; NULL: not asked for, or stopped before it
    // Where a model's task graphs are too large to simulate: strategies by estimate, no fabric.
    struct weft_strategy_result *estimate;
    // Where the search was stopped before it had a plan: bounds that hold for every plan.
    const struct weft_certificate *bounds;
    double wall_s; // how long it took; the door, which has a clock, fills it
};

// Fails as weft_plan_build and weft_coplan_build do; with USAGE where a task graph comes with what
// is for models.
bool weft_request_plan(struct weft_plan_result *result, const struct weft_plan_request *request,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// The plan's file, to which a model's plan adds wall_s; or "weft.strategy/1" of an estimate, or
// "weft.bounds/1".
const char *weft_request_plan_json(const struct weft_plan_result *result, struct weft_arena *arena);

WEFT_API_END

#endif
