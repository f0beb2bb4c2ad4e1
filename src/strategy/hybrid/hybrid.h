// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_HYBRID_HYBRID_H
#define WEFT_STRATEGY_HYBRID_HYBRID_H

// The hybrid space's own parts: where ranks lie, what a layer costs, how a pipeline plays.
//
//   check (mesh) ──► layers (costs) ──► pipeline (schedule) ──► estimate ──► search
//          │                                    └───────────────► tasks
//          └─────────► memory
//
// Seconds and bytes are doubles here; the doors turn them into picoseconds.

#include "weft/strategy.h"

enum weft_hybrid_axis {
    WEFT_AXIS_TENSOR,
    WEFT_AXIS_CONTEXT,
    WEFT_AXIS_DATA,
    WEFT_AXIS_PIPELINE,
    WEFT_AXIS_COUNT,
};

// The strategy of one accelerator, as it is where nothing else is stated.
static inline struct weft_hybrid weft_hybrid_one(void)
{
    return (struct weft_hybrid){.dp = 1,
                                .tp = 1,
                                .pp = 1,
                                .ep = 1,
                                .cp = 1,
                                .chunks = 1,
                                .micro_batch = 1,
                                .overlap_gradients = true,
                                .fused_attention = true,
                                .order = "tcdp"};
}

// Where the ranks of a strategy lie: accelerator = sum of coordinate * stride.
struct weft_hybrid_mesh {
    uint32_t per_server;    // accelerators
    uint32_t used;          // dp * tp * pp * cp
    uint32_t server_count;  // that hold a rank
    uint64_t micro_batches; // of one replica
    uint32_t stages;        // pp * chunks
    double tokens;          // of one micro-batch on one rank: micro_batch * sequence / cp
    uint32_t size[WEFT_AXIS_COUNT];
    uint32_t stride[WEFT_AXIS_COUNT];
};

// What one virtual stage holds.
struct weft_hybrid_stage {
    uint32_t dense_layers;
    uint32_t expert_layers;
    bool embedding;       // input table
    bool head;            // last norm, output matrix and loss
    uint32_t predictions; // of the layers, those of multi-token prediction: a head more for each
};

// Checks a strategy against model and cluster, and lays it out. Fails with INPUT naming the figure
// at fault. O(1).
bool weft_hybrid_mesh_build(struct weft_hybrid_mesh *mesh, const struct weft_hybrid *hybrid,
                            const struct weft_study *study, struct weft_error *error) WEFT_MUST_USE;
// Stage 0 .. stages-1 of the layers: as equal as they go; what does not divide goes to the stages
// in the middle first, so that the first (embedding) and the last (head) have the least.
struct weft_hybrid_stage weft_hybrid_stage_at(const struct weft_transformer *transformer,
                                              uint32_t stages, uint32_t index);
// Where the tensor group of a replica (a rank of context and data together, the axis of the smaller
// stride first) and a pipeline rank begins.
uint32_t weft_hybrid_accelerator(const struct weft_hybrid_mesh *mesh, uint32_t replica,
                                 uint32_t rank);
// The replica that is the next one of `replica`'s context ring.
uint32_t weft_hybrid_next_context(const struct weft_hybrid_mesh *mesh, uint32_t replica);
// The servers of the replicas first, first + step, ... of a pipeline rank, ascending, each once;
// returns how many. `servers` has room for one a replica; *fullest gets how many of those replicas
// share a server at most.
uint32_t weft_hybrid_list_servers(uint32_t *servers, uint32_t *fullest,
                                  const struct weft_hybrid_mesh *mesh, uint32_t first,
                                  uint32_t step, uint32_t rank);
// Pipeline ranks on one server: they take turns on its network.
uint32_t weft_hybrid_pipeline_beside(const struct weft_hybrid_mesh *mesh);
// Ranks on one server of a group of `size` ranks along these axes (context, data).
uint32_t weft_hybrid_local_members(const struct weft_hybrid_mesh *mesh,
                                   const enum weft_hybrid_axis *axes, uint32_t axis_count,
                                   uint32_t size);

// ---- parameters ----

// Elements on one tensor-parallel rank.
struct weft_hybrid_parameters {
    double shared;  // reduced over dp * cp
    double experts; // reduced over dp * cp / ep
};
struct weft_hybrid_parameters
weft_hybrid_stage_parameters(const struct weft_hybrid *hybrid,
                             const struct weft_transformer *transformer,
                             const struct weft_hybrid_stage *stage, uint32_t stages);
