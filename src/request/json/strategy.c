// SPDX-License-Identifier: Apache-2.0
// "weft.strategy/1": strategies of a model on one fabric, best first. The members of the best one
// stand at the top, too, so that a script that wants one answer need not look into the list of
// candidates.

#include "weft/request/strategy.h"
#include "request/json/json.h"
#include "weft/format.h"

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    WEFT_ASSERT(value != NULL);
    return value;
}

static json_t *memory_object(const struct weft_strategy_result *result,
                             const struct weft_strategy *strategy)
{
    json_t *memory = json_object();
    weft_set_real(memory, "max_bytes", strategy->memory_max_bytes);
    weft_set_real(memory, "limit_bytes", result->setting.memory_limit_bytes);
    return memory;
}

// The members that stand for one strategy.
static void set_candidate(json_t *object, const struct weft_strategy_result *result, uint32_t i,
                          struct weft_arena *arena)
{
    const struct weft_candidate *candidate = &result->found.candidates[i];
    weft_set_real(object, "iteration_s", weft_seconds(weft_request_strategy_ps(result, i)));
    weft_set_truth(object, "simulated", result->simulated_ps[i] > 0);
    weft_set_real(object, "estimate_s", weft_seconds(candidate->estimate_ps));
    const char *text = weft_strategy_write(&candidate->strategy, result->operator_names,
                                           result->model.operator_count, arena);
    weft_set(object, "strategy", parse(text));
    weft_set(object, "memory", memory_object(result, &candidate->strategy));
    weft_set(object, "flops_utilization",
             result->hybrid ? json_real(weft_request_strategy_mfu(result, i)) : json_null());
    if (result->hybrid) { // of the same iteration
        const struct weft_hybrid_estimate *estimate = &result->estimates[i];
        double mfu = weft_request_strategy_mfu(result, i);
        weft_set_real(object, "hardware_flops_utilization",
                      mfu / estimate->model_flops_utilization *
                          estimate->hardware_flops_utilization);
        weft_set_real(
            object, "tokens_per_s",
            weft_request_strategy_tokens_per_s(result, weft_request_strategy_ps(result, i)));
        weft_set_real(
            object, "flops_per_s_per_accelerator",
            mfu * result->setting.cost.accelerator->flops_per_s[result->model.transformer->dtype]);
    }
}

// What was measured of the strategy, by the same model FLOPs as the estimate beside it.
static json_t *measured_object(const struct weft_strategy_result *result)
{
    uint64_t measured_ps = result->measured_ps;
    json_t *measured = json_object();
    weft_set_real(measured, "iteration_s", weft_seconds(measured_ps));
    weft_set_real(measured, "tokens_per_s",
                  weft_request_strategy_tokens_per_s(result, measured_ps));
    weft_set_real(measured, "flops_utilization",
                  weft_request_strategy_mfu_at(result, 0, measured_ps));
    weft_set_real(measured, "off_ratio", weft_request_strategy_off(result));
    return measured;
}

const char *weft_request_strategy_json(const struct weft_strategy_result *result,
                                       struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.strategy/1");
    weft_set_text(object, "model", result->model.name);
    weft_set_count(object, "batch", result->model.batch);
    weft_set_text(object, "fabric", result->fabric);
    weft_set_count(object, "servers", result->cluster.server_count);
    if (result->setting.stack != NULL) {
        weft_set_text(object, "stack", result->setting.stack->name);
    }
    if (result->calibrated) {
        weft_set_real(object, "compute_efficiency", result->setting.stack->compute_efficiency);
    }
    if (result->measured_ps > 0) {
        weft_set(object, "measured", measured_object(result));
    }
    if (result->why_estimated != NULL) {
        weft_set_text(object, "why_estimated", result->why_estimated);
    }
    if (result->stopped) {
        weft_set_truth(object, "finished", false);
    }
    set_candidate(object, result, 0, arena); // the best
    json_t *list = weft_set_list(object, "strategies");
    for (uint32_t i = 0; i < result->found.count; i++) {
        json_t *one = json_object();
        set_candidate(one, result, i, arena);
        json_array_append_new(list, one);
    }
    weft_set_count(object, "evaluations", result->found.evaluations);
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}
