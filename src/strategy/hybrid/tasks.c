// SPDX-License-Identifier: Apache-2.0
// The task graph of a hybrid strategy: passes in 1F1B order on their devices, activations and
// gradients sent between stages, and, from tasks_collectives.c, what crosses servers beside them.
// Everything is emitted twice, once to count and once to store, so that memory is taken once.
// O(passes + collectives).

#include "tasks.h"

#define TASKS_MAX (1u << 24)

// ---- passes ----

// Emits a pass's tasks on its device, chained; the first task is noted in `enter`.
static void emit_pass(struct weft_hybrid_builder *builder, uint32_t replica, uint32_t stage,
                      const struct weft_hybrid_slot *slot)
{
    const struct weft_hybrid_costs *costs = &builder->job->costs;
    struct weft_hybrid_stage holds = weft_hybrid_stage_of(builder, stage);
    struct weft_hybrid_pass both = weft_hybrid_stage_pass(costs, &holds);
    const struct weft_hybrid_piece *piece = slot->backward ? &both.backward : &both.forward;
    double layers = (double)holds.dense_layers + holds.expert_layers;
    double rest_s = piece->compute_s + piece->tensor_s;
    rest_s += builder->exchange ? 0 : piece->expert_s;
    rest_s += builder->ring ? 0 : piece->context_s;
    double attention_s = 0;
    if (builder->ring) {
        // What of the ring does not grow with bytes is put behind the attention, so that together
        // they take max(attention, transfer + fixed).
        uint32_t way = slot->backward ? 1 : 0;
        double fixed_s = layers * costs->ring_fixed_s[way];
        double whole_s = layers * costs->attention_s[way];
        attention_s = whole_s > fixed_s ? whole_s - fixed_s : 0;
        rest_s = rest_s - whole_s + fixed_s;
    }
    uint64_t at =
        weft_hybrid_pass_index(builder, replica, stage, slot->micro_batch, slot->backward);
    struct weft_hybrid_pass_tasks pass =
        weft_hybrid_pass_at(builder, replica, stage, slot->micro_batch, slot->backward);
    uint32_t tasks = pass.parts + (pass.ring ? 1 : 0);
    for (uint32_t i = 0; i < tasks; i++) {
        double seconds = pass.ring && i == 1 ? attention_s : rest_s / pass.parts;
        uint32_t id = weft_hybrid_add_task(
            builder,
            &(struct weft_task){
                .kind = slot->backward ? WEFT_TASK_BACKWARD : WEFT_TASK_FORWARD,
                .device = weft_hybrid_device(builder, replica, stage % builder->job->hybrid.pp),
                .runtime_ps = weft_picoseconds(seconds),
            });
        if (i == 0) {
            builder->enter[at] = id;
        } else {
            weft_hybrid_add_edge(builder, id - 1, id);
        }
    }
}

// Adds the passes of every pipeline rank in the order in which it runs them, each after the one
// before. `after` keeps which task a device runs after a pass, for sends that block it.
static void emit_passes(struct weft_hybrid_builder *builder)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    uint64_t slots = 2 * builder->micro_batches * hybrid->chunks;
    for (uint32_t r = 0; r < builder->fold->replica_count; r++) {
        uint32_t replica = builder->fold->replicas[r];
        for (uint32_t rank = 0; rank < hybrid->pp; rank++) {
            uint64_t last = 0; // the pass before
            for (uint64_t i = 0; i < slots; i++) {
                struct weft_hybrid_slot slot = weft_hybrid_slot_at(hybrid->pp, hybrid->chunks,
                                                                   builder->micro_batches, rank, i);
                uint32_t before = (uint32_t)builder->task_count - 1;
                uint32_t id = (uint32_t)builder->task_count;
                uint32_t stage = slot.chunk * hybrid->pp + rank;
                emit_pass(builder, replica, stage, &slot);
                if (builder->after != NULL) {
                    uint64_t at = weft_hybrid_pass_index(builder, replica, stage, slot.micro_batch,
                                                         slot.backward);
                    builder->after[i > 0 ? last : at] = id;
                    builder->after[at] = WEFT_NONE;
                    last = at;
                }
                weft_hybrid_add_edge(builder, i > 0 ? before : WEFT_NONE, id);
            }
        }
    }
}

