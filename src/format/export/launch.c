// SPDX-License-Identifier: Apache-2.0
// A hybrid strategy as the flags that launch it: torchrun's and Megatron-LM's.
//
// A person who was told "tp=8, pp=4, two chunks" has to write it down once more for the program
// that trains. The flags are named as in arguments.py of Megatron-LM (Core 0.13 and later: layouts
// of pipelines, Megatron-FSDP). Where stages hold unequal numbers of layers the layout is written
// out, stage by stage, since Megatron-LM would put what does not divide elsewhere than Weft. What
// a strategy has and no flag says stands in words. docs/plan.md, "Launch flags". O(stages).

#include "weft/format/export.h"

#include <string.h>

// Words of one kind: what Megatron-LM takes, and what it cannot be told.
struct flags {
    struct weft_text *text;
    bool any;
};

static void add(struct flags *flags, const char *word)
{
    weft_text_add(flags->text, "%s%s", flags->any ? " " : "", word);
    flags->any = true;
}

static void add_count(struct flags *flags, const char *name, uint64_t value)
{
    weft_text_add(flags->text, "%s%s %llu", flags->any ? " " : "", name, (unsigned long long)value);
    flags->any = true;
}

static void add_reason(struct flags *flags, const char *sentence)
{
    weft_text_add(flags->text, "%s%s", flags->any ? "; " : "", sentence);
    flags->any = true;
}

static bool same_layers(const struct weft_strategy *strategy, const struct weft_transformer *stack)
{
    return stack->predictions == 0 &&
           stack->layers % (strategy->hybrid.pp * strategy->hybrid.chunks) == 0;
}

// Layers of one stage: "ttt".
static void add_stage(struct flags *flags, struct weft_stage_layers held)
{
    for (uint32_t t = 0; t < held.layers; t++) {
        weft_text_add(flags->text, "t");
    }
    for (uint32_t m = 0; m < held.predictions; m++) {
        weft_text_add(flags->text, "m");
    }
}

// Stages in the order of the model: E is the embedding, t a layer, m one of multi-token
// prediction, L the loss, a bar ends a stage; "(tt|)*5," is five alike.
static void add_layout(struct flags *flags, const struct weft_strategy *strategy,
                       const struct weft_transformer *stack)
{
    uint32_t stages = strategy->hybrid.pp * strategy->hybrid.chunks;
    add(flags, "--pipeline-model-parallel-layout \"E");
    add_stage(flags, weft_hybrid_layers_at(stack, stages, 0));
    weft_text_add(flags->text, "|");
    for (uint32_t stage = 1, next = 1; stage + 1 < stages; stage = next) {
        struct weft_stage_layers held = weft_hybrid_layers_at(stack, stages, stage);
        while (next + 1 < stages &&
               weft_hybrid_layers_at(stack, stages, next).layers == held.layers) {
            next++; // predictions are in the last stage
        }
        weft_text_add(flags->text, "(");
        add_stage(flags, held);
        weft_text_add(flags->text, "|)*%u,", next - stage);
    }
    add_stage(flags, weft_hybrid_layers_at(stack, stages, stages - 1));
    weft_text_add(flags->text, "L\"");
}

static void add_pipeline(struct flags *flags, const struct weft_strategy *strategy,
                         const struct weft_transformer *stack)
{
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    add_count(flags, "--pipeline-model-parallel-size", hybrid->pp);
    if (hybrid->pp == 1) {
        return;
    }
    if (!same_layers(strategy, stack)) {
        add_layout(flags, strategy, stack);
    } else if (hybrid->chunks > 1) {
        add_count(flags, "--num-layers-per-virtual-pipeline-stage",
                  stack->layers / (hybrid->pp * hybrid->chunks));
    }
    if (hybrid->blocking_sends && hybrid->chunks > 1) {
        add(flags, "--no-overlap-p2p-communication");
    }
}

static void add_experts(struct flags *flags, const struct weft_hybrid *hybrid,
                        const struct weft_transformer *stack)
{
    if (stack->experts == 0) {
        return;
    }
    bool whole = hybrid->whole_experts;
    add_count(flags, "--expert-model-parallel-size",
              whole ? (uint64_t)hybrid->ep * hybrid->tp : hybrid->ep);
    add_count(flags, "--expert-tensor-parallel-size", whole ? 1 : hybrid->tp);
    if (hybrid->overlap_experts) {
        add(flags, "--overlap-moe-expert-parallel-comm");
    }
}

