// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: from matched nodes to a task graph.
//
// Tasks stand in ascending order of node ids, then ranks, so that a graph that Weft wrote comes
// back with its numbers. docs/chakra.md says what becomes of what.

#include "read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_MAX ((uint64_t)1 << 26)

struct place {
    uint64_t id;
    uint32_t rank;
    uint32_t node;
};

struct lowering {
    const struct chakra_set *set;
    const struct weft_chakra_input *input;
    struct weft_arena *scratch;
    struct weft_error *error;
    struct weft_chakra *chakra; // counts

    uint32_t *start; // by node: the task that waits for what the node waits for; WEFT_NONE = none
    uint32_t *end;   // by node: the task that others wait for
    uint32_t *collective_task; // by collective; of an all-to-all the first
    bool *has_next;            // by node

    struct weft_task *tasks;
    uint32_t *task_node; // a node of the task, for messages
    uint32_t task_count;

    struct chakra_edge *edges;
    uint64_t edge_count;

    uint32_t device_count;
    uint32_t *device_server;
    uint32_t *host_device; // by rank; WEFT_NONE = not yet
};

// ---- which nodes are what ----

static bool is_signal(const struct chakra_node *node)
{
    return node->kind == CHAKRA_KIND_SIGNAL &&
           (node->type == CHAKRA_SEND || node->type == CHAKRA_RECV);
}

// A signal whose send waits for one node is an edge from that; any other is a message.
static uint32_t signal_source(const struct chakra_set *set, uint32_t send)
{
    const struct chakra_node *node = &set->nodes[send];
    if (!is_signal(node) || !is_signal(&set->nodes[set->peer[send]]) || node->dep_count != 1 ||
        set->nodes[set->peer[send]].dep_count != 0) {
        return WEFT_NONE;
    }
    uint32_t source = set->deps[node->dep_first];
    return is_signal(&set->nodes[source]) ? WEFT_NONE : source;
}

