// SPDX-License-Identifier: Apache-2.0
// One model on every fabric that one could buy: each with the best strategy found for it.
//
// A fabric that only plays the strategy of another loses for want of search, not for want of
// bandwidth. Here every fabric has a search of its own, and every strategy that was found for any
// fabric is tried on all of them (docs/compare.md, "Models").

#include "compare.h"

#include <string.h>

static bool asked_for(const struct weft_compare_options *options, const char *name, bool otherwise)
{
    for (uint32_t i = 0; i < options->fabric_count; i++) {
        if (strcmp(options->fabrics[i], name) == 0) {
            return true;
        }
    }
    return options->fabric_count == 0 && otherwise;
}

// The rows before that of Weft's plan.
struct others {
    struct comparison *run;
    const struct weft_compare_options *options;
    const struct weft_plan *plan;
    struct weft_arena scratch;
};

// Fills the pool from Weft's plan, a full mesh and data parallelism, then row by row: every fabric
// searches before any is played in full, so that each can take what others found.
static bool fill_others(void *context)
{
    const struct others *others = context;
    struct comparison *run = others->run;
    const struct weft_compare_options *options = others->options;
    struct weft_arena scratch = others->scratch;
    compare_add_entry(run, &others->plan->job->strategy, "weft", scratch);
    compare_add_full_mesh(run, scratch);
    compare_add_data_parallel(run, scratch);
    uint32_t reference_count;
    const struct weft_fabric_reference *references = weft_fabric_references(&reference_count);
    for (uint32_t i = 0; i < reference_count; i++) {
        if (asked_for(options, references[i].name, references[i].compared)) {
            compare_add_fabric(run, references[i].name, others->plan->cost.total_usd, scratch);
        }
    }
    for (uint32_t i = 0; i < run->fabric_count; i++) {
        compare_search_fabric(run, run->fabrics[i], scratch);
        compare_descend_fabric(run, run->fabrics[i], scratch);
    }
    for (uint32_t i = 0; i < run->fabric_count; i++) {
        compare_fill_row(run, run->fabrics[i], scratch);
        compare_tell(&run->table, run->fabrics[i]->row);
    }
    if (asked_for(options, "ocs-reconfig", true)) {
        compare_fill_reconfig_row(run, scratch);
        compare_tell(&run->table, &run->table.rows[run->table.count - 1]);
    }
    if (asked_for(options, "topoopt", true)) {
        compare_fill_paper_row(run, scratch);
        compare_tell(&run->table, &run->table.rows[run->table.count - 1]);
    }
    return true;
}

// The rows of a plan, which both doors below have.
static void compare_plan(struct weft_model_comparison *comparison, const struct weft_plan *plan,
                         const struct weft_study *study, const struct weft_compare_options *options,
                         const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena *arena = environment->arena;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    inner.arena = &kept;
    struct comparison run = {
        .table = {.cluster = study->cluster,
                  .options = &options->coplan.plan,
                  .rows = WEFT_NEW(arena, struct weft_comparison, COMPARE_ROWS_MAX),
                  .environment = &inner,
                  .arena = arena},
        .study = *study,
        .options = &options->coplan,
        .hybrid = plan->job->strategy.kind == WEFT_STRATEGY_HYBRID,
        .kept = &kept,
    };
    struct others others = {&run, options, plan, inner.scratch};
    bool stopped = !compare_until(fill_others, &others, &run.table) || plan->cut.published > 0;
    compare_fill_plan_row(&run, plan, inner.scratch);
    compare_ratios(&run.table);
    *comparison = (struct weft_model_comparison){
        .model = study->model->name,
        .batch = study->model->batch,
        .server_count = study->cluster->server_count,
        .degree = study->cluster->degree,
        .rate_Bps = weft_cluster_nic_rate(study->cluster),
        .row_count = run.table.count,
        .rows = run.table.rows,
        .costs = weft_arena_text(arena, plan->job->costs, strlen(plan->job->costs)),
        .seed = environment->seed,
        .effort_s = options->coplan.seconds,
        .evaluations = plan->job->evaluations,
        .stopped = stopped};
    memcpy(comparison->variant_s, plan->job->variant_s, sizeof comparison->variant_s);
}

static struct weft_compare_options complete(const struct weft_compare_options *options,
                                            const struct weft_environment *environment)
{
    struct weft_compare_options all = *options;
    struct weft_coplan_options *coplan = &all.coplan;
    coplan->variant = WEFT_COPLAN_BOTH;
    coplan->seconds = coplan->seconds > 0 ? coplan->seconds : WEFT_COPLAN_SECONDS;
    coplan->search.seed = environment->seed;
    coplan->search.threads = environment->threads;
    coplan->search.stop = environment->stop;
    return all;
}

void weft_plan_compare_model_plan(struct weft_model_comparison *comparison,
                                  const struct weft_plan *plan, const struct weft_study *study,
                                  const struct weft_compare_options *options,
                                  const struct weft_environment *environment)
{
    const struct weft_compare_options all = complete(options, environment);
    compare_plan(comparison, plan, study, &all, environment);
}

bool weft_plan_compare_model(struct weft_model_comparison *comparison,
                             const struct weft_study *study,
                             const struct weft_compare_options *options,
                             const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    inner.arena = &kept;
    const struct weft_compare_options all = complete(options, environment);
    struct weft_plan *plan = WEFT_NEW(&kept, struct weft_plan, 1);
    if (!weft_coplan_build(plan, study, &all.coplan, &inner)) {
        return false;
    }
    inner.arena = environment->arena;
    compare_plan(comparison, plan, study, &all, &inner);
    return true;
}
