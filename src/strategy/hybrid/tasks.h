// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_HYBRID_TASKS_H
#define WEFT_STRATEGY_HYBRID_TASKS_H

// The task graph of a hybrid strategy while it is being made. Everything is emitted twice: once to
// count tasks and edges, once to store them.
//
// A replica is a rank of context and data together, the axis of the smaller stride first; a device
// is the tensor group of one replica and pipeline rank. Where replicas are folded, only those that
// are played have tasks; collectives have all members.

#include "fold.h"

struct weft_hybrid_builder {
    const struct weft_hybrid_job *job;
    uint32_t replicas;
    const struct hybrid_fold *fold; // which of them are played
    uint32_t stages;
    uint64_t micro_batches;
    bool ring;       // context rings cross servers
    bool exchange;   // expert blocks cross servers
    bool gathers;    // parameters are gathered at the start of the iteration
    uint32_t *enter; // [pass] first task
    uint32_t *after; // [pass] first task of the device's next pass, where sends block it; else NULL
    // Where tasks and edges go; NULL while they are counted.
    struct weft_task *tasks;
    uint32_t *edge_from, *edge_to;
    uint64_t task_count, edge_count;
    uint64_t message_count;   // on the network, all rounds of collectives
    struct weft_arena *arena; // for members
};

// The tasks of one pass, numbered on: equal parts of its work, with the attention after the first
// one where a context ring runs beside it. The experts' exchange lies between two parts. Gradients
// leave (parameters come) in `buckets`.
struct weft_hybrid_pass_tasks {
    uint32_t enter, parts, buckets;
    bool ring;
};
static inline uint32_t weft_hybrid_part(const struct weft_hybrid_pass_tasks *pass, uint32_t part)
{
    return pass->enter + part + (pass->ring && part > 0 ? 1 : 0);
}
static inline uint32_t weft_hybrid_exit(const struct weft_hybrid_pass_tasks *pass)
{
    return weft_hybrid_part(pass, pass->parts - 1);
}
// The first part behind the exchange.
static inline uint32_t weft_hybrid_behind_exchange(const struct weft_hybrid_pass_tasks *pass)
{
    return (pass->parts + 1) / 2;
}

// Every replica, each for itself.
void hybrid_fold_none(struct hybrid_fold *fold, uint32_t replica_count, struct weft_arena *arena);
uint32_t weft_hybrid_add_task(struct weft_hybrid_builder *builder, const struct weft_task *task);
// `from` or `to` WEFT_NONE: no edge.
void weft_hybrid_add_edge(struct weft_hybrid_builder *builder, uint32_t from, uint32_t to);

// Coordinates.
struct weft_hybrid_stage weft_hybrid_stage_of(const struct weft_hybrid_builder *builder,
                                              uint32_t stage);
uint32_t weft_hybrid_device(const struct weft_hybrid_builder *builder, uint32_t replica,
                            uint32_t rank);
uint32_t weft_hybrid_server(const struct weft_hybrid_builder *builder, uint32_t replica,
                            uint32_t rank);
// Of a replica that is played: where its passes' own arrays have this one.
uint64_t weft_hybrid_pass_index(const struct weft_hybrid_builder *builder, uint32_t replica,
                                uint32_t stage, uint64_t micro_batch, bool backward);
struct weft_hybrid_pass_tasks weft_hybrid_pass_at(const struct weft_hybrid_builder *builder,
                                                  uint32_t replica, uint32_t stage,
                                                  uint64_t micro_batch, bool backward);
// Context rings and experts' exchanges of all passes.
void weft_hybrid_emit_rings(struct weft_hybrid_builder *builder);
void weft_hybrid_emit_exchanges(struct weft_hybrid_builder *builder);
// Gradients' and parameters' collectives, and the optimizer's steps.
void weft_hybrid_emit_reductions(struct weft_hybrid_builder *builder);

// Checks a strategy that is to have a task graph, and opens its job. Fails with INPUT.
bool weft_hybrid_tasks_open(struct weft_hybrid_job *job, const struct weft_strategy *strategy,
                            const struct weft_study *study, struct weft_arena scratch,
                            struct weft_error *error) WEFT_MUST_USE;
// The task graph of the replicas that are played, in environment->arena. Fails with INPUT where it
// has too many tasks, or more messages than message_max (0 = any number; see weft_strategy_fold).
bool weft_hybrid_tasks_build(struct weft_taskgraph *graph, const struct weft_hybrid_job *job,
                             const struct weft_study *study, const struct hybrid_fold *fold,
                             uint64_t message_max, const struct weft_environment *environment)
    WEFT_MUST_USE;
// weft_strategy_taskgraph for hybrid strategies.
bool weft_hybrid_taskgraph(struct weft_taskgraph *graph, const struct weft_strategy *strategy,
                           const struct weft_study *study, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
