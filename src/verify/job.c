// SPDX-License-Identifier: Apache-2.0
// Whether what a plan was made for holds together: strategy, memory and what the search found.
//
// Parts lie on servers that exist, one a server; the batch divides; the degrees of a hybrid
// strategy multiply to the devices of its task graph; the memory of every server adds up and is
// within its limit, which is the cluster's. The plan is the best of its search: no round, and no
// variant that it contains, is quicker. Whether all of it follows from the model is model.c's
// question. O(operators * parts).

#include "checks.h"

#include <math.h>

// Bytes pass through decimal text, and sums are added in another order.
#define SAME_RATIO 1e-9

static bool equal(double a, double b)
{
    return fabs(a - b) <= SAME_RATIO * fmax(fabs(a), fabs(b));
}

// The parts of every operator: on servers that exist, no two on one, samples that divide.
static void check_placements(struct findings *findings, const struct weft_plan_job *job,
                             struct weft_arena scratch)
{
    const struct weft_strategy *strategy = &job->strategy;
    uint32_t *seen = WEFT_NEW(&scratch, uint32_t, (size_t)strategy->server_count + 1);
    for (uint32_t i = 0; i < job->operator_count; i++) {
        const struct weft_placement *placement = &strategy->placements[i];
        uint32_t parts = placement->sample_parts * placement->parameter_parts;
        for (uint32_t p = 0; p < parts; p++) {
            if (placement->servers[p] >= strategy->server_count) {
                findings_add(findings, "operator %s: part %u is on server %u of %u",
                             job->operator_names[i], p, placement->servers[p],
                             strategy->server_count);
            } else if (seen[placement->servers[p]] == i + 1) {
                findings_add(findings, "operator %s: two parts are on server %u",
                             job->operator_names[i], placement->servers[p]);
            } else {
                seen[placement->servers[p]] = i + 1;
            }
        }
        if (placement->sample_parts == 0 || job->batch % placement->sample_parts != 0) {
            findings_add(findings, "operator %s: %llu samples do not divide into %u parts",
                         job->operator_names[i], (unsigned long long)job->batch,
                         placement->sample_parts);
        }
    }
}

static void check_hybrid(struct findings *findings, const struct weft_plan_job *job)
{
    const struct weft_hybrid *hybrid = &job->strategy.hybrid;
    uint64_t data = (uint64_t)hybrid->dp * hybrid->cp;
    // A device of the task graph is a tensor group.
    if (data * hybrid->pp != job->graph.device_count) {
        findings_add(findings, "strategy: dp %u x pp %u x cp %u are not the job's %u devices",
                     hybrid->dp, hybrid->pp, hybrid->cp, job->graph.device_count);
    }
    if (hybrid->ep == 0 || data % hybrid->ep != 0) {
        findings_add(findings, "strategy: ep %u does not divide dp x cp, %llu", hybrid->ep,
                     (unsigned long long)data);
    }
    if (hybrid->dp == 0 || hybrid->micro_batch == 0 || job->batch % hybrid->dp != 0 ||
        job->batch / hybrid->dp % hybrid->micro_batch != 0) {
        findings_add(
            findings, "strategy: %llu samples do not divide into dp %u micro-batches of %llu",
            (unsigned long long)job->batch, hybrid->dp, (unsigned long long)hybrid->micro_batch);
    }
    if (job->flops_utilization > 1) {
        findings_add(findings, "flops_utilization: %.9g is more than the peak",
                     job->flops_utilization);
    }
}

// What each server's fullest accelerator holds: its kinds add up, the fullest is the stated one,
// and it is within the limit, which is what the cluster's accelerators have.
static void check_memory(struct findings *findings, const struct weft_plan_job *job,
                         const struct weft_cluster *cluster)
{
    const struct weft_strategy *strategy = &job->strategy;
    double most_bytes = 0;
    for (uint32_t s = 0; s < strategy->server_count; s++) {
        const struct weft_memory *memory = &strategy->memory[s];
        double sum_bytes = memory->parameters_bytes + memory->gradients_bytes +
                           memory->optimizer_bytes + memory->activations_bytes +
                           memory->library_bytes;
        if (!equal(sum_bytes, memory->total_bytes)) {
            findings_add(findings,
                         "memory of server %u: %.9g bytes in all, but its kinds make %.9g", s,
                         memory->total_bytes, sum_bytes);
        }
        most_bytes = fmax(most_bytes, memory->total_bytes);
    }
    if (!equal(most_bytes, strategy->memory_max_bytes)) {
        findings_add(findings, "memory: max_bytes is stated as %.9g, but is %.9g",
                     strategy->memory_max_bytes, most_bytes);
    }
    if (job->memory_limit_bytes > 0 && most_bytes > job->memory_limit_bytes * (1 + SAME_RATIO)) {
        findings_add(findings, "memory: an accelerator holds %.9g bytes, its limit is %.9g",
                     most_bytes, job->memory_limit_bytes);
    }
    if (!equal(job->memory_limit_bytes, cluster->accelerator_memory_bytes)) {
        findings_add(findings,
                     "memory: limit_bytes is stated as %.9g, the cluster's accelerators have %.9g",
                     job->memory_limit_bytes, cluster->accelerator_memory_bytes);
    }
}

