// SPDX-License-Identifier: Apache-2.0
// Encoders and decoders (Vaswani et al., "Attention is all you need", NeurIPS 2017), in two ways.
// As published, where there is a vocabulary: one table for both inputs and the outputs, a norm
// behind every sum, and decoder layers whose second attention takes its keys and values from the
// last encoder layer. Stripped, as the TopoOpt artifact's "BERT" is recorded: no ends, no norms,
// and every decoder layer looks at the encoder layer beside it.
//
// Positions are sines that are added to what is looked up: they have no parameters and are left
// out. Scores are computed whole and masked, as in the stacks of transformer.c.

#include "model/operators/net.h"

struct stack {
    struct weft_net *net;
    const struct weft_seq2seq *shape;
};

static bool is_published(const struct stack *stack)
{
    return stack->shape->vocabulary > 0;
}

// The sum of what `name` made and what it was made of, with its norm where there are norms.
static uint32_t close_block(const struct stack *stack, uint32_t made, uint32_t at, const char *name)
{
    const uint32_t sum[2] = {made, at};
    struct weft_arena *arena = stack->net->arena;
    at = weft_net_join(stack->net, sum, 2,
                       (struct weft_operator_spec){
                           .name = weft_arena_format(arena, "%s_sum", name),
                           .kind = WEFT_OP_ADD,
                       });
    return !is_published(stack)
               ? at
               : weft_net_after(stack->net, at,
                                (struct weft_operator_spec){
                                    .name = weft_arena_format(arena, "%s_norm", name),
                                    .kind = WEFT_OP_NORM,
                                    .bias = true,
                                });
}

// Attention of `at` over `others`, and the sum with what came in.
static uint32_t attend(const struct stack *stack, uint32_t at, uint32_t others, uint32_t layer,
                       const char *prefix)
{
    const uint32_t inputs[2] = {at, others};
    const char *name = weft_net_name(stack->net, prefix, layer);
    uint32_t made =
        weft_net_join(stack->net, inputs, at == others ? 1 : 2,
                      (struct weft_operator_spec){
                          .name = name, .kind = WEFT_OP_ATTENTION, .heads = stack->shape->heads});
    return close_block(stack, made, at, name);
}

// Two layers: stripped as wide as the rest and nothing between, else ffn_units wide and a ReLU.
static uint32_t feed(const struct stack *stack, uint32_t at, uint32_t layer, const char *prefix)
{
    struct weft_net *net = stack->net;
    const char *name = weft_net_name(net, prefix, layer);
    uint64_t hidden = stack->shape->hidden;
    if (!is_published(stack)) {
        return weft_net_mlp(net, at, name, 2, hidden);
    }
    uint64_t units = stack->shape->ffn_units;
    uint32_t made = weft_net_mlp(net, at, weft_arena_format(net->arena, "%s_up", name), 1, units);
    made = weft_net_after(net, made,
                          (struct weft_operator_spec){
                              .name = weft_arena_format(net->arena, "%s_relu", name),
                              .kind = WEFT_OP_UNARY,
                          });
    made = weft_net_mlp(net, made, weft_arena_format(net->arena, "%s_down", name), 1, hidden);
    return close_block(stack, made, at, name);
}

static uint32_t encode(const struct stack *stack, uint32_t at, uint32_t layer)
{
    at = attend(stack, at, at, layer, "encoder_attention");
    return feed(stack, at, layer, "encoder_feed");
}

static uint32_t decode(const struct stack *stack, uint32_t at, uint32_t encoded, uint32_t layer)
{
    at = attend(stack, at, at, layer, "decoder_attention");
    at = attend(stack, at, encoded, layer, "cross_attention");
    return feed(stack, at, layer, "decoder_feed");
}

// The stripped network, layer by layer side by side, so that decoder layer i reads encoder layer i
// and the two can run beside each other.
static void add_stripped(const struct stack *stack)
{
    const struct weft_seq2seq *shape = stack->shape;
    struct weft_operator_spec input = {.name = "source",
                                       .kind = WEFT_OP_INPUT,
                                       .rank = 2,
                                       .shape = {shape->sequence, shape->hidden}};
    uint32_t encoder = weft_net_add(stack->net, &input);
    input.name = "target";
    uint32_t decoder = weft_net_add(stack->net, &input);
    for (uint32_t i = 0; i < shape->layers; i++) {
        encoder = encode(stack, encoder, i);
        decoder = decode(stack, decoder, encoder, i);
    }
    weft_net_mlp(stack->net, decoder, "head", 1, 1);
}

// Rows of the table that both ends share, whose parameters the source's operator has.
static uint32_t look_up(const struct stack *stack, const char *name, bool tied)
{
    const struct weft_seq2seq *shape = stack->shape;
    const struct weft_operator_spec indices = {
        .name = weft_arena_format(stack->net->arena, "%s_indices", name),
        .kind = WEFT_OP_INPUT,
        .dtype = WEFT_INT64,
        .rank = 2,
        .shape = {shape->sequence, 1},
    };
    return weft_net_after(stack->net, weft_net_add(stack->net, &indices),
                          (struct weft_operator_spec){.name = name,
                                                      .kind = WEFT_OP_EMBEDDING,
                                                      .rows = shape->vocabulary,
                                                      .units = shape->hidden,
                                                      .tied = tied});
}

static void add_published(const struct stack *stack)
{
    const struct weft_seq2seq *shape = stack->shape;
    uint32_t encoder = look_up(stack, "source", false);
    uint32_t decoder = look_up(stack, "target", true);
    for (uint32_t i = 0; i < shape->layers; i++) {
        encoder = encode(stack, encoder, i);
    }
    for (uint32_t i = 0; i < shape->layers; i++) {
        decoder = decode(stack, decoder, encoder, i);
    }
    decoder = weft_net_after(
        stack->net, decoder,
        (struct weft_operator_spec){
            .name = "output", .kind = WEFT_OP_DENSE, .units = shape->vocabulary, .tied = true});
    weft_net_after(stack->net, decoder,
                   (struct weft_operator_spec){.name = "softmax", .kind = WEFT_OP_SOFTMAX});
}

bool weft_model_build_seq2seq(struct weft_model *model, const struct weft_model_head *head,
                              const struct weft_seq2seq *numbers, struct weft_arena *arena,
                              struct weft_error *error)
{
    if (!weft_net_range("layers", numbers->layers, 1, 4096, error)) {
        return false;
    }
    if ((numbers->vocabulary > 0) != (numbers->ffn_units > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "vocabulary and ffn_units belong to the published network; give both, or "
                         "none for the stripped one");
    }
    struct weft_net net;
    weft_net_init(&net, 19 * numbers->layers + 6, arena);
    const struct stack stack = {&net, numbers};
    if (is_published(&stack)) {
        add_published(&stack);
    } else {
        add_stripped(&stack);
    }
    return weft_net_build(model, head, &net, error);
}
