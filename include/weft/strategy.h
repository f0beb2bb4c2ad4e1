// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_H
#define WEFT_STRATEGY_H

// Strategies: how every operator of a model is split and placed, and the task graph that follows.
//
//   model + cluster + network ──► [strategy] ──► taskgraph ──► traffic, plan, sim
//
// Two spaces. `operators` (FlexFlow, SysML 2019): each operator has its own parts and servers; for
// convolutional, recommendation and other irregular networks. `hybrid` (Megatron-LM, SC 2021): data
// x tensor x pipeline x expert x context parallelism of equal layers; for transformers.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/model.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// ---- per operator ----

// An operator's parts: samples are divided into sample_parts, the innermost output dimension
// (dense units, table columns, channels, heads) into parameter_parts. Part (s, p) runs on server
// servers[s * parameter_parts + p].
struct weft_placement {
    uint32_t sample_parts;
    uint32_t parameter_parts;
    const uint32_t *servers;
};

enum weft_optimizer {
    WEFT_SGD,      // no state
    WEFT_MOMENTUM, // one value a parameter
    WEFT_ADAM,     // two
};

// Where a server keeps an embedding table that is placed on it.
enum weft_tables {
    WEFT_TABLES_SHARDED,    // by columns over its accelerators, gradients of touched rows only
    WEFT_TABLES_REPLICATED, // whole, with a dense gradient, on each accelerator
};

// Bytes on one accelerator.
struct weft_memory {
    double parameters_bytes;
    double gradients_bytes;
    double optimizer_bytes;
    double activations_bytes;
    double total_bytes;
};

// What the jobs of both spaces assume, besides the model and the cluster.
struct weft_strategy_setting {
    struct weft_cost_options cost;
    enum weft_optimizer optimizer;
    enum weft_tables tables;
    double memory_limit_bytes; // of one accelerator; 0 = no limit
    // Between two accelerators of a server, each way: an AllReduce of S bytes first takes
    // 2 S / (accelerators * this) inside the servers, as in the TopoOpt artifact (25e9). Tables are
    // sharded and take none.
    double inside_Bps;
};

// What a strategy is for: the three that travel together, and the network where there is one.
struct weft_study {
    const struct weft_model *model;
    const struct weft_cluster *cluster;
    // What estimates and searches count on; NULL: see each of them. Memory and task graphs do not
    // look at it.
    const struct weft_network *network;
    const struct weft_strategy_setting *setting;
};

// ---- hybrid ----

enum weft_pipeline_schedule {
    WEFT_SCHEDULE_1F1B, // PipeDream-flush; interleaved when chunks > 1
};
enum weft_recompute {
    WEFT_RECOMPUTE_NONE,
    WEFT_RECOMPUTE_SELECTIVE, // attention scores only (Korthikanti et al., MLSys 2023)
    WEFT_RECOMPUTE_FULL,      // layer inputs are kept, the rest is run again
};

// dp * tp * pp * cp accelerators. Experts: each layer's experts are spread over ep ranks of the
// dp * cp ones.
struct weft_hybrid {
    uint32_t dp, tp, pp, ep, cp;
    uint32_t chunks;        // virtual stages a device holds (interleaved 1F1B)
    uint64_t micro_batch;   // samples of one micro-batch of one replica
    uint32_t zero_stage;    // 0..3
    bool sequence_parallel; // norms and dropouts split by tokens over tp
    bool overlap_gradients; // buckets are reduced while the backward pass runs
    // Attention in one kernel (FlashAttention): scores never reach memory, and the backward pass
    // computes them again by itself.
    bool fused_attention;
    enum weft_recompute recompute;
    // Accelerator of rank (dp, pp, cp, tp) = order of nesting, innermost first, e.g. "tcdp":
    // tp inside a server first, then context, data, pipeline.
    char order[8];
};

enum weft_strategy_kind {
    WEFT_STRATEGY_OPERATORS,
    WEFT_STRATEGY_HYBRID,
};

struct weft_strategy {
    enum weft_strategy_kind kind;
    uint32_t server_count;
    const struct weft_placement *placements; // OPERATORS: per operator of the model
    struct weft_hybrid hybrid;               // HYBRID
    // Filled by weft_strategy_memory.
    const struct weft_memory *memory; // per server: its fullest accelerator
    double memory_max_bytes;
};

