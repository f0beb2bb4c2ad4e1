// SPDX-License-Identifier: Apache-2.0
// The task graph of a hybrid strategy, what crosses servers beside the pipeline's sends: rings of
// keys and values (context parallelism), experts' exchanges, and the collectives of gradients and
// parameters as the ZeRO stage and overlap ask, down to tied tables and the optimizer's steps.

#include "tasks.h"

// ---- rings ----

// Keys and values of all layers of a pass go round a context group beside its attention; everybody
// has got all of them before anybody goes on.
static void emit_ring(struct weft_hybrid_builder *builder, uint32_t first, uint32_t stage,
                      uint64_t slot)
{
    const struct weft_hybrid_job *job = builder->job;
    bool backward = slot % 2 == 1;
    struct weft_hybrid_stage holds =
        weft_hybrid_stage_at(job->model->transformer, builder->stages, stage);
    double layers = (double)holds.dense_layers + holds.expert_layers;
    uint32_t rank = stage % job->hybrid.pp;
    uint32_t barrier =
        weft_hybrid_add_task(builder, &(struct weft_task){.kind = WEFT_TASK_BARRIER});
    uint32_t replica = first;
    do {
        uint32_t next = weft_hybrid_next_context(&builder->job->mesh, replica);
        struct weft_hybrid_pass_tasks pass =
            weft_hybrid_pass_at(builder, replica, stage, slot / 2, backward);
        uint32_t id = weft_hybrid_add_task(
            builder,
            &(struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                .size_bytes = (uint64_t)(layers * job->costs.ring_bytes[slot % 2]),
                                .from = weft_hybrid_server(builder, replica, rank),
                                .to = weft_hybrid_server(builder, next, rank)});
        weft_hybrid_add_edge(builder, pass.enter, id);
        weft_hybrid_add_edge(builder, id, barrier);
        weft_hybrid_add_edge(builder, barrier, weft_hybrid_part(&pass, 1));
        replica = next;
    } while (replica != first);
}

void weft_hybrid_emit_rings(struct weft_hybrid_builder *builder)
{
    for (uint32_t i = 0; i < builder->fold->replica_count; i++) {
        uint32_t replica = builder->fold->replicas[i];
        bool first = true; // of its ring
        for (uint32_t next = weft_hybrid_next_context(&builder->job->mesh, replica);
             next != replica; next = weft_hybrid_next_context(&builder->job->mesh, next)) {
            first = first && replica < next;
        }
        for (uint32_t stage = 0; stage < builder->stages && first; stage++) {
            for (uint64_t slot = 0; slot < 2 * builder->micro_batches; slot++) {
                emit_ring(builder, replica, stage, slot);
            }
        }
    }
}

// ---- exchanges ----

// What the replicas of a block send to other servers: one message for each server.
struct message {
    uint32_t replica; // sender
    uint32_t server;
    double share; // of the sender's bytes
};

static uint32_t list_messages(struct message *messages, const struct weft_hybrid_builder *builder,
                              uint32_t block, uint32_t rank)
{
    uint32_t ep = builder->job->hybrid.ep;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ep; i++) {
        uint32_t first = count;
        uint32_t own = weft_hybrid_server(builder, block * ep + i, rank);
        for (uint32_t k = 0; k < ep; k++) {
            uint32_t server = weft_hybrid_server(builder, block * ep + k, rank);
            uint32_t at = first;
            while (at < count && messages[at].server != server) {
                at++;
            }
            if (server == own) {
                continue;
            }
            if (at == count) {
                messages[count++] = (struct message){.replica = block * ep + i, .server = server};
            }
            messages[at].share += 1.0 / ep;
        }
    }
    return count;
}

