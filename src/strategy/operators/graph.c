// SPDX-License-Identifier: Apache-2.0
// The task graph of a strategy that gives every operator its own parts and servers, as FlexFlow
// (SysML 2019, section 4) and the TopoOpt artifact build it.
//
// FORWARD and BACKWARD of each part; between parts whose regions meet a TRANSFER, or a plain edge
// inside a server, forth and back; an ALLREDUCE of each shard of each parameter tensor once all
// parts that hold it have run backward. INPUT operators have no tasks.

#include "graph.h"

#include "regions.h"

#include <inttypes.h>

// Limits of memory (tasks of 64 bytes, edges of 8) and of the time to compare pairs of parts.
#define PARTS_MAX 65536u
#define TASKS_MAX ((uint64_t)1 << 24)
#define EDGES_MAX ((uint64_t)1 << 27)
#define PAIRS_MAX ((uint64_t)1 << 28)

// ---- checks ----

static bool check_parts(const struct weft_operator *op, const struct weft_placement *place,
                        uint64_t batch, struct weft_error *error)
{
    uint64_t extent = weft_operator_extent(op);
    if (place->sample_parts == 0 || place->parameter_parts == 0 ||
        (uint64_t)place->sample_parts * place->parameter_parts > PARTS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u x %u parts; an operator has 1 to %u parts in all",
                         place->sample_parts, place->parameter_parts, PARTS_MAX);
    }
    if (batch % place->sample_parts != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "the batch of %" PRIu64 " samples does not divide into %u parts; choose "
                         "a batch that does",
                         batch, place->sample_parts);
    }
    if (extent % place->parameter_parts != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s with %" PRIu64 " to divide cannot have %u parameter parts; take a "
                         "divisor of it",
                         weft_operator_kind_name(op->spec.kind), extent, place->parameter_parts);
    }
    return true;
}

static bool check_servers(const struct weft_placement *place, uint32_t server_count,
                          struct weft_error *error)
{
    for (uint32_t i = 0; i < place->sample_parts * place->parameter_parts; i++) {
        if (place->servers[i] >= server_count) {
            return weft_fail(error, WEFT_INPUT, "part %u is on server %u, but servers are 0 to %u",
                             i, place->servers[i], server_count - 1);
        }
    }
    return true;
}

// Counts the pairs of parts that share samples with what an operator reads: each is looked at, by
// the task graph and by the memory.
static bool check_pairs(uint64_t *pairs, const struct weft_strategy *strategy,
                        const struct weft_model *model, uint32_t op, struct weft_error *error)
{
    const struct weft_operator *self = &model->operators[op];
    const struct weft_placement *to = &strategy->placements[op];
    for (uint32_t slot = 0; slot < self->spec.input_count; slot++) {
        uint32_t producer = self->spec.inputs[slot];
        const struct weft_placement *from = &strategy->placements[producer];
        if (model->operators[producer].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        uint64_t blocks = (uint64_t)from->sample_parts + to->sample_parts - 1; // at most
        *pairs += blocks * from->parameter_parts * to->parameter_parts;
        if (*pairs > PAIRS_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "its %u x %u parts and the %u x %u of %s are too many to pair; divide "
                             "operators into fewer parts",
                             to->sample_parts, to->parameter_parts, from->sample_parts,
                             from->parameter_parts, model->operators[producer].spec.name);
        }
    }
    return true;
}

bool weft_operators_check(const struct weft_strategy *strategy, const struct weft_model *model,
                          const struct weft_cluster *cluster, struct weft_error *error)
{
    WEFT_ASSERT(strategy->kind == WEFT_STRATEGY_OPERATORS);
    if (strategy->server_count != cluster->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the strategy is for %u servers, the cluster has %u; search one for this "
                         "cluster",
                         strategy->server_count, cluster->server_count);
    }
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator *op = &model->operators[i];
        if (op->spec.kind != WEFT_OP_INPUT &&
            (!check_parts(op, &strategy->placements[i], model->batch, error) ||
             !check_servers(&strategy->placements[i], cluster->server_count, error) ||
             !check_pairs(&pairs, strategy, model, i, error))) {
            return weft_wrap(error, "operator %s", op->spec.name);
        }
    }
    return true;
}

