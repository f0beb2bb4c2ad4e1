// SPDX-License-Identifier: Apache-2.0
// What everything that emits tasks of a hybrid strategy shares: how a task and an edge are added
// (counted in the first of two runs, stored in the second), and where a replica, a stage and a pass
// of it lie. O(1) each.

#include "tasks.h"

uint32_t weft_hybrid_add_task(struct weft_hybrid_builder *builder, const struct weft_task *task)
{
    if (builder->tasks != NULL) {
        builder->tasks[builder->task_count] = *task;
    }
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

uint32_t weft_hybrid_next_context(const struct weft_hybrid_builder *builder, uint32_t replica)
{
    const struct weft_hybrid_mesh *mesh = &builder->job->mesh;
    bool first = mesh->stride[WEFT_AXIS_CONTEXT] < mesh->stride[WEFT_AXIS_DATA];
    uint32_t unit = first ? 1 : mesh->size[WEFT_AXIS_DATA];
    uint32_t place = replica / unit % mesh->size[WEFT_AXIS_CONTEXT];
    uint32_t next = (place + 1) % mesh->size[WEFT_AXIS_CONTEXT];
    return replica - place * unit + next * unit;
}

struct weft_hybrid_stage weft_hybrid_stage_of(const struct weft_hybrid_builder *builder,
                                              uint32_t stage)
{
    return weft_hybrid_stage_at(builder->job->model->transformer, builder->stages, stage);
}

struct weft_hybrid_pass_tasks weft_hybrid_pass_at(const struct weft_hybrid_builder *builder,
                                                  uint32_t replica, uint32_t stage,
                                                  uint64_t micro_batch, bool backward)
{
    struct weft_hybrid_stage holds = weft_hybrid_stage_of(builder, stage);
    uint64_t at = ((uint64_t)replica * builder->stages + stage) * builder->micro_batches;
    bool bucketed =
        backward ? micro_batch == builder->micro_batches - 1 : micro_batch == 0 && builder->gathers;
    uint32_t buckets = bucketed ? weft_hybrid_buckets(&builder->job->hybrid, &holds) : 1;
    uint32_t parts =
        1u + (builder->ring ? 1u : 0u) + (builder->exchange && holds.expert_layers > 0 ? 1u : 0u);
    return (struct weft_hybrid_pass_tasks){
        .enter = builder->enter[2 * (at + micro_batch) + (backward ? 1 : 0)],
        .parts = parts > buckets ? parts : buckets,
        .buckets = buckets,
        .ring = builder->ring,
    };
}
