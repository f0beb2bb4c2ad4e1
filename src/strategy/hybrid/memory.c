// SPDX-License-Identifier: Apache-2.0
// Memory of a hybrid strategy: Korthikanti et al., "Reducing Activation Recomputation in Large
// Transformer Models", MLSys 2023, sections 4 and 5, with the terms kept apart so that grouped
// heads, gated and expert feed-forwards, fused attention and context parallelism follow.

#include "hybrid.h"

static double kv_heads(const struct weft_transformer *stack)
{
    return stack->kv_heads != 0 ? stack->kv_heads : stack->heads;
}

static double head_dim(const struct weft_transformer *stack)
{
    return stack->head_dim != 0 ? stack->head_dim : (double)stack->hidden / stack->heads;
}

// ---- parameters ----

static double attention_parameters(const struct weft_transformer *stack)
{
    double hidden = (double)stack->hidden;
    double heads = stack->heads;
    if (stack->kv_rank != 0) {
        double query = stack->nope_dim + stack->rope_dim;
        double down = hidden * ((double)stack->q_rank + stack->kv_rank + stack->rope_dim);
        double up = (stack->q_rank != 0 ? stack->q_rank : hidden) * heads * query +
                    stack->kv_rank * heads * (stack->nope_dim + (double)stack->value_dim);
        return down + up + heads * stack->value_dim * hidden + stack->q_rank + stack->kv_rank;
    }
    double queries = heads * head_dim(stack);
    double keys = kv_heads(stack) * head_dim(stack);
    double bias = stack->bias ? queries + 2 * keys + hidden : 0;
    return hidden * (queries + 2 * keys) + queries * hidden + bias;
}

static double feed_forward_parameters(const struct weft_transformer *stack, double units)
{
    double hidden = (double)stack->hidden;
    double matrices = stack->gated ? 3 : 2;
    double bias = stack->bias ? units * (matrices - 1) + hidden : 0;
    return matrices * hidden * units + bias;
}

// The elements of a stage on one tensor rank: `split` over the tensor ranks (matrices, tables),
// `whole` on each of them (norms, positions, the router), and the stage's share of the experts. A
// tied output matrix is a table of its own once there is more than one stage.
struct weft_hybrid_parameters
weft_hybrid_stage_parameters(const struct weft_hybrid *hybrid,
                             const struct weft_transformer *transformer,
                             const struct weft_hybrid_stage *stage, uint32_t stages)
{
    const struct weft_transformer *stack = transformer;
    double hidden = (double)stack->hidden;
    double norm = hidden * (stack->bias ? 2 : 1);
    double expert_units = (double)stack->expert_units;
    double layers = (double)stage->dense_layers + stage->expert_layers;
    double split = layers * attention_parameters(stack);
    double whole = layers * (stack->parallel_block ? 1 : 2) * norm;
    split += stage->dense_layers * feed_forward_parameters(stack, (double)stack->ffn_units);
    split += stage->expert_layers * (double)stack->experts_shared *
             feed_forward_parameters(stack, expert_units);
    whole += stage->expert_layers * hidden * stack->experts; // the router
    double inputs = stack->vocabulary != 0 ? (double)stack->vocabulary * hidden
                                           : (double)stack->patch_elements * hidden;
    double outputs = hidden * (double)(stack->vocabulary != 0 ? stack->vocabulary : stack->classes);
    if (stage->embedding) {
        split += inputs;
        whole += stack->learned_positions ? (double)stack->sequence * hidden : 0;
        whole += stack->token_types * hidden;
    }
    if (stage->head) {
        split += stages > 1 || !stack->tied_embeddings ? outputs : 0;
        split += stack->pooler ? hidden * hidden : 0;
        split += stage->predictions * 2 * hidden * hidden; // what joins a prediction's two inputs
        whole += norm;
    }
    double experts = (double)stage->expert_layers * stack->experts / hybrid->ep *
                     feed_forward_parameters(stack, expert_units);
    return (struct weft_hybrid_parameters){.shared = split / hybrid->tp + whole,
                                           .experts = experts / hybrid->tp};
}

