// SPDX-License-Identifier: Apache-2.0
// What of a model light could compute. A dense layer over tokens is a convolution of kernel 1 over
// a map of 1 x tokens, so that every product of an activation with a constant matrix is one row.

#include "weft/photonics/model.h"

#include <string.h>

struct counting {
    const struct weft_model *model;
    struct weft_photonic_compile_options options;
    struct weft_photonic_row *rows;
    const char **names;
    uint32_t row_count, row_max;
    struct weft_photonic_left *left;
    uint32_t left_count, left_max;
    struct weft_arena *arena;
    struct weft_arena scratch;
};

static void leave(struct counting *counting, const struct weft_operator *op, const char *reason)
{
    WEFT_ASSERT(counting->left_count < counting->left_max);
    counting->left[counting->left_count++] =
        (struct weft_photonic_left){op->spec.name, op->spec.kind, reason};
}

// Adds a layer as a row of its own; one that is too large for the datapath's addresses is left.
static void add_layer(struct counting *counting, const struct weft_operator *op, const char *part,
                      struct weft_photonic_layer layer)
{
    struct weft_error error;
    struct weft_photonic_program made;
    layer.activation = WEFT_PHOTONIC_LINEAR;
    const struct weft_photonic_net net = {.layer_count = 1, .layers = &layer};
    struct weft_arena kept = weft_arena_split(&counting->scratch);
    if (!weft_photonic_compile(&made, &net, &counting->options, &kept, counting->scratch, &error)) {
        leave(counting, op, weft_arena_format(counting->arena, "%s", error.message));
        return;
    }
    WEFT_ASSERT(counting->row_count < counting->row_max);
    counting->names[counting->row_count] =
        part == NULL ? op->spec.name
                     : weft_arena_format(counting->arena, "%s.%s", op->spec.name, part);
    counting->rows[counting->row_count] = made.rows[0];
    counting->rows[counting->row_count++].flags = 0;
}

static uint32_t narrow(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value; // refused by the compiler
}

// A matrix that `tokens` vectors pass one after the other.
static void add_matrix(struct counting *counting, const struct weft_operator *op, const char *part,
                       uint64_t tokens, uint64_t inputs, uint64_t outputs)
{
    struct weft_photonic_layer layer = {
        .kind = WEFT_PHOTONIC_DENSE, .inputs = narrow(inputs), .outputs = narrow(outputs)};
    if (tokens > 1) {
        layer = (struct weft_photonic_layer){
            .kind = WEFT_PHOTONIC_CONV,
            .channels_in = narrow(inputs),
            .channels_out = narrow(outputs),
            .kernel = 1,
            .stride = 1,
            .height = 1,
            .width = narrow(tokens),
        };
    }
    add_layer(counting, op, part, layer);
}

static const struct weft_operator *first_input(const struct counting *counting,
                                               const struct weft_operator *op)
{
    return &counting->model->operators[op->spec.inputs[0]];
}

static void count_conv(struct counting *counting, const struct weft_operator *op)
{
    const struct weft_operator_spec *spec = &op->spec;
    const struct weft_operator *input = first_input(counting, op);
    if (spec->kernel[0] != spec->kernel[1] || spec->stride[0] != spec->stride[1] ||
        spec->padding[0] != spec->padding[1] || input->rank != 3) {
        leave(counting, op, "kernel, stride or padding are not square");
        return;
    }
    add_layer(counting, op, NULL,
              (struct weft_photonic_layer){
                  .kind = WEFT_PHOTONIC_CONV,
                  .channels_in = narrow(input->shape[0]),
                  .channels_out = narrow(spec->units),
                  .kernel = spec->kernel[0],
                  .stride = spec->stride[0],
                  .padding = spec->padding[0],
                  .height = narrow(input->shape[1]),
                  .width = narrow(input->shape[2]),
              });
}

static void count_pool(struct counting *counting, const struct weft_operator *op)
{
    const struct weft_operator_spec *spec = &op->spec;
    bool behind_conv = first_input(counting, op)->spec.kind == WEFT_OP_CONV2D;
    bool is_plain = spec->kernel[0] == spec->kernel[1] && spec->stride[0] == spec->kernel[0] &&
                    spec->stride[1] == spec->kernel[1] && spec->padding[0] == 0 &&
                    spec->padding[1] == 0 && !spec->ceil_mode;
    if (!behind_conv || !is_plain) {
        leave(counting, op,
              behind_conv ? "windows overlap or are padded; the datapath's pool lies side by side"
                          : "a pool that is not behind a convolution");
    }
}

