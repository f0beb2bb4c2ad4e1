// SPDX-License-Identifier: Apache-2.0
// Stacks of equal layers as operators: GPT, BERT, Llama, mixtures of experts, ViT. Layers have
// norms before (or, as in BERT, after) attention and feed-forward; gated feed-forwards have three
// matrices; ends are tables, classes or a pooler. Parameters and FLOPs are held against published
// counts by tests (docs/models.md, "The zoo"). O(layers).

#include "model/operators/net.h"

// Limits of what makes sense, and the operators that a layer and the ends add at most.
#define LAYERS_MAX 4096u
#define WIDTH_MAX (1ull << 24)
#define OUTSIDE_LAYERS 20u
#define OF_A_LAYER 12u

struct stack {
    struct weft_net *net;
    const struct weft_transformer *shape;
};

static uint32_t after(const struct stack *stack, uint32_t at, struct weft_operator_spec spec)
{
    spec.dtype = stack->shape->dtype;
    return weft_net_after(stack->net, at, spec);
}

static uint32_t join(const struct stack *stack, uint32_t a, uint32_t b,
                     enum weft_operator_kind kind, const char *name)
{
    const uint32_t inputs[2] = {a, b};
    return weft_net_join(
        stack->net, inputs, 2,
        (struct weft_operator_spec){.name = name, .kind = kind, .dtype = stack->shape->dtype});
}

static uint32_t add_norm(const struct stack *stack, uint32_t at, const char *name)
{
    return after(stack, at,
                 (struct weft_operator_spec){
                     .name = name, .kind = WEFT_OP_NORM, .bias = stack->shape->bias});
}

static uint32_t add_dense(const struct stack *stack, uint32_t at, const char *name, uint64_t units)
{
    return after(
        stack, at,
        (struct weft_operator_spec){
            .name = name, .kind = WEFT_OP_DENSE, .units = units, .bias = stack->shape->bias});
}

// `length` rows of a table by indices of its own.
static uint32_t look_up(const struct stack *stack, const char *name, uint64_t length, uint64_t rows)
{
    const struct weft_operator_spec indices = {
        .name = weft_arena_format(stack->net->arena, "%s_indices", name),
        .kind = WEFT_OP_INPUT,
        .dtype = WEFT_INT64,
        .rank = 2,
        .shape = {length, 1},
    };
    return after(
        stack, weft_net_add(stack->net, &indices),
        (struct weft_operator_spec){
            .name = name, .kind = WEFT_OP_EMBEDDING, .rows = rows, .units = stack->shape->hidden});
}

// Tokens, or patches behind a class token.
static uint32_t add_symbols(const struct stack *stack)
{
    const struct weft_transformer *shape = stack->shape;
    if (shape->vocabulary > 0) {
        return look_up(stack, "tokens", shape->sequence, shape->vocabulary);
    }
    const struct weft_operator_spec image = {
        .name = "image",
        .kind = WEFT_OP_INPUT,
        .dtype = shape->dtype,
        .rank = 2,
        .shape = {shape->sequence - 1, shape->patch_elements},
    };
    uint32_t patches = add_dense(stack, weft_net_add(stack->net, &image), "patches", shape->hidden);
    uint32_t class_token = look_up(stack, "class_token", 1, 1);
    return join(stack, class_token, patches, WEFT_OP_CONCAT, "symbols");
}

static uint32_t add_start(const struct stack *stack)
{
    const struct weft_transformer *shape = stack->shape;
    uint32_t at = add_symbols(stack);
    if (shape->learned_positions) {
        uint32_t places = look_up(stack, "positions", shape->sequence, shape->sequence);
        at = join(stack, at, places, WEFT_OP_ADD, "placed");
    }
    if (shape->token_types > 0) {
        uint32_t types = look_up(stack, "types", shape->sequence, shape->token_types);
        at = join(stack, at, types, WEFT_OP_ADD, "typed");
    }
    return shape->post_norm ? add_norm(stack, at, "start_norm") : at;
}

