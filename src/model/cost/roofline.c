// SPDX-License-Identifier: Apache-2.0
// The roofline (Williams, Waterman and Patterson, CACM 2009): a pass takes the longer of its FLOPs
// at the rate that kernels reach and its bytes at the rate that memory streams, and its kernels'
// launches. What is added to it, and how far measurements are from it, is in docs/costs.md
// ("Roofline", "Accuracy"): products too small to fill the processors, scores of unfused attention,
// scattered reads. O(1).

#include "profile.h"

#include <math.h>

// The constants below were tuned on the ten measured profiles of A100 that docs/costs.md lists; the
// oracle test `roofline` holds the fit.
//
// Rows of a table and windows of an image are read at this share of the streaming rate.
#define GATHER_RATIO 0.6
// A processor works on tiles of so many rows and columns of a matrix product's result, and on so
// many terms of their sums.
#define TILE 64.0
#define TERMS 1024.0
// Attention that is not fused writes its scores, reads them, writes their softmax and reads that.
#define SCORE_PASSES 4.0

// How a kind of operator runs: kernels that nothing overlaps, and whether each of its parts reads
// the whole input when the parameters are divided.
struct habit {
    uint32_t forward_kernels;
    uint32_t backward_kernels;
    bool whole_input;
    bool parameters_divide; // a search may divide them
};

static struct habit habit_of(enum weft_operator_kind kind)
{
    static const struct habit habits[WEFT_OP_KIND_COUNT] = {
        [WEFT_OP_CONV2D] = {3, 5, true, true}, // layout, product, bias
        [WEFT_OP_POOL2D] = {1, 1, false, false},
        [WEFT_OP_FLAT] = {2, 1, false, false},
        [WEFT_OP_DENSE] = {3, 7, true, true}, // product, bias, activation; twice that and sums
        [WEFT_OP_EMBEDDING] = {1, 1, true, true},
        [WEFT_OP_CONCAT] = {0, 0, false, false}, // and a copy of each input
        [WEFT_OP_ADD] = {1, 2, false, false},
        [WEFT_OP_MULTIPLY] = {1, 2, false, false},
        [WEFT_OP_UNARY] = {1, 1, false, false},
        [WEFT_OP_NORM] = {1, 2, false, false},
        [WEFT_OP_SOFTMAX] = {1, 1, false, false},
        [WEFT_OP_ATTENTION] = {7, 14, true, true}, // four projections, scores, softmax, context
        [WEFT_OP_EXPERTS] = {6, 12, true, false},  // router, dispatch, three products, combine
    };
    WEFT_ASSERT(kind < WEFT_OP_KIND_COUNT);
    return habits[kind];
}

bool weft_kind_divides(enum weft_operator_kind kind)
{
    return habit_of(kind).parameters_divide;
}

bool weft_cost_fail(const struct weft_model *model, uint32_t op, struct weft_error *error)
{
    return weft_wrap(error, "operator '%.64s'", model->operators[op].spec.name);
}

bool weft_parameters_divide(const struct weft_operator *op, uint32_t parts)
{
    if (op->spec.kind == WEFT_OP_ATTENTION) {
        uint32_t kv_heads = op->spec.kv_heads > 0 ? op->spec.kv_heads : op->spec.heads;
        return op->spec.heads % parts == 0 && kv_heads % parts == 0;
    }
    uint64_t size = op->rank == 3 ? op->shape[0] : op->rank > 0 ? op->shape[op->rank - 1] : 1;
    return size % parts == 0;
}

bool weft_split_check(const struct weft_model *model, uint32_t op, struct weft_split split,
                      struct weft_error *error)
{
    WEFT_ASSERT(split.sample_parts > 0 && split.parameter_parts > 0);
    if (model->batch % split.sample_parts != 0) {
        weft_fail(error, WEFT_INPUT,
                  "a batch of %llu does not divide into %u parts of equal size; change the batch",
                  (unsigned long long)model->batch, split.sample_parts);
        return weft_cost_fail(model, op, error);
    }
    if (!weft_parameters_divide(&model->operators[op], split.parameter_parts)) {
        weft_fail(error, WEFT_INPUT, "its %s do not divide into %u parts of equal size",
                  model->operators[op].spec.kind == WEFT_OP_ATTENTION ? "heads" : "columns",
                  split.parameter_parts);
        return weft_cost_fail(model, op, error);
    }
    return true;
}

