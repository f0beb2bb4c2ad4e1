// SPDX-License-Identifier: Apache-2.0
// What a node of a Chakra trace becomes in the task graph: docs/chakra.md has the table.
//
// Compute nodes become tasks of a device, priced by the roofline where they state operations but no
// duration; sends become transfers; an AllReduce, ReduceScatter or AllGather becomes one task of
// all its members. A broadcast or reduction of S bytes along a chain puts (k-1) S on the wire, as
// much as an AllReduce of S/2 on a ring, so it becomes that and is counted as approximated. An
// all-to-all becomes a transfer for each pair.

#include "chakra.h"

#include <math.h>

// ---- compute ----

static uint32_t add_task(struct chakra_lowering *lowering, enum weft_task_kind kind, uint32_t node)
{
    uint32_t task = lowering->task_count++;
    lowering->tasks[task] = (struct weft_task){.kind = kind, .device = WEFT_NONE};
    lowering->task_node[task] = node;
    return task;
}

static uint32_t own_device(struct chakra_lowering *lowering, const struct weft_chakra_node *node)
{
    return lowering->trace->device_rank != NULL && node->compute.device != WEFT_NONE
               ? node->compute.device
               : node->rank;
}

// Where a rank's CPU work and memory traffic run, beside its accelerator.
static uint32_t host_device(struct chakra_lowering *lowering, uint32_t rank)
{
    if (lowering->host_device[rank] == WEFT_NONE) {
        lowering->host_device[rank] = lowering->device_count;
        lowering->device_server[lowering->device_count++] = lowering->trace->rank_server[rank];
    }
    return lowering->host_device[rank];
}

static uint64_t roofline_ps(struct chakra_lowering *lowering, const struct weft_chakra_node *node)
{
    const struct weft_chakra_roofline *roofline = lowering->roofline;
    if (node->compute.op_count == 0 || node->compute.on_cpu) {
        return 0;
    }
    if (!(roofline->flops_per_s > 0) || !(roofline->memory_Bps > 0)) {
        lowering->job->untimed_count++;
        return 0;
    }
    return weft_picoseconds(fmax(node->compute.op_count / roofline->flops_per_s,
                                 node->compute.tensor_bytes / roofline->memory_Bps));
}

static bool lower_device_task(struct chakra_lowering *lowering, uint32_t n,
                              enum weft_task_kind kind, uint32_t device, uint64_t runtime_ps)
{
    const struct weft_chakra_node *node = &lowering->trace->nodes[n];
    if (device >= lowering->device_count ||
        lowering->device_server[device] != lowering->trace->rank_server[node->rank]) {
        weft_fail(lowering->error, WEFT_INPUT, "device %u is none of its rank", device);
        return weft_chakra_wrap(lowering->error, node);
    }
    uint32_t task = add_task(lowering, kind, n);
    lowering->tasks[task].device = device;
    lowering->tasks[task].runtime_ps = runtime_ps;
    lowering->start[n] = lowering->end[n] = task;
    return true;
}

// A collective of one member.
static void lower_alone(struct chakra_lowering *lowering, enum weft_task_kind kind, uint32_t n)
{
    const struct weft_chakra_node *node = &lowering->trace->nodes[n];
    uint32_t *member = WEFT_NEW_RAW(lowering->scratch, uint32_t, 1);
    *member = lowering->trace->rank_server[node->rank];
    uint32_t task = add_task(lowering, kind, n);
    lowering->tasks[task].runtime_ps = node->compute.runtime_ps;
    lowering->tasks[task].size_bytes =
        node->comm.size_bytes == WEFT_NEVER ? 0 : node->comm.size_bytes;
    lowering->tasks[task].members = member;
    lowering->tasks[task].member_count = 1;
    lowering->start[n] = lowering->end[n] = task;
}

static void lower_join(struct chakra_lowering *lowering, uint32_t n)
{
    lowering->start[n] = lowering->end[n] = add_task(lowering, WEFT_TASK_BARRIER, n);
}