// The collective before which a node stands for the time inside the servers.
static uint32_t *find_insides(const struct chakra_set *set, struct weft_arena *scratch)
{
    uint32_t *inside_of = WEFT_NEW_RAW(scratch, uint32_t, set->node_count);
    memset(inside_of, 0xff, sizeof *inside_of * set->node_count);
    for (uint32_t n = 0; n < set->node_count; n++) {
        const struct chakra_node *node = &set->nodes[n];
        if (node->type != CHAKRA_COLLECTIVE || node->collective == CHAKRA_ALL_TO_ALL ||
            node->dep_count != 1) {
            continue;
        }
        const uint32_t before = set->deps[node->dep_first];
        const struct chakra_node *inside = &set->nodes[before];
        if (inside->type == CHAKRA_COMP && inside->kind == CHAKRA_KIND_INSIDE) {
            inside_of[before] = set->collective[n];
        }
    }
    return inside_of;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static struct place *order_nodes(const struct chakra_set *set, struct weft_arena *scratch)
{
    struct place *places = WEFT_NEW_RAW(scratch, struct place, set->node_count);
    for (uint32_t n = 0; n < set->node_count; n++) {
        places[n] = (struct place){set->nodes[n].id, set->nodes[n].rank, n};
    }
    qsort(places, set->node_count, sizeof *places, compare_places);
    return places;
}

// ---- tasks ----

static uint32_t add_task(struct lowering *lowering, enum weft_task_kind kind, uint32_t node)
{
    uint32_t task = lowering->task_count++;
    lowering->tasks[task] = (struct weft_task){.kind = kind, .device = WEFT_NONE};
    lowering->task_node[task] = node;
    return task;
}

static void add_edge(struct lowering *lowering, uint32_t from, uint32_t to)
{
    if (from != to) {
        lowering->edges[lowering->edge_count++] = (struct chakra_edge){from, to};
    }
}

static uint32_t own_device(struct lowering *lowering, const struct chakra_node *node)
{
    return lowering->set->device_rank != NULL && node->device != WEFT_NONE ? node->device
                                                                           : node->rank;
}

// Where a rank's CPU work and memory traffic run, beside its accelerator.
static uint32_t host_device(struct lowering *lowering, uint32_t rank)
{
    if (lowering->host_device[rank] == WEFT_NONE) {
        lowering->host_device[rank] = lowering->device_count;
        lowering->device_server[lowering->device_count++] = lowering->set->rank_server[rank];
    }
    return lowering->host_device[rank];
}

static uint64_t roofline_ps(struct lowering *lowering, const struct chakra_node *node)
{
    const struct weft_chakra_input *input = lowering->input;
    if (node->op_count == 0 || node->cpu) {
        return 0;
    }
    if (!(input->flops_per_s > 0) || !(input->memory_Bps > 0)) {
        lowering->chakra->untimed_count++;
        return 0;
    }
    return weft_picoseconds(
        fmax(node->op_count / input->flops_per_s, node->tensor_bytes / input->memory_Bps));
}

static bool lower_device_task(struct lowering *lowering, uint32_t n, enum weft_task_kind kind,
                              uint32_t device, uint64_t runtime_ps)
{
    const struct chakra_node *node = &lowering->set->nodes[n];
    if (device >= lowering->device_count ||
        lowering->device_server[device] != lowering->set->rank_server[node->rank]) {
        weft_fail(lowering->error, WEFT_INPUT, "device %u is none of its rank", device);
        return chakra_blame(lowering->error, node);
    }
    uint32_t task = add_task(lowering, kind, n);
    lowering->tasks[task].device = device;
    lowering->tasks[task].runtime_ps = runtime_ps;
    lowering->start[n] = lowering->end[n] = task;
    return true;
}

// A collective of one member.
static void lower_alone(struct lowering *lowering, enum weft_task_kind kind, uint32_t n)
{
    const struct chakra_node *node = &lowering->set->nodes[n];
    uint32_t *member = WEFT_NEW_RAW(lowering->scratch, uint32_t, 1);
    *member = lowering->set->rank_server[node->rank];
    uint32_t task = add_task(lowering, kind, n);
    lowering->tasks[task].runtime_ps = node->runtime_ps;
    lowering->tasks[task].size_bytes = node->size_bytes == WEFT_NEVER ? 0 : node->size_bytes;
    lowering->tasks[task].members = member;
    lowering->tasks[task].member_count = 1;
    lowering->start[n] = lowering->end[n] = task;
}

static void lower_join(struct lowering *lowering, uint32_t n)
{
    lowering->start[n] = lowering->end[n] = add_task(lowering, WEFT_TASK_BARRIER, n);
}

static bool lower_compute(struct lowering *lowering, uint32_t n)
{
    static const enum weft_task_kind kinds[CHAKRA_KIND_COUNT] = {
        [CHAKRA_KIND_FORWARD] = WEFT_TASK_FORWARD,
        [CHAKRA_KIND_BACKWARD] = WEFT_TASK_BACKWARD,
        [CHAKRA_KIND_UPDATE] = WEFT_TASK_UPDATE,
        [CHAKRA_KIND_LOCAL] = WEFT_TASK_LOCAL,
        [CHAKRA_KIND_BARRIER] = WEFT_TASK_BARRIER,
        [CHAKRA_KIND_ALLREDUCE] = WEFT_TASK_ALLREDUCE,
        [CHAKRA_KIND_REDUCE_SCATTER] = WEFT_TASK_REDUCE_SCATTER,
        [CHAKRA_KIND_ALL_GATHER] = WEFT_TASK_ALL_GATHER,
        [CHAKRA_KIND_INSIDE] = WEFT_TASK_LOCAL,
        [CHAKRA_KIND_SIGNAL] = WEFT_TASK_LOCAL,
    };
    const struct chakra_node *node = &lowering->set->nodes[n];
    enum weft_task_kind kind =
        node->kind < CHAKRA_KIND_COUNT ? kinds[node->kind] : WEFT_TASK_FORWARD;
    if (weft_task_facts[kind].is_collective) {
        lower_alone(lowering, kind, n);
        return true;
    }
    uint64_t runtime_ps = node->has_runtime ? node->runtime_ps : roofline_ps(lowering, node);
    if (node->kind == CHAKRA_KIND_BARRIER || (node->cpu && runtime_ps == 0)) {
        lower_join(lowering, n);
        return true;
    }
    if (node->cpu) {
        return lower_device_task(lowering, n, WEFT_TASK_LOCAL, host_device(lowering, node->rank),
                                 runtime_ps);
    }
    return lower_device_task(lowering, n, kind, own_device(lowering, node), runtime_ps);
}

static void lower_send(struct lowering *lowering, uint32_t n)
{
    const struct chakra_set *set = lowering->set;
    const struct chakra_node *node = &set->nodes[n];
    if (signal_source(set, n) != WEFT_NONE) {
        return;
    }
    uint32_t task = add_task(lowering, WEFT_TASK_TRANSFER, n);
    lowering->tasks[task].from = set->rank_server[node->rank];
    lowering->tasks[task].to = set->rank_server[node->to];
    lowering->tasks[task].size_bytes =
        node->exact_bytes == WEFT_NEVER ? node->size_bytes : node->exact_bytes;
    lowering->start[n] = lowering->end[n] = task;
}

// A receive that waits for something does not hold up its message: what follows waits for both.
static void lower_receive(struct lowering *lowering, uint32_t n)
{
    const struct chakra_node *node = &lowering->set->nodes[n];
    if (node->dep_count > 0) {
        lower_join(lowering, n);
    }
}

// ---- collectives ----

// What the task graph has for a collective.
static enum weft_task_kind kind_of(uint32_t collective)
{
    switch (collective) {
    case CHAKRA_REDUCE_SCATTER:
    case CHAKRA_REDUCE_SCATTER_BLOCK:
        return WEFT_TASK_REDUCE_SCATTER;
    case CHAKRA_ALL_GATHER:
        return WEFT_TASK_ALL_GATHER;
    default:
        return WEFT_TASK_ALLREDUCE;
    }
}

static bool is_chain(uint32_t collective)
{
    return collective == CHAKRA_BROADCAST || collective == CHAKRA_REDUCE;
}

// Bytes of the whole buffer. An all-gather states a shard. A broadcast or reduction of S along a
// chain sends (k-1) S in all, as much as an AllReduce of S/2.
static uint64_t buffer_bytes(const struct chakra_node *node, uint32_t member_count)
{
    uint64_t size_bytes = node->size_bytes;
    if (node->collective == CHAKRA_BARRIER) {
        return 0;
    }
    if (is_chain(node->collective)) {
        return size_bytes / 2 + size_bytes % 2;
    }
    if (node->exact_bytes != WEFT_NEVER) {
        return node->exact_bytes;
    }
    if (node->collective == CHAKRA_ALL_GATHER) {
        return size_bytes > INT64_MAX / member_count ? INT64_MAX : size_bytes * member_count;
    }
    return size_bytes;
}

// A barrier before, a transfer from every member to every other one, and a barrier behind, for each
// member its own.
static void lower_all_to_all(struct lowering *lowering, uint32_t collective)
{
    const struct chakra_set *set = lowering->set;
    const uint32_t *nodes = set->collective_nodes + set->collective_first[collective];
    uint32_t k = set->collective_first[collective + 1] - set->collective_first[collective];
    uint32_t first = lowering->task_count;
    WEFT_ASSERT(k > 0);
    for (uint32_t i = 0; i < 2 * k; i++) {
        uint32_t task = add_task(lowering, WEFT_TASK_BARRIER, nodes[i % k]);
        (i < k ? lowering->start : lowering->end)[nodes[i % k]] = task;
    }
    for (uint32_t i = 0; i < k; i++) {
        add_edge(lowering, first + i, first + k + i);
        for (uint32_t j = 0; j < k; j++) {
            if (i == j) {
                continue;
            }
            uint32_t task = add_task(lowering, WEFT_TASK_TRANSFER, nodes[i]);
            lowering->tasks[task].from = set->rank_server[set->nodes[nodes[i]].rank];
            lowering->tasks[task].to = set->rank_server[set->nodes[nodes[j]].rank];
            lowering->tasks[task].size_bytes = set->nodes[nodes[i]].size_bytes / k;
            add_edge(lowering, first + i, task);
            add_edge(lowering, task, first + k + j);
        }
    }
}

static void lower_reduction(struct lowering *lowering, uint32_t n, uint32_t collective)
{
    const struct chakra_set *set = lowering->set;
    const struct chakra_node *node = &set->nodes[n];
    uint32_t group = set->collective_group[collective];
    uint32_t first = set->group_first[group];
    uint32_t task = add_task(lowering, kind_of(node->collective), n);
    uint32_t member_count = set->group_first[group + 1] - first;
    lowering->chakra->approximated_count += is_chain(node->collective) && member_count > 1;
    lowering->tasks[task].size_bytes = buffer_bytes(node, member_count);
    lowering->tasks[task].members = set->group_members + first;
    lowering->tasks[task].member_count = member_count;
    for (uint32_t i = 0; i < member_count; i++) {
        uint32_t member = set->collective_nodes[set->collective_first[collective] + i];
        lowering->start[member] = lowering->end[member] = task;
    }
}

static bool lower_collective(struct lowering *lowering, uint32_t n)
{
    static const char *const rooted[CHAKRA_COLLECTIVE_COUNT] = {
        [CHAKRA_GATHER] = "gather", [CHAKRA_SCATTER] = "scatter"};
    const struct chakra_node *node = &lowering->set->nodes[n];
    uint32_t collective = lowering->set->collective[n];
    if (lowering->start[n] != WEFT_NONE) {
        return true; // with another member's node
    }
    uint32_t last = lowering->set->collective_first[collective + 1] - 1; // by rank
    const struct chakra_node *far = &lowering->set->nodes[lowering->set->collective_nodes[last]];
    if (far->rank >= lowering->set->server_count) {
        weft_fail(
            lowering->error, WEFT_UNSUPPORTED,
            "has rank %u in its group, a further device of server %u; name servers' own ranks",
            far->rank, lowering->set->rank_server[far->rank]);
        return chakra_blame(lowering->error, node);
    }
    if (rooted[node->collective] != NULL) {
        weft_fail(lowering->error, WEFT_UNSUPPORTED,
                  "is a %s, whose root the trace does not state; write it as sends and receives",
                  rooted[node->collective]);
        return chakra_blame(lowering->error, node);
    }
    if (node->collective == CHAKRA_ALL_TO_ALL) {
        lower_all_to_all(lowering, collective);
    } else {
        lower_reduction(lowering, n, collective);
    }
    return true;
}

// ---- all nodes ----

// Nodes of other kinds join what they wait for; those that join nothing are left out.
static bool lower_other(struct lowering *lowering, uint32_t n)
{
    const struct chakra_node *node = &lowering->set->nodes[n];
    bool memory = node->type == CHAKRA_MEM_LOAD || node->type == CHAKRA_MEM_STORE;
    if (memory && node->runtime_ps > 0) {
        return lower_device_task(lowering, n, WEFT_TASK_LOCAL, host_device(lowering, node->rank),
                                 node->runtime_ps);
    }
    lowering->chakra->skipped_count++;
    if (node->dep_count > 0 || lowering->has_next[n]) {
        lower_join(lowering, n);
    }
    return true;
}

static bool lower_node(struct lowering *lowering, uint32_t n)
{
    switch (lowering->set->nodes[n].type) {
    case CHAKRA_COMP:
        return lower_compute(lowering, n);
    case CHAKRA_SEND:
        lower_send(lowering, n);
        return true;
    case CHAKRA_RECV:
        lower_receive(lowering, n);
        return true;
    case CHAKRA_COLLECTIVE:
        return lower_collective(lowering, n);
    default:
        return lower_other(lowering, n);
    }
}

// What can only be said once all tasks are there: nodes that are part of another's task.
static void settle_insides(struct lowering *lowering, const uint32_t *inside_of)
{
    const struct chakra_set *set = lowering->set;
    for (uint32_t n = 0; n < set->node_count; n++) {
        if (inside_of[n] == WEFT_NONE) {
            continue;
        }
        uint32_t member = set->collective_nodes[set->collective_first[inside_of[n]]];
        struct weft_task *task = &lowering->tasks[lowering->start[member]];
        lowering->start[n] = lowering->end[n] = lowering->start[member];
        if (set->nodes[n].runtime_ps > task->runtime_ps) {
            task->runtime_ps = set->nodes[n].runtime_ps;
        }
    }
}

// Likewise for receives; signals last, as they stand for what ends elsewhere.
static void settle_messages(struct lowering *lowering)
{
    const struct chakra_set *set = lowering->set;
    for (uint32_t n = 0; n < set->node_count; n++) {
        uint32_t send = set->peer[n];
        if (set->nodes[n].type != CHAKRA_RECV || signal_source(set, send) != WEFT_NONE) {
            continue;
        }
        if (lowering->end[n] == WEFT_NONE) {
            lowering->end[n] = lowering->end[send];
        } else {
            add_edge(lowering, lowering->end[send], lowering->end[n]);
        }
    }
    for (uint32_t n = 0; n < set->node_count; n++) {
        uint32_t source = set->nodes[n].type == CHAKRA_SEND ? signal_source(set, n) : WEFT_NONE;
        if (source != WEFT_NONE) {
            lowering->end[n] = lowering->end[source];
            lowering->end[set->peer[n]] = lowering->end[source];
        }
    }
}

static void add_deps(struct lowering *lowering)
{
    const struct chakra_set *set = lowering->set;
    for (uint32_t n = 0; n < set->node_count; n++) {
        const struct chakra_node *node = &set->nodes[n];
        if (lowering->start[n] == WEFT_NONE) {
            continue; // the end of a message or signal
        }
        for (uint64_t d = node->dep_first; d < node->dep_first + node->dep_count; d++) {
            WEFT_ASSERT(lowering->end[set->deps[d]] != WEFT_NONE);
            add_edge(lowering, lowering->end[set->deps[d]], lowering->start[n]);
        }
    }
}

// ---- the whole ----

// How many tasks and edges there can be, at most.
static bool bound_sizes(uint64_t *tasks, uint64_t *edges, const struct chakra_set *set,
                        struct weft_error *error)
{
    *tasks = set->node_count;
    *edges = set->dep_count + set->node_count;
    for (uint32_t c = 0; c < set->collective_count; c++) {
        uint32_t first = set->collective_first[c];
        uint64_t k = set->collective_first[c + 1] - first;
        const struct chakra_node *node = &set->nodes[set->collective_nodes[first]];
        if (node->collective == CHAKRA_ALL_TO_ALL) {
            *tasks += k * (k + 1);
            *edges += 2 * k * k;
        }
        if (*tasks > TASKS_MAX) {
            weft_fail(error, WEFT_UNSUPPORTED,
                      "with this all-to-all there are more than %" PRIu64 " tasks", TASKS_MAX);
            return chakra_blame(error, node);
        }
    }
    return true;
}

static void prepare_devices(struct lowering *lowering)
{
    const struct chakra_set *set = lowering->set;
    uint32_t ranks = set->rank_count;
    bool stated = set->device_rank != NULL;
    lowering->device_count = stated ? set->device_count : ranks;
    lowering->device_server =
        WEFT_NEW_RAW(lowering->scratch, uint32_t, (size_t)lowering->device_count + ranks);
    lowering->host_device = WEFT_NEW_RAW(lowering->scratch, uint32_t, ranks);
    for (uint32_t d = 0; d < lowering->device_count; d++) {
        lowering->device_server[d] = set->rank_server[stated ? set->device_rank[d] : d];
    }
    memset(lowering->host_device, 0xff, sizeof *lowering->host_device * ranks);
}

static bool prepare(struct lowering *lowering, struct weft_error *error)
{
    const struct chakra_set *set = lowering->set;
    struct weft_arena *scratch = lowering->scratch;
    uint64_t task_max = 0;
    uint64_t edge_max = 0;
    if (!bound_sizes(&task_max, &edge_max, set, error)) {
        return false;
    }
    lowering->tasks = WEFT_NEW_RAW(scratch, struct weft_task, task_max);
    lowering->task_node = WEFT_NEW_RAW(scratch, uint32_t, task_max);
    lowering->edges = WEFT_NEW_RAW(scratch, struct chakra_edge, edge_max);
    lowering->start = WEFT_NEW_RAW(scratch, uint32_t, set->node_count);
    lowering->end = WEFT_NEW_RAW(scratch, uint32_t, set->node_count);
    lowering->has_next = WEFT_NEW(scratch, bool, set->node_count);
    memset(lowering->start, 0xff, sizeof *lowering->start * set->node_count);
    memset(lowering->end, 0xff, sizeof *lowering->end * set->node_count);
    for (uint64_t d = 0; d < set->dep_count; d++) {
        lowering->has_next[set->deps[d]] = true;
    }
    prepare_devices(lowering);
    return true;
}

bool chakra_lower(struct weft_chakra *chakra, const struct chakra_set *set,
                  const struct weft_chakra_input *input, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error)
{
    struct weft_chakra read = {.node_count = set->node_count};
    struct lowering lowering = {
        .set = set, .input = input, .scratch = &scratch, .error = error, .chakra = &read};
    if (!prepare(&lowering, error)) {
        return false;
    }
    const uint32_t *inside_of = find_insides(set, &scratch);
    const struct place *places = order_nodes(set, &scratch);
    for (uint32_t i = 0; i < set->node_count; i++) {
        uint32_t n = places[i].node;
        if (inside_of[n] == WEFT_NONE && !lower_node(&lowering, n)) {
            return false;
        }
    }
    settle_insides(&lowering, inside_of);
    settle_messages(&lowering);
    add_deps(&lowering);
    chakra_connect(lowering.tasks, lowering.edges, lowering.edge_count, &scratch);
    if (!chakra_check_acyclic(lowering.tasks, lowering.task_count, lowering.task_node, set, scratch,
                              error)) {
        return false;
    }
    if (!weft_taskgraph_build(&read.graph, set->server_count, lowering.device_count,
                              lowering.device_server, lowering.tasks, lowering.task_count, arena,
                              scratch, error)) {
        return false;
    }
    *chakra = read;
    return true;
}

bool weft_chakra_read(struct weft_chakra *chakra, const struct weft_chakra_input *input,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct chakra_set set;
    return chakra_parse(&set, input, &scratch, error) &&
           chakra_read_groups(&set, input, &scratch, error) &&
           chakra_match(&set, &scratch, error) &&
           chakra_lower(chakra, &set, input, arena, scratch, error);
}