// All copies of all layers of a pass go out and come back in the middle of it: everybody of the
// block has sent before anybody goes on.
static void emit_exchange(struct weft_hybrid_builder *builder, const struct message *messages,
                          uint32_t count, uint32_t block, uint32_t stage, uint64_t slot)
{
    const struct weft_hybrid_job *job = builder->job;
    bool backward = slot % 2 == 1;
    uint32_t ep = job->hybrid.ep;
    struct weft_hybrid_stage holds =
        weft_hybrid_stage_at(job->model->transformer, builder->stages, stage);
    double bytes = holds.expert_layers * job->costs.exchange_bytes[backward ? 1 : 0];
    uint32_t barrier =
        weft_hybrid_add_task(builder, &(struct weft_task){.kind = WEFT_TASK_BARRIER});
    for (uint32_t i = 0; i < count; i++) {
        uint32_t replica = messages[i].replica;
        struct weft_hybrid_pass_tasks pass =
            weft_hybrid_pass_at(builder, replica, stage, slot / 2, backward);
        uint32_t id = weft_hybrid_add_task(
            builder, &(struct weft_task){
                         .kind = WEFT_TASK_TRANSFER,
                         .size_bytes = (uint64_t)(bytes * messages[i].share),
                         .from = weft_hybrid_server(builder, replica, stage % job->hybrid.pp),
                         .to = messages[i].server});
        weft_hybrid_add_edge(builder,
                             weft_hybrid_part(&pass, weft_hybrid_behind_exchange(&pass) - 1), id);
        weft_hybrid_add_edge(builder, id, barrier);
    }
    for (uint32_t replica = block * ep; replica < (block + 1) * ep; replica++) {
        struct weft_hybrid_pass_tasks pass =
            weft_hybrid_pass_at(builder, replica, stage, slot / 2, backward);
        weft_hybrid_add_edge(builder, barrier,
                             weft_hybrid_part(&pass, weft_hybrid_behind_exchange(&pass)));
    }
}

void weft_hybrid_emit_exchanges(struct weft_hybrid_builder *builder)
{
    const struct weft_hybrid_job *job = builder->job;
    uint32_t ep = job->hybrid.ep;
    struct weft_arena scratch = *builder->arena;
    struct message *messages = WEFT_NEW(&scratch, struct message, (size_t)ep * ep);
    for (uint32_t stage = 0; stage < builder->stages; stage++) {
        struct weft_hybrid_stage holds =
            weft_hybrid_stage_at(job->model->transformer, builder->stages, stage);
        for (uint32_t block = 0; block < builder->replicas / ep && holds.expert_layers > 0;
             block++) {
            if (builder->fold->place[block * ep] == WEFT_NONE) {
                continue; // blocks are played as a whole
            }
            uint32_t count = list_messages(messages, builder, block, stage % job->hybrid.pp);
            for (uint64_t slot = 0; slot < 2 * builder->micro_batches; slot++) {
                emit_exchange(builder, messages, count, block, stage, slot);
            }
            for (uint32_t i = 0; i < count; i++) {
                messages[i].share = 0;
            }
        }
    }
}

// ---- collectives ----

// The replicas first, first + step, ... of one pipeline rank that reduce together.
struct reduction_group {
    uint32_t rank;
    uint32_t first, step;
    uint32_t *servers;
    uint32_t server_count;
    uint32_t played_count; // of them, that hold a replica that is played
    uint32_t local;        // members on the fullest server
    bool experts;
    uint32_t last_reduce; // latest collective of this group's gradients, WEFT_NONE
    uint32_t last_gather;
    uint32_t *gathers; // stage 3: the gather before each pass of the rank; else NULL
};