// A compute node becomes a task of its device, or of the host beside it where it runs on the
// CPU. One that takes no time there only joins; Weft's own files may say that it is a barrier
// or a collective of one member.
static bool lower_compute(struct chakra_lowering *lowering, uint32_t n)
{
    static const enum weft_task_kind kinds[WEFT_CHAKRA_KIND_COUNT] = {
        [WEFT_CHAKRA_KIND_FORWARD] = WEFT_TASK_FORWARD,
        [WEFT_CHAKRA_KIND_BACKWARD] = WEFT_TASK_BACKWARD,
        [WEFT_CHAKRA_KIND_UPDATE] = WEFT_TASK_UPDATE,
        [WEFT_CHAKRA_KIND_LOCAL] = WEFT_TASK_LOCAL,
        [WEFT_CHAKRA_KIND_BARRIER] = WEFT_TASK_BARRIER,
        [WEFT_CHAKRA_KIND_ALLREDUCE] = WEFT_TASK_ALLREDUCE,
        [WEFT_CHAKRA_KIND_REDUCE_SCATTER] = WEFT_TASK_REDUCE_SCATTER,
        [WEFT_CHAKRA_KIND_ALL_GATHER] = WEFT_TASK_ALL_GATHER,
        [WEFT_CHAKRA_KIND_INSIDE] = WEFT_TASK_LOCAL,
        [WEFT_CHAKRA_KIND_SIGNAL] = WEFT_TASK_LOCAL,
    };
    const struct weft_chakra_node *node = &lowering->trace->nodes[n];
    enum weft_task_kind kind =
        node->kind < WEFT_CHAKRA_KIND_COUNT ? kinds[node->kind] : WEFT_TASK_FORWARD;
    if (weft_task_facts[kind].is_collective) {
        lower_alone(lowering, kind, n);
        return true;
    }
    uint64_t runtime_ps =
        node->compute.has_runtime ? node->compute.runtime_ps : roofline_ps(lowering, node);
    if (node->kind == WEFT_CHAKRA_KIND_BARRIER || (node->compute.on_cpu && runtime_ps == 0)) {
        lower_join(lowering, n);
        return true;
    }
    if (node->compute.on_cpu) {
        return lower_device_task(lowering, n, WEFT_TASK_LOCAL, host_device(lowering, node->rank),
                                 runtime_ps);
    }
    return lower_device_task(lowering, n, kind, own_device(lowering, node), runtime_ps);
}

// ---- messages ----

static bool is_signal(const struct weft_chakra_node *node)
{
    return node->kind == WEFT_CHAKRA_KIND_SIGNAL &&
           (node->type == WEFT_CHAKRA_SEND || node->type == WEFT_CHAKRA_RECV);
}

// A signal whose send waits for one node is an edge from that; any other is a message.
uint32_t chakra_signal_source(const struct chakra_matches *matches, uint32_t send)
{
    const struct weft_chakra_trace *trace = matches->trace;
    const struct weft_chakra_node *node = &trace->nodes[send];
    if (!is_signal(node) || !is_signal(&trace->nodes[matches->peer[send]]) ||
        node->dep_count != 1 || trace->nodes[matches->peer[send]].dep_count != 0) {
        return WEFT_NONE;
    }
    uint32_t source = trace->deps[node->dep_first];
    return is_signal(&trace->nodes[source]) ? WEFT_NONE : source;
}

static void lower_send(struct chakra_lowering *lowering, uint32_t n)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    const struct weft_chakra_node *node = &trace->nodes[n];
    if (chakra_signal_source(lowering->matches, n) != WEFT_NONE) {
        return;
    }
    uint32_t task = add_task(lowering, WEFT_TASK_TRANSFER, n);
    lowering->tasks[task].from = trace->rank_server[node->rank];
    lowering->tasks[task].to = trace->rank_server[node->comm.to];
    lowering->tasks[task].size_bytes =
        node->comm.exact_bytes == WEFT_NEVER ? node->comm.size_bytes : node->comm.exact_bytes;
    lowering->start[n] = lowering->end[n] = task;
}

