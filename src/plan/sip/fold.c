// SPDX-License-Identifier: Apache-2.0
// Replicas are alike, so two of them stand for all.
//
// A job of dp replicas on dp * mp accelerators is unchanged when every replica takes the place of
// the next. Circuits and wavelengths of two replicas that send to each other serve dp of them, dp
// even: replicas alternate between the two, and what the second sends to the first goes on to the
// third. So one iteration of two replicas, whose collectives carry as much a member as among all
// dp * k members, takes what the whole job takes. Each round of a ring waits once for the light,
// which is added to the collective beforehand. docs/sip-ml.md, "Two replicas for all".

#include "sip.h"

#include <math.h>

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
    uint64_t batch = choice->batch.samples / choice->dp * replicas;
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