// The group of the replicas first, first + step, ... of a pipeline rank: its servers in ascending
// order, each once, and how many members the fullest of them has, who reduce among themselves
// first.
static struct reduction_group group_of(const struct weft_hybrid_builder *builder, uint32_t rank,
                                       uint32_t first, uint32_t step, bool experts)
{
    struct reduction_group group = {.rank = rank,
                                    .first = first,
                                    .step = step,
                                    .experts = experts,
                                    .last_reduce = WEFT_NONE,
                                    .last_gather = WEFT_NONE};
    uint32_t size = builder->replicas / step;
    group.servers = WEFT_NEW_RAW(builder->arena, uint32_t, size);
    group.server_count = weft_hybrid_list_servers(group.servers, &group.local, &builder->job->mesh,
                                                  first, step, rank);
    uint32_t before = WEFT_NONE; // replicas of a group on one server stand together
    for (uint32_t r = first; r < builder->replicas; r += step) {
        uint32_t server = weft_hybrid_server(builder, r, rank);
        bool counts = builder->fold->place[r] != WEFT_NONE && server != before;
        group.played_count += counts ? 1 : 0;
        before = server;
    }
    return group;
}

// Of `bytes` of each rank, inside the servers first.
static uint32_t emit_collective(struct weft_hybrid_builder *builder,
                                const struct reduction_group *group, enum weft_task_kind kind,
                                double bytes)
{
    const struct weft_accelerator *accelerator = builder->job->accelerator;
    double inside_s = 0;
    if (group->local > 1) {
        double passes = weft_task_facts[kind].ring_passes;
        inside_s = passes * (group->local - 1.0) / group->local * bytes /
                       (accelerator->link_Bps * accelerator->link_efficiency) +
                   weft_seconds(accelerator->launch_ps);
    }
    if (group->server_count > 1) {
        builder->message_count += (uint64_t)weft_task_facts[kind].ring_passes *
                                  (group->server_count - 1) * group->played_count;
    }
    return weft_hybrid_add_task(
        builder, &(struct weft_task){.kind = kind,
                                     .runtime_ps = weft_picoseconds(inside_s),
                                     .size_bytes = (uint64_t)(bytes * builder->job->hybrid.tp),
                                     .members = group->servers,
                                     .member_count = group->server_count});
}

// The first replica of a group, from `replica` of it on, that is played. Some one is.
static uint32_t played_from(const struct weft_hybrid_builder *builder,
                            const struct reduction_group *group, uint32_t replica)
{
    while (replica < builder->replicas && builder->fold->place[replica] == WEFT_NONE) {
        replica += group->step;
    }
    return replica;
}

static double group_bytes(const struct weft_hybrid_builder *builder,
                          const struct reduction_group *group, uint32_t stage, bool gradients)
{
    struct weft_hybrid_stage holds =
        weft_hybrid_stage_at(builder->job->model->transformer, builder->stages, stage);
    struct weft_hybrid_reduction reduction = weft_hybrid_reduce_stage(builder->job, &holds);
    if (gradients) {
        return group->experts ? reduction.expert_gradient_bytes : reduction.gradient_bytes;
    }
    return group->experts ? reduction.expert_parameter_bytes : reduction.parameter_bytes;
}

// The device's last pass of all.
static struct weft_hybrid_pass_tasks final_pass(const struct weft_hybrid_builder *builder,
                                                uint32_t replica, uint32_t rank)
{
    return weft_hybrid_pass_at(builder, replica, rank, builder->micro_batches - 1, true);
}

// The pass that a device runs after this one.
static uint32_t enter_after(const struct weft_hybrid_builder *builder, uint32_t replica,
                            uint32_t rank, uint64_t index)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    struct weft_hybrid_slot slot =
        weft_hybrid_slot_at(hybrid->pp, hybrid->chunks, builder->micro_batches, rank, index + 1);
    return weft_hybrid_pass_at(builder, replica, slot.chunk * hybrid->pp + rank, slot.micro_batch,
                               slot.backward)
        .enter;
}