// One accelerator's share of a part of an operator.
struct share {
    const struct weft_model *model;
    const struct weft_operator *op;
    const struct weft_accelerator *accelerator;
    double samples;
    double parts; // that the parameters are divided into
    double flops_per_s;
};

// What a pass takes, besides launches. Products and the passes over scores follow one another;
// a product and its own traffic overlap.
struct pass {
    double compute_s;
    double memory_s;
    double serial_s;
    uint32_t kernels;
};

static bool unfused(const struct weft_operator *op)
{
    return op->spec.dtype == WEFT_FP32 || op->spec.dtype == WEFT_TF32;
}

// FLOP/s that kernels reach; 0 = the accelerator lacks the dtype.
static double reached_flops_per_s(const struct weft_operator *op,
                                  const struct weft_accelerator *accelerator)
{
    enum weft_dtype dtype = op->spec.dtype;
    bool cudnn = op->spec.kind == WEFT_OP_CONV2D || op->spec.kind == WEFT_OP_ATTENTION;
    if (dtype == WEFT_FP32 && cudnn && accelerator->flops_per_s[WEFT_TF32] > 0) {
        dtype = WEFT_TF32;
    }
    double share = accelerator->matmul_efficiency;
    if (dtype == WEFT_TF32) {
        share = accelerator->tf32_efficiency;
    } else if (dtype == WEFT_FP32) {
        share = accelerator->fp32_efficiency;
    }
    return accelerator->flops_per_s[dtype] * share;
}

static double streamed_s(double bytes, const struct weft_accelerator *accelerator)
{
    return bytes / (accelerator->memory_Bps * accelerator->memory_efficiency);
}

// The share of the processors that a product of rows x terms by terms x columns keeps busy.
static double busy_ratio(double rows, double columns, double terms,
                         const struct weft_accelerator *accelerator)
{
    double tiles = fmax(rows / TILE, 1) * fmax(columns / TILE, 1) * fmax(terms / TERMS, 1);
    return fmin(tiles / accelerator->processors, 1);
}

// Seconds of the products, forward and backward. Gradients of inputs have their rows, too;
// gradients of parameters are sums over rows, which fill every processor.
static void time_products(double seconds[2], const struct share *share)
{
    const struct weft_operator *op = share->op;
    double flops = share->samples * op->forward_flops / share->parts;
    double forward_s = flops > 0 ? flops / share->flops_per_s : 0;
    double products = flops > 0 ? op->backward_flops / op->forward_flops : 0;
    seconds[0] = forward_s;
    seconds[1] = forward_s * products;
    if (op->spec.kind == WEFT_OP_DENSE) {
        double columns = (double)op->spec.units;
        double rows = share->samples * (double)op->output_elements / columns;
        double inner = (double)op->input_elements * columns / (double)op->output_elements;
        double part = columns / share->parts;
        seconds[0] /= busy_ratio(rows, part, inner, share->accelerator);
        double input_s = forward_s / busy_ratio(rows, inner, part, share->accelerator);
        seconds[1] = fmin(products, 1) * forward_s + fmax(products - 1, 0) * input_s;
    }
}

// Bytes of the forward pass that stream beside the products.
static double forward_bytes(const struct share *share)
{
    const struct weft_operator *op = share->op;
    double kept = 0; // what each part reads whole
    if (habit_of(op->spec.kind).whole_input) {
        for (uint32_t i = 0; i < op->spec.input_count; i++) {
            const struct weft_operator *input = &share->model->operators[op->spec.inputs[i]];
            kept += (double)input->output_elements * weft_dtype_bytes(input->spec.dtype);
        }
    }
    double a_sample = op->forward_bytes - (double)op->parameter_bytes_read;
    kept = fmin(kept, a_sample);
    if (op->spec.kind == WEFT_OP_CONV2D && op->spec.bias) {
        // The bias is added in a pass of its own.
        a_sample += 2.0 * (double)op->output_elements * weft_dtype_bytes(op->spec.dtype);
    }
    double bytes = share->samples * (kept + (a_sample - kept) / share->parts);
    bytes += (double)op->parameter_bytes_read / share->parts;
    bool scattered = op->spec.kind == WEFT_OP_EMBEDDING || op->spec.kind == WEFT_OP_POOL2D;
    return scattered ? bytes / GATHER_RATIO : bytes;
}