// How the states of the optimizer, gradients and parameters are spread over replicas.
static void add_zero(struct flags *flags, const struct weft_hybrid *hybrid)
{
    if (hybrid->zero_stage == 1) {
        add(flags, "--use-distributed-optimizer");
    } else if (hybrid->zero_stage >= 2) {
        // What its guide asks for beside the strategy.
        add(flags, "--use-distributed-optimizer --use-megatron-fsdp "
                   "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor");
        add(flags, hybrid->zero_stage == 2 ? "--data-parallel-sharding-strategy optim_grads"
                                           : "--data-parallel-sharding-strategy "
                                             "optim_grads_params");
    }
    if (hybrid->overlap_gradients && (uint64_t)hybrid->dp * hybrid->cp > 1) {
        add(flags, "--overlap-grad-reduce");
        if (hybrid->zero_stage > 0) {
            add(flags, "--overlap-param-gather");
        }
    }
}

// Megatron-LM refuses modules that the model has not.
static void add_recomputation(struct flags *flags, const struct weft_hybrid *hybrid,
                              const struct weft_transformer *stack)
{
    static const char *const words[] = {
        [WEFT_RECOMPUTE_SELECTIVE] = "--recompute-granularity selective",
        [WEFT_RECOMPUTE_FULL] = "--recompute-granularity full --recompute-method uniform "
                                "--recompute-num-layers 1",
        [WEFT_RECOMPUTE_NORMS] = "--recompute-granularity selective --recompute-modules layernorm",
    };
    if (hybrid->recompute != WEFT_RECOMPUTE_NONE) {
        add(flags, words[hybrid->recompute]);
    }
    if (hybrid->recompute == WEFT_RECOMPUTE_NORMS && stack->experts > 0) {
        add(flags, "moe_act");
    }
    if (hybrid->recompute == WEFT_RECOMPUTE_NORMS && stack->kv_rank > 0) {
        add(flags, "mla_up_proj");
    }
}

// The axes of an order that have more than one rank.
static void keep_axes(char kept[8], const struct weft_hybrid *hybrid, const char *order)
{
    size_t at = 0;
    for (const char *axis = order; *axis != '\0' && at < 7; axis++) {
        bool alone = (*axis == 't' && hybrid->tp == 1) || (*axis == 'c' && hybrid->cp == 1) ||
                     (*axis == 'd' && hybrid->dp == 1) || (*axis == 'p' && hybrid->pp == 1);
        if (!alone) {
            kept[at++] = *axis;
        }
    }
    kept[at] = '\0';
}

// Whether ranks are nested as in that order: "tcdp" is Megatron-LM's own, "tcpd" its mapping's.
static bool nests_as(const struct weft_hybrid *hybrid, const char *order)
{
    char own[8];
    char other[8];
    keep_axes(own, hybrid, hybrid->order);
    keep_axes(other, hybrid, order);
    return strcmp(own, other) == 0;
}

// The strategy itself.
static const char *strategy_flags(const struct weft_strategy *strategy,
                                  const struct weft_model *model, struct weft_arena *arena)
{
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    const struct weft_transformer *stack = model->transformer;
    struct weft_text text;
    weft_text_init(&text, arena);
    struct flags flags = {.text = &text};
    add_count(&flags, "--tensor-model-parallel-size", hybrid->tp);
    add_pipeline(&flags, strategy, stack);
    add_count(&flags, "--context-parallel-size", hybrid->cp);
    add_experts(&flags, hybrid, stack);
    add_count(&flags, "--micro-batch-size", hybrid->micro_batch);
    add_count(&flags, "--global-batch-size", model->batch);
    if (hybrid->sequence_parallel && hybrid->tp > 1) {
        add(&flags, "--sequence-parallel");
    }
    add_zero(&flags, hybrid);
    add_recomputation(&flags, hybrid, stack);
    if (hybrid->overlap_tensor && hybrid->tp > 1) {
        add(&flags, "--tp-comm-overlap");
    }
    if (nests_as(hybrid, "tcpd") && !nests_as(hybrid, "tcdp")) {
        add(&flags, "--use-tp-pp-dp-mapping");
    }
    if (hybrid->fused_attention) {
        add(&flags, "--attention-backend flash");
    }
    if (stack->dtype == WEFT_BF16 || stack->dtype == WEFT_FP16) {
        add(&flags, stack->dtype == WEFT_BF16 ? "--bf16" : "--fp16");
    }
    if (hybrid->fp8) {
        add(&flags, "--fp8-format hybrid");
    }
    return text.data;
}