struct weft_hybrid_widths weft_hybrid_widths_of(const struct weft_transformer *transformer,
                                                const struct weft_strategy_setting *setting)
{
    double parameter = weft_dtype_bytes(transformer->dtype);
    double state = 0;
    switch (setting->optimizer) {
    case WEFT_SGD:
        break;
    case WEFT_MOMENTUM:
        state = 4;
        break;
    case WEFT_ADAM:
        state = 8;
        break;
    }
    // Gradients are summed in FP32, unless the stack says otherwise; narrower parameters have an
    // FP32 master copy. A stack that keeps more than 4 bytes keeps what is reduced twice.
    double gradient = weft_hybrid_stack(setting)->gradient_bytes;
    return (struct weft_hybrid_widths){.parameter = parameter,
                                       .gradient = gradient,
                                       .optimizer = state + (parameter < 4 ? 4 : 0),
                                       .reduced = gradient < 4 ? gradient : 4};
}

// ---- activations ----

// Bytes a token of one layer keeps for its backward pass: `whole` on every tensor rank (or split
// over them too, with sequence parallelism), `split` over the tensor ranks.
struct kept {
    double whole, split;
};

// Bytes of an element that is kept because a product with parameters reads it: with FP8 as the
// product read it.
static double product_width(const struct weft_hybrid *hybrid, const struct weft_transformer *stack)
{
    return weft_dtype_bytes(hybrid->fp8 ? WEFT_FP8 : stack->dtype);
}

// What a token leaves for the backward pass in one attention (Korthikanti et al., MLSys 2023,
// section 4.1): inputs of norm and projections on every tensor rank; queries, keys,
// values and context split over them; and, unless a fused kernel or selective recomputation drops
// them, the scores, softmax and dropout of 5 a s.
static struct kept attention_kept(const struct weft_hybrid *hybrid,
                                  const struct weft_transformer *stack)
{
    double width = weft_dtype_bytes(stack->dtype);
    double hidden = (double)stack->hidden;
    double heads = stack->heads;
    double queries = heads * head_dim(stack);
    double values = queries;
    double keys = kv_heads(stack) * head_dim(stack);
    bool norms_again = hybrid->recompute == WEFT_RECOMPUTE_NORMS;
    double product = product_width(hybrid, stack);
    // Into the norm, out of it.
    struct kept kept = {.whole = width * hidden + (norms_again ? 0 : product * hidden)};
    kept.whole += stack->bias ? hidden : 0; // dropout's mask: GPT-like stacks have one
    if (stack->kv_rank != 0) {
        kept.whole += width * ((double)stack->q_rank + stack->kv_rank + stack->rope_dim);
        queries = heads * (stack->nope_dim + (double)stack->rope_dim);
        values = heads * stack->value_dim;
        kept.split = (norms_again ? 0 : width * (2 * queries + values)) + product * values;
    } else {
        kept.split = width * (queries + 2 * keys) + product * values;
    }
    if (hybrid->fused_attention) {
        kept.split += 4 * heads; // the softmax's sums
    } else if (hybrid->recompute != WEFT_RECOMPUTE_SELECTIVE) {
        kept.split += (2 * width + 1) * heads * (double)stack->sequence;
    }
    return kept;
}

// The input of the first product (a norm's output) and of the second (an activation function's),
// and what goes into the activation function.
static struct kept feed_forward_kept(const struct weft_hybrid *hybrid,
                                     const struct weft_transformer *stack, double units,
                                     double copies)
{
    double width = weft_dtype_bytes(stack->dtype);
    double hidden = (double)stack->hidden;
    double product = hybrid->recompute == WEFT_RECOMPUTE_NORMS ? 0 : product_width(hybrid, stack);
    return (struct kept){.whole = product * hidden,
                         .split = copies * units * (width * (stack->gated ? 2 : 1) + product)};
}