// Bytes of attention's scores, which nothing overlaps.
static double score_bytes(const struct share *share)
{
    const struct weft_operator *op = share->op;
    if (op->spec.kind != WEFT_OP_ATTENTION || !unfused(op)) {
        return 0;
    }
    uint32_t last = op->spec.inputs[op->spec.input_count - 1];
    double keys = (double)share->model->operators[last].shape[0];
    double scores = (double)op->spec.heads / share->parts * (double)op->shape[0] * keys;
    return share->samples * scores * SCORE_PASSES * weft_dtype_bytes(op->spec.dtype);
}

static uint64_t pass_ps(enum weft_cost_limit *limit, const struct pass *pass,
                        const struct weft_accelerator *accelerator)
{
    double launch_s = (double)pass->kernels * weft_seconds(accelerator->launch_ps);
    double busy_s = fmax(pass->compute_s, pass->memory_s);
    *limit = launch_s > busy_s + pass->serial_s ? WEFT_LIMIT_LAUNCH
             : pass->compute_s > pass->memory_s ? WEFT_LIMIT_FLOPS
                                                : WEFT_LIMIT_MEMORY;
    return weft_picoseconds(busy_s + pass->serial_s + launch_s);
}

// Times both passes of one accelerator's share. The backward pass moves twice the bytes: the
// gradient of the output is read for both products, inputs and parameters are read and their
// gradients written.
static void time_share(struct weft_operator_cost *cost, const struct share *share)
{
    struct habit habit = habit_of(share->op->spec.kind);
    double seconds[2];
    time_products(seconds, share);
    bool copies = share->op->spec.kind == WEFT_OP_CONCAT;
    uint32_t inputs = copies ? share->op->spec.input_count : 0;
    struct pass forward = {
        .compute_s = seconds[0],
        .memory_s = streamed_s(forward_bytes(share), share->accelerator),
        .serial_s = streamed_s(score_bytes(share), share->accelerator),
        .kernels = habit.forward_kernels + inputs,
    };
    // The gradient of the output is read for both products; inputs and parameters are read and
    // their gradients written.
    struct pass backward = {
        .compute_s = seconds[1],
        .memory_s = 2 * forward.memory_s,
        .serial_s = 2 * forward.serial_s,
        .kernels = habit.backward_kernels + inputs,
    };
    cost->forward_ps = pass_ps(&cost->forward_limit, &forward, share->accelerator);
    if (share->op->has_gradient) {
        cost->backward_ps = pass_ps(&cost->backward_limit, &backward, share->accelerator);
    }
}

// Divides a part among the server's accelerators, by samples, or by columns for tables, and times
// the share of one. Samples that do not divide are rounded up, since the fullest accelerator
// decides.
bool weft_operator_roofline(struct weft_operator_cost *cost, const struct weft_model *model,
                            uint32_t op, struct weft_split split,
                            const struct weft_cost_options *options, struct weft_error *error)
{
    WEFT_ASSERT(op < model->operator_count);
    WEFT_ASSERT(options->accelerator != NULL && options->accelerators_per_server > 0);
    const struct weft_operator *one = &model->operators[op];
    const struct weft_accelerator *accelerator = options->accelerator;
    if (!weft_split_check(model, op, split, error)) {
        return false;
    }
    struct weft_operator_cost found = {.source = WEFT_COST_ROOFLINE};
    if (one->spec.kind == WEFT_OP_INPUT) {
        *cost = found;
        return true;
    }
    double flops_per_s = reached_flops_per_s(one, accelerator);
    if (one->forward_flops > 0 && flops_per_s <= 0) {
        weft_fail(error, WEFT_INPUT, "%s does not compute in %s; choose another dtype",
                  accelerator->name, weft_dtype_name(one->spec.dtype));
        return weft_cost_fail(model, op, error);
    }
    // Tables are shared by columns, all else by samples.
    uint32_t sharers = options->accelerators_per_server;
    bool columns = one->spec.kind == WEFT_OP_EMBEDDING;
    uint64_t part_samples = model->batch / split.sample_parts;
    double samples = (double)part_samples;
    struct share share = {
        .model = model,
        .op = one,
        .accelerator = options->accelerator,
        .samples = columns ? samples : ceil(samples / sharers),
        .parts = (double)split.parameter_parts * (columns ? sharers : 1),
        .flops_per_s = flops_per_s,
    };
    time_share(&found, &share);
    *cost = found;
    return true;
}
