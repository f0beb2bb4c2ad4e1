// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PLAN_STRATEGY_H
#define WEFT_REQUEST_PLAN_STRATEGY_H

// What the request for a plan takes of the request for a strategy: the search itself, for the
// answer by estimate where a model is too large to simulate, and the parser of a transformer's
// strategy that is given instead of searched.

#include "weft/request/strategy.h"

// The strategies of result->model on result->cluster by result->setting, which the caller has
// filled.
bool weft_request_strategy_of(struct weft_strategy_result *result,
                              const struct weft_strategy_request *request,
                              struct weft_request_environment *environment) WEFT_MUST_USE;

// A transformer's strategy by its specification ("tp=8,pp=4,micro=2"), with the setting's overlap
// where that is stated. Fails with USAGE where the model is no transformer or overlap is stated
// twice, with INPUT where the degrees leave accelerators idle.
bool weft_request_hybrid(struct weft_strategy *strategy, const struct weft_study *study,
                         const char *specification, struct weft_error *error) WEFT_MUST_USE;

#endif
