// SPDX-License-Identifier: Apache-2.0
// Pure data parallelism of a stack of equal layers, for comparisons: all accelerators are replicas,
// and the lowest ZeRO stage, then the least recomputation, then the quickest micro-batch that fits
// is taken. O(divisors of the batch) estimates.

#include "hybrid.h"

#define MICRO_BATCH_MAX 64u // as in search.c

struct parallel {
    struct weft_study study; // on one switch
    struct weft_hybrid best;
    uint64_t best_ps; // WEFT_NEVER: none fits
    struct weft_hybrid leanest;
    struct weft_memory leanest_memory;
};

static void try_one(struct parallel *parallel, const struct weft_hybrid *hybrid,
                    struct weft_arena scratch)
{
    struct weft_memory memory = {0};
    uint32_t rank = 0;
    struct weft_error error;
    struct weft_hybrid_estimate estimate;
    bool fits = weft_hybrid_memory(&memory, &rank, hybrid, &parallel->study, &error);
    if (!fits && error.code != WEFT_INFEASIBLE) {
        return;
    }
    if (!(parallel->leanest_memory.total_bytes > 0) ||
        memory.total_bytes < parallel->leanest_memory.total_bytes) {
        parallel->leanest_memory = memory;
        parallel->leanest = *hybrid;
    }
    if (fits && weft_hybrid_estimate(&estimate, hybrid, &parallel->study, scratch, &error) &&
        estimate.iteration_ps < parallel->best_ps) {
        parallel->best_ps = estimate.iteration_ps;
        parallel->best = *hybrid;
    }
}

static bool fail_unfit(const struct parallel *parallel, uint64_t accelerators,
                       struct weft_error *error)
{
    const struct weft_model *model = parallel->study.model;
    if (!(parallel->leanest_memory.total_bytes > 0)) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "data parallelism of %s deals %llu samples to %llu accelerators, which "
                         "does not come out even; take a batch that they divide",
                         model->name, (unsigned long long)model->batch,
                         (unsigned long long)accelerators);
    }
    char needs[WEFT_UNIT_TEXT];
    char limit[WEFT_UNIT_TEXT];
    weft_fail(error, WEFT_INFEASIBLE,
              "data parallelism of %s needs %s an accelerator of %s, even with zero=%u, micro=%llu "
              "and full recomputation; a searched strategy may divide the model and fit",
              model->name, weft_show_bytes(needs, parallel->leanest_memory.total_bytes),
              weft_show_bytes(limit, parallel->study.setting->memory_limit_bytes),
              parallel->leanest.zero_stage, (unsigned long long)parallel->leanest.micro_batch);
    return weft_remedy(error, "variant", "strategy");
}

bool weft_hybrid_data_parallel(struct weft_strategy *strategy, const struct weft_study *study,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error)
{
    struct weft_hybrid hybrid = weft_hybrid_one();
    if (study->setting->overlap != 0) {
        weft_hybrid_set_overlap(&hybrid, study->setting->overlap);
    }
    struct weft_hybrid_mesh mesh; // of one accelerator: how many a server has
    if (!weft_hybrid_mesh_build(&mesh, &hybrid, study, error)) {
        return false;
    }
    const struct weft_model *model = study->model;
    uint64_t accelerators = (uint64_t)study->cluster->server_count * mesh.per_server;
    struct parallel parallel = {.study = *study, .best_ps = WEFT_NEVER};
    parallel.study.network = NULL;
    bool even = accelerators > 0 && accelerators <= UINT32_MAX && model->batch % accelerators == 0;
    uint64_t replica = even ? model->batch / accelerators : 0;
    hybrid.dp = (uint32_t)accelerators;
    for (; even && hybrid.zero_stage <= 3 && parallel.best_ps == WEFT_NEVER; hybrid.zero_stage++) {
        for (uint32_t full = 0; full < 2 && parallel.best_ps == WEFT_NEVER; full++) {
            hybrid.recompute = full ? WEFT_RECOMPUTE_FULL : WEFT_RECOMPUTE_NONE;
            for (hybrid.micro_batch = 1;
                 hybrid.micro_batch <= replica && hybrid.micro_batch <= MICRO_BATCH_MAX;
                 hybrid.micro_batch++) {
                if (replica % hybrid.micro_batch == 0) {
                    try_one(&parallel, &hybrid, scratch);
                }
            }
        }
    }
    if (parallel.best_ps == WEFT_NEVER) {
        return fail_unfit(&parallel, accelerators, error);
    }
    struct weft_strategy found = {.kind = WEFT_STRATEGY_HYBRID,
                                  .server_count = study->cluster->server_count,
                                  .hybrid = parallel.best};
    if (!weft_hybrid_fill_memory(&found, study, arena, error)) {
        return false;
    }
    *strategy = found;
    return true;
}
