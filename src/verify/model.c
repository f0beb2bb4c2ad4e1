// SPDX-License-Identifier: Apache-2.0
// Whether a plan's bounds for any strategy, task graph, memory and utilization follow from its
// model.
//
// The model comes as data: what each operator's parts take at each split, what the strategy gives.
// The work of any strategy is each operator's at its cheapest split, over all servers; its chain
// the longest path of quickest parts, forward and back (docs/co-optimisation.md). The task graph
// and the memory of the strategy are compared figure by figure. O(operators * splits + tasks +
// edges).

#include "checks.h"
#include "ideal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING_RATIO 1e-11
// Bytes pass through decimal text.
#define SAME_RATIO 1e-9
// Times of tasks are rounded to picoseconds before they are added.
#define TIME_RATIO 1e-6

// ---- any strategy ----

struct least {
    double work_s; // of all parts together, forward and backward
    double forward_s;
    double backward_s;
};

static struct least find_least(const struct weft_verify_operator *op)
{
    struct least least = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    for (uint32_t i = 0; i < op->split_count; i++) {
        const struct weft_verify_split *split = &op->splits[i];
        double parts = (double)split->sample_parts * split->parameter_parts;
        least.work_s = fmin(least.work_s, parts * (split->forward_s + split->backward_s));
        least.forward_s = fmin(least.forward_s, split->forward_s);
        least.backward_s = fmin(least.backward_s, split->backward_s);
    }
    return least;
}

static void compare_bound(struct findings *findings, const struct weft_plan *plan, const char *name,
                          double found_s)
{
    for (uint32_t i = 0; i < plan->certificate.bound_count; i++) {
        const struct weft_bound *bound = &plan->certificate.bounds[i];
        if (strcmp(bound->name, name) == 0) {
            if (figures_differ(bound->seconds, found_s * (1 - ROUNDING_RATIO))) {
                findings_add(findings, "the bound %s is stated as %.12g s, but is %.12g s", name,
                             bound->seconds, found_s * (1 - ROUNDING_RATIO));
            }
            return;
        }
    }
    findings_add(findings, "the certificate lacks the bound %s, %.12g s", name, found_s);
}

// Operators stand behind those that they take in.
static void check_any_strategy(struct findings *findings, const struct weft_plan *plan,
                               const struct weft_verify_model *model, struct weft_arena scratch)
{
    double *ahead_s = WEFT_NEW(&scratch, double, (size_t)model->operator_count + 1);
    double *back_s = WEFT_NEW(&scratch, double, (size_t)model->operator_count + 1);
    double work_s = 0;
    double chain_s = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_verify_operator *op = &model->operators[i];
        struct least least = find_least(op);
        for (uint32_t j = 0; j < op->input_count; j++) {
            ahead_s[i] = fmax(ahead_s[i], ahead_s[op->inputs[j]]);
            back_s[i] = fmax(back_s[i], back_s[op->inputs[j]]);
        }
        ahead_s[i] += least.forward_s;
        back_s[i] += least.backward_s;
        chain_s = fmax(chain_s, ahead_s[i] + back_s[i]);
        work_s += least.work_s;
    }
    compare_bound(findings, plan, "any-strategy-work", work_s / plan->cluster.server_count);
    compare_bound(findings, plan, "any-strategy-chain", chain_s);
}

// ---- the strategy's own ----

static void check_names(struct findings *findings, const struct weft_plan_job *job,
                        const struct weft_verify_model *model)
{
    if (job->strategy.kind == WEFT_STRATEGY_HYBRID) {
        if (!model->transformer) {
            findings_add(findings, "strategy: hybrid, but the model is no transformer");
        }
        return;
    }
    if (job->operator_count != model->operator_count) {
        findings_add(findings, "strategy: %u operators, the model has %u", job->operator_count,
                     model->operator_count);
        return;
    }
    for (uint32_t i = 0; i < job->operator_count; i++) {
        if (strcmp(job->operator_names[i], model->names[i]) != 0) {
            findings_add(findings, "strategy: operator %u is named %s, in the model it is %s", i,
                         job->operator_names[i], model->names[i]);
            return;
        }
    }
}

static bool same_memory(const struct weft_memory *a, const struct weft_memory *b)
{
    const double one[] = {a->parameters_bytes,  a->gradients_bytes, a->optimizer_bytes,
                          a->activations_bytes, a->library_bytes,   a->total_bytes};
    const double other[] = {b->parameters_bytes,  b->gradients_bytes, b->optimizer_bytes,
                            b->activations_bytes, b->library_bytes,   b->total_bytes};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        if (fabs(one[i] - other[i]) > SAME_RATIO * fabs(other[i])) {
            return false;
        }
    }
    return true;
}

static void check_memory(struct findings *findings, const struct weft_plan *plan,
                         const struct weft_verify_model *model)
{
    for (uint32_t s = 0; s < plan->job->strategy.server_count; s++) {
        const struct weft_memory *stated = &plan->job->strategy.memory[s];
        if (!same_memory(stated, &model->memory[s])) {
            findings_add(findings,
                         "memory of server %u is stated as %.9g bytes of its kinds, but the "
                         "strategy takes %.9g",
                         s, stated->total_bytes, model->memory[s].total_bytes);
            return;
        }
    }
}