// ---- AllReduce ----

uint64_t weft_operators_shard_bytes(const struct weft_operator *op, uint32_t tensor,
                                    uint32_t parameter_parts)
{
    uint64_t elements = op->tensor_elements[tensor];
    return (elements + parameter_parts - 1) / parameter_parts * weft_dtype_bytes(op->spec.dtype);
}

uint64_t weft_operators_inside_ps(const struct weft_operator *op, uint64_t size_bytes,
                                  const struct weft_strategy_setting *setting)
{
    uint32_t accelerators = setting->cost.accelerators_per_server;
    bool sharded = op->spec.kind == WEFT_OP_EMBEDDING && setting->tables == WEFT_TABLES_SHARDED;
    if (sharded || accelerators < 2 || setting->inside_Bps <= 0) {
        return 0;
    }
    return weft_picoseconds(2.0 * (double)size_bytes / (accelerators * setting->inside_Bps));
}

// ---- drafting ----

// Tasks and edges as they are found. The first pass only counts: its arrays are NULL.
struct draft {
    const struct weft_strategy *strategy;
    const struct weft_model *model;
    const struct weft_strategy_setting *setting;
    const uint32_t *forward; // first FORWARD task of each operator; WEFT_NONE for INPUT
    uint32_t *seen;          // per server
    uint32_t stamp;
    struct weft_task *tasks;
    uint64_t task_count;
    uint32_t *edge_from;
    uint32_t *edge_to;
    uint64_t edge_count;
    uint32_t *members;
    uint64_t member_count;
};

static uint32_t part_count(const struct draft *draft, uint32_t op)
{
    const struct weft_placement *place = &draft->strategy->placements[op];
    return place->sample_parts * place->parameter_parts;
}

static uint32_t backward_of(const struct draft *draft, uint32_t op)
{
    return draft->forward[op] + part_count(draft, op);
}

static void add_edge(struct draft *draft, uint32_t from, uint32_t to)
{
    if (draft->edge_from != NULL) {
        draft->edge_from[draft->edge_count] = from;
        draft->edge_to[draft->edge_count] = to;
    }
    draft->edge_count++;
}

static uint32_t add_task(struct draft *draft, const struct weft_task *task)
{
    uint32_t index = (uint32_t)draft->task_count++;
    if (draft->tasks != NULL) {
        draft->tasks[index] = *task;
    }
    return index;
}

// Joins two parts' tasks by an edge or, on different servers, by a transfer.
static void join(struct draft *draft, uint32_t from_task, uint32_t to_task, uint32_t from_server,
                 uint32_t to_server, uint64_t size_bytes)
{
    if (from_server == to_server) {
        add_edge(draft, from_task, to_task);
        return;
    }
    uint32_t transfer = add_task(draft, &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                                            .size_bytes = size_bytes,
                                                            .from = from_server,
                                                            .to = to_server});
    add_edge(draft, from_task, transfer);
    add_edge(draft, transfer, to_task);
}

// Both directions between all parts that divide samples `s` of the producer and `t` of the
// consumer, which share `samples`.
static void join_samples(struct draft *draft, uint32_t producer, uint32_t consumer, uint32_t slot,
                         const uint32_t st[2], uint64_t samples)
{
    const struct weft_operator *op = &draft->model->operators[producer];
    const struct weft_placement *from = &draft->strategy->placements[producer];
    const struct weft_placement *to = &draft->strategy->placements[consumer];
    for (uint32_t q = 0; q < to->parameter_parts; q++) {
        struct region read =
            weft_region_input(draft->model, consumer, slot, q, to->parameter_parts);
        uint32_t j = st[1] * to->parameter_parts + q;
        for (uint32_t p = 0; p < from->parameter_parts; p++) {
            struct region made = weft_region_output(op, p, from->parameter_parts);
            uint64_t elements = weft_region_shared(&made, &read);
            if (elements == 0) {
                continue;
            }
            uint64_t size_bytes = samples * elements * weft_dtype_bytes(op->spec.dtype);
            uint32_t i = st[0] * from->parameter_parts + p;
            join(draft, draft->forward[producer] + i, draft->forward[consumer] + j,
                 from->servers[i], to->servers[j], size_bytes);
            join(draft, backward_of(draft, consumer) + j, backward_of(draft, producer) + i,
                 to->servers[j], from->servers[i], size_bytes);
        }
    }
}

