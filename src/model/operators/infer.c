// SPDX-License-Identifier: Apache-2.0
// Shapes, FLOPs, parameters and bytes of an operator from its spec and its inputs (docs/models.md
// has the formulas). A multiply and an add are two FLOPs; counts are of one sample and the forward
// pass. Sums stick at the largest number and are checked once at the end. O(inputs).

#include "infer.h"

#include <string.h>

#define FLOPS_NORM 5    // mean, variance, scale: a value
#define FLOPS_SOFTMAX 5 // maximum, difference, exponential, sum, quotient

static const struct weft_operator *input_of(const struct weft_operator *op,
                                            const struct weft_operator *operators, uint32_t index)
{
    return &operators[op->spec.inputs[index]];
}

static void copy_shape(struct weft_operator *op, const struct weft_operator *from)
{
    op->rank = from->rank;
    memcpy(op->shape, from->shape, sizeof op->shape);
}

static bool infer_input(struct weft_operator *op, struct weft_error *error)
{
    if (op->spec.rank == 0 || op->spec.rank > WEFT_SHAPE_MAX) {
        return weft_fail(error, WEFT_INPUT, "a shape of %u dimensions; give 1 to %u", op->spec.rank,
                         WEFT_SHAPE_MAX);
    }
    op->rank = op->spec.rank;
    memcpy(op->shape, op->spec.shape, op->rank * sizeof op->shape[0]);
    return true;
}

// The output size of the windows of a kernel that slide over `size` values along dimension i (0:
// height, 1: width): one at the start and one for each whole stride that is left; with ceil_mode of
// a pool one more for what remains.
static bool slide(uint64_t *output, uint64_t size, const struct weft_operator_spec *spec,
                  uint32_t i, struct weft_error *error)
{
    uint32_t kernel = spec->kernel[i];
    uint64_t padded = weft_plus(size, 2ull * spec->padding[i]);
    if (kernel == 0) {
        return weft_fail(error, WEFT_INPUT, "no kernel; give its height and width");
    }
    if (kernel > padded) {
        return weft_fail(error, WEFT_INPUT,
                         "a kernel of %u over %llu values; use a smaller kernel or more padding",
                         kernel, (unsigned long long)padded);
    }
    uint64_t steps = (padded - kernel) / spec->stride[i];
    bool rounds_up = spec->kind == WEFT_OP_POOL2D && spec->ceil_mode;
    if (rounds_up && (padded - kernel) % spec->stride[i] != 0 &&
        (steps + 1) * spec->stride[i] < size + spec->padding[i]) {
        steps++; // the last window starts within the input, not in its padding
    }
    *output = steps + 1;
    return true;
}

static bool infer_window(struct weft_operator *op, const struct weft_operator *input,
                         struct weft_error *error)
{
    struct weft_operator_spec *spec = &op->spec;
    bool pool = spec->kind == WEFT_OP_POOL2D;
    if (input->rank != 3 && !(pool && input->rank == 2)) {
        return weft_fail(error, WEFT_INPUT,
                         "an input of %u dimensions; it takes [channels, height, width]%s",
                         input->rank, pool ? " or [height, width]" : "");
    }
    copy_shape(op, input);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t dimension = input->rank - 2 + i;
        spec->stride[i] = spec->stride[i] == 0 ? 1 : spec->stride[i];
        if (pool && spec->padding[i] >= spec->kernel[i] && spec->padding[i] > 0) {
            return weft_fail(error, WEFT_INPUT,
                             "windows of padding alone; use a padding below the kernel");
        }
        if (!slide(&op->shape[dimension], input->shape[dimension], spec, i, error)) {
            return false;
        }
    }
    return true;
}

static double window_flops(const struct weft_operator *op, uint64_t channels)
{
    double places = (double)op->shape[op->rank - 2] * (double)op->shape[op->rank - 1];
    return (double)op->spec.kernel[0] * op->spec.kernel[1] * (double)channels * places;
}

static bool need_units(const struct weft_operator *op, struct weft_error *error)
{
    return op->spec.units > 0 || weft_fail(error, WEFT_INPUT, "no units; give at least 1");
}

static bool infer_conv(struct weft_operator *op, const struct weft_operator *input,
                       struct weft_error *error)
{
    if (!need_units(op, error) || !infer_window(op, input, error)) {
        return false;
    }
    const struct weft_operator_spec *spec = &op->spec;
    uint64_t window = weft_times(weft_times(spec->kernel[0], spec->kernel[1]), input->shape[0]);
    op->shape[0] = spec->units;
    op->forward_flops = 2 * window_flops(op, input->shape[0]) * (double)spec->units;
    weft_operator_add_tensor(op, weft_times(window, spec->units));
    weft_operator_add_tensor(op, spec->bias ? spec->units : 0);
    return true;
}

static bool infer_pool(struct weft_operator *op, const struct weft_operator *input,
                       struct weft_error *error)
{
    if (!infer_window(op, input, error)) {
        return false;
    }
    op->forward_flops = window_flops(op, input->rank == 3 ? input->shape[0] : 1);
    return true;
}