static double layer_kept(const struct weft_hybrid *hybrid, const struct weft_transformer *stack,
                         bool experts)
{
    double width = weft_dtype_bytes(stack->dtype);
    double hidden = (double)stack->hidden;
    struct kept attention = attention_kept(hybrid, stack);
    struct kept forward = feed_forward_kept(hybrid, stack, (double)stack->ffn_units, 1);
    if (experts) {
        double copies = stack->experts_active;
        forward = feed_forward_kept(hybrid, stack, (double)stack->expert_units,
                                    copies + stack->experts_shared);
        // Dispatched copies are inputs of products; scores of the router.
        forward.whole += copies * product_width(hybrid, stack) * hidden + 4.0 * stack->experts;
    }
    double whole = attention.whole + forward.whole + width * hidden; // and the second norm's input
    whole += stack->bias ? hidden : 0;
    return whole / (hybrid->sequence_parallel ? hybrid->tp : 1) +
           (attention.split + forward.split) / hybrid->tp;
}

// What a layer keeps from its forward to its backward pass, bytes a token.
static double layer_held(const struct weft_hybrid *hybrid, const struct weft_transformer *stack,
                         bool experts)
{
    if (hybrid->recompute == WEFT_RECOMPUTE_FULL) {
        return weft_dtype_bytes(stack->dtype) * (double)stack->hidden /
               (hybrid->sequence_parallel ? hybrid->tp : 1);
    }
    return layer_kept(hybrid, stack, experts);
}

// The most that a layer of a stage keeps, bytes a token.
static double layer_kept_most(const struct weft_hybrid *hybrid,
                              const struct weft_transformer *stack,
                              const struct weft_hybrid_stage *stage)
{
    double dense = stage->dense_layers != 0 ? layer_kept(hybrid, stack, false) : 0;
    double expert = stage->expert_layers != 0 ? layer_kept(hybrid, stack, true) : 0;
    return dense > expert ? dense : expert;
}

// Micro-batches of the index-th stage of a rank at the fullest: with DualPipe of both its stages
// together one more than there are ranks; else the forward passes that 1F1B runs before the first
// backward one, pp of each chunk in turn, of which the first ones are of the first chunks.
static double held_passes(const struct weft_hybrid *hybrid, const struct weft_hybrid_mesh *mesh,
                          uint32_t rank, uint32_t index)
{
    if (hybrid->schedule == WEFT_SCHEDULE_DUALPIPE) {
        return (hybrid->pp + 1) / 2.0;
    }
    uint64_t warm = weft_hybrid_warm_passes(hybrid->pp, hybrid->chunks, mesh->micro_batches, rank);
    uint64_t passes = mesh->micro_batches * hybrid->chunks;
    uint64_t held = warm < passes ? warm + 1 : passes;
    if (hybrid->chunks == 1) {
        return (double)held;
    }
    uint64_t round = (uint64_t)hybrid->pp * hybrid->chunks;
    uint64_t begin = (uint64_t)index * hybrid->pp;
    uint64_t rest = held % round;
    rest = rest > begin ? rest - begin : 0;
    return (double)(held / round * hybrid->pp + (rest < hybrid->pp ? rest : hybrid->pp));
}

