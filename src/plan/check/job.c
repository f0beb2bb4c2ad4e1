// SPDX-License-Identifier: Apache-2.0
// Whether what a plan was made for holds together: strategy and memory.
//
// Parts lie on servers that exist, one a server; the batch divides; the degrees of a hybrid
// strategy multiply to the devices of its task graph; the memory of every server adds up and is
// within its limit. Whether all of it follows from the model is model.c's question. O(operators *
// parts).

#include "check.h"

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

static void check_memory(struct findings *findings, const struct weft_plan_job *job)
{
    const struct weft_strategy *strategy = &job->strategy;
    double most_bytes = 0;
    for (uint32_t s = 0; s < strategy->server_count; s++) {
        const struct weft_memory *memory = &strategy->memory[s];
        double sum_bytes = memory->parameters_bytes + memory->gradients_bytes +
                           memory->optimizer_bytes + memory->activations_bytes;
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
}

void check_job(struct findings *findings, const struct weft_plan_job *job,
               struct weft_arena scratch)
{
    if (job->batch == 0) { // which everything divides
        findings_add(findings, "batch: an iteration without samples");
    }
    if (job->strategy.kind == WEFT_STRATEGY_OPERATORS) {
        check_placements(findings, job, scratch);
    } else {
        check_hybrid(findings, job);
    }
    check_memory(findings, job);
}