// The model's shape, as far as it changes what a strategy costs.
static const char *model_flags(const struct weft_transformer *stack, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    struct flags flags = {.text = &text};
    add_count(&flags, "--num-layers", stack->layers);
    add_count(&flags, "--hidden-size", stack->hidden);
    add_count(&flags, "--ffn-hidden-size",
              stack->ffn_units > 0 ? stack->ffn_units : stack->expert_units);
    add_count(&flags, "--num-attention-heads", stack->heads);
    if (stack->kv_heads != 0 && stack->kv_heads != stack->heads) {
        add(&flags, "--group-query-attention");
        add_count(&flags, "--num-query-groups", stack->kv_heads);
    }
    if (stack->head_dim != 0) {
        add_count(&flags, "--kv-channels", stack->head_dim);
    }
    add_count(&flags, "--seq-length", stack->sequence);
    add_count(&flags, "--max-position-embeddings", stack->sequence);
    if (stack->gated) {
        add(&flags, "--swiglu");
    }
    if (!stack->tied_embeddings) {
        add(&flags, "--untie-embeddings-and-output-weights");
    }
    if (stack->experts > 0) {
        add_count(&flags, "--num-experts", stack->experts);
        add_count(&flags, "--moe-router-topk", stack->experts_active);
        add_count(&flags, "--moe-ffn-hidden-size", stack->expert_units);
        add(&flags, "--moe-grouped-gemm");
    }
    if (stack->experts > 0 && stack->experts_shared > 0) {
        add_count(&flags, "--moe-shared-expert-intermediate-size",
                  stack->experts_shared * stack->expert_units);
    }
    if (stack->experts > 0 && stack->dense_layers > 0) {
        weft_text_add(&text, " --moe-layer-freq \"([0]*%u+[1]*%u)\"", stack->dense_layers,
                      stack->layers - stack->dense_layers);
    }
    if (stack->predictions > 0) {
        add_count(&flags, "--mtp-num-layers", stack->predictions);
    }
    if (stack->kv_rank > 0) {
        add(&flags, "--multi-latent-attention");
        if (stack->q_rank > 0) {
            add_count(&flags, "--q-lora-rank", stack->q_rank);
        }
        add_count(&flags, "--kv-lora-rank", stack->kv_rank);
        add_count(&flags, "--qk-head-dim", stack->nope_dim);
        add_count(&flags, "--qk-pos-emb-head-dim", stack->rope_dim);
        add_count(&flags, "--v-head-dim", stack->value_dim);
    }
    return text.data;
}

static const char *without_flag(const struct weft_strategy *strategy, struct weft_arena *arena)
{
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    struct weft_text text;
    weft_text_init(&text, arena);
    struct flags flags = {.text = &text};
    if (!nests_as(hybrid, "tcdp") && !nests_as(hybrid, "tcpd")) {
        add_reason(&flags, "Megatron-LM nests tensor, context, data and pipeline ranks in that "
                           "order, or pipeline before data; for this one renumber the servers");
        weft_text_add(&text, " (order %s, innermost first)", hybrid->order);
    }
    if (hybrid->schedule == WEFT_SCHEDULE_DUALPIPE) {
        add_reason(&flags, "Megatron-LM has no DualPipe");
    }
    if (hybrid->pp > 1 && hybrid->chunks == 1 && !hybrid->blocking_sends) {
        add_reason(&flags, "sends of stages that are not interleaved block in Megatron-LM; here "
                           "they run beside passes");
    }
    if (hybrid->zero_stage >= 2 && hybrid->pp > 1) {
        add_reason(&flags, "Megatron-FSDP beside pipeline stages, or beside another order of "
                           "ranks, depends on the version; --strategy with zero=1 does without");
    }
    add_reason(&flags,
               "normalization, position embeddings, tokenizer, data and learning rate, which "
               "the network does not depend on, are left to you");
    return text.data;
}

struct weft_launch weft_export_launch(const struct weft_strategy *strategy,
                                      const struct weft_model *model,
                                      const struct weft_cluster *cluster, struct weft_arena *arena)
{
    if (strategy->kind != WEFT_STRATEGY_HYBRID || model->transformer == NULL) {
        return (struct weft_launch){.torchrun = NULL};
    }
    // Megatron-LM refuses to overlap tensor and context parallelism without it, but for its FSDP.
    const struct weft_hybrid *hybrid = &strategy->hybrid;
    bool ordered = hybrid->zero_stage < 2 && (hybrid->tp > 1 || hybrid->cp > 1);
    return (struct weft_launch){
        .environment = ordered ? "CUDA_DEVICE_MAX_CONNECTIONS=1" : NULL,
        .torchrun = weft_arena_format(arena,
                                      "--nnodes %u --nproc-per-node %u --node-rank $NODE_RANK "
                                      "--master-addr $MASTER_ADDR --master-port 6000",
                                      cluster->server_count, cluster->accelerators_per_server),
        .megatron = strategy_flags(strategy, model, arena),
        .model = model_flags(model->transformer, arena),
        .without_flag = without_flag(strategy, arena),
    };
}