static uint32_t add_attention(const struct stack *stack, uint32_t at, const char *name)
{
    const struct weft_transformer *shape = stack->shape;
    return after(stack, at,
                 (struct weft_operator_spec){
                     .name = name,
                     .kind = WEFT_OP_ATTENTION,
                     .bias = shape->bias,
                     .heads = shape->heads,
                     .kv_heads = shape->kv_heads,
                     .head_dim = shape->head_dim,
                     .causal = shape->causal,
                     .window = shape->window,
                     .q_rank = shape->q_rank,
                     .kv_rank = shape->kv_rank,
                     .rope_dim = shape->rope_dim,
                     .nope_dim = shape->nope_dim,
                     .value_dim = shape->value_dim,
                 });
}

static const char *part(const struct stack *stack, uint32_t layer, const char *what)
{
    return weft_arena_format(stack->net->arena, "layer_%u_%s", layer, what);
}

// Adds the feed-forward of a layer: experts behind the first dense layers, else up, activation and
// down, with a gate beside up where the stack is gated.
static uint32_t add_feed(const struct stack *stack, uint32_t at, uint32_t layer)
{
    const struct weft_transformer *shape = stack->shape;
    if (shape->experts > 0 && layer >= shape->dense_layers) {
        return after(stack, at,
                     (struct weft_operator_spec){
                         .name = part(stack, layer, "experts"),
                         .kind = WEFT_OP_EXPERTS,
                         .experts = shape->experts,
                         .experts_active = shape->experts_active,
                         .experts_shared = shape->experts_shared,
                         .expert_units = shape->expert_units,
                         .gated = shape->gated,
                     });
    }
    uint32_t up = add_dense(stack, at, part(stack, layer, "up"), shape->ffn_units);
    const struct weft_operator_spec activation = {.name = part(stack, layer, "activation"),
                                                  .kind = WEFT_OP_UNARY};
    if (shape->gated) {
        uint32_t gate = add_dense(stack, at, part(stack, layer, "gate"), shape->ffn_units);
        gate = after(stack, gate, activation);
        up = join(stack, gate, up, WEFT_OP_MULTIPLY, part(stack, layer, "product"));
    } else {
        up = after(stack, up, activation);
    }
    return add_dense(stack, up, part(stack, layer, "down"), shape->hidden);
}

// Attention and feed-forward read the same norm; both are added to what came in.
static uint32_t add_parallel_layer(const struct stack *stack, uint32_t at, uint32_t layer)
{
    uint32_t in = add_norm(stack, at, part(stack, layer, "norm_1"));
    uint32_t attention = add_attention(stack, in, part(stack, layer, "attention"));
    uint32_t sum = join(stack, attention, at, WEFT_OP_ADD, part(stack, layer, "sum_1"));
    uint32_t feed = add_feed(stack, in, layer);
    return join(stack, feed, sum, WEFT_OP_ADD, part(stack, layer, "sum_2"));
}

static uint32_t add_layer(const struct stack *stack, uint32_t at, uint32_t layer)
{
    if (stack->shape->parallel_block) {
        return add_parallel_layer(stack, at, layer);
    }
    bool post = stack->shape->post_norm;
    uint32_t in = post ? at : add_norm(stack, at, part(stack, layer, "norm_1"));
    uint32_t attention = add_attention(stack, in, part(stack, layer, "attention"));
    at = join(stack, attention, at, WEFT_OP_ADD, part(stack, layer, "sum_1"));
    at = post ? add_norm(stack, at, part(stack, layer, "norm_1")) : at;
    in = post ? at : add_norm(stack, at, part(stack, layer, "norm_2"));
    uint32_t feed = add_feed(stack, in, layer);
    at = join(stack, feed, at, WEFT_OP_ADD, part(stack, layer, "sum_2"));
    return post ? add_norm(stack, at, part(stack, layer, "norm_2")) : at;
}