// Activations down, their gradients up.
static void emit_send(struct weft_hybrid_builder *builder, uint32_t replica, uint32_t stage,
                      uint64_t micro_batch, bool backward)
{
    uint32_t pp = builder->job->hybrid.pp;
    uint32_t source = backward ? stage + 1 : stage;
    uint32_t target = backward ? stage : stage + 1;
    struct weft_hybrid_pass_tasks from =
        weft_hybrid_pass_at(builder, replica, source, micro_batch, backward);
    struct weft_hybrid_pass_tasks to =
        weft_hybrid_pass_at(builder, replica, target, micro_batch, backward);
    uint32_t from_server = weft_hybrid_server(builder, replica, source % pp);
    uint32_t to_server = weft_hybrid_server(builder, replica, target % pp);
    if (from_server == to_server) {
        weft_hybrid_add_edge(builder, weft_hybrid_exit(&from), to.enter);
        return;
    }
    uint32_t id = weft_hybrid_add_task(
        builder, &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                     .size_bytes = (uint64_t)builder->job->costs.send_bytes,
                                     .from = from_server,
                                     .to = to_server});
    weft_hybrid_add_edge(builder, weft_hybrid_exit(&from), id);
    weft_hybrid_add_edge(builder, id, to.enter);
    if (builder->after != NULL) {
        uint64_t at = weft_hybrid_pass_index(builder, replica, source, micro_batch, backward);
        weft_hybrid_add_edge(builder, id, builder->after[at]);
    }
}

static void emit_sends(struct weft_hybrid_builder *builder)
{
    if (builder->job->hybrid.pp == 1) {
        return; // chunks of one device follow each other already
    }
    for (uint32_t r = 0; r < builder->fold->replica_count; r++) {
        uint32_t replica = builder->fold->replicas[r];
        for (uint32_t stage = 0; stage + 1 < builder->stages; stage++) {
            for (uint64_t m = 0; m < builder->micro_batches; m++) {
                emit_send(builder, replica, stage, m, false);
                emit_send(builder, replica, stage, m, true);
            }
        }
    }
}

static void emit_all(struct weft_hybrid_builder *builder)
{
    builder->task_count = 0;
    builder->edge_count = 0;
    builder->message_count = 0;
    emit_passes(builder);
    emit_sends(builder);
    if (builder->ring) {
        weft_hybrid_emit_rings(builder);
    }
    if (builder->exchange) {
        weft_hybrid_emit_exchanges(builder);
    }
    weft_hybrid_emit_reductions(builder);
}

// ---- the door ----

// Hands every task its successors, in the order in which the edges were added.
static void store_edges(struct weft_hybrid_builder *builder, struct weft_arena *scratch)
{
    uint32_t *next = WEFT_NEW_RAW(scratch, uint32_t, builder->edge_count);
    for (uint64_t e = 0; e < builder->edge_count; e++) {
        builder->tasks[builder->edge_from[e]].next_count++;
    }
    uint64_t first = 0;
    for (uint64_t t = 0; t < builder->task_count; t++) {
        builder->tasks[t].next = next + first;
        first += builder->tasks[t].next_count;
        builder->tasks[t].next_count = 0;
    }
    for (uint64_t e = 0; e < builder->edge_count; e++) {
        struct weft_task *task = &builder->tasks[builder->edge_from[e]];
        uint64_t at = (uint64_t)(task->next - next) + task->next_count++;
        next[at] = builder->edge_to[e];
    }
}

static struct weft_hybrid_builder builder_of(const struct weft_hybrid_job *job,
                                             const struct hybrid_fold *fold,
                                             struct weft_arena *scratch)
{
    static const enum weft_hybrid_axis context[] = {WEFT_AXIS_CONTEXT};
    static const enum weft_hybrid_axis data[] = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA};
    const struct weft_hybrid *hybrid = &job->hybrid;
    const struct weft_hybrid_mesh *mesh = &job->mesh;
    return (struct weft_hybrid_builder){
        .job = job,
        .replicas = hybrid->dp * hybrid->cp,
        .fold = fold,
        .stages = mesh->stages,
        .micro_batches = mesh->micro_batches,
        .ring = weft_hybrid_local_members(mesh, context, 1, hybrid->cp) < hybrid->cp,
        .exchange = weft_hybrid_local_members(mesh, data, 2, hybrid->ep) < hybrid->ep,
        .gathers =
            hybrid->overlap_gradients && hybrid->zero_stage > 0 && hybrid->dp * hybrid->cp > 1,
        .arena = scratch,
    };
}