static bool infer_dense(struct weft_operator *op, const struct weft_operator *input,
                        struct weft_error *error)
{
    if (!need_units(op, error)) {
        return false;
    }
    uint64_t features = input->shape[input->rank - 1];
    copy_shape(op, input);
    op->shape[op->rank - 1] = op->spec.units;
    op->forward_flops = 2 * (double)input->output_elements * (double)op->spec.units;
    if (!op->spec.tied) {
        weft_operator_add_tensor(op, weft_times(features, op->spec.units));
    }
    weft_operator_add_tensor(op, op->spec.bias ? op->spec.units : 0);
    return true;
}

static bool infer_embedding(struct weft_operator *op, const struct weft_operator *input,
                            struct weft_error *error)
{
    if (!need_units(op, error)) {
        return false;
    }
    if (op->spec.rows == 0) {
        return weft_fail(error, WEFT_INPUT, "no rows; give at least 1");
    }
    if (input->spec.kind != WEFT_OP_INPUT || input->rank > 2) {
        return weft_fail(error, WEFT_INPUT,
                         "a table is looked up by an input of shape [bag] or [sequence, bag]");
    }
    copy_shape(op, input);
    op->shape[op->rank - 1] = op->spec.units;
    op->forward_flops = (double)input->output_elements * (double)op->spec.units;
    weft_operator_add_tensor(op, op->spec.tied ? 0 : weft_times(op->spec.rows, op->spec.units));
    return true;
}

static bool infer_concat(struct weft_operator *op, const struct weft_operator *operators,
                         struct weft_error *error)
{
    const struct weft_operator *first = input_of(op, operators, 0);
    copy_shape(op, first);
    for (uint32_t i = 1; i < op->spec.input_count; i++) {
        const struct weft_operator *input = input_of(op, operators, i);
        bool same = input->rank == first->rank;
        for (uint32_t k = 1; same && k < first->rank; k++) {
            same = input->shape[k] == first->shape[k];
        }
        if (!same) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.60s' and '%.60s' differ beyond their first dimension; "
                             "only that may differ",
                             first->spec.name, input->spec.name);
        }
        op->shape[0] = weft_plus(op->shape[0], input->shape[0]);
    }
    return true;
}

static bool infer_pair(struct weft_operator *op, const struct weft_operator *operators,
                       struct weft_error *error)
{
    const struct weft_operator *a = input_of(op, operators, 0);
    const struct weft_operator *b = input_of(op, operators, 1);
    if (a->rank != b->rank || memcmp(a->shape, b->shape, sizeof a->shape) != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.60s' and '%.60s' have different shapes; make them equal", a->spec.name,
                         b->spec.name);
    }
    copy_shape(op, a);
    op->forward_flops = (double)a->output_elements;
    return true;
}

static void infer_same(struct weft_operator *op, const struct weft_operator *input, uint32_t flops)
{
    copy_shape(op, input);
    op->forward_flops = (double)flops * (double)input->output_elements;
}

static void infer_norm(struct weft_operator *op, const struct weft_operator *input)
{
    infer_same(op, input, FLOPS_NORM);
    // Of channels in images, of features elsewhere.
    uint64_t features = input->rank == 3 ? input->shape[0] : input->shape[input->rank - 1];
    weft_operator_add_tensor(op, features);
    weft_operator_add_tensor(op, op->spec.bias ? features : 0);
}

static bool check_input_count(const struct weft_operator *op, struct weft_error *error)
{
    static const struct {
        uint32_t low, high;
    } takes[WEFT_OP_KIND_COUNT] = {
        [WEFT_OP_INPUT] = {0, 0},     [WEFT_OP_CONV2D] = {1, 1},  [WEFT_OP_POOL2D] = {1, 1},
        [WEFT_OP_FLAT] = {1, 1},      [WEFT_OP_DENSE] = {1, 1},   [WEFT_OP_EMBEDDING] = {1, 1},
        [WEFT_OP_CONCAT] = {1, 4096}, [WEFT_OP_ADD] = {2, 2},     [WEFT_OP_MULTIPLY] = {2, 2},
        [WEFT_OP_UNARY] = {1, 1},     [WEFT_OP_NORM] = {1, 1},    [WEFT_OP_SOFTMAX] = {1, 1},
        [WEFT_OP_ATTENTION] = {1, 2}, [WEFT_OP_EXPERTS] = {1, 1},
    };
    uint32_t low = takes[op->spec.kind].low;
    uint32_t high = takes[op->spec.kind].high;
    if (op->spec.input_count >= low && op->spec.input_count <= high) {
        return true;
    }
    char range[32];
    snprintf(range, sizeof range, low == high ? "%u" : "%u to %u", low, high);
    return weft_fail(error, WEFT_INPUT, "%u inputs; %s takes %s", op->spec.input_count,
                     weft_operator_kind_name(op->spec.kind), range);
}

