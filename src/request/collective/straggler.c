// SPDX-License-Identifier: Apache-2.0
// What StragglAR gains over a ring that waits for one late rank, by the alpha-beta model and a
// schedule that is built (docs/stragglar.md). The rows are sampled around the delay that hides the
// reduce-scatter, where the gain saturates.

#include "weft/request/collective.h"

#include <math.h>

struct weft_straggler_cost weft_request_straggler_at(const struct weft_straggler_result *result,
                                                     const struct weft_straggler_request *request,
                                                     double delay_s)
{
    struct weft_straggler_cost cost;
    weft_straggler_cost(&cost, request->rank_count, (double)request->size_bytes, delay_s,
                        request->chunk_factor_max, &result->model);
    return cost;
}

static void add_row(struct weft_straggler_result *result,
                    const struct weft_straggler_request *request, double delay_s)
{
    WEFT_ASSERT(result->row_count < WEFT_STRAGGLER_ROWS_MAX);
    uint32_t at = result->row_count++;
    while (at > 0 && result->delays_s[at - 1] > delay_s) {
        result->delays_s[at] = result->delays_s[at - 1];
        result->rows[at] = result->rows[at - 1];
        at--;
    }
    result->delays_s[at] = delay_s;
    result->rows[at] = weft_request_straggler_at(result, request, delay_s);
}

// The sub-chunk factor is chosen for the delay that is requested. Rounds are counted on a schedule
// that is built and not by a formula, so that they hold for what would run.
bool weft_request_straggler(struct weft_straggler_result *result,
                            const struct weft_straggler_request *request,
                            struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const char *missing = request->rank_count == 0   ? "ranks"
                          : request->rate_Bps <= 0   ? "rate"
                          : request->size_bytes == 0 ? "size"
                                                     : NULL;
    if (missing != NULL) {
        return weft_fail(base->error, WEFT_USAGE, "{%s} is missing or 0", missing);
    }
    uint32_t n = request->rank_count;
    *result = (struct weft_straggler_result){
        .model = {.alpha_s = weft_seconds(request->latency_ps),
                  .beta_s_per_byte = 1 / request->rate_Bps},
    };
    result->cost = weft_request_straggler_at(result, request, weft_seconds(request->delay_ps));
    // The rounds are those of a schedule, not of a formula.
    const struct weft_algorithm_options algorithm = {.kind = WEFT_COLLECTIVE_ALLREDUCE,
                                                     .rank_count = n,
                                                     .chunk_factor = result->cost.chunk_factor,
                                                     .straggler = n - 1};
    struct weft_schedule schedule;
    if (!weft_algorithm_build(&schedule, WEFT_ALGORITHM_STRAGGLAR, &algorithm, base->arena,
                              base->scratch, base->error)) {
        return false;
    }
    result->round_count = schedule.round_count - (n - 2);
    result->step_count = schedule.step_count;
    const struct weft_straggler_cost *cost = &result->cost;
    result->ring_s = weft_request_straggler_at(result, request, 0).ring_s;
    result->speedup = result->ring_s / cost->finish_s;
    struct weft_straggler_cost plain;
    weft_straggler_cost(&plain, n, (double)request->size_bytes, 0, 1, &result->model);
    result->plain_speedup = result->ring_s / plain.finish_s;
    static const double shares[] = {0, 0.25, 0.5, 0.75, 1, 1.5, 2};
    for (uint32_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        add_row(result, request, shares[i] * cost->reduce_s);
    }
    if (cost->break_even_delay_s > 0 && isfinite(cost->break_even_delay_s)) {
        add_row(result, request, cost->break_even_delay_s);
    }
    if (request->delay_given) {
        add_row(result, request, weft_seconds(request->delay_ps));
    }
    return true;
}

bool weft_straggler_begins_at_once(const struct weft_straggler_result *result)
{
    return result->ring_s - result->cost.finish_s >= result->cost.break_even_delay_s;
}

const char *weft_straggler_quicker(const struct weft_straggler_cost *cost)
{
    return cost->stragglar_s < cost->ring_s ? "stragglar" : "ring";
}
