// SPDX-License-Identifier: Apache-2.0
// Fabrics whose circuits move, beside those that one buys: each has a planner of its own
// (weft/plan/moving.h), whose answer becomes a row like any other.

#include "request/buy/buy.h"
#include "weft/plan/mixnet.h"
#include "weft/plan/rails.h"
#include "weft/plan/sip.h"

#include <math.h>
#include <string.h>

#define DARK_PS 25000000000u // 25 ms: beam steering (Polatis, Calient)

static bool plan_fabric(struct weft_moving_plan *plan, enum weft_moving_fabric fabric,
                        const struct weft_study *study, const struct weft_moving_options *options,
                        const struct weft_environment *environment)
{
    switch (fabric) {
    case WEFT_MOVING_RAILS:
        return weft_rails_plan(plan, study, options, environment);
    case WEFT_MOVING_MIXNET:
        return weft_mixnet_plan(plan, study, NULL, options, environment);
    case WEFT_MOVING_SIP_OCS:
    case WEFT_MOVING_SIP_RING:
        return weft_sip_plan(plan, study, fabric, NULL, options, environment);
    case WEFT_MOVING_COUNT:
    default:
        WEFT_ASSERT(false);
        return false;
    }
}

// The plan's strategy as the answer of a search that found one; the estimate says where its time
// goes on one switch, as no network that stands still is there.
static bool keep_strategy(struct weft_strategy_result *found, const struct weft_moving_plan *plan,
                          const struct weft_study *study,
                          const struct weft_environment *environment)
{
    struct weft_candidate *candidate = WEFT_NEW(environment->arena, struct weft_candidate, 1);
    uint64_t *simulated_ps = WEFT_NEW(environment->arena, uint64_t, 1);
    struct weft_hybrid_estimate *estimate =
        WEFT_NEW(environment->arena, struct weft_hybrid_estimate, 1);
    candidate->strategy = plan->strategy;
    candidate->estimate_ps = weft_picoseconds(plan->iteration_s);
    simulated_ps[0] = plan->estimate ? 0 : candidate->estimate_ps;
    found->hybrid = plan->strategy.kind == WEFT_STRATEGY_HYBRID;
    if (found->hybrid) {
        if (!weft_hybrid_estimate(estimate, &plan->strategy.hybrid, study, environment->scratch,
                                  environment->error)) {
            return false;
        }
        found->estimates = estimate;
    }
    found->fabric = weft_moving_name(plan->fabric);
    found->simulated_ps = simulated_ps;
    found->found = (struct weft_search_result){1, candidate, 1};
    return true;
}

bool weft_buy_plan_moving(struct weft_buy_row *row, const struct weft_buy_request *request,
                          uint64_t dark_ps, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_strategy_result *given = &row->found;
    const struct weft_study study = {
        .model = &given->model, .cluster = &given->cluster, .setting = &given->setting};
    struct weft_strategy strategy;
    if (request->strategy != NULL &&
        !weft_request_hybrid(&strategy, &study, request->strategy, base->error)) {
        return false;
    }
    struct weft_moving_options options = {
        .delays = WEFT_CIRCUIT_IDEAL(dark_ps != WEFT_NEVER ? dark_ps : DARK_PS),
        .given = request->strategy != NULL ? &strategy : NULL,
        .seconds = request->seconds,
    };
    if (request->delays == WEFT_DELAYS_COMMODITY) {
        options.delays = WEFT_CIRCUIT_COMMODITY;
        options.delays.dark_ps = dark_ps != WEFT_NEVER ? dark_ps : options.delays.dark_ps;
    }
    struct weft_moving_plan *plan = WEFT_NEW(base->arena, struct weft_moving_plan, 1);
    if (!plan_fabric(plan, weft_moving_named(row->fabric), &study, &options, base) ||
        !keep_strategy(&row->found, plan, &study, base)) {
        return false;
    }
    weft_buy_price_parts(row, &plan->parts, &given->cluster.prices, base->arena);
    plan->schedule.delays = options.delays; // those of no schedule, too
    if (given->model.transformer != NULL && plan->strategy.kind != WEFT_STRATEGY_HYBRID) {
        row->time_note = "its strategy divides operators, which are timed one by one; strategies "
                         "of layers are timed otherwise, so that rows differ by this, too";
    }
    row->no_bill = "its ports are priced instead of its switches";
    row->price_note = plan->price_note != NULL ? plan->price_note : row->price_note;
    row->moving = plan;
    return true;
}

// ---- over dark times ----

// The ideal switch is a measure for the others: nobody sells it.
static bool may_win(const struct weft_buy_row *row)
{
    return strcmp(row->fabric, "ideal") != 0;
}

// The rows of the first batch at one dark time; a fabric that has no plan then counts as none.
static bool fill_point(struct weft_buy_moved *moved, const struct weft_buy_batch *batch,
                       const struct weft_buy_request *request,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    double *iteration_s = WEFT_NEW(base->arena, double, batch->row_count);
    double *dark_share = WEFT_NEW(base->arena, double, batch->row_count);
    double least_s = HUGE_VAL;
    moved->fastest = WEFT_NONE;
    for (uint32_t r = 0; r < batch->row_count; r++) {
        struct weft_buy_row row = batch->rows[r];
        if (row.why_not != NULL) {
            continue;
        }
        if (row.moving != NULL &&
            !weft_buy_plan_moving(&row, request, moved->dark_ps, environment)) {
            if (base->error->code == WEFT_USAGE || base->error->code == WEFT_IO) {
                return false;
            }
            *base->error = (struct weft_error){.code = WEFT_OK};
            continue;
        }
        iteration_s[r] = row.moving != NULL ? row.moving->iteration_s : row.iteration_s;
        dark_share[r] = row.moving != NULL ? row.moving->dark_share : 0;
        least_s = may_win(&row) ? fmin(least_s, iteration_s[r]) : least_s;
    }
    for (uint32_t r = batch->row_count; r-- > 0;) {
        bool is_as_fast = may_win(&batch->rows[r]) && iteration_s[r] > 0 &&
                          iteration_s[r] <= least_s * AS_FAST_RATIO;
        moved->fastest = is_as_fast ? r : moved->fastest;
    }
    moved->iteration_s = iteration_s;
    moved->dark_share = dark_share;
    return true;
}

bool weft_buy_fill_moved(struct weft_buy_result *result, const struct weft_buy_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_time_list *dark = &request->dark_times;
    if (dark->count < 2) {
        return true;
    }
    struct weft_buy_moved *moved =
        WEFT_NEW(environment->base.arena, struct weft_buy_moved, dark->count);
    for (uint32_t i = 0; i < dark->count && !weft_stopped(environment->base.stop); i++) {
        moved[i].dark_ps = dark->ps[i];
        if (!fill_point(&moved[i], &result->batches[0], request, environment)) {
            return false;
        }
        result->moved_count = i + 1;
    }
    result->moved = moved;
    return true;
}