// ---- the task graph ----

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

// The successors of a task in rising order.
static uint32_t *sort_next(const struct weft_taskgraph *graph, uint32_t task, uint32_t *count,
                           struct weft_arena *scratch)
{
    uint32_t first = graph->next_first[task];
    *count = graph->next_first[task + 1] - first;
    uint32_t *next = WEFT_NEW_RAW(scratch, uint32_t, (size_t)*count + 1);
    if (*count > 0) {
        memcpy(next, graph->next + first, *count * sizeof *next);
    }
    qsort(next, *count, sizeof *next, compare_ids);
    return next;
}

// What of a task differs, or NULL.
static const char *task_differs(const struct weft_taskgraph *a, const struct weft_taskgraph *b,
                                uint32_t task, bool timed, struct weft_arena scratch)
{
    if (a->kind[task] != b->kind[task]) {
        return "its kind";
    }
    if (a->device[task] != b->device[task]) {
        return "its device";
    }
    if (a->kind[task] == WEFT_TASK_TRANSFER &&
        (a->from[task] != b->from[task] || a->to[task] != b->to[task])) {
        return "its servers";
    }
    if (a->size_bytes[task] != b->size_bytes[task]) {
        return "its bytes";
    }
    if (ideal_is_collective(a, task)) {
        uint32_t k = ideal_member_count(a, task);
        if (k != ideal_member_count(b, task) ||
            memcmp(a->group_members + a->group_first[a->group[task]],
                   b->group_members + b->group_first[b->group[task]],
                   k * sizeof *a->group_members) != 0) {
            return "its members";
        }
    }
    double more_ps = fabs((double)a->runtime_ps[task] - (double)b->runtime_ps[task]);
    if (timed && more_ps > 1 + TIME_RATIO * (double)b->runtime_ps[task]) {
        return "its time";
    }
    uint32_t count[2];
    const uint32_t *one = sort_next(a, task, &count[0], &scratch);
    const uint32_t *other = sort_next(b, task, &count[1], &scratch);
    bool same = count[0] == count[1] && memcmp(one, other, count[0] * sizeof *one) == 0;
    return same ? NULL : "what waits for it";
}

// The task graph in the file against the one that the strategy gives, task by task; the first
// difference is told.
static void check_graph(struct findings *findings, const struct weft_plan *plan,
                        const struct weft_verify_model *model, struct weft_arena scratch)
{
    const struct weft_taskgraph *stated = &plan->job->graph;
    const struct weft_taskgraph *found = model->graph;
    if (stated->server_count != found->server_count ||
        stated->device_count != found->device_count || stated->task_count != found->task_count) {
        findings_add(findings,
                     "job.graph has %u tasks on %u devices of %u servers, the strategy gives %u "
                     "on %u of %u",
                     stated->task_count, stated->device_count, stated->server_count,
                     found->task_count, found->device_count, found->server_count);
        return;
    }
    for (uint32_t d = 0; d < stated->device_count; d++) {
        if (stated->device_server[d] != found->device_server[d]) {
            findings_add(findings, "job.graph.devices[%u] is on server %u, the strategy says %u", d,
                         stated->device_server[d], found->device_server[d]);
            return;
        }
    }
    for (uint32_t t = 0; t < stated->task_count; t++) {
        bool timed = (model->timed_kinds >> found->kind[t] & 1) != 0;
        const char *what = task_differs(stated, found, t, timed, scratch);
        if (what != NULL) {
            findings_add(findings, "job.graph.tasks[%u]: %s does not follow from the strategy", t,
                         what);
            return;
        }
    }
    if (model->why_untimed != NULL) {
        findings_leave(findings, "job.graph", model->why_untimed, false);
    }
}

// Names first; then what follows from costs, and what from the strategy, each where it is known.
// The graph and the memory are not looked at where something was found before, which they would
// repeat.
void check_model(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_verify_model *model, struct weft_arena scratch)
{
    const struct weft_plan_job *job = plan->job;
    uint32_t before = findings->count;
    if (model->why_not != NULL) {
        findings_leave(findings, "job", model->why_not, false);
    }
    if (model->refused != NULL) {
        findings_add(findings, "%s", model->refused);
    }
    if (model->names != NULL || model->transformer) {
        check_names(findings, job, model);
    }
    if (job->strategy.kind == WEFT_STRATEGY_OPERATORS && model->operators != NULL) {
        check_any_strategy(findings, plan, model, scratch);
    }
    if (model->graph != NULL && findings->count == before) {
        check_graph(findings, plan, model, scratch);
    }
    if (model->memory != NULL && findings->count == before) {
        check_memory(findings, plan, model);
    }
    if (model->peak_flops_per_s > 0) {
        findings_compare(findings, "flops_utilization", job->flops_utilization,
                         model->iteration_flops / (model->peak_flops_per_s * plan->iteration_s));
    } else if (job->flops_utilization != 0 && job->strategy.kind == WEFT_STRATEGY_OPERATORS) {
        findings_add(findings, "flops_utilization is stated as %.9g for what is no transformer",
                     job->flops_utilization);
    }
}
