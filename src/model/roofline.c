// SPDX-License-Identifier: Apache-2.0
// The roofline: what a part of an operator should cost on an accelerator (docs/costs.md).

#include "profile.h"

#include <math.h>

// Rows of a table that are gathered at random reach this share of the streaming rate.
#define GATHER_RATIO 0.6

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
        [WEFT_OP_CONV2D] = {2, 3, true, true},     // product, bias
        [WEFT_OP_POOL2D] = {1, 1, false, false},   //
        [WEFT_OP_FLAT] = {1, 1, false, false},     // a copy
        [WEFT_OP_DENSE] = {2, 4, true, true},      // product, bias; two products, two sums
        [WEFT_OP_EMBEDDING] = {1, 1, true, true},  //
        [WEFT_OP_CONCAT] = {1, 1, false, false},   //
        [WEFT_OP_ADD] = {1, 2, false, false},      //
        [WEFT_OP_MULTIPLY] = {1, 2, false, false}, //
        [WEFT_OP_UNARY] = {1, 1, false, false},    //
        [WEFT_OP_NORM] = {1, 2, false, false},     //
        [WEFT_OP_SOFTMAX] = {1, 1, false, false},  //
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

// What one accelerator does in one pass over its share of a part.
struct work {
    double flops;
    double bytes;
    uint32_t kernels;
};

// FLOP/s that kernels reach; 0 = the accelerator lacks the dtype.
static double reached_flops_per_s(const struct weft_operator *op,
                                  const struct weft_accelerator *accelerator)
{
    enum weft_dtype dtype = op->spec.dtype;
    bool cudnn = op->spec.kind == WEFT_OP_CONV2D || op->spec.kind == WEFT_OP_ATTENTION;
    if (dtype == WEFT_FP32 && cudnn && accelerator->flops_per_s[WEFT_TF32] > 0) {
        dtype = WEFT_TF32;
    }
    if (dtype == WEFT_FP32 || dtype == WEFT_INT64) {
        return accelerator->flops_per_s[WEFT_FP32] * accelerator->fp32_efficiency;
    }
    return accelerator->flops_per_s[dtype] * accelerator->matmul_efficiency;
}

// Bytes of the forward pass of `samples` samples in one of `parts` parameter parts.
static double forward_bytes(const struct weft_model *model, const struct weft_operator *op,
                            double samples, double parts)
{
    double kept = 0; // what each part reads whole
    if (habit_of(op->spec.kind).whole_input) {
        for (uint32_t i = 0; i < op->spec.input_count; i++) {
            const struct weft_operator *input = &model->operators[op->spec.inputs[i]];
            kept += (double)input->output_elements * weft_dtype_bytes(input->spec.dtype);
        }
    }
    double a_sample = op->forward_bytes - (double)op->parameter_bytes_read;
    kept = fmin(kept, a_sample);
    double bytes = samples * (kept + (a_sample - kept) / parts);
    bytes += (double)op->parameter_bytes_read / parts;
    return op->spec.kind == WEFT_OP_EMBEDDING ? bytes / GATHER_RATIO : bytes;
}

static uint64_t roofline_ps(enum weft_cost_limit *limit, const struct work *work,
                            double flops_per_s, const struct weft_accelerator *accelerator)
{
    double compute_s = work->flops > 0 ? work->flops / flops_per_s : 0;
    double memory_s = work->bytes / (accelerator->memory_Bps * accelerator->memory_efficiency);
    double launch_s = (double)work->kernels * weft_seconds(accelerator->launch_ps);
    double busy_s = fmax(compute_s, memory_s);
    *limit = launch_s > busy_s      ? WEFT_LIMIT_LAUNCH
             : compute_s > memory_s ? WEFT_LIMIT_FLOPS
                                    : WEFT_LIMIT_MEMORY;
    return weft_picoseconds(busy_s + launch_s);
}

bool weft_operator_roofline(struct weft_operator_cost *cost, const struct weft_model *model,
                            uint32_t op, uint32_t sample_parts, uint32_t parameter_parts,
                            const struct weft_cost_options *options, struct weft_error *error)
{
    WEFT_ASSERT(op < model->operator_count);
    WEFT_ASSERT(options->accelerator != NULL && options->accelerators_per_server > 0);
    const struct weft_operator *one = &model->operators[op];
    const struct weft_accelerator *accelerator = options->accelerator;
    struct weft_split split = {sample_parts, parameter_parts};
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
    double parts = (double)parameter_parts * (columns ? sharers : 1);
    double samples = (double)(model->batch / sample_parts);
    samples = columns ? samples : ceil(samples / sharers);
    struct habit habit = habit_of(one->spec.kind);
    struct work forward = {
        .flops = samples * one->forward_flops / parts,
        .bytes = forward_bytes(model, one, samples, parts),
        .kernels = habit.forward_kernels,
    };
    // The gradient of the output is read for both products; inputs and parameters are read and
    // their gradients written.
    struct work backward = {
        .flops = samples * one->backward_flops / parts,
        .bytes = 2 * forward.bytes,
        .kernels = habit.backward_kernels,
    };
    found.forward_ps = roofline_ps(&found.forward_limit, &forward, flops_per_s, accelerator);
    found.backward_ps = roofline_ps(&found.backward_limit, &backward, flops_per_s, accelerator);
    *cost = found;
    return true;
}