// Hands an operator to the function of its kind, which fills shape, tensors and forward FLOPs; what
// all kinds have in common follows in finish_counts.
static bool infer_kind(struct weft_operator *op, const struct weft_operator *operators,
                       struct weft_error *error)
{
    // Inputs have none of their own and are not asked for it.
    const struct weft_operator *input = op->spec.input_count > 0 ? input_of(op, operators, 0) : op;
    switch (op->spec.kind) {
    case WEFT_OP_INPUT:
        return infer_input(op, error);
    case WEFT_OP_CONV2D:
        return infer_conv(op, input, error);
    case WEFT_OP_POOL2D:
        return infer_pool(op, input, error);
    case WEFT_OP_FLAT:
        op->rank = 1;
        op->shape[0] = input->output_elements;
        return true;
    case WEFT_OP_DENSE:
        return infer_dense(op, input, error);
    case WEFT_OP_EMBEDDING:
        return infer_embedding(op, input, error);
    case WEFT_OP_CONCAT:
        return infer_concat(op, operators, error);
    case WEFT_OP_ADD:
    case WEFT_OP_MULTIPLY:
        return infer_pair(op, operators, error);
    case WEFT_OP_UNARY:
        infer_same(op, input, 1);
        return true;
    case WEFT_OP_NORM:
        infer_norm(op, input);
        return true;
    case WEFT_OP_SOFTMAX:
        infer_same(op, input, FLOPS_SOFTMAX);
        return true;
    case WEFT_OP_ATTENTION:
        return weft_operator_infer_attention(op, operators, error);
    case WEFT_OP_EXPERTS:
        return weft_operator_infer_experts(op, operators, error);
    case WEFT_OP_KIND_COUNT:
        break;
    }
    return weft_fail(error, WEFT_INPUT, "kind %d is none", (int)op->spec.kind);
}

static bool check_counts(const struct weft_operator *op, struct weft_error *error)
{
    bool small =
        op->output_elements <= WEFT_MODEL_COUNT_MAX && op->input_elements <= WEFT_MODEL_COUNT_MAX &&
        op->kept_elements <= WEFT_MODEL_COUNT_MAX && op->parameters <= WEFT_MODEL_COUNT_MAX;
    if (!small) {
        return weft_fail(error, WEFT_INPUT, "more than 2^50 values or parameters; make it smaller");
    }
    return op->output_elements > 0 ||
           weft_fail(error, WEFT_INPUT, "a dimension of 0; give at least 1");
}

// What the kind left at 0 of elements, and the bytes and backward FLOPs from them.
static void finish_counts(struct weft_operator *op, const struct weft_operator *operators)
{
    const struct weft_operator_spec *spec = &op->spec;
    double bytes = weft_dtype_bytes(spec->dtype);
    bool input_gradient = false;
    double moved = bytes * (double)(op->output_elements + op->kept_elements);
    for (uint32_t i = 0; i < spec->input_count; i++) {
        const struct weft_operator *input = input_of(op, operators, i);
        input_gradient = input_gradient || input->has_gradient;
        moved += (double)input->output_elements * weft_dtype_bytes(input->spec.dtype);
    }
    op->kept_elements = weft_plus(op->kept_elements, op->output_elements);
    bool own = op->parameters > 0 || spec->tied;
    op->has_gradient = own || input_gradient;
    if (spec->kind == WEFT_OP_EMBEDDING) {
        moved += bytes * op->forward_flops; // the rows looked up
    } else {
        uint64_t matrix =
            spec->tied ? weft_times(input_of(op, operators, 0)->shape[op->rank - 1], spec->units)
                       : 0;
        op->parameter_bytes_read =
            weft_times(weft_plus(op->parameters, matrix), weft_dtype_bytes(spec->dtype));
    }
    op->forward_bytes = moved + (double)op->parameter_bytes_read;
    // The scores of attention are products of two values that both have gradients.
    bool both = spec->kind == WEFT_OP_ATTENTION;
    op->backward_flops = op->forward_flops * (both ? 2 : (own ? 1 : 0) + (input_gradient ? 1 : 0));
}

bool weft_operator_infer(struct weft_operator *op, const struct weft_operator *operators,
                         struct weft_error *error)
{
    if (!check_input_count(op, error)) {
        return false;
    }
    for (uint32_t i = 0; i < op->spec.input_count; i++) {
        op->input_elements =
            weft_plus(op->input_elements, input_of(op, operators, i)->output_elements);
    }
    if (!infer_kind(op, operators, error)) {
        return false;
    }
    op->output_elements = 1;
    for (uint32_t i = 0; i < op->rank; i++) {
        op->output_elements = weft_times(op->output_elements, op->shape[i]);
    }
    if (!check_counts(op, error)) {
        return false;
    }
    if (op->spec.kind == WEFT_OP_INPUT) {
        return true; // no work
    }
    finish_counts(op, operators);
    return check_counts(op, error);
}
