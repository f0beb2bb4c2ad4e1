// SPDX-License-Identifier: Apache-2.0
// An encoder and a decoder without norms (Vaswani et al., "Attention is all you need", NeurIPS
// 2017, stripped), as the TopoOpt artifact's "BERT" is recorded: every decoder layer looks at the
// encoder layer beside it.

#include "model/operators/net.h"

struct stack {
    struct weft_net *net;
    uint64_t hidden;
    uint32_t heads;
};

// Attention of `at` over `others`, and the sum with what came in.
static uint32_t attend(const struct stack *stack, uint32_t at, uint32_t others, uint32_t layer,
                       const char *prefix)
{
    uint32_t inputs[2] = {at, others};
    const char *name = weft_net_name(stack->net, prefix, layer);
    uint32_t sum[2] = {0, at};
    sum[0] = weft_net_join(stack->net, inputs, at == others ? 1 : 2,
                           (struct weft_operator_spec){
                               .name = name, .kind = WEFT_OP_ATTENTION, .heads = stack->heads});
    return weft_net_join(stack->net, sum, 2,
                         (struct weft_operator_spec){
                             .name = weft_arena_format(stack->net->arena, "%s_sum", name),
                             .kind = WEFT_OP_ADD,
                         });
}

static uint32_t feed(const struct stack *stack, uint32_t at, uint32_t layer, const char *prefix)
{
    const char *name = weft_net_name(stack->net, prefix, layer);
    return weft_net_mlp(stack->net, at, name, 2, stack->hidden);
}

// Builds encoder and decoder layer by layer side by side, so that decoder layer i reads encoder
// layer i and the two can run beside each other.
bool weft_model_build_seq2seq(struct weft_model *model, const struct weft_model_head *head,
                              const struct weft_seq2seq *numbers, struct weft_arena *arena,
                              struct weft_error *error)
{
    if (!weft_net_range("layers", numbers->layers, 1, 4096, error)) {
        return false;
    }
    struct weft_net net;
    weft_net_init(&net, 10 * numbers->layers + 3, arena);
    const struct stack stack = {&net, numbers->hidden, numbers->heads};
    struct weft_operator_spec input = {.name = "source",
                                       .kind = WEFT_OP_INPUT,
                                       .rank = 2,
                                       .shape = {numbers->sequence, numbers->hidden}};
    uint32_t encoder = weft_net_add(&net, &input);
    input.name = "target";
    uint32_t decoder = weft_net_add(&net, &input);
    for (uint32_t i = 0; i < numbers->layers; i++) {
        encoder = attend(&stack, encoder, encoder, i, "encoder_attention");
        encoder = feed(&stack, encoder, i, "encoder_feed");
        decoder = attend(&stack, decoder, decoder, i, "decoder_attention");
        decoder = attend(&stack, decoder, encoder, i, "cross_attention");
        decoder = feed(&stack, decoder, i, "decoder_feed");
    }
    weft_net_mlp(&net, decoder, "head", 1, 1);
    return weft_net_build(model, head, &net, error);
}