// Bytes of one parameter: as used in the passes, as gradient, as optimizer state.
struct weft_hybrid_widths {
    double parameter, gradient, optimizer;
    double reduced; // a gradient on the network
};
struct weft_hybrid_widths weft_hybrid_widths_of(const struct weft_transformer *transformer,
                                                const struct weft_strategy_setting *setting);
// The setting's stack, or "none".
const struct weft_stack *weft_hybrid_stack(const struct weft_strategy_setting *setting);
// Stages that pipeline rank `rank` holds: `chunks` of them, or both directions' with DualPipe. The
// index-th of them.
uint32_t weft_hybrid_held(const struct weft_hybrid *hybrid);
uint32_t weft_hybrid_held_at(const struct weft_hybrid *hybrid, uint32_t rank, uint32_t index);

// ---- memory ----

// "activations", ...: what takes most.
const char *weft_hybrid_memory_most(const struct weft_memory *memory);

// Bytes on one accelerator of pipeline rank `rank`.
struct weft_memory weft_hybrid_rank_memory(const struct weft_hybrid *hybrid,
                                           const struct weft_hybrid_mesh *mesh,
                                           const struct weft_transformer *transformer,
                                           const struct weft_strategy_setting *setting,
                                           uint32_t rank);
// The fullest rank and, in *rank, which.
struct weft_memory weft_hybrid_peak_memory(const struct weft_hybrid *hybrid,
                                           const struct weft_hybrid_mesh *mesh,
                                           const struct weft_transformer *transformer,
                                           const struct weft_strategy_setting *setting,
                                           uint32_t *rank);

