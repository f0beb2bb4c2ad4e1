// SPDX-License-Identifier: Apache-2.0
// Bounds alone, where a search was stopped before it had a plan.
//
// They need no fabric and take a fraction of a second, unless there are millions of tasks: a task
// graph's own certificate without a network, a model's bounds for any strategy. Of a transformer
// there is one: the FLOPs of an iteration, three times those of a forward pass, at the fastest rate
// that the accelerators state.

#include "request/plan/bounds.h"

#include <math.h>

// Bounds that are being computed, as their guard holds them: of a graph, or of a study.
struct bounding {
    struct weft_plan_result *result;
    const struct weft_taskgraph *graph;
    const struct weft_cluster *cluster;
    const struct weft_study *study;
    struct weft_environment base; // nothing but last_stop stops it: it is what is left to do
};

static bool bound_guarded(bool (*bound)(void *context), struct bounding *bounding,
                          struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    bounding->base = environment->base;
    bounding->base.stop = NULL;
    *error = (struct weft_error){.code = WEFT_OK};
    if (weft_guard_until(bound, bounding, environment->last_stop, error)) {
        weft_request_note(environment, "stopped before the first plan was ready; these bounds hold "
                                       "for every plan");
        return true;
    }
    return error->code == WEFT_STOPPED
               ? weft_fail(error, WEFT_STOPPED,
                           "stopped before there was a plan, or a bound for one; give it more time")
               : false;
}

static bool bound_graph(void *context)
{
    const struct bounding *own = context;
    weft_poll();
    struct weft_certificate *bounds = WEFT_NEW(own->base.arena, struct weft_certificate, 1);
    if (!weft_certificate_build(bounds, own->graph, own->cluster, NULL, 0, &own->base)) {
        return false;
    }
    *own->result = (struct weft_plan_result){.bounds = bounds};
    return true;
}

bool weft_request_bound_graph(struct weft_plan_result *result, const struct weft_taskgraph *graph,
                              const struct weft_cluster *cluster,
                              struct weft_request_environment *environment)
{
    struct bounding bounding = {.result = result, .graph = graph, .cluster = cluster};
    return bound_guarded(bound_graph, &bounding, environment);
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

static bool bound_model(void *context)
{
    const struct bounding *own = context;
    weft_poll();
    const struct weft_study *study = own->study;
    struct weft_arena *arena = own->base.arena;
    struct weft_certificate *bounds = WEFT_NEW(arena, struct weft_certificate, 1);
    struct weft_bound *list = WEFT_NEW(arena, struct weft_bound, WEFT_COPLAN_BOUND_COUNT);
    bool hybrid = study->model->transformer != NULL && study->setting->cost.profile == NULL;
    if (!hybrid && !weft_coplan_bounds(list, study, &own->base)) {
        return false;
    }
    uint32_t count = hybrid ? bound_flops(list, study, arena) : WEFT_COPLAN_BOUND_COUNT;
    if (count == 0) {
        return weft_fail(own->base.error, WEFT_STOPPED, "no bound is known");
    }
    uint32_t largest = count > 1 && list[1].seconds > list[0].seconds ? 1 : 0;
    *bounds = (struct weft_certificate){.bound_count = count,
                                        .bounds = list,
                                        .binding = largest,
                                        .lower_bound_s = list[largest].seconds};
    *own->result = (struct weft_plan_result){.bounds = bounds};
    return true;
}

bool weft_request_bound_model(struct weft_plan_result *result, const struct weft_study *study,
                              struct weft_request_environment *environment)
{
    struct bounding bounding = {.result = result, .study = study};
    return bound_guarded(bound_model, &bounding, environment);
}
