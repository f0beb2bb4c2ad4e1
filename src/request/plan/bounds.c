// SPDX-License-Identifier: Apache-2.0
// Bounds alone, where a search was stopped before it had a plan.
//
// They need no fabric and take a fraction of a second: a task graph's own certificate without a
// network, a model's bounds for any strategy. Of a transformer there is one: the FLOPs of an
// iteration, three times those of a forward pass, at the fastest rate that the accelerators state.

#include "request/plan/bounds.h"

#include <math.h>

static struct weft_environment unstoppable(struct weft_request_environment *environment)
{
    struct weft_environment base = environment->base;
    base.stop = NULL; // it is what is left to do
    *base.error = (struct weft_error){.code = WEFT_OK};
    weft_request_note(environment, "stopped before the first plan was ready; these bounds hold for "
                                   "every plan");
    return base;
}

bool weft_request_bound_graph(struct weft_plan_result *result, const struct weft_taskgraph *graph,
                              const struct weft_cluster *cluster,
                              struct weft_request_environment *environment)
{
    const struct weft_environment base = unstoppable(environment);
    struct weft_certificate *bounds = WEFT_NEW(base.arena, struct weft_certificate, 1);
    if (!weft_certificate_build(bounds, graph, cluster, NULL, 0, &base)) {
        return false;
    }
    *result = (struct weft_plan_result){.bounds = bounds};
    return true;
}

// What the FLOPs of an iteration take all accelerators at least.
static uint32_t bound_flops(struct weft_bound *bound, const struct weft_study *study,
                            struct weft_arena *arena)
{
    const struct weft_model *model = study->model;
    const struct weft_cost_options *costs = &study->setting->cost;
    if (costs->accelerator == NULL) {
        return 0;
    }
    double peak = 0;
    for (size_t i = 0; i < sizeof costs->accelerator->flops_per_s / sizeof peak; i++) {
        peak = fmax(peak, costs->accelerator->flops_per_s[i]);
    }
    uint64_t devices = (uint64_t)study->cluster->server_count * costs->accelerators_per_server;
    double flops = 3 * model->forward_flops * (double)model->batch;
    if (!(peak > 0) || devices == 0) {
        return 0;
    }
    *bound = weft_bound_named("any-strategy-work");
    bound->seconds = flops / (peak * (double)devices);
    bound->reason = weft_arena_format(
        arena, "an iteration takes %.4g FLOPs, and %llu accelerators do %.4g a second each at most",
        flops, (unsigned long long)devices, peak);
    return 1;
}

bool weft_request_bound_model(struct weft_plan_result *result, const struct weft_study *study,
                              struct weft_request_environment *environment)
{
    const struct weft_environment base = unstoppable(environment);
    struct weft_certificate *bounds = WEFT_NEW(base.arena, struct weft_certificate, 1);
    struct weft_bound *list = WEFT_NEW(base.arena, struct weft_bound, WEFT_COPLAN_BOUND_COUNT);
    bool hybrid = study->model->transformer != NULL && study->setting->cost.profile == NULL;
    if (!hybrid && !weft_coplan_bounds(list, study, &base)) {
        return false;
    }
    uint32_t count = hybrid ? bound_flops(list, study, base.arena) : WEFT_COPLAN_BOUND_COUNT;
    if (count == 0) {
        return weft_fail(base.error, WEFT_STOPPED, "stopped before the first plan was ready");
    }
    uint32_t largest = count > 1 && list[1].seconds > list[0].seconds ? 1 : 0;
    *bounds = (struct weft_certificate){.bound_count = count,
                                        .bounds = list,
                                        .binding = largest,
                                        .lower_bound_s = list[largest].seconds};
    *result = (struct weft_plan_result){.bounds = bounds};
    return true;
}
