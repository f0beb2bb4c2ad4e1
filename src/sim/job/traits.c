// SPDX-License-Identifier: Apache-2.0
// What MLT is told of a job's messages: whether they belong to a half of a collective that loses
// nothing, and which layer they are of. O(tasks + edges) once, O(1) for each round or transfer.

#include "executor.h"

// The layers of a job's transfers and collectives: the backward pass ends with the front layers, so
// that what comes last in the order of the graph is of layer 0.
void executor_lay_out_layers(struct executor *executor, uint32_t task_count,
                             struct weft_arena *arena, struct weft_arena scratch)
{
    executor->tasks.layer = WEFT_NEW(arena, uint32_t, task_count);
    executor->tasks.layer_count = WEFT_NEW(arena, uint32_t, executor->job_count);
    for (uint32_t job = 0; job < executor->job_count; job++) {
        const struct weft_taskgraph *graph = executor->jobs[job].graph;
        uint32_t *layer = &executor->tasks.layer[executor->first_task[job]];
        struct weft_arena rest = scratch;
        uint32_t *order = WEFT_NEW_RAW(&rest, uint32_t, graph->task_count);
        weft_taskgraph_order(graph, order, rest);
        for (uint32_t i = graph->task_count; i-- > 0;) {
            uint32_t task = order[i];
            if (graph->kind[task] == WEFT_TASK_TRANSFER || weft_task_is_collective(graph, task)) {
                layer[task] = executor->tasks.layer_count[job]++;
            }
        }
    }
}

void executor_set_traits(struct executor *executor, uint32_t task, bool is_protected)
{
    const uint32_t *layer = executor->tasks.layer;
    uint32_t job = executor->tasks.job[task];
    packet_mlt_next(&executor->net.packets,
                    (struct packet_mlt_traits){
                        .is_protected = is_protected,
                        .layer = layer == NULL ? 0 : layer[task],
                        .layer_count = layer == NULL ? 0 : executor->tasks.layer_count[job],
                    });
}