static void join_operators(struct draft *draft, uint32_t producer, uint32_t consumer, uint32_t slot)
{
    uint64_t batch = draft->model->batch;
    uint32_t from_parts = draft->strategy->placements[producer].sample_parts;
    uint32_t to_parts = draft->strategy->placements[consumer].sample_parts;
    uint32_t s = 0;
    uint32_t t = 0;
    while (s < from_parts && t < to_parts) {
        uint64_t low_s = batch / from_parts * s;
        uint64_t low_t = batch / to_parts * t;
        uint64_t high_s = low_s + batch / from_parts;
        uint64_t high_t = low_t + batch / to_parts;
        uint64_t low = low_s > low_t ? low_s : low_t;
        uint64_t high = high_s < high_t ? high_s : high_t;
        WEFT_ASSERT(low < high);
        join_samples(draft, producer, consumer, slot, (uint32_t[2]){s, t}, high - low);
        s += high_s == high;
        t += high_t == high;
    }
}

// The AllReduces of shard p of every tensor of an operator.
static void reduce_shard(struct draft *draft, uint32_t op, uint32_t p)
{
    const struct weft_placement *place = &draft->strategy->placements[op];
    const struct weft_operator *self = &draft->model->operators[op];
    uint32_t stamp = ++draft->stamp;
    for (uint32_t s = 0; s < place->sample_parts; s++) {
        draft->seen[place->servers[s * place->parameter_parts + p]] = stamp;
    }
    uint64_t first = draft->member_count;
    for (uint32_t server = 0; server < draft->strategy->server_count; server++) {
        if (draft->seen[server] == stamp) {
            if (draft->members != NULL) {
                draft->members[draft->member_count] = server;
            }
            draft->member_count++;
        }
    }
    for (uint32_t tensor = 0; tensor < self->tensor_count; tensor++) {
        uint64_t size_bytes = weft_operators_shard_bytes(self, tensor, place->parameter_parts);
        struct weft_task task = {.kind = WEFT_TASK_ALLREDUCE,
                                 .size_bytes = size_bytes,
                                 .runtime_ps =
                                     weft_operators_inside_ps(self, size_bytes, draft->setting),
                                 .members = draft->members == NULL ? NULL : draft->members + first,
                                 .member_count = (uint32_t)(draft->member_count - first)};
        uint32_t reduce = add_task(draft, &task);
        for (uint32_t s = 0; s < place->sample_parts; s++) {
            add_edge(draft, backward_of(draft, op) + s * place->parameter_parts + p, reduce);
        }
    }
}

static void draft_operator(struct draft *draft, uint32_t op)
{
    const struct weft_operator *self = &draft->model->operators[op];
    const struct weft_placement *place = &draft->strategy->placements[op];
    for (uint32_t i = 0; i < part_count(draft, op); i++) {
        add_edge(draft, draft->forward[op] + i, backward_of(draft, op) + i);
    }
    for (uint32_t slot = 0; slot < self->spec.input_count; slot++) {
        uint32_t producer = self->spec.inputs[slot];
        if (draft->forward[producer] != WEFT_NONE) {
            join_operators(draft, producer, op, slot);
        }
    }
    for (uint32_t p = 0; self->tensor_count > 0 && p < place->parameter_parts; p++) {
        reduce_shard(draft, op, p);
    }
}

static void draft_all(struct draft *draft, uint32_t compute_count)
{
    draft->task_count = compute_count;
    draft->edge_count = 0;
    draft->member_count = 0;
    for (uint32_t op = 0; op < draft->model->operator_count; op++) {
        if (draft->forward[op] != WEFT_NONE) {
            draft_operator(draft, op);
        }
    }
}

// ---- publishing ----