// Gradients of the index-th pass of a rank, a backward one: in buckets behind the last micro-batch,
// whole behind the others. Where they do not overlap, the device waits for them; those of stages 0
// and 1 leave behind its last pass.
static void reduce_pass(struct weft_hybrid_builder *builder, struct reduction_group *group,
                        uint64_t index, const struct weft_hybrid_slot *slot)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    uint32_t stage = slot->chunk * hybrid->pp + group->rank;
    double bytes = group_bytes(builder, group, stage, true);
    uint32_t buckets = weft_hybrid_pass_at(builder, played_from(builder, group, group->first),
                                           stage, slot->micro_batch, true)
                           .buckets;
    bool at_end = !hybrid->overlap_gradients && hybrid->zero_stage < 2;
    bool blocks = !hybrid->overlap_gradients && !at_end &&
                  index + 1 < 2 * builder->micro_batches * hybrid->chunks;
    for (uint32_t b = 0; b < buckets; b++) {
        uint32_t id = emit_collective(
            builder, group, hybrid->zero_stage > 0 ? WEFT_TASK_REDUCE_SCATTER : WEFT_TASK_ALLREDUCE,
            bytes / buckets);
        for (uint32_t r = played_from(builder, group, group->first); r < builder->replicas;
             r = played_from(builder, group, r + group->step)) {
            struct weft_hybrid_pass_tasks pass =
                weft_hybrid_pass_at(builder, r, stage, slot->micro_batch, true);
            uint32_t parts = (b + 1) * pass.parts + buckets - 1; // those that made the bucket
            uint32_t from = weft_hybrid_part(&pass, parts / buckets - 1);
            if (at_end) {
                pass = final_pass(builder, r, group->rank);
                from = weft_hybrid_exit(&pass);
            }
            if (blocks) {
                uint32_t next = group->gathers != NULL
                                    ? group->gathers[index + 1]
                                    : enter_after(builder, r, group->rank, index);
                weft_hybrid_add_edge(builder, id, next);
            }
            weft_hybrid_add_edge(builder, from, id);
        }
        weft_hybrid_add_edge(builder, group->last_reduce, id);
        group->last_reduce = id;
    }
}

// Parameters of a stage come before its pass: the first time in buckets, each for its piece.
static void gather_pass(struct weft_hybrid_builder *builder, struct reduction_group *group,
                        uint32_t stage, const struct weft_hybrid_slot *slot)
{
    double bytes = group_bytes(builder, group, stage, false);
    bool first = slot->micro_batch == 0 && !slot->backward;
    uint32_t buckets = first
                           ? weft_hybrid_pass_at(builder, played_from(builder, group, group->first),
                                                 stage, 0, false)
                                 .buckets
                           : 1;
    for (uint32_t b = 0; b < buckets; b++) {
        uint32_t id = emit_collective(builder, group, WEFT_TASK_ALL_GATHER, bytes / buckets);
        for (uint32_t r = played_from(builder, group, group->first); r < builder->replicas;
             r = played_from(builder, group, r + group->step)) {
            struct weft_hybrid_pass_tasks pass =
                weft_hybrid_pass_at(builder, r, stage, slot->micro_batch, slot->backward);
            weft_hybrid_add_edge(builder, id, weft_hybrid_part(&pass, b * pass.parts / buckets));
        }
        weft_hybrid_add_edge(builder, group->last_gather, id);
        group->last_gather = id;
    }
}

// Stage 3 gathers before every pass, at most one pass ahead of the one that runs.
static void gather_always(struct weft_hybrid_builder *builder, struct reduction_group *group)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    uint64_t slots = 2 * builder->micro_batches * hybrid->chunks;
    uint64_t behind = hybrid->overlap_gradients ? 2 : 1;
    group->gathers = WEFT_NEW_RAW(builder->arena, uint32_t, slots);
    for (uint64_t i = 0; i < slots; i++) {
        struct weft_hybrid_slot slot =
            weft_hybrid_slot_at(hybrid->pp, hybrid->chunks, builder->micro_batches, group->rank, i);
        uint32_t id = (uint32_t)builder->task_count; // the gather's first task
        group->gathers[i] = id;
        gather_pass(builder, group, slot.chunk * hybrid->pp + group->rank, &slot);
        if (i < behind) {
            continue;
        }
        struct weft_hybrid_slot before = weft_hybrid_slot_at(
            hybrid->pp, hybrid->chunks, builder->micro_batches, group->rank, i - behind);
        for (uint32_t r = played_from(builder, group, group->first); r < builder->replicas;
             r = played_from(builder, group, r + group->step)) {
            struct weft_hybrid_pass_tasks pass =
                weft_hybrid_pass_at(builder, r, before.chunk * hybrid->pp + group->rank,
                                    before.micro_batch, before.backward);
            weft_hybrid_add_edge(builder, weft_hybrid_exit(&pass), id);
        }
    }
}

