// SPDX-License-Identifier: Apache-2.0
// Whether a plan's task graph and memory follow from its strategy and the model.
//
// Both are built anew from the plan's strategy and compared. Times can be compared where the costs
// were a roofline, which the plan's file names; the rate between accelerators of a server is not in
// the file, so that what depends on it is left out and said to be.

#include "check.h"

#include <math.h>
#include <string.h>

// Bytes pass through decimal text.
#define SAME_RATIO 1e-9
// Whose roofline stands in where times are not looked at: it knows every dtype.
#define STAND_IN "H100"

#define COMPUTE_KINDS                                                                              \
    (1u << WEFT_TASK_FORWARD | 1u << WEFT_TASK_BACKWARD | 1u << WEFT_TASK_UPDATE |                 \
     1u << WEFT_TASK_LOCAL)

// Whether the plan is of this model: the same operators by name, or both a transformer.
static bool check_names(struct findings *findings, const struct weft_plan_job *job,
                        const struct weft_model *model)
{
    if (job->strategy.kind == WEFT_STRATEGY_HYBRID) {
        if (model->transformer == NULL) {
            findings_add(findings, "strategy: hybrid, but the model %s is no transformer",
                         model->name);
        }
        return model->transformer != NULL;
    }
    if (job->operator_count != model->operator_count) {
        findings_add(findings, "strategy: %u operators, the model %s has %u", job->operator_count,
                     model->name, model->operator_count);
        return false;
    }
    for (uint32_t i = 0; i < job->operator_count; i++) {
        const char *name = model->operators[i].spec.name;
        if (strcmp(job->operator_names[i], name) != 0) {
            findings_add(findings, "strategy: operator %u is named %s, in the model %s it is %s", i,
                         job->operator_names[i], model->name, name);
            return false;
        }
    }
    return true;
}

// What the plan was made with, as far as its file says; the rate inside servers is the
// accelerator's own. False: no such costs.
static bool recall_setting(struct weft_strategy_setting *setting, bool *timed,
                           const struct weft_plan *plan)
{
    static const char roofline[] = "roofline ";
    const struct weft_plan_job *job = plan->job;
    *timed = strncmp(job->costs, roofline, sizeof roofline - 1) == 0;
    const char *name = *timed ? job->costs + sizeof roofline - 1 : STAND_IN;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error error;
    if (plan->cluster.accelerators_per_server == 0 ||
        !weft_accelerator_named(&accelerator, name, &error)) {
        return false;
    }
    *setting = (struct weft_strategy_setting){
        .cost = {.accelerator = accelerator,
                 .accelerators_per_server = plan->cluster.accelerators_per_server},
        .optimizer = job->optimizer,
        .tables = job->tables,
        .inside_Bps = accelerator->link_Bps * accelerator->link_efficiency,
    };
    return true;
}

static void check_memory(struct findings *findings, const struct weft_plan *plan,
                         const struct weft_model *model,
                         const struct weft_strategy_setting *setting, struct weft_arena scratch)
{
    struct weft_strategy strategy = plan->job->strategy;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_error error;
    if (!weft_strategy_memory(
            &strategy,
            &(struct weft_study){.model = model, .cluster = &plan->cluster, .setting = setting},
            &kept, scratch, &error)) {
        findings_add(findings, "memory: %s", error.message);
        return;
    }
    for (uint32_t s = 0; s < strategy.server_count; s++) {
        double stated = plan->job->strategy.memory[s].total_bytes;
        double found = strategy.memory[s].total_bytes;
        if (fabs(stated - found) > SAME_RATIO * found) {
            findings_add(findings,
                         "memory of server %u is stated as %.9g bytes, but the strategy takes %.9g",
                         s, stated, found);
            return;
        }
    }
}

// Compares the task graphs. Their times are known where the costs are a roofline and the rate
// inside servers is the accelerator's own, which only the times of AllReduces and of tensor groups
// depend on. Returns what could not be compared, or NULL.
static const char *check_graph(struct findings *findings, const struct weft_plan *plan,
                               const struct weft_taskgraph *graph, bool timed,
                               struct weft_arena scratch)
{
    const struct weft_taskgraph *stated = &plan->job->graph;
    struct weft_error difference;
    if (timed && weft_taskgraph_same(stated, graph, WEFT_TASK_ALL_KINDS, scratch, &difference)) {
        return NULL;
    }
    bool operators = plan->job->strategy.kind == WEFT_STRATEGY_OPERATORS;
    uint32_t kinds = timed && operators ? COMPUTE_KINDS : 0;
    if (!weft_taskgraph_same(stated, graph, kinds, scratch, &difference)) {
        findings_add(findings, "the task graph does not follow from the strategy: %s",
                     difference.message);
        return NULL;
    }
    if (!timed) {
        return "times of operators (they came from a profile)";
    }
    return operators
               ? "times of AllReduces inside servers (the rate inside them is not in the file)"
               : "times of operators (the rate inside servers is not in the file)";
}

uint32_t weft_plan_check_model(const struct weft_plan *plan, const struct weft_model *model,
                               const struct weft_violation **violations, const char **left_out,
                               struct weft_arena *arena, struct weft_arena scratch)
{
    WEFT_ASSERT(plan->job != NULL);
    struct findings findings = {WEFT_NEW(arena, struct weft_violation, VIOLATIONS_MAX), 0, arena};
    struct weft_strategy_setting setting;
    struct weft_taskgraph graph;
    struct weft_error error;
    bool timed = false;
    *violations = findings.list;
    *left_out = NULL;
    if (!check_names(&findings, plan->job, model)) {
        return findings.count;
    }
    if (!recall_setting(&setting, &timed, plan)) {
        *left_out = "the task graph and the memory (the file's accelerators are not known)";
        return findings.count;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!weft_strategy_taskgraph(
            &graph, &plan->job->strategy,
            &(struct weft_study){.model = model, .cluster = &plan->cluster, .setting = &setting},
            &kept, scratch, &error)) {
        findings_add(&findings, "strategy: %s", error.message);
        return findings.count;
    }
    *left_out = check_graph(&findings, plan, &graph, timed, scratch);
    check_memory(&findings, plan, model, &setting, scratch);
    return findings.count;
}