// Fills the forward and backward task of every part with the times of its operator's split, which
// are found once for all of its parts.
static bool fill_compute(struct draft *draft, struct weft_error *error)
{
    for (uint32_t op = 0; op < draft->model->operator_count; op++) {
        if (draft->forward[op] == WEFT_NONE) {
            continue;
        }
        const struct weft_placement *place = &draft->strategy->placements[op];
        struct weft_operator_cost cost;
        if (!weft_operator_time(&cost, draft->model, op,
                                (struct weft_split){place->sample_parts, place->parameter_parts},
                                &draft->setting->cost, error)) {
            return false;
        }
        uint32_t forward = draft->forward[op];
        uint32_t count = part_count(draft, op);
        for (uint32_t i = 0; i < count; i++) {
            draft->tasks[forward + i] = (struct weft_task){.kind = WEFT_TASK_FORWARD,
                                                           .device = place->servers[i],
                                                           .runtime_ps = cost.forward_ps};
            draft->tasks[forward + count + i] = (struct weft_task){.kind = WEFT_TASK_BACKWARD,
                                                                   .device = place->servers[i],
                                                                   .runtime_ps = cost.backward_ps};
        }
    }
    return true;
}

// Sorts the edges by their first task (counting sort) and points the tasks at them.
static void link_edges(struct draft *draft, struct weft_arena *scratch)
{
    uint32_t count = (uint32_t)draft->task_count;
    uint32_t *next = WEFT_NEW_RAW(scratch, uint32_t, draft->edge_count);
    uint32_t *first = WEFT_NEW(scratch, uint32_t, (size_t)count + 1);
    for (uint64_t e = 0; e < draft->edge_count; e++) {
        first[draft->edge_from[e] + 1]++;
    }
    for (uint32_t t = 0; t < count; t++) {
        draft->tasks[t].next_count = first[t + 1];
        first[t + 1] += first[t];
        draft->tasks[t].next = next + first[t];
    }
    for (uint64_t e = 0; e < draft->edge_count; e++) {
        next[first[draft->edge_from[e]]++] = draft->edge_to[e];
    }
}

bool weft_operators_taskgraph(struct weft_taskgraph *graph, const struct weft_strategy *strategy,
                              const struct weft_study *study, struct weft_arena *arena,
                              struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_model *model = study->model;
    const struct weft_cluster *cluster = study->cluster;
    if (!weft_operators_check(strategy, model, cluster, error)) {
        return false;
    }
    uint32_t *forward = WEFT_NEW_RAW(&scratch, uint32_t, model->operator_count);
    uint32_t *device_server = WEFT_NEW_RAW(&scratch, uint32_t, cluster->server_count);
    for (uint32_t server = 0; server < cluster->server_count; server++) {
        device_server[server] = server;
    }
    struct draft draft = {.strategy = strategy,
                          .model = model,
                          .setting = study->setting,
                          .forward = forward,
                          .seen = WEFT_NEW(&scratch, uint32_t, cluster->server_count)};
    uint64_t compute_count = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        bool input = model->operators[op].spec.kind == WEFT_OP_INPUT;
        forward[op] = input ? WEFT_NONE : (uint32_t)compute_count;
        compute_count += input ? 0 : 2 * (uint64_t)part_count(&draft, op);
        if (compute_count > TASKS_MAX) {
            break;
        }
    }
    if (compute_count <= TASKS_MAX) {
        draft_all(&draft, (uint32_t)compute_count);
    }
    if (compute_count > TASKS_MAX || draft.task_count > TASKS_MAX || draft.edge_count > EDGES_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "the strategy has more than 2^24 tasks or 2^27 dependencies; divide "
                         "operators into fewer parts");
    }
    draft.tasks = WEFT_NEW(&scratch, struct weft_task, draft.task_count);
    draft.edge_from = WEFT_NEW_RAW(&scratch, uint32_t, draft.edge_count);
    draft.edge_to = WEFT_NEW_RAW(&scratch, uint32_t, draft.edge_count);
    draft.members = WEFT_NEW_RAW(&scratch, uint32_t, draft.member_count);
    if (!fill_compute(&draft, error)) {
        return false;
    }
    draft_all(&draft, (uint32_t)compute_count);
    link_edges(&draft, &scratch);
    return weft_taskgraph_build(
        graph,
        &(struct weft_taskgraph_draft){.server_count = cluster->server_count,
                                       .device_count = cluster->server_count,
                                       .device_server = device_server,
                                       .task_count = (uint32_t)draft.task_count,
                                       .tasks = draft.tasks},
        arena, scratch, error);
}