static bool too_many(const struct weft_hybrid *hybrid, struct weft_error *error)
{
    return weft_fail(
        error, WEFT_INPUT,
        "strategy: its task graph would have more than 2^24 tasks; a micro-batch above "
        "%llu, fewer chunks than %u or a smaller batch would make it smaller",
        (unsigned long long)hybrid->micro_batch, hybrid->chunks);
}

bool weft_hybrid_tasks_open(struct weft_hybrid_job *job, const struct weft_strategy *strategy,
                            const struct weft_study *study, struct weft_arena scratch,
                            struct weft_error *error)
{
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    struct weft_study alone = *study; // bytes and runtimes do not depend on the network
    alone.network = NULL;
    if (!weft_hybrid_job_init(job, hybrid, &alone, scratch, error)) {
        return false;
    }
    if (hybrid->tp > job->mesh.per_server) {
        return weft_fail(error, WEFT_INPUT,
                         "tp: a device of a task graph is a tensor group inside a server; %u is "
                         "more than its %u accelerators",
                         hybrid->tp, job->mesh.per_server);
    }
    if (hybrid->schedule == WEFT_SCHEDULE_DUALPIPE || hybrid->overlap_experts) {
        return weft_fail(error, WEFT_INPUT,
                         "strategy: no task graph has passes of two micro-batches at a time; "
                         "schedule=dualpipe and overlap=ep are estimated only, so leave them out");
    }
    return true;
}

bool weft_hybrid_tasks_build(struct weft_taskgraph *graph, const struct weft_hybrid_job *job,
                             const struct weft_study *study, const struct hybrid_fold *fold,
                             uint64_t message_max, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    const struct weft_hybrid *hybrid = &job->hybrid;
    struct weft_hybrid_builder builder = builder_of(job, fold, &scratch);
    double passes = 2.0 * fold->replica_count * builder.stages * (double)builder.micro_batches;
    if (passes > TASKS_MAX) {
        return too_many(hybrid, error);
    }
    builder.enter = WEFT_NEW(&scratch, uint32_t, (size_t)passes);
    builder.after = hybrid->blocking_sends ? WEFT_NEW(&scratch, uint32_t, (size_t)passes) : NULL;
    emit_all(&builder);
    if (builder.task_count > TASKS_MAX || builder.edge_count > 16ull * TASKS_MAX) {
        return too_many(hybrid, error);
    }
    if (message_max > 0 && builder.message_count > message_max) {
        return weft_fail(error, WEFT_INPUT,
                         "strategy: an iteration would play %llu messages on the network, more "
                         "than %llu: %u of its %u replicas differ there; play it where more are "
                         "alike (balance even, pipeline ranks outermost), or with fewer chunks",
                         (unsigned long long)builder.message_count, (unsigned long long)message_max,
                         fold->replica_count, builder.replicas);
    }
    builder.tasks = WEFT_NEW(&scratch, struct weft_task, builder.task_count);
    builder.edge_from = WEFT_NEW_RAW(&scratch, uint32_t, builder.edge_count);
    builder.edge_to = WEFT_NEW_RAW(&scratch, uint32_t, builder.edge_count);
    emit_all(&builder);
    store_edges(&builder, &scratch);
    // Devices without a rank (accelerators that the strategy leaves idle) have none here.
    uint32_t devices = job->mesh.used / hybrid->tp;
    uint32_t *device_server = WEFT_NEW(&scratch, uint32_t, devices);
    for (uint32_t d = 0; d < devices; d++) {
        device_server[d] = (uint32_t)((uint64_t)d * hybrid->tp / job->mesh.per_server);
    }
    return weft_taskgraph_build(
        graph,
        &(struct weft_taskgraph_draft){.server_count = study->cluster->server_count,
                                       .device_count = devices,
                                       .device_server = device_server,
                                       .task_count = (uint32_t)builder.task_count,
                                       .tasks = builder.tasks},
        environment->arena, scratch, error);
}

bool weft_hybrid_taskgraph(struct weft_taskgraph *graph, const struct weft_strategy *strategy,
                           const struct weft_study *study, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error)
{
    struct weft_hybrid_job job;
    struct hybrid_fold fold;
    if (!weft_hybrid_tasks_open(&job, strategy, study, scratch, error)) {
        return false;
    }
    hybrid_fold_none(&fold, job.hybrid.dp * job.hybrid.cp, &scratch);
    return weft_hybrid_tasks_build(
        graph, &job, study, &fold, 0,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error});
}
