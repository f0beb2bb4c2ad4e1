// SPDX-License-Identifier: Apache-2.0
// Whether everything that a plan claims holds. What the checker (src/verify) needs beside the plan
// is gathered here as data: the job's task graph, the same with the schedules of the chosen
// collectives, each proved by symbolic execution first, and what the model is, where the plan began
// with one of the zoo or of a file that was named.

#include "weft/request/check.h"
#include "weft/collective.h"
#include "weft/format.h"

#include <string.h>

// Whose roofline stands in where times are not looked at: it knows every dtype.
#define STAND_IN "H100"

// ---- the model ----

// What the plan was made with, as far as its file says. False: no such costs.
static bool recall_setting(struct weft_strategy_setting *setting, bool *timed,
                           const struct weft_plan *plan)
{
    static const char roofline[] = "roofline ";
    const struct weft_plan_job *job = plan->job;
    *timed = strncmp(job->costs, roofline, sizeof roofline - 1) == 0;
    const char *name = *timed ? job->costs + sizeof roofline - 1 : STAND_IN;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error error;
    const struct weft_accelerator *own = plan->cluster.own_accelerator;
    if (own != NULL && *timed && strcmp(own->name, name) == 0) {
        accelerator = own;
    } else if (!weft_accelerator_named(&accelerator, name, &error)) {
        return false;
    }
    if (plan->cluster.accelerators_per_server == 0) {
        return false;
    }
    const struct weft_stack *stack = NULL;
    if (plan->cluster.stack != NULL && plan->cluster.stack[0] != '\0' &&
        !weft_stack_named(&stack, plan->cluster.stack, &error)) {
        return false;
    }
    *setting = (struct weft_strategy_setting){
        .cost = {.accelerator = accelerator,
                 .accelerators_per_server = plan->cluster.accelerators_per_server},
        .optimizer = job->optimizer,
        .tables = job->tables,
        .stack = stack,
        .inside_Bps = job->inside_Bps,
    };
    return true;
}

// What the parts of every operator take at each split.
static bool list_operators(struct weft_verify_model *known, const struct weft_study *study,
                           const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    const struct weft_model *model = study->model;
    const struct weft_cost_options *costs = &study->setting->cost;
    struct weft_verify_operator *operators =
        WEFT_NEW(arena, struct weft_verify_operator, (size_t)model->operator_count + 1);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        struct weft_split_list list;
        if (!weft_operator_splits(&list, model, op, study->cluster->server_count, costs,
                                  environment)) {
            return false;
        }
        struct weft_verify_split *splits =
            WEFT_NEW(arena, struct weft_verify_split, (size_t)list.count + 1);
        for (uint32_t i = 0; i < list.count; i++) {
            struct weft_operator_cost cost;
            if (!weft_operator_time(&cost, model, op, list.splits[i], costs, environment->error)) {
                return false;
            }
            splits[i] = (struct weft_verify_split){
                list.splits[i].sample_parts, list.splits[i].parameter_parts,
                weft_seconds(cost.forward_ps), weft_seconds(cost.backward_ps)};
        }
        operators[op] =
            (struct weft_verify_operator){model->operators[op].spec.input_count,
                                          model->operators[op].spec.inputs, list.count, splits};
    }
    known->operators = operators;
    return true;
}

// The model's FLOPs of an iteration, backward twice forward, and what the accelerators could do.
static void recall_flops(struct weft_verify_model *known, const struct weft_study *study)
{
    const struct weft_model *model = study->model;
    const struct weft_cost_options *costs = &study->setting->cost;
    if (model->transformer != NULL) {
        known->iteration_flops = 3 * model->forward_flops * (double)model->batch;
        known->peak_flops_per_s = costs->accelerator->flops_per_s[model->transformer->dtype] *
                                  study->cluster->server_count * costs->accelerators_per_server;
    }
}

// What the strategy gives: its task graph and its memory, by what a strategy means (src/strategy).
static bool follow_strategy(struct weft_verify_model *known, const struct weft_plan *plan,
                            const struct weft_study *study,
                            const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_taskgraph *graph = WEFT_NEW(arena, struct weft_taskgraph, 1);
    struct weft_strategy strategy = plan->job->strategy;
    if (!weft_strategy_taskgraph(graph, &strategy, study, arena, environment->scratch,
                                 environment->error) ||
        !weft_strategy_memory(&strategy, study, arena, environment->scratch, environment->error)) {
        return false;
    }
    known->graph = graph;
    known->memory = strategy.memory;
    return true;
}

