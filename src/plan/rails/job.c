// SPDX-License-Identifier: Apache-2.0
// A described job of data, pipeline and expert parallelism as the task graph of one iteration.
//
// Server stage * dp + replica runs its passes one after the other, in the schedule's order. A pass
// is divided by its all-to-alls. A gather waits for the pass before it, as FSDP without prefetch
// has it; the next pass waits for a reduction unless these overlap. All is emitted twice, to count
// and to store. O(tasks + edges).

#include "rails.h"

#define TASKS_MAX 4e6

struct builder {
    const struct weft_rail_job *job;
    struct weft_task *tasks; // NULL: count
    uint32_t *before, *after;
    uint32_t task_count;
    size_t edge_count;
    const uint32_t *members; // of every stage's group, then of every replica's
    uint32_t *last;          // per server: its latest pass; WEFT_NONE = none
    uint32_t *enter, *exit;  // per server and pass: its first and last part
    uint32_t *held;          // per stage: what its next pass waits for
    uint32_t *reduced;       // per stage: the last reduction; WEFT_NONE = none
};

static uint32_t add(struct builder *builder, const struct weft_task *task)
{
    if (builder->tasks != NULL) {
        builder->tasks[builder->task_count] = *task;
    }
    return builder->task_count++;
}

static void edge(struct builder *builder, uint32_t from, uint32_t to)
{
    if (from == WEFT_NONE || to == WEFT_NONE) {
        return;
    }
    if (builder->before != NULL) {
        builder->before[builder->edge_count] = from;
        builder->after[builder->edge_count] = to;
    }
    builder->edge_count++;
}

static uint32_t server_of(const struct weft_rail_job *job, uint32_t stage, uint32_t replica)
{
    return stage * job->dp + replica;
}

static size_t pass_index(const struct weft_rail_job *job, uint32_t server, uint32_t micro_batch,
                         bool backward)
{
    return ((size_t)server * job->microbatches + micro_batch) * 2 + (backward ? 1 : 0);
}

// The index-th pass of a stage.
static uint32_t pass_at(const struct weft_rail_job *job, uint32_t stage, uint32_t index,
                        bool *backward)
{
    uint32_t m = job->microbatches;
    uint32_t warm = job->pp - 1 - stage < m ? job->pp - 1 - stage : m;
    if (job->schedule == WEFT_RAIL_ALL_FORWARD) {
        warm = m;
    }
    if (index < warm || index >= 2 * m - warm) {
        *backward = index >= warm;
        return *backward ? index - m : index;
    }
    *backward = (index - warm) % 2 == 1;
    return (index - warm) / 2 + (*backward ? 0 : warm);
}

// ---- collectives of a stage ----

static uint32_t add_collective(struct builder *builder, enum weft_task_kind kind, uint32_t stage,
                               uint64_t size_bytes)
{
    const struct weft_rail_job *job = builder->job;
    return add(builder, &(struct weft_task){
                            .kind = kind,
                            .size_bytes = size_bytes,
                            .members = builder->members + (size_t)stage * job->dp,
                            .member_count = job->dp,
                        });
}

// The parameters of a stage come before its next pass, behind the one that ended last.
static void gather(struct builder *builder, uint32_t stage)
{
    const struct weft_rail_job *job = builder->job;
    uint32_t id = add_collective(builder, WEFT_TASK_ALL_GATHER, stage, job->parameter_bytes);
    for (uint32_t r = 0; r < job->dp; r++) {
        edge(builder, builder->last[server_of(job, stage, r)], id);
    }
    edge(builder, builder->held[stage], id);
    builder->held[stage] = id;
}

static void reduce(struct builder *builder, uint32_t stage)
{
    const struct weft_rail_job *job = builder->job;
    uint32_t id = add_collective(builder, WEFT_TASK_REDUCE_SCATTER, stage, job->gradient_bytes);
    for (uint32_t r = 0; r < job->dp; r++) {
        edge(builder, builder->last[server_of(job, stage, r)], id);
    }
    edge(builder, builder->reduced[stage], id);
    builder->reduced[stage] = id;
    if (!job->overlap) {
        builder->held[stage] = id;
    }
}

// ---- passes ----

static uint64_t part_ps(const struct weft_rail_job *job, uint32_t part, bool backward)
{
    double whole = (double)(backward ? job->backward_ps : job->forward_ps);
    if (job->exchanges == 0) {
        return (uint64_t)whole;
    }
    double before = job->before_ratio > 0 ? job->before_ratio : 1.0 / (job->exchanges + 1);
    // A backward pass goes through the parts the other way.
    bool first = backward ? part == job->exchanges : part == 0;
    return (uint64_t)(whole * (first ? before : (1 - before) / job->exchanges));
}