// The activations of a rank at its fullest: what the passes under way have left, the ends of the
// model, and the layer that is being run again.
static double activations(const struct weft_hybrid *hybrid, const struct weft_hybrid_mesh *mesh,
                          const struct weft_transformer *stack, uint32_t rank, double logit_bytes)
{
    double width = weft_dtype_bytes(stack->dtype);
    double hidden = (double)stack->hidden;
    double spread = hybrid->sequence_parallel ? hybrid->tp : 1;
    double bytes = 0;
    double layer_bytes_max = 0;
    for (uint32_t i = 0; i < weft_hybrid_held(hybrid); i++) {
        struct weft_hybrid_stage stage =
            weft_hybrid_stage_at(stack, mesh->stages, weft_hybrid_held_at(hybrid, rank, i));
        double count = held_passes(hybrid, mesh, rank, i);
        bytes += count * (stage.dense_layers * layer_held(hybrid, stack, false) +
                          stage.expert_layers * layer_held(hybrid, stack, true));
        bytes += stage.embedding && stack->bias ? count * hidden / spread : 0;
        if (stage.head) { // one micro-batch at a time: norm, input, logits
            bytes +=
                (1 + stage.predictions) * (2 * width * hidden / spread +
                                           logit_bytes * (double)stack->vocabulary / hybrid->tp);
        }
        double most = layer_kept_most(hybrid, stack, &stage);
        layer_bytes_max = most > layer_bytes_max ? most : layer_bytes_max;
    }
    if (hybrid->recompute == WEFT_RECOMPUTE_FULL) {
        bytes += layer_bytes_max;
    }
    return bytes * mesh->tokens;
}

// ---- doors ----

struct weft_memory weft_hybrid_rank_memory(const struct weft_hybrid *hybrid,
                                           const struct weft_hybrid_mesh *mesh,
                                           const struct weft_transformer *transformer,
                                           const struct weft_strategy_setting *setting,
                                           uint32_t rank)
{
    struct weft_hybrid_widths widths = weft_hybrid_widths_of(transformer, setting);
    const struct weft_stack *software = weft_hybrid_stack(setting);
    double replicas = (double)hybrid->dp * hybrid->cp;
    double expert_replicas = replicas / hybrid->ep;
    double all = 0;   // elements here
    double share = 0; // of those this rank's, when sharded over the replicas
    double largest = 0;
    for (uint32_t i = 0; i < weft_hybrid_held(hybrid); i++) {
        struct weft_hybrid_stage stage =
            weft_hybrid_stage_at(transformer, mesh->stages, weft_hybrid_held_at(hybrid, rank, i));
        struct weft_hybrid_parameters parameters =
            weft_hybrid_stage_parameters(hybrid, transformer, &stage, mesh->stages);
        double here = parameters.shared + parameters.experts;
        double layers = (double)stage.dense_layers + stage.expert_layers;
        all += here;
        share += parameters.shared / replicas + parameters.experts / expert_replicas;
        double layer = here / (layers > 1 ? layers : 1);
        largest = layer > largest ? layer : largest;
    }
    struct weft_memory memory = {
        .parameters_bytes = widths.parameter * (hybrid->zero_stage >= 3 ? share : all),
        .gradients_bytes = widths.gradient * (hybrid->zero_stage >= 2 ? share : all),
        .optimizer_bytes = widths.optimizer * (hybrid->zero_stage >= 1 ? share : all),
        .activations_bytes = activations(hybrid, mesh, transformer, rank, software->logit_bytes) *
                             (1 + software->fragmentation_ratio),
        .library_bytes = software->library_bytes,
    };
    if (hybrid->zero_stage >= 3) { // the layer at work and the next one, gathered
        double gathered = 2 * largest < all ? 2 * largest : all;
        memory.parameters_bytes += widths.parameter * gathered;
    }
    if (hybrid->zero_stage >= 2) { // the layer whose gradient is being made
        memory.gradients_bytes += widths.gradient * (largest < all ? largest : all);
    }
    memory.total_bytes = memory.parameters_bytes + memory.gradients_bytes + memory.optimizer_bytes +
                         memory.activations_bytes + memory.library_bytes;
    return memory;
}

struct weft_memory weft_hybrid_peak_memory(const struct weft_hybrid *hybrid,
                                           const struct weft_hybrid_mesh *mesh,
                                           const struct weft_transformer *transformer,
                                           const struct weft_strategy_setting *setting,
                                           uint32_t *rank)
{
    struct weft_memory peak = {.total_bytes = -1};
    for (uint32_t r = 0; r < hybrid->pp; r++) {
        struct weft_memory memory = weft_hybrid_rank_memory(hybrid, mesh, transformer, setting, r);
        if (memory.total_bytes > peak.total_bytes) {
            peak = memory;
            *rank = r;
        }
    }
    return peak;
}