static void emit_group(struct weft_hybrid_builder *builder, struct reduction_group *group)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    if (hybrid->zero_stage == 3) {
        gather_always(builder, group);
    } else if (builder->gathers) {
        for (uint32_t chunk = 0; chunk < hybrid->chunks; chunk++) {
            gather_pass(builder, group, chunk * hybrid->pp + group->rank,
                        &(struct weft_hybrid_slot){.chunk = chunk});
        }
    }
    // Stages 2 and 3 send shards home after every backward pass.
    uint64_t begin = hybrid->zero_stage >= 2 ? 0 : builder->micro_batches - 1;
    uint64_t slots = 2 * builder->micro_batches * hybrid->chunks;
    for (uint64_t i = 0; i < slots; i++) {
        struct weft_hybrid_slot slot =
            weft_hybrid_slot_at(hybrid->pp, hybrid->chunks, builder->micro_batches, group->rank, i);
        if (slot.backward && slot.micro_batch >= begin) {
            reduce_pass(builder, group, i, &slot);
        }
    }
}

// Tied tables: the first stage's and the last one's gradients are added once both are reduced.
static void emit_tied(struct weft_hybrid_builder *builder,
                      const struct reduction_group *first_group,
                      const struct reduction_group *last_group, uint32_t *tied)
{
    const struct weft_transformer *stack = builder->job->model->transformer;
    uint32_t last_rank = builder->job->hybrid.pp - 1;
    double bytes = 4 * (double)stack->vocabulary * (double)stack->hidden;
    for (uint32_t i = 0; i < builder->fold->replica_count; i++) {
        uint32_t replica = builder->fold->replicas[i];
        uint32_t *members = WEFT_NEW_RAW(builder->arena, uint32_t, 2);
        members[0] = weft_hybrid_server(builder, replica, 0);
        members[1] = weft_hybrid_server(builder, replica, last_rank);
        tied[replica] = WEFT_NONE;
        if (members[0] == members[1]) {
            continue;
        }
        tied[replica] = weft_hybrid_add_task(builder, &(struct weft_task){
                                                          .kind = WEFT_TASK_ALLREDUCE,
                                                          .size_bytes = (uint64_t)bytes,
                                                          .members = members,
                                                          .member_count = 2,
                                                      });
        struct weft_hybrid_pass_tasks passes[] = {final_pass(builder, replica, 0),
                                                  final_pass(builder, replica, last_rank)};
        weft_hybrid_add_edge(builder, weft_hybrid_exit(&passes[0]), tied[replica]);
        weft_hybrid_add_edge(builder, weft_hybrid_exit(&passes[1]), tied[replica]);
        weft_hybrid_add_edge(builder, first_group->last_reduce, tied[replica]);
        weft_hybrid_add_edge(builder, last_group->last_reduce, tied[replica]);
    }
}

