// SPDX-License-Identifier: Apache-2.0
// A hybrid strategy as a job: checked against model, cluster and accelerator, laid out, and priced
// with the rates that a network gives and the stack's share of them. Estimate, search and task
// graph begin with it. O(1), and with a network as weft_hybrid_rates_of.

#include "hybrid.h"

bool weft_hybrid_job_open(struct weft_hybrid_job *job, const struct weft_hybrid *hybrid,
                          const struct weft_study *study, struct weft_error *error)
{
    struct weft_hybrid_job result = {.hybrid = *hybrid,
                                     .model = study->model,
                                     .accelerator = study->setting->cost.accelerator,
                                     .setting = study->setting,
                                     .stack = weft_hybrid_stack(study->setting)};
    if (!weft_hybrid_mesh_build(&result.mesh, hybrid, study, error)) {
        return false;
    }
    if (result.accelerator == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "accelerator: not stated; name one in the cluster, such as A100");
    }
    const struct weft_model *model = study->model;
    enum weft_dtype dtype = model->transformer->dtype;
    if (!(result.accelerator->flops_per_s[dtype] > 0)) {
        return weft_fail(error, WEFT_INPUT, "accelerator: %s does not compute in %s, as %s does",
                         result.accelerator->name, weft_dtype_name(dtype), model->name);
    }
    if (hybrid->fp8 && !(result.accelerator->flops_per_s[WEFT_FP8] > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "precision: %s does not compute in fp8; use precision=model",
                         result.accelerator->name);
    }
    *job = result;
    return true;
}

void weft_hybrid_job_price(struct weft_hybrid_job *job, const struct weft_hybrid_rates *rates)
{
    job->rates = *rates;
    double *const all_Bps[] = {&job->rates.ring_Bps,     &job->rates.experts_Bps,
                               &job->rates.shift_Bps,    &job->rates.wrap_Bps,
                               &job->rates.exchange_Bps, &job->rates.context_Bps};
    for (uint32_t i = 0; i < sizeof all_Bps / sizeof all_Bps[0]; i++) {
        *all_Bps[i] *= job->stack->network_efficiency;
    }
    weft_hybrid_cost(job);
}

bool weft_hybrid_job_init(struct weft_hybrid_job *job, const struct weft_hybrid *hybrid,
                          const struct weft_study *study, struct weft_arena scratch,
                          struct weft_error *error)
{
    if (!weft_hybrid_job_open(job, hybrid, study, error)) {
        return false;
    }
    struct weft_hybrid_rates rates =
        weft_hybrid_rates_of(&job->mesh, hybrid->ep, study->cluster, study->network, scratch);
    weft_hybrid_job_price(job, &rates);
    return true;
}

bool weft_hybrid_measure_rates(struct weft_hybrid_rates *rates, const struct weft_hybrid *hybrid,
                               const struct weft_study *study, struct weft_arena scratch,
                               struct weft_error *error)
{
    struct weft_hybrid_job job;
    if (!weft_hybrid_job_open(&job, hybrid, study, error)) {
        return false;
    }
    *rates = weft_hybrid_rates_of(&job.mesh, hybrid->ep, study->cluster, study->network, scratch);
    return true;
}

bool weft_hybrid_exchange_of(struct weft_hybrid_exchange *exchange,
                             const struct weft_hybrid *hybrid, const struct weft_study *study,
                             struct weft_error *error)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA};
    struct weft_hybrid_job job;
    if (!weft_hybrid_job_open(&job, hybrid, study, error)) {
        return false;
    }
    const struct weft_transformer *stack = study->model->transformer;
    if (stack->experts == 0) {
        return weft_fail(error, WEFT_INPUT, "%s has no experts", study->model->name);
    }
    const struct weft_hybrid_rates rates = {1, 1, 1, 1, 1, 1, 0}; // none of what is read here
    weft_hybrid_job_price(&job, &rates);
    uint32_t local = weft_hybrid_local_members(&job.mesh, axes, 2, hybrid->ep);
    *exchange = (struct weft_hybrid_exchange){
        .servers = hybrid->ep / local,
        .ranks = hybrid->ep,
        .copies_bytes = job.costs.copies_bytes,
        .balanced_bytes = job.costs.copies_bytes * (hybrid->ep - local) / hybrid->ep,
        .mixing_s = {job.costs.mixing_s[0], job.costs.mixing_s[1]},
        .experts_s = {job.costs.experts_s[0], job.costs.experts_s[1]},
        .layers = stack->layers - stack->dense_layers,
        .stages = job.mesh.stages,
        .pipeline = hybrid->pp,
        .micro_batches = job.mesh.micro_batches,
        .again = hybrid->recompute == WEFT_RECOMPUTE_FULL,
    };
    return true;
}
