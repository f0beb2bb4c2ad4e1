// SPDX-License-Identifier: Apache-2.0
// What tasks of each kind are: the one table that every stage asks, instead of a switch of its
// own.
//
// Bytes of collectives on a ring follow Patarasuk and Yuan (JPDC 2009): a pass around the ring
// takes k-1 rounds of S/k bytes. The least bytes of a member follow from the shards that it
// must send and receive.

#include "weft/workload.h"

const struct weft_task_facts weft_task_facts[WEFT_TASK_KIND_COUNT] = {
    [WEFT_TASK_FORWARD] = {.name = "forward", .on_device = true},
    [WEFT_TASK_BACKWARD] = {.name = "backward", .on_device = true},
    [WEFT_TASK_UPDATE] = {.name = "update", .on_device = true},
    [WEFT_TASK_BARRIER] = {.name = "barrier"},
    [WEFT_TASK_LOCAL] = {.name = "local copy", .on_device = true},
    [WEFT_TASK_TRANSFER] = {.name = "transfer"},
    [WEFT_TASK_ALLREDUCE] = {.name = "AllReduce",
                             .is_collective = true,
                             .ring_passes = 2,
                             .sends = {true, true},
                             .receives = {true, true}},
    [WEFT_TASK_REDUCE_SCATTER] = {.name = "ReduceScatter",
                                  .is_collective = true,
                                  .ring_passes = 1,
                                  .sends = {.others = true},
                                  .receives = {.own = true}},
    [WEFT_TASK_ALL_GATHER] = {.name = "AllGather",
                              .is_collective = true,
                              .ring_passes = 1,
                              .sends = {.own = true},
                              .receives = {.others = true}},
};

double weft_task_ring_bytes(const struct weft_taskgraph *graph, uint32_t task)
{
    double k = weft_task_member_count(graph, task);
    double passes = weft_task_facts[graph->kind[task]].ring_passes;
    return passes * (k - 1) / k * (double)graph->size_bytes[task];
}

double weft_task_wire_bytes(const struct weft_taskgraph *graph, uint32_t task)
{
    double k = weft_task_member_count(graph, task);
    double passes = weft_task_facts[graph->kind[task]].ring_passes;
    return passes * (k - 1) * (double)graph->size_bytes[task];
}

double weft_task_least_bytes(const struct weft_taskgraph *graph, uint32_t task, bool receive)
{
    const struct weft_task_facts *facts = &weft_task_facts[graph->kind[task]];
    const struct weft_task_shards *shards = receive ? &facts->receives : &facts->sends;
    double k = weft_task_member_count(graph, task);
    double count = (shards->own ? 1 : 0) + (shards->others ? k - 1 : 0);
    return k < 2 ? 0 : count / k * (double)graph->size_bytes[task];
}
