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
    double library_bytes; // framework and libraries, of the stack
    double total_bytes;
};

// What a named software stack makes of the hardware, beside what kernels reach alone
// (weft_accelerator): one set of constants a stack, the same for every model and every strategy
// (docs/hybrid.md, "Stacks", says where each comes from). Nested by what they bear upon.
struct weft_stack {
    const char *name;
    const char *source;
    // Share of the kernels' own speed that passes reach: gaps between kernels, kernels that are not
    // fused, clocks under load. Fitted to published runs.
    double compute_efficiency;
    double network_efficiency; // share of the NICs' rate that exchanges reach
    double step_s;             // of each iteration, in which nothing computes: data, norms, logging
    // Chance that a server is slow, and by how much its passes are longer; all wait for the
    // slowest.
    double slow_share, slow_ratio;
    // Experts: seconds that the host takes to launch a kernel of a layer with experts, 0 where it
    // is never late; kernels that bring the input of one expert's product into FP8. Fitted and
    // counted together.
    double kernel_s, cast_kernels;
    bool sorts_again;   // copies are sorted where they leave and once more where they arrive
    bool merges_copies; // a token goes once to each server and rank that holds some of its experts
    bool router_fp32;   // scores of experts are products in FP32
    bool fp8_dispatch;  // where products are in FP8, tokens go out to experts in it
    double tensor_overlap; // share of an overlapped tensor exchange that products may hide
    // Memory: bytes of a parameter's gradients, and of a logit (with copies and its gradient);
    // share of the activations that is lost between blocks; context, kernels, workspaces,
    // communicators.
    double gradient_bytes, logit_bytes, fragmentation_ratio, library_bytes;
};
// All that Weft knows. The first is "none": kernels back to back, nothing but the job in memory.
const struct weft_stack *weft_stacks(uint32_t *count);
// By name. Fails with INPUT and lists the names.
bool weft_stack_named(const struct weft_stack **stack, const char *name, struct weft_error *error)
    WEFT_MUST_USE;