// weft_strategy_memory for hybrid strategies.
bool weft_hybrid_fill_memory(struct weft_strategy *strategy, const struct weft_study *study,
                             struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- the network as the estimate sees it ----

// What a network gives: by its routes, or, when it is NULL, one switch with degree * rate_Bps a
// server. O(accelerators * paths * hops) with a network.
struct weft_hybrid_rates weft_hybrid_rates_of(const struct weft_hybrid_mesh *mesh, uint32_t ep,
                                              const struct weft_cluster *cluster,
                                              const struct weft_network *network,
                                              struct weft_arena scratch);

// ---- costs ----

// Seconds of one micro-batch in one piece of the model on one rank, by what they go to.
struct weft_hybrid_piece {
    double compute_s, tensor_s, context_s, expert_s;
    double network_s; // of it or beside it: how long the network carries what a rank sends
    double hidden_s;  // of experts' exchanges, under another micro-batch's pass
    double flops;     // executed
};
struct weft_hybrid_pass {
    struct weft_hybrid_piece forward, backward; // backward with its recomputation
};
struct weft_hybrid_costs {
    struct weft_hybrid_pass dense, experts, embedding, head;
    double send_s;      // activations from a stage to the next
    double model_flops; // of one iteration of the whole job, no recomputation
    // What one tensor-parallel group puts on the network, and what runs beside it; by pass: [0]
    // forward, [1] backward with its recomputation.
    double send_bytes;
    double exchange_bytes[2]; // all to all of one expert layer, to all ranks of its block
    double ring_bytes[2];     // of one layer, to the next context rank
    double ring_fixed_s[2];   // of it, what does not grow with bytes: kernels and hops
    double attention_s[2];    // of one layer: hides the ring
    // Of one layer with experts: computation ahead of its exchange, and of experts.
    double mixing_s[2], experts_s[2];
    double copies_bytes; // that a server sends in one direction, those to itself included
};
struct weft_hybrid_pass weft_hybrid_stage_pass(const struct weft_hybrid_costs *costs,
                                               const struct weft_hybrid_stage *stage);
double weft_hybrid_piece_seconds(const struct weft_hybrid_piece *piece);
// Adds `times` of a piece to a sum.
void weft_hybrid_add_piece(struct weft_hybrid_piece *sum, const struct weft_hybrid_piece *piece,
                           double times);

// ---- the pipeline ----

// The k-th forward (backward) pass of a device: its micro-batch and chunk.
struct weft_hybrid_slot {
    uint64_t micro_batch;
    uint32_t chunk;
    bool backward;
};
// Forward passes of a rank before its first backward pass, less one.
uint64_t weft_hybrid_warm_passes(uint32_t pp, uint32_t chunks, uint64_t micro_batches,
                                 uint32_t rank);
// The index-th of the 2 * micro_batches * chunks passes of pipeline rank `rank` in 1F1B order,
// interleaved when chunks > 1 (Narayanan et al., SC 2021, section 2.2). O(1).
struct weft_hybrid_slot weft_hybrid_slot_at(uint32_t pp, uint32_t chunks, uint64_t micro_batches,
                                            uint32_t rank, uint64_t index);

struct weft_hybrid_play {
    uint32_t pp, chunks;
    uint64_t micro_batches;
    const double *forward_s; // [pp * chunks], by stage
    const double *backward_s;
    const double *release_s; // stage's first forward not before; NULL = 0
    const double *alone_s;   // DualPipe: of a forward and a backward pass, what no other one hides
    double send_s;
    bool blocking; // a rank sends before it runs its next pass
};
// Plays the schedule: last_backward_s[stage] = when the stage's last backward pass ends. Beyond a
// few rounds of the pipeline the steady rhythm is extrapolated. O(pp^2 chunks) passes at most.
void weft_hybrid_play(const struct weft_hybrid_play *play, double *last_backward_s,
                      struct weft_arena scratch);
// The same of DualPipe (DeepSeek-V3, 2024, section 3.2.1 and table 2): every rank runs half of the
// micro-batches through each of its two stages, and waits for (pp/2 - 1) times a forward and two
// backward passes less the parameters' gradients of three. pp forward passes of a rank before its
// first pair and pp backward ones behind its last have no partner. All stages end then. O(stages).
void weft_hybrid_play_dual(const struct weft_hybrid_play *play, double *last_backward_s);

// ---- the whole iteration ----

// Collectives of one stage's parameters, bytes and seconds on one rank while no other pipeline rank
// of its server uses the network.
struct weft_hybrid_reduction {
    double gradient_bytes, parameter_bytes;               // shared ones
    double expert_gradient_bytes, expert_parameter_bytes; // over dp * cp / ep ranks
    double reduce_s; // AllReduce, or ReduceScatter with a zero stage, of all gradients
    double gather_s; // AllGather of all parameters; 0 without a zero stage
    double reduce_network_s, gather_network_s; // of it between servers
};
// Gradient buckets of a stage: overlapped ones follow the layers, up to 4; else one.
uint32_t weft_hybrid_buckets(const struct weft_hybrid *hybrid,
                             const struct weft_hybrid_stage *stage);

// Everything that estimate and task graph agree on.
struct weft_hybrid_job {
    struct weft_hybrid hybrid;
    struct weft_hybrid_mesh mesh;
    const struct weft_model *model;
    const struct weft_accelerator *accelerator;
    const struct weft_strategy_setting *setting;
    const struct weft_stack *stack; // never NULL
    struct weft_hybrid_rates rates;
    struct weft_hybrid_costs costs;
};
// Fails with INPUT as weft_hybrid_mesh_build, and when there is no accelerator or it cannot compute
// with the model's data type.
bool weft_hybrid_job_init(struct weft_hybrid_job *job, const struct weft_hybrid *hybrid,
                          const struct weft_study *study, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;
// Its two halves, for callers that know the rates: all checks, then the costs.
bool weft_hybrid_job_open(struct weft_hybrid_job *job, const struct weft_hybrid *hybrid,
                          const struct weft_study *study, struct weft_error *error) WEFT_MUST_USE;
void weft_hybrid_job_price(struct weft_hybrid_job *job, const struct weft_hybrid_rates *rates);
// Fills job->costs from the rest of it. O(1).
void weft_hybrid_cost(struct weft_hybrid_job *job);
struct weft_hybrid_reduction weft_hybrid_reduce_stage(const struct weft_hybrid_job *job,
                                                      const struct weft_hybrid_stage *stage);
// Bytes a rank's optimizer step moves through memory, in seconds.
double weft_hybrid_update_seconds(const struct weft_hybrid_job *job, uint32_t rank);
// Seconds of an iteration, nothing but the whole: what a search compares.
double weft_hybrid_seconds(const struct weft_hybrid_job *job, struct weft_arena scratch);
// No iteration is shorter: the busiest rank's passes. O(stages).
double weft_hybrid_busy_seconds(const struct weft_hybrid_job *job);

#endif