// What one part of an operator puts on each accelerator of its server, in bytes. Parts on one
// server that hold the same parameters (of equal p) hold the first three once. docs/costs.md.
struct weft_part_memory {
    double parameters_bytes;
    double gradients_bytes; // as large, but for sharded tables
    double optimizer_bytes; // state, and FP32 copies of narrower parameters
    double rows_bytes;      // sharded tables: gradients of the rows that its samples touch
    double outputs_bytes;   // kept for the backward pass
    double inputs_bytes;    // kept copies of inputs, if all come from other servers
};
// For every part of an operator that is divided so. O(inputs).
struct weft_part_memory weft_part_memory(const struct weft_model *model, uint32_t op,
                                         struct weft_split split,
                                         const struct weft_strategy_setting *setting);
// How much of inputs_bytes one part keeps with these placements: what no part on its own server
// makes. O(parts of its inputs that share samples with it).
double weft_part_received_bytes(const struct weft_model *model,
                                const struct weft_placement *placements, uint32_t op, uint32_t part,
                                const struct weft_strategy_setting *setting);

// Fills the memory of a strategy. Fails with INFEASIBLE when an accelerator holds more than
// setting->memory_limit_bytes, saying which server, by how much, what holds most and what would
// make it fit. O(parts).
bool weft_strategy_memory(struct weft_strategy *strategy, const struct weft_study *study,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;

// The task graph of one iteration. OPERATORS: a device a server; a FORWARD and a BACKWARD a part;
// a TRANSFER for every pair of parts on different servers whose sub-tensors intersect, forth and
// back; an ALLREDUCE for every parameter tensor and shard over the servers that hold it. HYBRID: a
// device a tensor-parallel group. Fails with INPUT naming the operator: profile without the split,
// batch not divisible, unknown server; and when a hybrid graph would exceed 2^24 tasks.
bool weft_strategy_taskgraph(struct weft_taskgraph *graph, const struct weft_strategy *strategy,
                             const struct weft_study *study, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Pure data parallelism over all servers: every operator in server_count sample parts; tables,
// which the profiles do not split, whole, dealt out round robin (as every user of tables does).
// Fails as weft_strategy_taskgraph. O(operators).
bool weft_strategy_data_parallel(struct weft_strategy *strategy, const struct weft_study *study,
                                 struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- search ----

enum weft_search_method {
    WEFT_SEARCH_WEFT,
    WEFT_SEARCH_MCMC, // the TopoOpt artifact's, after FlexFlow: its moves and temperature
};

struct weft_search_options {
    enum weft_search_method method;
    double seconds;       // effort, turned into a fixed number of evaluations; 0 = the default
    uint64_t evaluations; // 0 = by seconds
    uint64_t seed;
    uint32_t threads;
    uint32_t keep;                     // how many of the best to return (distinct); 0 = 1
    const struct weft_strategy *start; // is among the first candidates; NULL = none
    weft_stop stop;
    // Best so far that fits, in ps, for a progress line; 0 = none yet. May be NULL.
    weft_atomic_u64 *progress_ps;
};

struct weft_candidate {
    struct weft_strategy strategy; // fits
    uint64_t estimate_ps;          // by the search's own model of the network
};
struct weft_search_result {
    uint32_t count;
    const struct weft_candidate *candidates; // best first
    uint64_t evaluations;
};

// Searches the strategies of a model on the study's network. NULL: one that is still to be planned,
// so that any servers' ports can be joined, but each port once (docs/strategies.md); what scores
// well there is worth a topology of its own. What does not fit into memory is never returned.
// Candidates differ in how operators are split. Fails with INFEASIBLE when nothing fits, saying by
// how much the leanest strategy misses and what would help; with INPUT as weft_strategy_taskgraph
// (of options->start, too), and beyond 16384 servers. Deterministic for a seed, whatever the
// threads. O(evaluations * (operators + their parts)).
bool weft_strategy_search(struct weft_search_result *result, const struct weft_study *study,
                          const struct weft_search_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// For those who judge strategies by other means (the plan room, by simulation): the operators space
// as the search sees it, built once. It keeps the study's pointers, and what they point
// to must outlive it and stay as it is.
struct weft_strategy_space;
// Fails as weft_strategy_search does before it searches.
bool weft_strategy_space_build(struct weft_strategy_space **space, const struct weft_study *study,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error) WEFT_MUST_USE;
// The search's estimate of a strategy's iteration, in ps; WEFT_NEVER when it is not of this space
// (a split that the profile lacks, a server that the cluster lacks, two parts of an operator on one
// server). O(parts + transfers).
uint64_t weft_strategy_estimate(const struct weft_strategy_space *space,
                                const struct weft_strategy *strategy, struct weft_arena scratch);
// Data parallelism whose branches (chains of operators that end where several meet) are dealt out
// to blocks of `parts` servers, n / parts apart, which must divide: whole, or, if
// `in_strips`, divided into strips of equal work, one a block. False when it does not fit into
// memory. The result, with its memory, lives in `arena`. O(operators * servers).
bool weft_strategy_branches(struct weft_strategy *strategy, const struct weft_strategy_space *space,
                            uint32_t parts, bool in_strips, struct weft_arena *arena,
                            struct weft_arena scratch) WEFT_MUST_USE;
// A strategy that differs by one move of the search: of `draws` random moves that fit into memory
// the one with the shortest estimate, even if that is longer than before. False when the strategy
// is not of this space or no move fits. The result, with its memory, lives in `arena`.
bool weft_strategy_neighbor(struct weft_strategy *neighbor, const struct weft_strategy_space *space,
                            const struct weft_strategy *strategy, uint32_t draws,
                            struct weft_rng *rng, const struct weft_environment *environment)
    WEFT_MUST_USE;

// A hybrid strategy from words such as "tp=8,pp=16,micro=1,chunks=8,zero=1": keys tp, pp, cp, ep,
// dp, chunks, micro, zero, recompute (none, selective, full), order, and yes or no for
// sequence-parallel, overlap, fused-attention. What is left out: 1; zero=1; recompute=none; tcdp;
// yes (sequence-parallel: where tp > 1); dp: what `accelerators` leave. Fails with INPUT naming the
// key, also when it is stated twice.
bool weft_hybrid_parse(struct weft_hybrid *hybrid, const char *text, uint32_t accelerators,
                       struct weft_error *error) WEFT_MUST_USE;
// The same in words, all keys; weft_hybrid_parse reads it back. In `arena`.
const char *weft_hybrid_format(const struct weft_hybrid *hybrid, struct weft_arena *arena);

// Bytes on the fullest accelerator of a hybrid strategy (docs/hybrid.md), and which pipeline rank
// it is. Fails with INPUT when strategy, model and cluster do not fit each other, with INFEASIBLE
// when setting->memory_limit_bytes is exceeded; `memory` is set in that case too. O(stages).
bool weft_hybrid_memory(struct weft_memory *memory, uint32_t *rank,
                        const struct weft_hybrid *hybrid, const struct weft_study *study,
                        struct weft_error *error) WEFT_MUST_USE;

// The hybrid space of a model with a transformer. Same contract, but that no network stands for one
// switch on which every server has its full rate to any other; `seconds`, `evaluations`, `seed` and
// `start` are not read, as the space is enumerated whole. Strategies use all accelerators of the
// cluster.
bool weft_hybrid_search(struct weft_search_result *result, const struct weft_study *study,
                        const struct weft_search_options *options, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Pure data parallelism over all accelerators: tp = pp = cp = ep = 1; the lowest ZeRO stage that
// fits, there without recomputation if that fits, there the micro-batch (up to 64) with the
// shortest estimate on one switch. Fails with INFEASIBLE when the accelerators do not divide the
// batch or nothing fits, saying what would. O(divisors of the batch). The memory lives in `arena`.
bool weft_hybrid_data_parallel(struct weft_strategy *strategy, const struct weft_study *study,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error) WEFT_MUST_USE;

// Where the time of one hybrid iteration goes, by formula (docs/hybrid.md).
struct weft_hybrid_estimate {
    uint64_t iteration_ps;
    uint64_t compute_ps, bubble_ps, tensor_ps, pipeline_ps, expert_ps, context_ps, data_ps,
        optimizer_ps;
    double model_flops_utilization;    // counts no recomputation
    double hardware_flops_utilization; // counts it
};
// Fails with INPUT when strategy, model and cluster do not fit each other, when no accelerator is
// stated or when it lacks the model's data type; memory is not looked at. Without a network: one
// switch. O(stages + passes of a few rounds of the pipeline), and O(accelerators * paths * hops)
// with a network.
bool weft_hybrid_estimate(struct weft_hybrid_estimate *estimate, const struct weft_hybrid *hybrid,
                          const struct weft_study *study, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