// Matrices of attention: plain, or with latents (DeepSeek-V2, section 2.1).
static void count_attention(struct counting *counting, const struct weft_operator *op)
{
    const struct weft_operator_spec *spec = &op->spec;
    uint64_t tokens = op->shape[0], hidden = op->shape[1], heads = spec->heads;
    const struct weft_operator *keys = first_input(counting, op);
    if (spec->input_count > 1) {
        keys = &counting->model->operators[spec->inputs[1]];
    }
    if (spec->kv_rank != 0) {
        uint64_t query = heads * ((uint64_t)spec->nope_dim + spec->rope_dim);
        uint64_t inner = spec->q_rank != 0 ? spec->q_rank : hidden;
        if (spec->q_rank != 0) {
            add_matrix(counting, op, "query_down", tokens, hidden, spec->q_rank);
        }
        add_matrix(counting, op, "query", tokens, inner, query);
        add_matrix(counting, op, "latent", keys->shape[0], hidden,
                   (uint64_t)spec->kv_rank + spec->rope_dim);
        add_matrix(counting, op, "key_value", keys->shape[0], spec->kv_rank,
                   heads * ((uint64_t)spec->nope_dim + spec->value_dim));
        add_matrix(counting, op, "output", tokens, heads * spec->value_dim, hidden);
    } else {
        uint64_t width = spec->head_dim;
        uint64_t kv_heads = spec->kv_heads;
        add_matrix(counting, op, "query", tokens, hidden, heads * width);
        add_matrix(counting, op, "key", keys->shape[0], hidden, kv_heads * width);
        add_matrix(counting, op, "value", keys->shape[0], hidden, kv_heads * width);
        add_matrix(counting, op, "output", tokens, heads * width, hidden);
    }
    leave(counting, op, "scores and values are products of two activations, and softmax between");
}

static void count_experts(struct counting *counting, const struct weft_operator *op)
{
    const struct weft_operator_spec *spec = &op->spec;
    uint64_t tokens = op->rank > 1 ? op->shape[0] : 1, hidden = op->shape[op->rank - 1];
    uint64_t passed = (uint64_t)spec->experts_active + spec->experts_shared;
    add_matrix(counting, op, "router", tokens, hidden, spec->experts);
    add_matrix(counting, op, "up", tokens * passed, hidden,
               spec->expert_units * (spec->gated ? 2 : 1));
    add_matrix(counting, op, "down", tokens * passed, spec->expert_units, hidden);
    leave(counting, op, "the choice of experts, gates between matrices and the weighted sum");
}

static void count_operator(struct counting *counting, const struct weft_operator *op, bool is_last)
{
    uint64_t inputs;
    switch (op->spec.kind) {
    case WEFT_OP_CONV2D:
        count_conv(counting, op);
        return;
    case WEFT_OP_DENSE:
        inputs = first_input(counting, op)->shape[first_input(counting, op)->rank - 1];
        add_matrix(counting, op, NULL, op->output_elements / op->spec.units, inputs,
                   op->spec.units);
        return;
    case WEFT_OP_POOL2D:
        count_pool(counting, op);
        return;
    case WEFT_OP_ATTENTION:
        count_attention(counting, op);
        return;
    case WEFT_OP_EXPERTS:
        count_experts(counting, op);
        return;
    case WEFT_OP_UNARY:
        if (strstr(op->spec.name, "relu") == NULL) {
            leave(counting, op, "not ReLU: a function that the datapath does not have");
        }
        return;
    case WEFT_OP_SOFTMAX:
        if (!is_last || op->rank > 1) {
            leave(counting, op, "the datapath has log-probabilities of one last vector alone");
        }
        return;
    case WEFT_OP_NORM:
        leave(counting, op,
              "needs means of what light has computed; a batch norm may be folded "
              "into the weights before it");
        return;
    case WEFT_OP_EMBEDDING:
        leave(counting, op, "rows of a table, not products");
        return;
    case WEFT_OP_ADD:
    case WEFT_OP_MULTIPLY:
        leave(counting, op, "two activations that come from different layers");
        return;
    case WEFT_OP_CONCAT:
        leave(counting, op, "results of several layers side by side");
        return;
    case WEFT_OP_INPUT:
    case WEFT_OP_FLAT:
    case WEFT_OP_KIND_COUNT:
        return;
    }
}

bool weft_photonic_count_model(struct weft_photonic_model_count *count,
                               const struct weft_model *model,
                               const struct weft_photonic_compile_options *options,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error)
{
    enum { PARTS_MAX = 5 }; // rows of an operator, and entries of what is left
    struct counting counting = {
        .model = model,
        .options = *options,
        .arena = arena,
        .scratch = scratch,
        .row_max = PARTS_MAX * model->operator_count,
        .left_max = (PARTS_MAX + 1) * model->operator_count,
    };
    counting.options.limits =
        (struct weft_photonic_limits){.weight_bytes = UINT64_MAX, .activation_count = UINT32_MAX};
    counting.rows = WEFT_NEW(arena, struct weft_photonic_row, counting.row_max);
    counting.names = WEFT_NEW(arena, const char *, counting.row_max);
    counting.left = WEFT_NEW(arena, struct weft_photonic_left, counting.left_max);
    // Options are looked at once here, so that no operator is left because of them.
    struct weft_photonic_program probe;
    struct weft_photonic_layer one = {.kind = WEFT_PHOTONIC_DENSE, .inputs = 1, .outputs = 1};
    const struct weft_photonic_net net = {.layer_count = 1, .layers = &one};
    if (!weft_photonic_compile(&probe, &net, &counting.options, arena, scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < model->operator_count; i++) {
        count_operator(&counting, &model->operators[i], i + 1 == model->operator_count);
    }
    if (counting.row_count == 0) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "%s: has no operator that is a product with a constant matrix",
                         model->name);
    }
    probe.name = model->name;
    probe.row_count = counting.row_count;
    probe.rows = counting.rows;
    probe.names = counting.names;
    probe.word_count = 0;
    *count = (struct weft_photonic_model_count){probe, counting.left_count, counting.left};
    return true;
}
