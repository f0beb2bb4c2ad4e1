// SPDX-License-Identifier: Apache-2.0
// What everything that emits tasks of a hybrid strategy shares: how a task and an edge are added
// (counted in the first of two runs, stored in the second), and where a replica, a stage and a pass
// of it lie. O(1) each.

#include "tasks.h"

void hybrid_fold_none(struct hybrid_fold *fold, uint32_t replica_count, struct weft_arena *arena)
{
    uint32_t *replicas = WEFT_NEW_RAW(arena, uint32_t, replica_count);
    for (uint32_t r = 0; r < replica_count; r++) {
        replicas[r] = r;
    }
    *fold = (struct hybrid_fold){replica_count, replicas, replicas};
}

uint32_t weft_hybrid_add_task(struct weft_hybrid_builder *builder, const struct weft_task *task)
{
    if (builder->tasks != NULL) {
        builder->tasks[builder->task_count] = *task;
    }
    builder->message_count += task->kind == WEFT_TASK_TRANSFER ? 1 : 0;
    return (uint32_t)builder->task_count++;
}

void weft_hybrid_add_edge(struct weft_hybrid_builder *builder, uint32_t from, uint32_t to)
{
    if (from == WEFT_NONE || to == WEFT_NONE) {
        return;
    }
    if (builder->edge_from != NULL) {
        builder->edge_from[builder->edge_count] = from;
        builder->edge_to[builder->edge_count] = to;
    }
    builder->edge_count++;
}

// ---- coordinates ----

uint32_t weft_hybrid_device(const struct weft_hybrid_builder *builder, uint32_t replica,
                            uint32_t rank)
{
    return weft_hybrid_accelerator(&builder->job->mesh, replica, rank) / builder->job->hybrid.tp;
}

uint32_t weft_hybrid_server(const struct weft_hybrid_builder *builder, uint32_t replica,
                            uint32_t rank)
{
    return weft_hybrid_accelerator(&builder->job->mesh, replica, rank) /
           builder->job->mesh.per_server;
}

struct weft_hybrid_stage weft_hybrid_stage_of(const struct weft_hybrid_builder *builder,
                                              uint32_t stage)
{
    return weft_hybrid_stage_at(builder->job->model->transformer, builder->stages, stage);
}

uint64_t weft_hybrid_pass_index(const struct weft_hybrid_builder *builder, uint32_t replica,
                                uint32_t stage, uint64_t micro_batch, bool backward)
{
    WEFT_ASSERT(builder->fold->place[replica] != WEFT_NONE);
    uint64_t at = (uint64_t)builder->fold->place[replica] * builder->stages + stage;
    return 2 * (at * builder->micro_batches + micro_batch) + (backward ? 1 : 0);
}

struct weft_hybrid_pass_tasks weft_hybrid_pass_at(const struct weft_hybrid_builder *builder,
                                                  uint32_t replica, uint32_t stage,
                                                  uint64_t micro_batch, bool backward)
{
    struct weft_hybrid_stage holds = weft_hybrid_stage_of(builder, stage);
    bool bucketed =
        backward ? micro_batch == builder->micro_batches - 1 : micro_batch == 0 && builder->gathers;
    uint32_t buckets = bucketed ? weft_hybrid_buckets(&builder->job->hybrid, &holds) : 1;
    uint32_t parts =
        1u + (builder->ring ? 1u : 0u) + (builder->exchange && holds.expert_layers > 0 ? 1u : 0u);
    return (struct weft_hybrid_pass_tasks){
        .enter =
            builder->enter[weft_hybrid_pass_index(builder, replica, stage, micro_batch, backward)],
        .parts = parts > buckets ? parts : buckets,
        .buckets = buckets,
        .ring = builder->ring,
    };
}
