// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_STRATEGY_H
#define WEFT_REQUEST_STRATEGY_H

// How a model is split and placed on one fabric that stays as it is.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_strategy_request {
    struct weft_request_job job;           // its model is asked for
    struct weft_request_hardware hardware; // its cluster, too
    const char *fabric;   // a reference fabric; NULL or "full-mesh": every pair is joined
    const char *strategy; // of a transformer: this one ("tp=8,pp=4,micro=2"), not searched
    uint32_t keep;        // how many of the best are returned; 0: 1, of transformers 8
    double seconds;       // effort, counted in work; 0: 5
};

struct weft_strategy_result {
    // What the strategies are for.
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    const char *fabric;
    bool hybrid; // degrees of parallelism of a transformer, not parts of each operator
    // Best first, at least one.
    struct weft_search_result found;
    const uint64_t *simulated_ps; // by the flow engine; 0: it was not asked, the estimate stands
    const struct weft_hybrid_estimate *estimates; // where the time of each goes; NULL: not hybrid
    const char *const *operator_names;
    double wall_s; // how long it took; the door, which has a clock, fills it
};

// Searches, or estimates the one that is given. On a fabric of up to 128 servers the flow engine
// plays each. Fails with USAGE where a strategy is given for a model of operators of its own, with
// INFEASIBLE where nothing fits into memory.
bool weft_request_strategy(struct weft_strategy_result *result,
                           const struct weft_strategy_request *request,
                           struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.strategy/1"
const char *weft_request_strategy_json(const struct weft_strategy_result *result,
                                       struct weft_arena *arena);

WEFT_API_END

#endif