// Adds what follows the last layer: the last norm, a pooler or classes on one token, and the output
// matrix, which may be the input's table.
static void add_end(const struct stack *stack, uint32_t at)
{
    const struct weft_transformer *shape = stack->shape;
    if (!shape->post_norm) {
        at = add_norm(stack, at, "last_norm");
    }
    if (shape->pooler || shape->vocabulary == 0) {
        uint32_t one = after(stack, at,
                             (struct weft_operator_spec){
                                 .name = "pooled",
                                 .kind = WEFT_OP_POOL2D,
                                 .kernel = {(uint32_t)shape->sequence, 1},
                             });
        one = after(stack, one, (struct weft_operator_spec){.name = "flat", .kind = WEFT_OP_FLAT});
        if (shape->pooler) {
            one = add_dense(stack, one, "pooler", shape->hidden);
        }
        if (shape->vocabulary == 0) {
            at = add_dense(stack, one, "classes", shape->classes);
        }
    }
    if (shape->vocabulary > 0) {
        at = after(stack, at,
                   (struct weft_operator_spec){.name = "output",
                                               .kind = WEFT_OP_DENSE,
                                               .units = shape->vocabulary,
                                               .tied = shape->tied_embeddings});
    }
    after(stack, at, (struct weft_operator_spec){.name = "softmax", .kind = WEFT_OP_SOFTMAX});
}

// What the numbers of a shape must be together before a model is built of it: sizes that later
// products of them do not overflow, one kind of input, one place of the norms, and a width for
// every layer that is no mixture of experts.
static bool check_shape(const struct weft_transformer *shape, struct weft_error *error)
{
    if (!weft_net_range("layers", shape->layers, 1, LAYERS_MAX, error) ||
        !weft_net_range("hidden", shape->hidden, 1, WIDTH_MAX, error) ||
        !weft_net_range("sequence", shape->sequence, 1, WIDTH_MAX, error) ||
        !weft_net_range("dense_layers", shape->dense_layers, 0, shape->layers, error)) {
        return false;
    }
    if (shape->vocabulary > 0 && (shape->patch_elements > 0 || shape->classes > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "a vocabulary and patches; give one of them, patches with classes");
    }
    if (shape->vocabulary == 0 &&
        (shape->patch_elements == 0 || shape->classes == 0 || shape->sequence < 2)) {
        return weft_fail(error, WEFT_INPUT,
                         "no vocabulary; give one, or patch_elements, classes and a sequence of "
                         "the patches and one more");
    }
    if (shape->parallel_block && shape->post_norm) {
        return weft_fail(
            error, WEFT_INPUT,
            "parallel_block and post_norm; a parallel block has one norm before it, so "
            "leave one of them out");
    }
    bool dense = shape->experts == 0 || shape->dense_layers > 0;
    if (dense && shape->ffn_units == 0) {
        return weft_fail(error, WEFT_INPUT, "no ffn_units; give at least 1");
    }
    return true;
}

bool weft_model_build_transformer(struct weft_model *model, const struct weft_model_head *head,
                                  const struct weft_transformer *transformer,
                                  struct weft_arena *arena, struct weft_error *error)
{
    if (!check_shape(transformer, error)) {
        return false;
    }
    struct weft_net net;
    weft_net_init(&net, OF_A_LAYER * transformer->layers + OUTSIDE_LAYERS, arena);
    const struct stack stack = {&net, transformer};
    uint32_t at = add_start(&stack);
    for (uint32_t i = 0; i < transformer->layers; i++) {
        at = add_layer(&stack, at, i);
    }
    add_end(&stack, at);
    struct weft_model built;
    if (!weft_net_build(&built, head, &net, error)) {
        return false;
    }
    struct weft_transformer *shape = WEFT_NEW(arena, struct weft_transformer, 1);
    *shape = *transformer;
    shape->kv_heads = shape->kv_heads == 0 ? shape->heads : shape->kv_heads;
    if (shape->head_dim == 0 && shape->kv_rank == 0) {
        shape->head_dim = (uint32_t)(shape->hidden / shape->heads);
    }
    built.transformer = shape;
    *model = built;
    return true;
}
