// SPDX-License-Identifier: Apache-2.0
// "weft.optics-sip/1": a row for each combination, the electrical fabrics once for each number of
// accelerators. docs/sip-ml.md says what each key means.

#include "weft/request/sip.h"
#include "request/json/json.h"

static json_t *bounds_of(const struct weft_certificate *certificate)
{
    json_t *list = json_array();
    for (uint32_t b = 0; b < certificate->bound_count; b++) {
        json_t *bound = json_object();
        weft_set_text(bound, "name", certificate->bounds[b].name);
        weft_set_real(bound, "seconds", certificate->bounds[b].seconds);
        weft_set_text(bound, "reason", certificate->bounds[b].reason);
        json_array_append_new(list, bound);
    }
    return list;
}

static json_t *row_of(const struct weft_sip_row *row, uint32_t rate_count)
{
    const struct weft_sip_result *found = &row->found;
    const struct weft_moving_plan *plan = &found->plan;
    bool ring = plan->fabric == WEFT_MOVING_SIP_RING;
    json_t *object = json_object();
    weft_set_count(object, "gpus", row->accelerators);
    weft_set_count(object, "wavelengths", row->wavelengths);
    weft_set_text(object, "fabric", weft_moving_name(plan->fabric));
    weft_set(object, "dark_time_s", ring ? json_null() : json_real(weft_seconds(row->dark_ps)));
    weft_set_text(object, "why_not", row->why_not);
    if (row->why_not != NULL) {
        return object;
    }
    weft_set_real(object, "iteration_s", plan->iteration_s);
    weft_set_real(object, "still_s", plan->still_s);
    weft_set_real(object, "dark_share", plan->dark_share);
    weft_set_count(object, "changes", plan->change_count);
    weft_set_text(object, "shots", weft_sip_shots_words[found->shots]);
    weft_set_count(object, "dp", found->dp);
    weft_set_count(object, "mp", found->mp);
    weft_set_count(object, "micro_batches", found->micro_batches);
    weft_set_count(object, "batch", found->batch);
    weft_set_real(object, "iterations", found->iterations);
    weft_set_count(object, "hops", found->hop_max);
    weft_set_real(object, "estimate_s", found->estimate_s);
    weft_set(object, "fiber_wavelengths",
             ring ? json_integer((json_int_t)found->fiber_wavelengths) : json_null());
    weft_set_real(object, "lower_bound_s", plan->certificate.lower_bound_s);
    weft_set_real(object, "gap", plan->certificate.gap_ratio);
    weft_set_text(object, "binding", plan->certificate.bounds[plan->certificate.binding].name);
    weft_set(object, "bounds", bounds_of(&plan->certificate));
    weft_set_real(object, "cost_usd", plan->cost.total_usd);
    weft_set_real(object, "power_watts", plan->cost.power_watts);
    weft_set_text(object, "price_note", plan->price_note);
    json_t *speedups = weft_set_list(object, "speedups");
    for (uint32_t r = 0; r < rate_count; r++) {
        json_array_append_new(speedups, json_real(row->speedups[r]));
    }
    return object;
}

const char *weft_request_sip_json(const struct weft_sip_study *result, struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-sip/1");
    weft_set_text(object, "model", result->model.name);
    weft_set_text(object, "accelerator", result->accelerator);
    weft_set_real(object, "cap_Bps", result->cap_Bps);
    json_t *electrical = weft_set_list(object, "electrical");
    for (uint32_t b = 0; b < result->baseline_count; b++) {
        for (uint32_t r = 0; r < result->rate_count; r++) {
            const struct weft_sip_switched *switched = &result->baselines[b].switched[r];
            json_t *one = json_object();
            weft_set_count(one, "gpus", result->baselines[b].accelerators);
            weft_set_real(one, "rate_Bps", result->rates_Bps[r]);
            weft_set_real(one, "iteration_s", switched->iteration_s);
            weft_set_count(one, "dp", switched->dp);
            weft_set_count(one, "mp", switched->mp);
            weft_set_count(one, "batch", switched->batch);
            json_array_append_new(electrical, one);
        }
    }
    json_t *rows = weft_set_list(object, "rows");
    for (uint32_t r = 0; r < result->row_count; r++) {
        json_array_append_new(rows, row_of(&result->rows[r], result->rate_count));
    }
    return weft_set_finish(object, arena);
}