// All that is known of the plan's model. Fails only where a file that was named cannot be read.
static bool know_model(struct weft_verify_model *known, const struct weft_check_request *request,
                       const struct weft_plan *plan, struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_plan_job *job = plan->job;
    struct weft_model *model = WEFT_NEW(base->arena, struct weft_model, 1);
    struct weft_strategy_setting *setting = WEFT_NEW(base->arena, struct weft_strategy_setting, 1);
    struct weft_error error;
    const struct weft_environment inner = {base->arena, base->scratch, .error = &error};
    bool timed = false;
    if (request->model == NULL && !weft_request_in_zoo(job->model)) {
        known->why_not = weft_arena_format(
            base->arena,
            "whether strategy, task graph, memory and the bounds for any strategy follow from the "
            "model: %s is not of the zoo; write {model=FILE.yaml}",
            job->model);
        return true;
    }
    if (!weft_request_model(model, request->model != NULL ? request->model : job->model,
                            environment)) {
        return false;
    }
    const char **names = WEFT_NEW(base->arena, const char *, (size_t)model->operator_count + 1);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        names[op] = model->operators[op].spec.name;
    }
    known->operator_count = model->operator_count;
    known->names = names;
    known->transformer = model->transformer != NULL;
    bool hybrid = job->strategy.kind == WEFT_STRATEGY_HYBRID;
    bool same = hybrid ? known->transformer : job->operator_count == model->operator_count;
    if (!recall_setting(setting, &timed, plan)) {
        known->why_not = "the task graph and the memory: the file's accelerators are not known";
        return true;
    }
    const struct weft_study study = {.model = model, .cluster = &plan->cluster, .setting = setting};
    if (!weft_model_set_batch(model, job->batch, &error) ||
        (same && !follow_strategy(known, plan, &study, &inner)) ||
        (timed && !hybrid && !list_operators(known, &study, &inner))) {
        known->refused = weft_arena_format(base->arena, "strategy: %s", error.message);
        return true;
    }
    recall_flops(known, &study);
    known->timed_kinds = timed ? WEFT_TASK_ALL_KINDS : 0;
    known->why_untimed =
        timed ? NULL : "times of operators came from a profile, which the file lacks";
    return true;
}

// ---- chosen collectives ----

// The kinds of a choice's tasks and the largest of each; 0 = none. The planner has the same
// (plan/collectives/certify.c), and what it left out by mistake a check must find.
static void list_tasks(uint64_t largest[WEFT_TASK_KIND_COUNT],
                       const struct weft_collective_choice *choice,
                       const struct weft_taskgraph *graph)
{
    memset(largest, 0, WEFT_TASK_KIND_COUNT * sizeof *largest);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint64_t size_bytes = graph->size_bytes[t];
        if (weft_task_is_collective(graph, t) && graph->group[t] == choice->group &&
            size_bytes >= choice->size_min_bytes && size_bytes <= choice->size_max_bytes &&
            size_bytes > largest[graph->kind[t]]) {
            largest[graph->kind[t]] = size_bytes;
        }
    }
}

// Executes the schedules of all choices symbolically, for the largest task of each kind. What is
// wrong, or NULL.
static const char *prove_choices(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                                 const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        uint64_t largest[WEFT_TASK_KIND_COUNT];
        list_tasks(largest, &plan->collectives[c], graph);
        for (enum weft_task_kind kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
            struct weft_arena arena = kept;
            struct weft_placed_schedule placed;
            struct weft_schedule_report report = {.valid = true};
            struct weft_error error = {.message = ""};
            const struct weft_collective_call call = {kind, largest[kind]};
            const struct weft_environment inner = {&arena, scratch, .error = &error};
            bool built = largest[kind] == 0 ||
                         (weft_collective_choice_build(&placed, &plan->collectives[c], &call, graph,
                                                       &plan->network, &inner) &&
                          weft_schedule_check(&report, &placed.schedule, scratch, &error));
            if (!built || !report.valid) {
                return weft_arena_format(environment->arena, "collectives[%u]: %s", c,
                                         built ? report.why : error.message);
            }
        }
    }
    return NULL;
}

// The task graph as it is played, or why there is none.
static void play_choices(struct weft_verify_input *input,
                         const struct weft_environment *environment)
{
    struct weft_taskgraph *played = WEFT_NEW(environment->arena, struct weft_taskgraph, 1);
    struct weft_error error;
    struct weft_environment inner = *environment;
    inner.error = &error;
    const struct weft_plan *plan = input->plan;
    if (plan->collective_count == 0 || input->graph == NULL || plan->flaws.count > 0) {
        return;
    }
    input->why_not_played = prove_choices(plan, input->graph, &inner);
    if (input->why_not_played == NULL &&
        !weft_taskgraph_expand(played, input->graph, plan->collectives, plan->collective_count,
                               &plan->network, &inner)) {
        input->why_not_played =
            weft_arena_format(environment->arena, "collectives: %s", error.message);
    }
    input->played = input->why_not_played == NULL ? played : NULL;
}

bool weft_request_check(struct weft_check_result *result, const struct weft_check_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    struct weft_fbuf fbuf;
    struct weft_verify_model known = {.why_not = NULL};
    if (request->without_job && request->job_path != NULL) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{without-job} and a job exclude one another; leave out one of the two");
    }
    if (!weft_plan_load(plan, request->plan_path, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (request->model != NULL && plan->job == NULL) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{model}: %s was made for a task graph; name that instead",
                         request->plan_path);
    }
    if (request->job_path != NULL &&
        !weft_fbuf_load(&fbuf, request->job_path, base->arena, base->scratch, base->error)) {
        return false;
    }
    if (plan->job != NULL && !know_model(&known, request, plan, environment)) {
        return false;
    }
    struct weft_verify_input input = {.plan = plan,
                                      .digest = weft_plan_digest(plan, base->scratch)};
    input.graph = request->job_path != NULL ? &fbuf.graph
                  : plan->job != NULL       ? &plan->job->graph
                                            : NULL;
    input.model = plan->job != NULL ? &known : NULL;
    play_choices(&input, base);
    struct weft_verify_report report;
    weft_verify_plan(&report, &input, base->arena, base->scratch);
    bool all_seen = true;
    for (uint32_t i = 0; i < report.unverified_count; i++) {
        all_seen = all_seen && (!report.unverified[i].needs_job || request->without_job);
    }
    *result = (struct weft_check_result){report, report.violation_count == 0 && all_seen};
    return true;
}
