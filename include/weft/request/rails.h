// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_RAILS_H
#define WEFT_REQUEST_RAILS_H

// A described job on photonic rails, replayed; and what rails cost.

#include "weft/plan/rails.h"
#include "weft/request.h"

WEFT_API_BEGIN

struct weft_rails_request {
    const char *path; // of the job
    enum weft_rail_mode mode;
    struct weft_circuit_delays delays;
    bool within; // nothing is asked for across the iteration's end, as published
    bool plays;  // the plan, in this engine
    enum weft_sim_engine engine;
};
struct weft_rails_result {
    struct weft_rail_job job;
    struct weft_rail_result run;
    struct weft_circuit_delays delays;
    bool within;
    const struct weft_rail_play *play; // NULL: none was asked for
    enum weft_sim_engine engine;       // that it was played in
};
// Fails with INPUT where the file is no job, with INFEASIBLE where the switch is too small. What
// would take more than some seconds in packets is scaled, unless the environment goes on.
bool weft_request_rails(struct weft_rails_result *result, const struct weft_rails_request *request,
                        struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-rails/1"
const char *weft_request_rails_json(const struct weft_rails_result *result,
                                    struct weft_arena *arena);

struct weft_rails_cost_request {
    uint32_t servers;
    const char *prices; // "h200", "gb200"
};
struct weft_rails_cost_result {
    uint32_t servers;
    const struct weft_rail_prices *prices;
    struct weft_rail_bills bills;
};
// Fails with INPUT where no prices have that name.
bool weft_request_rails_cost(struct weft_rails_cost_result *result,
                             const struct weft_rails_cost_request *request,
                             struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-rails-cost/1"
const char *weft_request_rails_cost_json(const struct weft_rails_cost_result *result,
                                         struct weft_arena *arena);

WEFT_API_END

#endif
