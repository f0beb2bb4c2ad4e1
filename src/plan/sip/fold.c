// SPDX-License-Identifier: Apache-2.0
// Replicas are alike, so two of them stand for all.
//
// A job of dp replicas on dp * mp accelerators is unchanged when every replica takes the place of
// the next. Circuits and wavelengths of two replicas that send to each other serve dp of them, dp
// even: replicas alternate between the two, and what the second sends to the first goes on to the
// third. So one iteration of two replicas, whose collectives carry as much a member as among all
// dp * k members, takes what the whole job takes. Each round of a ring waits once for the light,
// which is added to the collective beforehand. docs/sip-ml.md, "Two replicas for all".
//
// What does not fit into memory goes in micro-batches, one after the other: each has the tasks of
// one, the first of a micro-batch wait for the last of that before, and gradients are added up and
// reduced with the last.

#include "sip.h"

#include <math.h>

#define TASKS_MAX (1u << 22) // of a fold

// Where the tasks of a micro-batch and what joins them lie in the repeated graph: those of one
// behind the other, then a barrier between each two, then the collectives.
struct repeat {
    const struct weft_taskgraph *once;
    uint32_t copies;
    uint32_t *place; // per task: among those of its micro-batch, or among the collectives
    uint32_t copied; // tasks of a micro-batch
    struct weft_task *tasks;
};

static uint32_t repeat_at(const struct repeat *repeat, uint32_t task, uint32_t copy)
{
    return weft_task_is_collective(repeat->once, task)
               ? repeat->copies * repeat->copied + repeat->copies - 1 + repeat->place[task]
               : copy * repeat->copied + repeat->place[task];
}

// One task of one micro-batch. Its successors are those of its own, collectives only of the last;
// where it has none the barrier behind its micro-batch waits for it.
static void repeat_task(struct repeat *repeat, uint32_t t, uint32_t copy, struct weft_arena *arena)
{
    struct weft_task task = weft_taskgraph_task(repeat->once, t);
    bool last = copy + 1 == repeat->copies;
    uint32_t *next = WEFT_NEW_RAW(arena, uint32_t, (size_t)task.next_count + 1);
    uint32_t count = 0;
    for (uint32_t e = 0; e < task.next_count; e++) {
        if (last || !weft_task_is_collective(repeat->once, task.next[e])) {
            next[count++] = repeat_at(repeat, task.next[e], copy);
        }
    }
    if (count == 0 && !last) {
        next[count++] = repeat->copies * repeat->copied + copy;
    }
    task.next = next;
    task.next_count = count;
    repeat->tasks[repeat_at(repeat, t, copy)] = task;
}

// Makes the graph of a micro-batch that of so many.
static bool repeat_graph(struct weft_taskgraph *graph, uint32_t copies, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_taskgraph once = *graph;
    struct repeat repeat = {&once, copies, WEFT_NEW(&scratch, uint32_t, once.task_count), 0, NULL};
    uint32_t *firsts = WEFT_NEW(&scratch, uint32_t, once.task_count);
    uint32_t collectives = 0;
    uint32_t first_count = 0;
    for (uint32_t t = 0; t < once.task_count; t++) {
        bool collective = weft_task_is_collective(&once, t);
        repeat.place[t] = collective ? collectives++ : repeat.copied++;
        if (!collective && once.prev_count[t] == 0) {
            firsts[first_count++] = t;
        }
    }
    uint64_t count = (uint64_t)copies * repeat.copied + copies - 1 + collectives;
    if (count > TASKS_MAX) {
        weft_fail(
            error, WEFT_INFEASIBLE,
            "%.0f million tasks in %u micro-batches; at most %.0f million are played, so take "
            "a smaller batch or more replicas",
            (double)count * 1e-6, copies, TASKS_MAX * 1e-6);
        return weft_remedy(error, "batch", "%s", "");
    }
    repeat.tasks = WEFT_NEW(&scratch, struct weft_task, count);
    for (uint32_t t = 0; t < once.task_count; t++) {
        uint32_t first = weft_task_is_collective(&once, t) ? copies - 1 : 0;
        for (uint32_t copy = first; copy < copies; copy++) {
            repeat_task(&repeat, t, copy, &scratch);
        }
    }
    for (uint32_t copy = 0; copy + 1 < copies; copy++) {
        uint32_t *next = WEFT_NEW_RAW(&scratch, uint32_t, first_count);
        for (uint32_t i = 0; i < first_count; i++) {
            next[i] = repeat_at(&repeat, firsts[i], copy + 1);
        }
        repeat.tasks[copies * repeat.copied + copy] =
            (struct weft_task){.kind = WEFT_TASK_BARRIER, .next = next, .next_count = first_count};
    }
    const struct weft_taskgraph_draft draft = {once.server_count, once.device_count,
                                               once.device_server, (uint32_t)count, repeat.tasks};
    return weft_taskgraph_build(graph, &draft, arena, scratch, error);
}

// Bytes that the model's gradients have.
static double parameter_bytes(const struct weft_model *model)
{
    double bytes = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        const struct weft_operator *self = &model->operators[op];
        bytes += (double)self->parameters * weft_dtype_bytes(self->spec.dtype);
    }
    return bytes;
}