// The optimizer's step of one device, after its last pass and its groups' collectives.
static void emit_update(struct weft_hybrid_builder *builder, struct reduction_group *groups,
                        uint32_t group_count, uint32_t rank, const uint32_t *tied)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    uint64_t runtime_ps = weft_picoseconds(weft_hybrid_update_seconds(builder->job, rank) +
                                           builder->job->stack->step_s);
    uint32_t begin = (uint32_t)builder->task_count;
    for (uint32_t i = 0; i < builder->fold->replica_count; i++) {
        uint32_t replica = builder->fold->replicas[i];
        uint32_t id = weft_hybrid_add_task(
            builder, &(struct weft_task){.kind = WEFT_TASK_UPDATE,
                                         .device = weft_hybrid_device(builder, replica, rank),
                                         .runtime_ps = runtime_ps});
        struct weft_hybrid_pass_tasks pass = final_pass(builder, replica, rank);
        weft_hybrid_add_edge(builder, weft_hybrid_exit(&pass), id);
        for (uint32_t t = 0; t < group_count; t++) {
            bool member = replica % groups[t].step == groups[t].first;
            weft_hybrid_add_edge(builder, member ? groups[t].last_reduce : WEFT_NONE, id);
        }
        bool end = rank == 0 || rank == hybrid->pp - 1;
        weft_hybrid_add_edge(builder, tied != NULL && end ? tied[replica] : WEFT_NONE, id);
    }
    if (builder->gathers || hybrid->zero_stage == 0 || hybrid->zero_stage == 3) {
        return;
    }
    // Without overlap the new parameters are gathered at the end.
    for (uint32_t t = 0; t < group_count; t++) {
        if (groups[t].step == builder->replicas) {
            continue; // alone: holds all of them
        }
        for (uint32_t chunk = 0; chunk < hybrid->chunks; chunk++) {
            double bytes = group_bytes(builder, &groups[t], chunk * hybrid->pp + rank, false);
            uint32_t id = emit_collective(builder, &groups[t], WEFT_TASK_ALL_GATHER, bytes);
            for (uint32_t r = played_from(builder, &groups[t], groups[t].first);
                 r < builder->replicas; r = played_from(builder, &groups[t], r + groups[t].step)) {
                weft_hybrid_add_edge(builder, begin + builder->fold->place[r], id);
            }
            weft_hybrid_add_edge(builder, groups[t].last_gather, id);
            groups[t].last_gather = id;
        }
    }
}

void weft_hybrid_emit_reductions(struct weft_hybrid_builder *builder)
{
    const struct weft_hybrid *hybrid = &builder->job->hybrid;
    const struct weft_transformer *stack = builder->job->model->transformer;
    struct weft_arena start = *builder->arena;
    bool storing = builder->tasks != NULL;
    bool experts = stack->experts != 0;
    uint32_t group_count = builder->replicas > 1 ? 1 + (experts ? hybrid->ep : 0) : 0;
    struct reduction_group *groups =
        WEFT_NEW(builder->arena, struct reduction_group, (size_t)group_count * hybrid->pp);
    for (uint32_t rank = 0; rank < hybrid->pp; rank++) {
        for (uint32_t t = 0; t < group_count; t++) {
            struct reduction_group *group = &groups[(size_t)rank * group_count + t];
            *group = t == 0 ? group_of(builder, rank, 0, 1, false)
                            : group_of(builder, rank, t - 1, hybrid->ep, true);
            if (group->step < builder->replicas) {
                emit_group(builder, group);
            }
        }
    }
    uint32_t *tied = NULL;
    if (hybrid->pp > 1 && stack->tied_embeddings) {
        static const struct reduction_group alone = {.last_reduce = WEFT_NONE};
        tied = WEFT_NEW_RAW(builder->arena, uint32_t, builder->replicas);
        bool shared = group_count > 0;
        emit_tied(builder, shared ? &groups[0] : &alone,
                  shared ? &groups[(size_t)(hybrid->pp - 1) * group_count] : &alone, tied);
    }
    for (uint32_t rank = 0; rank < hybrid->pp; rank++) {
        emit_update(builder, &groups[(size_t)rank * group_count], group_count, rank, tied);
    }
    if (!storing) {
        *builder->arena = start; // members are needed only when tasks are
    }
}