// A receive that waits for something does not hold up its message: what follows waits for both.
static void lower_receive(struct chakra_lowering *lowering, uint32_t n)
{
    const struct weft_chakra_node *node = &lowering->trace->nodes[n];
    if (node->dep_count > 0) {
        lower_join(lowering, n);
    }
}

// ---- collectives ----

// What the task graph has for a collective.
static enum weft_task_kind kind_of(uint32_t collective)
{
    switch (collective) {
    case WEFT_CHAKRA_REDUCE_SCATTER:
    case WEFT_CHAKRA_REDUCE_SCATTER_BLOCK:
        return WEFT_TASK_REDUCE_SCATTER;
    case WEFT_CHAKRA_ALL_GATHER:
        return WEFT_TASK_ALL_GATHER;
    default:
        return WEFT_TASK_ALLREDUCE;
    }
}

static bool is_chain(uint32_t collective)
{
    return collective == WEFT_CHAKRA_BROADCAST || collective == WEFT_CHAKRA_REDUCE;
}

// Bytes of the whole buffer. An all-gather states a shard. A broadcast or reduction of S along a
// chain sends (k-1) S in all, as much as an AllReduce of S/2.
static uint64_t buffer_bytes(const struct weft_chakra_node *node, uint32_t member_count)
{
    uint64_t size_bytes = node->comm.size_bytes;
    if (node->comm.collective == WEFT_CHAKRA_BARRIER) {
        return 0;
    }
    if (is_chain(node->comm.collective)) {
        return size_bytes / 2 + size_bytes % 2;
    }
    if (node->comm.exact_bytes != WEFT_NEVER) {
        return node->comm.exact_bytes;
    }
    if (node->comm.collective == WEFT_CHAKRA_ALL_GATHER) {
        return size_bytes > INT64_MAX / member_count ? INT64_MAX : size_bytes * member_count;
    }
    return size_bytes;
}

// A barrier before, a transfer from every member to every other one, and a barrier behind, for each
// member its own.
static void lower_all_to_all(struct chakra_lowering *lowering, uint32_t collective)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    const struct chakra_matches *matches = lowering->matches;
    const uint32_t *nodes = matches->collective_nodes + matches->collective_first[collective];
    uint32_t k = matches->collective_first[collective + 1] - matches->collective_first[collective];
    uint32_t first = lowering->task_count;
    WEFT_ASSERT(k > 0);
    for (uint32_t i = 0; i < 2 * k; i++) {
        uint32_t task = add_task(lowering, WEFT_TASK_BARRIER, nodes[i % k]);
        (i < k ? lowering->start : lowering->end)[nodes[i % k]] = task;
    }
    for (uint32_t i = 0; i < k; i++) {
        chakra_add_edge(lowering, first + i, first + k + i);
        for (uint32_t j = 0; j < k; j++) {
            if (i == j) {
                continue;
            }
            uint32_t task = add_task(lowering, WEFT_TASK_TRANSFER, nodes[i]);
            lowering->tasks[task].from = trace->rank_server[trace->nodes[nodes[i]].rank];
            lowering->tasks[task].to = trace->rank_server[trace->nodes[nodes[j]].rank];
            lowering->tasks[task].size_bytes = trace->nodes[nodes[i]].comm.size_bytes / k;
            chakra_add_edge(lowering, first + i, task);
            chakra_add_edge(lowering, task, first + k + j);
        }
    }
}