// Makes collectives of the fold's members carry what those of all replicas do: a member of k sends
// 2 (k-1)/k of the size.
static void unfold_collectives(struct sip_fold *fold, const struct sip_target *target,
                               struct weft_arena *arena)
{
    struct weft_taskgraph *graph = &fold->graph;
    double factor = target->gradient_bytes > 0 && fold->model.parameters > 0
                        ? target->gradient_bytes / parameter_bytes(&fold->model)
                        : 1;
    uint64_t *size_bytes = WEFT_NEW_RAW(arena, uint64_t, graph->task_count);
    uint64_t *runtime_ps = WEFT_NEW_RAW(arena, uint64_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        size_bytes[t] = graph->size_bytes[t];
        runtime_ps[t] = graph->runtime_ps[t];
        if (!weft_task_is_collective(graph, t)) {
            continue;
        }
        double here = weft_task_member_count(graph, t);
        double all = here * fold->choice.dp / fold->replicas;
        if (here > 1) {
            double share = (1 - 1 / all) / (1 - 1 / here);
            size_bytes[t] = (uint64_t)ceil((double)size_bytes[t] * factor * share);
            runtime_ps[t] += (uint64_t)(2 * (all - 1) - 1) * target->latency_ps;
        }
    }
    graph->size_bytes = size_bytes;
    graph->runtime_ps = runtime_ps;
}

static void find_bytes(struct sip_fold *fold, struct weft_arena *arena, struct weft_arena scratch)
{
    size_t pairs = (size_t)fold->node_count * fold->node_count;
    struct weft_traffic traffic;
    struct weft_arena kept = weft_arena_split(&scratch);
    weft_traffic_build(&traffic, &fold->graph, &kept, scratch);
    fold->transfer_bytes = WEFT_NEW_RAW(arena, double, pairs);
    fold->ring_bytes = weft_traffic_matrix(&traffic, arena);
    for (size_t pair = 0; pair < pairs; pair++) {
        double transfer = traffic.transfer_bytes[pair];
        double ring = fold->ring_bytes[pair] - transfer;
        fold->transfer_bytes[pair] = transfer;
        fold->ring_bytes[pair] = ring > 1e-6 * fold->ring_bytes[pair] ? ring : 0;
    }
}

bool sip_fold_build(struct sip_fold *fold, const struct sip_choice *choice,
                    const struct weft_study *study, const struct sip_target *target,
                    const struct weft_environment *environment)
{
    uint32_t replicas = choice->dp > 1 ? 2 : 1;
    uint64_t batch = choice->batch.samples / choice->dp / choice->micro_batches * replicas;
    *fold = (struct sip_fold){
        .choice = *choice,
        .replicas = replicas,
        .node_count = replicas * choice->mp,
        .model = *study->model,
        .cluster = *study->cluster,
        .setting = *study->setting,
    };
    fold->cluster.server_count = fold->node_count;
    fold->cluster.accelerators_per_server = 1;
    fold->cluster.degree = 1;
    fold->cluster.rate_Bps = target->port_Bps;
    fold->cluster.nic_Bps = 0;
    fold->cluster.latency_ps = target->latency_ps;
    fold->setting.cost.accelerators_per_server = 1;
    if (!weft_model_set_batch(&fold->model, batch, environment->error)) {
        return false;
    }
    if (choice->given != NULL) {
        fold->strategy = *choice->given;
    } else if (!sip_place(fold, target, environment->arena, environment->scratch,
                          environment->error)) {
        return false;
    }
    struct weft_study inner = sip_study(fold);
    if (!weft_strategy_memory(&fold->strategy, &inner, environment->arena, environment->scratch,
                              environment->error) ||
        !weft_strategy_taskgraph(&fold->graph, &fold->strategy, &inner, environment->arena,
                                 environment->scratch, environment->error)) {
        return false;
    }
    if (choice->micro_batches > 1 &&
        !repeat_graph(&fold->graph, choice->micro_batches, environment->arena, environment->scratch,
                      environment->error)) {
        return false;
    }
    unfold_collectives(fold, target, environment->arena);
    find_bytes(fold, environment->arena, environment->scratch);
    return true;
}

double *sip_fold_bytes(const struct sip_fold *fold, struct weft_arena *arena)
{
    size_t pairs = (size_t)fold->node_count * fold->node_count;
    double *bytes = WEFT_NEW_RAW(arena, double, pairs);
    for (size_t pair = 0; pair < pairs; pair++) {
        bytes[pair] = fold->transfer_bytes[pair] + fold->ring_bytes[pair];
    }
    return bytes;
}

struct weft_strategy sip_unfold(const struct sip_fold *fold, uint32_t accelerators,
                                struct weft_arena *arena)
{
    uint32_t count = fold->model.operator_count;
    uint32_t mp = fold->choice.mp;
    struct weft_strategy whole = fold->strategy;
    struct weft_placement *placements = WEFT_NEW(arena, struct weft_placement, count);
    struct weft_memory *memory = WEFT_NEW(arena, struct weft_memory, accelerators);
    for (uint32_t op = 0; op < count; op++) {
        const struct weft_placement *own = &fold->strategy.placements[op];
        uint32_t parts = own->sample_parts / fold->replicas * own->parameter_parts;
        uint32_t *servers = WEFT_NEW(arena, uint32_t, (size_t)parts * fold->choice.dp);
        for (uint32_t i = 0; i < parts * fold->choice.dp; i++) {
            servers[i] = i / parts * mp + own->servers[i % parts];
        }
        placements[op] = (struct weft_placement){
            own->sample_parts / fold->replicas * fold->choice.dp, own->parameter_parts, servers};
    }
    for (uint32_t a = 0; a < accelerators; a++) {
        memory[a] = fold->strategy.memory[a % mp];
    }
    whole.server_count = accelerators;
    whole.placements = placements;
    whole.memory = memory;
    return whole;
}
