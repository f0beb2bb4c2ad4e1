// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_STRATEGY_H
#define WEFT_REQUEST_STRATEGY_H

// How a model is split and placed on one fabric that stays as it is.

#include "weft/fabric.h"
#include "weft/request.h"

WEFT_API_BEGIN

// The fabric where none is named: one that can be built for any number of servers.
#define WEFT_STRATEGY_FABRIC "fat-tree"

struct weft_strategy_request {
    struct weft_request_job job;           // its model is asked for
    struct weft_request_hardware hardware; // its cluster, too
    const char *fabric; // a reference fabric, or "full-mesh": every pair joined, which cannot be
                        // built; NULL: WEFT_STRATEGY_FABRIC
    struct weft_fabric_options shape; // its radix and oversubscription
    const char *strategy; // of a transformer: this one ("tp=8,pp=4,micro=2"), not searched
    // Of one strategy alone, of a transformer: an iteration that was measured ("6.34s"), to be
    // accounted for beside the estimate; NULL: none.
    const char *iteration;
    // The same, for the stack's share of the kernels' speed to be solved for first
    // (docs/hybrid.md): "23.66s,servers=384,batch=6144", where that was measured with other servers
    // or samples.
    const char *calibrate;
    uint32_t keep;    // how many of the best are returned; 0: 1, of transformers 8
    double seconds;   // effort, counted in work as that of a plan; 0: 10
    const char *step; // what its progress is called; NULL: "searching"
};

struct weft_strategy_result {
    // What the strategies are for.
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    const char *fabric;
    bool hybrid; // degrees of parallelism of a transformer, not parts of each operator
    // Best first, at least one: by simulation where simulated_ps says so, else by estimate.
    struct weft_search_result found;
    const uint64_t *simulated_ps; // by the flow engine; 0: it was not asked, the estimate stands
    const char *why_estimated;    // of the best one; NULL: it was simulated
    const struct weft_hybrid_estimate *estimates; // where the time of each goes; NULL: not hybrid
    const char *const *operator_names;
    uint64_t measured_ps; // the request's iteration; 0: none was stated
    bool calibrated;      // setting.stack is one of this request alone
    bool stopped;         // the search was left before its end: these are the best until then
    double wall_s;        // how long it took; the door, which has a clock, fills it
};

// Searches, or takes the one that is given. On a fabric of up to 128 servers the flow engine plays
// the best and ranks them, of transformers on larger ones, too (weft_plan_rank_strategies). Fails
// with USAGE where a strategy is given for a model of operators of its own, with INFEASIBLE where
// nothing fits into memory.
bool weft_request_strategy(struct weft_strategy_result *result,
                           const struct weft_strategy_request *request,
                           struct weft_request_environment *environment) WEFT_MUST_USE;
// What a candidate takes: simulated where it was, else estimated.
uint64_t weft_request_strategy_ps(const struct weft_strategy_result *result, uint32_t candidate);
// Model FLOPs over that time and the peak of all accelerators; 0 where it is not hybrid.
double weft_request_strategy_mfu(const struct weft_strategy_result *result, uint32_t candidate);
// Of a transformer: tokens a second and model FLOPs utilization of an iteration of that length.
double weft_request_strategy_tokens_per_s(const struct weft_strategy_result *result,
                                          uint64_t iteration_ps);
// By how much of the measured iteration the best candidate's is longer.
double weft_request_strategy_off(const struct weft_strategy_result *result);
double weft_request_strategy_mfu_at(const struct weft_strategy_result *result, uint32_t candidate,
                                    uint64_t iteration_ps);
// "weft.strategy/1"
const char *weft_request_strategy_json(const struct weft_strategy_result *result,
                                       struct weft_arena *arena);

WEFT_API_END

#endif