const char *weft_hybrid_memory_most(const struct weft_memory *memory)
{
    double most = memory->optimizer_bytes;
    const char *name = "optimizer state";
    if (memory->activations_bytes > most) {
        most = memory->activations_bytes;
        name = "activations";
    }
    if (memory->parameters_bytes + memory->gradients_bytes > most) {
        name = "parameters and gradients";
    }
    return name;
}

// What would shrink most of what is full.
static const char *remedy(const struct weft_hybrid *hybrid, const struct weft_memory *memory)
{
    double states = memory->optimizer_bytes + memory->gradients_bytes + memory->parameters_bytes;
    if (memory->activations_bytes > states) {
        if (hybrid->recompute != WEFT_RECOMPUTE_FULL) {
            return "recompute=full, a smaller micro-batch or more cp";
        }
        return hybrid->micro_batch > 1 ? "a smaller micro-batch or more tp" : "more tp or cp";
    }
    if (hybrid->zero_stage < 3 && hybrid->dp * hybrid->cp > 1) {
        return "a higher zero stage, or more tp or pp";
    }
    return "more tp, pp or accelerators";
}

bool weft_hybrid_memory(struct weft_memory *memory, uint32_t *rank,
                        const struct weft_hybrid *hybrid, const struct weft_study *study,
                        struct weft_error *error)
{
    struct weft_hybrid_mesh mesh;
    if (!weft_hybrid_mesh_build(&mesh, hybrid, study, error)) {
        return false;
    }
    const struct weft_strategy_setting *setting = study->setting;
    uint32_t fullest = 0;
    struct weft_memory peak =
        weft_hybrid_peak_memory(hybrid, &mesh, study->model->transformer, setting, &fullest);
    *memory = peak;
    *rank = fullest;
    if (setting->memory_limit_bytes > 0 && peak.total_bytes > setting->memory_limit_bytes) {
        char needs[WEFT_UNIT_TEXT];
        char limit[WEFT_UNIT_TEXT];
        char over[WEFT_UNIT_TEXT];
        return weft_fail(error, WEFT_INFEASIBLE,
                         "memory: pipeline rank %u needs %s an accelerator, %s more than the %s "
                         "there are, most of it %s; %s would lower it",
                         fullest, weft_show_bytes(needs, peak.total_bytes),
                         weft_show_bytes(over, peak.total_bytes - setting->memory_limit_bytes),
                         weft_show_bytes(limit, setting->memory_limit_bytes),
                         weft_hybrid_memory_most(&peak), remedy(hybrid, &peak));
    }
    return true;
}

bool weft_hybrid_fill_memory(struct weft_strategy *strategy, const struct weft_study *study,
                             struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    struct weft_memory peak;
    uint32_t fullest;
    struct weft_hybrid_mesh mesh;
    if (!weft_hybrid_memory(&peak, &fullest, hybrid, study, error) ||
        !weft_hybrid_mesh_build(&mesh, hybrid, study, error)) {
        return false;
    }
    struct weft_memory *memory = WEFT_NEW(arena, struct weft_memory, study->cluster->server_count);
    struct weft_memory *of_rank = WEFT_NEW(arena, struct weft_memory, hybrid->pp);
    for (uint32_t rank = 0; rank < hybrid->pp; rank++) {
        of_rank[rank] =
            weft_hybrid_rank_memory(hybrid, &mesh, study->model->transformer, study->setting, rank);
    }
    for (uint32_t a = 0; a < mesh.used; a++) {
        const struct weft_memory *here = &of_rank[a / mesh.stride[WEFT_AXIS_PIPELINE] % hybrid->pp];
        struct weft_memory *server = &memory[a / mesh.per_server];
        if (here->total_bytes > server->total_bytes) {
            *server = *here;
        }
    }
    strategy->memory = memory;
    strategy->memory_max_bytes = peak.total_bytes;
    return true;
}