// All pairs of a block of replicas, between part - 1 and part of its passes.
static void exchange(struct builder *builder, uint32_t stage, uint32_t block, size_t slot,
                     uint32_t part)
{
    const struct weft_rail_job *job = builder->job;
    uint32_t barrier = WEFT_NONE;
    uint32_t first = block * job->ep;
    for (uint32_t i = first; i < first + job->ep; i++) {
        uint32_t from = server_of(job, stage, i);
        uint32_t before = builder->enter[(size_t)from * job->microbatches * 2 + slot] + part - 1;
        for (uint32_t k = first; k < first + job->ep; k++) {
            if (i == k) {
                continue;
            }
            uint32_t id = add(builder, &(struct weft_task){
                                           .kind = WEFT_TASK_TRANSFER,
                                           .size_bytes = job->expert_bytes / job->ep,
                                           .from = from,
                                           .to = server_of(job, stage, k),
                                       });
            edge(builder, before, id);
        }
    }
    uint32_t count = job->ep * (job->ep - 1);
    barrier = add(builder, &(struct weft_task){.kind = WEFT_TASK_BARRIER});
    for (uint32_t t = barrier - count; t < barrier; t++) {
        edge(builder, t, barrier);
    }
    for (uint32_t i = first; i < first + job->ep; i++) {
        uint32_t server = server_of(job, stage, i);
        edge(builder, barrier,
             builder->enter[(size_t)server * job->microbatches * 2 + slot] + part);
    }
}

// One pass of all replicas of a stage: its parts, the all-to-alls between them, and the send.
static void add_pass(struct builder *builder, uint32_t stage, uint32_t micro_batch, bool backward)
{
    const struct weft_rail_job *job = builder->job;
    for (uint32_t r = 0; r < job->dp; r++) {
        uint32_t server = server_of(job, stage, r);
        size_t at = pass_index(job, server, micro_batch, backward);
        for (uint32_t part = 0; part <= job->exchanges; part++) {
            uint32_t id =
                add(builder, &(struct weft_task){
                                 .kind = backward ? WEFT_TASK_BACKWARD : WEFT_TASK_FORWARD,
                                 .device = server,
                                 .runtime_ps = part_ps(job, part, backward),
                             });
            if (part == 0) {
                builder->enter[at] = id;
                edge(builder, builder->last[server], id);
                edge(builder, builder->held[stage], id);
            } else {
                edge(builder, id - 1, id);
            }
            builder->last[server] = id;
        }
        builder->exit[at] = builder->last[server];
    }
    builder->held[stage] = WEFT_NONE;
    size_t slot = (size_t)micro_batch * 2 + (backward ? 1 : 0);
    for (uint32_t part = 1; part <= job->exchanges && job->ep > 1; part++) {
        for (uint32_t block = 0; block < job->dp / job->ep; block++) {
            exchange(builder, stage, block, slot, part);
        }
    }
}

// Activations go down, their gradients up.
static void add_sends(struct builder *builder, uint32_t stage, uint32_t micro_batch, bool backward)
{
    const struct weft_rail_job *job = builder->job;
    if (backward ? stage == 0 : stage + 1 == job->pp) {
        return;
    }
    for (uint32_t r = 0; r < job->dp; r++) {
        uint32_t from = server_of(job, stage, r);
        uint32_t to = server_of(job, backward ? stage - 1 : stage + 1, r);
        uint32_t id = add(builder, &(struct weft_task){
                                       .kind = WEFT_TASK_TRANSFER,
                                       .size_bytes = job->activation_bytes,
                                       .from = from,
                                       .to = to,
                                   });
        edge(builder, builder->exit[pass_index(job, from, micro_batch, backward)], id);
        edge(builder, id, builder->enter[pass_index(job, to, micro_batch, backward)]);
    }
}

static bool gathers(const struct weft_rail_job *job, uint32_t index, bool first_backward)
{
    switch (job->gather) {
    case WEFT_RAIL_STEP:
        return index == 0;
    case WEFT_RAIL_BACKWARD:
        return index == 0 || first_backward;
    case WEFT_RAIL_PASS:
        return true;
    case WEFT_RAIL_NEVER:
    default:
        return false;
    }
}

// The passes of a stage in its order, with what is gathered before and reduced behind them.
static void add_stage(struct builder *builder, uint32_t stage)
{
    const struct weft_rail_job *job = builder->job;
    uint32_t passes = 2 * job->microbatches;
    bool seen = false; // a backward pass
    for (uint32_t i = 0; i < passes; i++) {
        bool backward = false;
        uint32_t micro_batch = pass_at(job, stage, i, &backward);
        if (job->dp > 1 && job->parameter_bytes > 0 && gathers(job, i, backward && !seen)) {
            gather(builder, stage);
        }
        seen |= backward;
        add_pass(builder, stage, micro_batch, backward);
        add_sends(builder, stage, micro_batch, backward);
        bool reduces = backward && (job->reduce == WEFT_RAIL_PASS ||
                                    (job->reduce == WEFT_RAIL_STEP && i + 1 == passes));
        if (job->dp > 1 && job->gradient_bytes > 0 && reduces) {
            reduce(builder, stage);
        }
    }
}

// ---- the end of the iteration ----