static void lower_reduction(struct chakra_lowering *lowering, uint32_t n, uint32_t collective)
{
    const struct weft_chakra_trace *trace = lowering->trace;
    const struct chakra_matches *matches = lowering->matches;
    const struct weft_chakra_node *node = &trace->nodes[n];
    uint32_t group = matches->collective_group[collective];
    uint32_t first = trace->group_first[group];
    uint32_t task = add_task(lowering, kind_of(node->comm.collective), n);
    uint32_t member_count = trace->group_first[group + 1] - first;
    lowering->job->approximated_count += is_chain(node->comm.collective) && member_count > 1;
    lowering->tasks[task].size_bytes = buffer_bytes(node, member_count);
    lowering->tasks[task].members = trace->group_members + first;
    lowering->tasks[task].member_count = member_count;
    for (uint32_t i = 0; i < member_count; i++) {
        uint32_t member = matches->collective_nodes[matches->collective_first[collective] + i];
        lowering->start[member] = lowering->end[member] = task;
    }
}

// Adds the task of a collective with the first of its nodes. Its members are servers, so a rank
// that is a further device of one cannot take part; a collective with a root cannot be placed,
// as traces do not state it.
static bool lower_collective(struct chakra_lowering *lowering, uint32_t n)
{
    static const char *const rooted[WEFT_CHAKRA_COLLECTIVE_COUNT] = {
        [WEFT_CHAKRA_GATHER] = "gather", [WEFT_CHAKRA_SCATTER] = "scatter"};
    const struct weft_chakra_node *node = &lowering->trace->nodes[n];
    uint32_t collective = lowering->matches->collective[n];
    if (lowering->start[n] != WEFT_NONE) {
        return true; // with another member's node
    }
    uint32_t last = lowering->matches->collective_first[collective + 1] - 1; // by rank
    const struct weft_chakra_node *far =
        &lowering->trace->nodes[lowering->matches->collective_nodes[last]];
    if (far->rank >= lowering->trace->server_count) {
        weft_fail(
            lowering->error, WEFT_UNSUPPORTED,
            "has rank %u in its group, a further device of server %u; name servers' own ranks",
            far->rank, lowering->trace->rank_server[far->rank]);
        return weft_chakra_wrap(lowering->error, node);
    }
    if (rooted[node->comm.collective] != NULL) {
        weft_fail(lowering->error, WEFT_UNSUPPORTED,
                  "is a %s, whose root the trace does not state; write it as sends and receives",
                  rooted[node->comm.collective]);
        return weft_chakra_wrap(lowering->error, node);
    }
    if (node->comm.collective == WEFT_CHAKRA_ALL_TO_ALL) {
        lower_all_to_all(lowering, collective);
    } else {
        lower_reduction(lowering, n, collective);
    }
    return true;
}

// ---- any node ----

// Nodes of other kinds join what they wait for; those that join nothing are left out.
static bool lower_other(struct chakra_lowering *lowering, uint32_t n)
{
    const struct weft_chakra_node *node = &lowering->trace->nodes[n];
    bool memory = node->type == WEFT_CHAKRA_MEM_LOAD || node->type == WEFT_CHAKRA_MEM_STORE;
    if (memory && node->compute.runtime_ps > 0) {
        return lower_device_task(lowering, n, WEFT_TASK_LOCAL, host_device(lowering, node->rank),
                                 node->compute.runtime_ps);
    }
    // Of Kineto's traces, the groups alone: the reader made that node.
    lowering->job->skipped_count += lowering->trace->joined.kineto_count == 0;
    if (node->dep_count > 0 || lowering->has_next[n]) {
        lower_join(lowering, n);
    }
    return true;
}

bool chakra_add_node(struct chakra_lowering *lowering, uint32_t n)
{
    switch (lowering->trace->nodes[n].type) {
    case WEFT_CHAKRA_COMP:
        return lower_compute(lowering, n);
    case WEFT_CHAKRA_SEND:
        lower_send(lowering, n);
        return true;
    case WEFT_CHAKRA_RECV:
        lower_receive(lowering, n);
        return true;
    case WEFT_CHAKRA_COLLECTIVE:
        return lower_collective(lowering, n);
    default:
        return lower_other(lowering, n);
    }
}