// ---- what the search found ----

// Whether all that `inner` may choose, `outer` may choose, too.
static bool contains(enum weft_coplan_variant outer, enum weft_coplan_variant inner)
{
    return outer == WEFT_COPLAN_BOTH || inner == WEFT_COPLAN_DATA_PARALLEL || outer == inner;
}

// The seconds of the variants, where all were asked for: the plan's own is its iteration, and none
// is behind one that it contains. What the others' plans are is not in the file.
static void check_variants(struct findings *findings, const struct weft_plan *plan)
{
    static const char *const names[WEFT_COPLAN_VARIANT_COUNT] = {"both", "strategy", "topology",
                                                                 "data-parallel"};
    const struct weft_plan_job *job = plan->job;
    bool stated = false;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        stated = stated || job->variant_s[v] != 0;
    }
    if (!stated) {
        return;
    }
    if (!equal(job->variant_s[job->variant], plan->iteration_s)) {
        findings_add(findings, "job.variants: %s is stated as %.12g s, but the plan takes %.12g",
                     names[job->variant], job->variant_s[job->variant], plan->iteration_s);
    }
    for (enum weft_coplan_variant a = 0; a < WEFT_COPLAN_VARIANT_COUNT; a++) {
        for (enum weft_coplan_variant b = 0; b < WEFT_COPLAN_VARIANT_COUNT; b++) {
            if (contains(a, b) && job->variant_s[a] > 0 && job->variant_s[b] > 0 &&
                job->variant_s[a] > job->variant_s[b] * (1 + SAME_RATIO)) {
                findings_add(findings,
                             "job.variants: %s takes %.12g s, more than %s, which it contains",
                             names[a], job->variant_s[a], names[b]);
            }
        }
    }
    for (uint32_t i = 0; i < plan->certificate.bound_count; i++) {
        const struct weft_bound *bound = &plan->certificate.bounds[i];
        for (enum weft_coplan_variant v = 0; bound->any_strategy && v < WEFT_COPLAN_VARIANT_COUNT;
             v++) {
            if (job->variant_s[v] > 0 && job->variant_s[v] < bound->seconds * (1 - SAME_RATIO)) {
                findings_add(findings, "job.variants: %s takes %.12g s, below the bound %s",
                             names[v], job->variant_s[v], bound->name);
            }
        }
    }
    findings_leave(findings, "job.variants",
                   "the plans of the other variants are not in the file; they are ordered as they "
                   "must be and above the bounds for any strategy",
                   false);
}

// Rounds come start by start, and none of them found what is quicker than the plan. Rounds are
// scored by the flow engine, so that where packets decided they may be below the plan's iteration.
static void check_rounds(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_plan_job *job = plan->job;
    for (uint32_t r = 0; r < job->round_count; r++) {
        if (r > 0 && job->round_start[r] < job->round_start[r - 1]) {
            findings_add(findings, "job.rounds[%u]: its start is before the last one's", r);
        }
        if (plan->sim.engine == WEFT_ENGINE_FLOW &&
            job->round_s[r] < plan->iteration_s * (1 - SAME_RATIO)) {
            findings_add(findings, "job.rounds[%u]: found %.12g s, less than the plan's %.12g", r,
                         job->round_s[r], plan->iteration_s);
        }
    }
    if (job->evaluations < job->round_count || job->evaluations == 0) {
        findings_add(findings, "evaluations: %llu strategies in %u rounds",
                     (unsigned long long)job->evaluations, job->round_count);
    }
}

void check_job(struct findings *findings, const struct weft_plan *plan, struct weft_arena scratch)
{
    const struct weft_plan_job *job = plan->job;
    if (job->batch == 0) { // which everything divides
        findings_add(findings, "batch: an iteration without samples");
    }
    if (job->strategy.kind == WEFT_STRATEGY_OPERATORS) {
        check_placements(findings, job, scratch);
    } else {
        check_hybrid(findings, job);
    }
    check_memory(findings, job, &plan->cluster);
    check_variants(findings, plan);
    check_rounds(findings, plan);
}