static void add_norms(struct builder *builder, uint32_t *norms)
{
    const struct weft_rail_job *job = builder->job;
    for (uint32_t r = 0; r < job->dp; r++) {
        norms[r] = WEFT_NONE;
        if (job->norm_bytes == 0 || job->pp == 1) {
            continue;
        }
        norms[r] = add(builder, &(struct weft_task){
                                    .kind = WEFT_TASK_ALLREDUCE,
                                    .size_bytes = job->norm_bytes,
                                    .members = builder->members + (size_t)job->pp * job->dp +
                                               (size_t)r * job->pp,
                                    .member_count = job->pp,
                                });
        for (uint32_t s = 0; s < job->pp; s++) {
            uint32_t last = builder->last[server_of(job, s, r)];
            edge(builder, builder->reduced[s] == WEFT_NONE ? last : builder->reduced[s], norms[r]);
        }
    }
}

static void add_updates(struct builder *builder, const uint32_t *norms)
{
    const struct weft_rail_job *job = builder->job;
    for (uint32_t server = 0; server < job->dp * job->pp && job->update_ps > 0; server++) {
        uint32_t id = add(builder, &(struct weft_task){
                                       .kind = WEFT_TASK_UPDATE,
                                       .device = server,
                                       .runtime_ps = job->update_ps,
                                   });
        edge(builder, builder->last[server], id);
        edge(builder, builder->reduced[server / job->dp], id);
        edge(builder, norms[server % job->dp], id);
    }
}

static void emit(struct builder *builder, uint32_t *norms)
{
    const struct weft_rail_job *job = builder->job;
    builder->task_count = 0;
    builder->edge_count = 0;
    for (uint32_t s = 0; s < job->dp * job->pp; s++) {
        builder->last[s] = WEFT_NONE;
    }
    for (uint32_t s = 0; s < job->pp; s++) {
        builder->held[s] = WEFT_NONE;
        builder->reduced[s] = WEFT_NONE;
    }
    for (uint32_t s = 0; s < job->pp; s++) {
        add_stage(builder, s);
    }
    add_norms(builder, norms);
    add_updates(builder, norms);
}

// ---- the door ----

static bool check(const struct weft_rail_job *job, struct weft_error *error)
{
    double passes = 2.0 * job->dp * job->pp * job->microbatches;
    double tasks = passes * (1 + job->exchanges) * (job->ep > 1 ? 1.0 + job->ep : 2);
    if (job->dp % job->ep != 0) {
        return weft_fail(error, WEFT_INPUT, "ep: %u does not divide the %u replicas; write dp: %u",
                         job->ep, job->dp, (job->dp / job->ep + 1) * job->ep);
    }
    if (job->ep > 1 && (job->expert_bytes < job->ep || job->exchanges == 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "ep: %u replicas share experts but exchange nothing; write "
                         "expert_bytes: 64MB and exchanges: 1",
                         job->ep);
    }
    if (job->pp > 1 && job->activation_bytes == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "activations: %u stages send nothing to each other; write "
                         "activations: 50MB",
                         job->pp);
    }
    if (tasks > TASKS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "microbatches: about %.0f tasks are more than %.0f; write fewer", tasks,
                         TASKS_MAX);
    }
    return true;
}

bool weft_rail_job_taskgraph(struct weft_taskgraph *graph, const struct weft_rail_job *job,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    if (!check(job, error)) {
        return false;
    }
    uint32_t servers = job->dp * job->pp;
    size_t passes = (size_t)servers * job->microbatches * 2;
    uint32_t *members = WEFT_NEW(&scratch, uint32_t, (size_t)2 * servers);
    uint32_t *devices = WEFT_NEW(&scratch, uint32_t, servers);
    for (uint32_t i = 0; i < servers; i++) {
        devices[i] = i;
        members[i] = i;
        members[servers + i] = server_of(job, i % job->pp, i / job->pp);
    }
    struct builder builder = {.job = job, .members = members};
    builder.last = WEFT_NEW(&scratch, uint32_t, servers);
    builder.enter = WEFT_NEW(&scratch, uint32_t, passes);
    builder.exit = WEFT_NEW(&scratch, uint32_t, passes);
    builder.held = WEFT_NEW(&scratch, uint32_t, job->pp);
    builder.reduced = WEFT_NEW(&scratch, uint32_t, job->pp);
    uint32_t *norms = WEFT_NEW(&scratch, uint32_t, job->dp);
    emit(&builder, norms);
    struct weft_task *tasks = WEFT_NEW(&scratch, struct weft_task, builder.task_count);
    builder.before = WEFT_NEW(&scratch, uint32_t, builder.edge_count);
    builder.after = WEFT_NEW(&scratch, uint32_t, builder.edge_count);
    builder.tasks = tasks;
    emit(&builder, norms);
    weft_task_connect(tasks, builder.task_count, builder.before, builder.after, builder.edge_count,
                      &scratch);
    const struct weft_taskgraph_draft draft = {servers, servers, devices, builder.task_count,
                                               tasks};
    return weft_taskgraph_build(graph, &draft, arena, scratch, error);
}