// What the jobs of both spaces assume, besides the model and the cluster.
struct weft_strategy_setting {
    struct weft_cost_options cost;
    enum weft_optimizer optimizer;
    enum weft_tables tables;
    double memory_limit_bytes;      // of one accelerator; 0 = no limit
    const struct weft_stack *stack; // of hybrid strategies; NULL = "none"
    uint32_t overlap; // of enum weft_overlap: what all strategies of a search do; 0 = not stated
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
    // Micro-batches from both ends, each rank with two stages; a forward and a backward pass at a
    // time hide each other's exchanges (DeepSeek-V3, 2024, section 3.2.1).
    WEFT_SCHEDULE_DUALPIPE,
};
// Communication that runs beside computation.
enum weft_overlap {
    WEFT_OVERLAP_TENSOR = 1,   // sums of tensor groups, in chunks under the products beside them
    WEFT_OVERLAP_PIPELINE = 2, // sends between stages
    WEFT_OVERLAP_DATA = 4,     // gradients and parameters
    WEFT_OVERLAP_EXPERTS = 8,  // experts' all to all, under another micro-batch's pass
    WEFT_OVERLAP_STATED = 16,  // in a setting: the others are stated, be it that there is none
};
enum weft_recompute {
    WEFT_RECOMPUTE_NONE,
    WEFT_RECOMPUTE_SELECTIVE, // attention scores only (Korthikanti et al., MLSys 2023)
    WEFT_RECOMPUTE_FULL,      // layer inputs are kept, the rest is run again
    // Norms, activation functions and what latents are projected up to (DeepSeek-V3, 2024, section
    // 3.2.3).
    WEFT_RECOMPUTE_NORMS,
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
    bool overlap_tensor, overlap_experts; // as enum weft_overlap says
    bool blocking_sends;                  // no pass runs while a stage sends
    bool fp8;                             // products of layers in FP8, the rest as the model says
    // Experts are not split over tensor ranks: each rank of a tensor group has experts of its own
    // and dispatches its share of the tokens, so that ep * tp ranks hold the experts of a layer
    // (Liu et al., MoE Parallel Folding, arXiv:2504.14960).
    bool whole_experts;
    enum weft_pipeline_schedule schedule;
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

// How many equal parameter parts an operator may have at most, of which every divisor will do:
// units of DENSE, columns of a table, channels, key/value heads, experts. 1 = it cannot be divided
// (INPUT; SOFTMAX and NORM need whole rows).
uint64_t weft_operator_extent(const struct weft_operator *op);
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
// Bytes of a checkpoint: parameters and what the optimizer keeps of them, once each. O(operators).
double weft_strategy_checkpoint_bytes(const struct weft_model *model,
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

// Some of a hybrid strategy's replicas (ranks of context and data), which stand for all.
struct weft_folded {
    struct weft_taskgraph graph; // of their tasks; groups have the members of all replicas
    struct weft_ring_set rings;  // of the groups with members that are not played
    uint32_t replica_count;      // that are played; dp * cp = all of them, and `rings` is empty
};
// The task graph of one iteration on a network where replicas that are equal there are played once.
// Played alone on that network, with these rings, it takes what the whole task graph takes: exactly
// but for rounding (docs/flow-engine.md, "Folding"). Replicas are equal where switches are joined
// as trees with one path a pair, and servers lie alike; else all are played. Memory grows with the
// replicas that are played. Fails with INPUT as weft_strategy_taskgraph does, and where the graph
// would put more than message_max (0 = any number) on the network: transfers, and for every round
// of a collective one a member that is played.
// O(rounds * (replicas * pp * (log + ep)) + tasks), rounds at most 256 and mostly 2.
bool weft_strategy_fold(struct weft_folded *folded, const struct weft_strategy *strategy,
                        const struct weft_study *study, const struct weft_network *network,
                        uint64_t message_max, const struct weft_environment *environment)
    WEFT_MUST_USE;

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
//
// Beside them: precision (model, fp8), schedule (1f1b, dualpipe), and overlap names what runs
// beside computation, tp+pp+dp+ep or some of them; yes is pp+dp, no is none.
bool weft_hybrid_parse(struct weft_hybrid *hybrid, const char *text, uint32_t accelerators,
                       struct weft_error *error) WEFT_MUST_USE;
// The same in words, all keys but precision and schedule where they are the usual ones;
// weft_hybrid_parse reads it back. In `arena`.
const char *weft_hybrid_format(const struct weft_hybrid *hybrid, struct weft_arena *arena);

// What one of the `stages` = pp * chunks stages of a transformer holds, in the order of the model.
struct weft_stage_layers {
    uint32_t layers;      // without those of multi-token prediction
    uint32_t predictions; // those
};
// The stage of that index; layers are dealt as equally as they go, what does not divide to the
// stages in the middle first. O(1).
struct weft_stage_layers weft_hybrid_layers_at(const struct weft_transformer *transformer,
                                               uint32_t stages, uint32_t index);

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

// A list of tp, pp, dp and ep, in any order, between `separator`s; none stands for no one. Fails
// with INPUT naming what is no such word or stands twice.
bool weft_overlap_parse(uint32_t *overlap, const char *text, char separator,
                        struct weft_error *error) WEFT_MUST_USE;
// What a strategy overlaps, as a set of enum weft_overlap; and the same set stated.
uint32_t weft_hybrid_overlap(const struct weft_hybrid *hybrid);
void weft_hybrid_set_overlap(struct weft_hybrid *hybrid, uint32_t overlap);

// Where the time of one hybrid iteration goes, by formula (docs/hybrid.md).
struct weft_hybrid_estimate {
    uint64_t iteration_ps;
    uint64_t compute_ps, bubble_ps, tensor_ps, pipeline_ps, expert_ps, context_ps, data_ps,
        optimizer_ps;
    uint64_t step_ps;                  // of the stack, in which nothing computes
    double model_flops;                // of the whole job
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

// ---- with rates that the caller states ----

// Bytes per second of one server out of and into the network for each kind of exchange.
struct weft_hybrid_rates {
    double ring_Bps;     // gradient rings over dp * cp ranks
    double experts_Bps;  // and over every ep-th of them
    double shift_Bps;    // the next pipeline rank
    double wrap_Bps;     // the same, and the first one behind the last: interleaved stages
    double exchange_Bps; // all to all of an expert group
    double context_Bps;  // neighbors of context rings
    double latency_s;    // of one hop over the network
};

// What the study's network gives the exchanges of a strategy; without one, a switch on which every
// server has its full rate. Fails as weft_hybrid_estimate does.
bool weft_hybrid_measure_rates(struct weft_hybrid_rates *rates, const struct weft_hybrid *hybrid,
                               const struct weft_study *study, struct weft_arena scratch,
                               struct weft_error *error) WEFT_MUST_USE;
// weft_hybrid_estimate with these rates, whatever the study's network. Each is above 0; INFINITY:
// that exchange takes no time beside its latency.
bool weft_hybrid_estimate_at(struct weft_hybrid_estimate *estimate,
                             const struct weft_hybrid *hybrid, const struct weft_study *study,
                             const struct weft_hybrid_rates *rates, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;

// The exchanges of a strategy's layers with experts, for whoever times them alone: [0] forward, [1]
// backward with its recomputation.
struct weft_hybrid_exchange {
    uint32_t servers;       // that hold the ranks of one group of experts; 1: nothing leaves
    uint32_t ranks;         // of the group, ep
    double copies_bytes;    // that a server sends in one direction, those to itself included
    double balanced_bytes;  // of them those to others where all are alike
    double mixing_s[2];     // computation ahead of a layer's first exchange
    double experts_s[2];    // between its two exchanges
    uint32_t layers;        // with experts, of the model
    uint32_t stages;        // they are dealt to: pipeline * chunks
    uint32_t pipeline;      // ranks; stage s is on rank s mod pipeline
    uint64_t micro_batches; // of one replica
    uint32_t again;         // a backward pass runs a forward pass first: 1
};
// Fails as weft_hybrid_estimate does, and with INPUT where the model has no experts. O(1).
bool weft_hybrid_exchange_of(struct weft_hybrid_exchange *exchange,
                             const struct weft_hybrid *hybrid, const struct weft_study *study,
                             struct weft_error *error) WEFT_MUST_USE;

// Exchanges of a strategy between servers: groups of collectives, and sends of the pipeline.
struct weft_hybrid_rails {
    uint64_t exchanges;  // that reach over servers
    uint64_t crossing;   // of them those that leave their rail
    const char *crosses; // the first kind that does ("sends of the pipeline"); NULL: none does
    uint64_t partial;    // of all of them those that some rail of their servers has no part in
};
// Looks at every group and every send: accelerators of one place in their servers are a rail, or as
// many neighbors as share a NIC where the cluster has fewer. A collective keeps to its rails where
// each of its servers holds members of the same places. Fails as weft_hybrid_estimate does.
// O(accelerators).
bool weft_hybrid_survey_rails(struct weft_hybrid_rails *rails, const struct weft_hybrid *hybrid,
                              const struct weft_study *study, struct weft_arena scratch,
                              struct weft_error *error) WEFT_MUST_USE;

// The compute_efficiency of the study's stack with which the estimate of the strategy is an
// iteration that was measured, within a millionth; all other constants stay. Fails as
// weft_hybrid_estimate does, and with INPUT where no share gives that time: it is below what
// exchanges, update and step take alone, or beyond passes at a thousandth of the kernels' speed.
// About ten estimates.
bool weft_hybrid_calibrate(double *compute_efficiency, uint64_t measured_ps,
                           const struct weft_hybrid *hybrid, const struct weft_study *study,
                           struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
