// SPDX-License-Identifier: Apache-2.0
// Regions: sub-tensors of one sample that parts of operators make and read.
//
// Images, [channels, height, width], are divided by channels, all else by the last dimension.

#include "regions.h"

#include "weft/strategy.h"

static uint32_t divided_axis(const struct weft_operator *op)
{
    return op->rank == 3 ? 0 : op->rank - 1;
}

static struct region whole(const struct weft_operator *op)
{
    struct region region = {{0, 0, 0}, {1, 1, 1}};
    for (uint32_t axis = 0; axis < op->rank; axis++) {
        region.high[axis] = op->shape[axis];
    }
    return region;
}

uint64_t weft_operator_extent(const struct weft_operator *op)
{
    switch (op->spec.kind) {
    case WEFT_OP_INPUT:
    case WEFT_OP_SOFTMAX:
    case WEFT_OP_NORM:
        return 1;
    case WEFT_OP_ATTENTION:
        return op->spec.kv_heads > 0 ? op->spec.kv_heads : op->spec.heads;
    case WEFT_OP_EXPERTS:
        return op->spec.experts;
    case WEFT_OP_CONV2D:
    case WEFT_OP_POOL2D:
    case WEFT_OP_FLAT:
    case WEFT_OP_DENSE:
    case WEFT_OP_EMBEDDING:
    case WEFT_OP_CONCAT:
    case WEFT_OP_ADD:
    case WEFT_OP_MULTIPLY:
    case WEFT_OP_UNARY:
        return op->shape[divided_axis(op)];
    case WEFT_OP_KIND_COUNT:
        break;
    }
    WEFT_ASSERT(false); // an operator kind
    return 1;
}

struct region weft_region_output(const struct weft_operator *op, uint32_t p, uint32_t parts)
{
    struct region region = whole(op);
    if (op->spec.kind != WEFT_OP_ATTENTION && op->spec.kind != WEFT_OP_EXPERTS) {
        uint32_t axis = divided_axis(op);
        uint64_t extent = op->shape[axis];
        WEFT_ASSERT(p < parts && extent % parts == 0);
        region.low[axis] = extent / parts * p;
        region.high[axis] = extent / parts * (p + 1);
    }
    return region;
}

// The slabs of the first axis whose elements lie between two offsets of the flattened tensor.
static struct region slabs(const struct weft_operator *op, uint64_t low, uint64_t high)
{
    struct region region = whole(op);
    uint64_t slab = op->output_elements / op->shape[0];
    region.low[0] = low / slab;
    region.high[0] = (high + slab - 1) / slab;
    return region;
}

// Moves an output region of a concatenation to the coordinates of one input.
static struct region piece(const struct weft_model *model, const struct weft_operator *op,
                           uint32_t slot, struct region region)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < slot; i++) {
        offset += model->operators[op->spec.inputs[i]].shape[0];
    }
    uint64_t extent = model->operators[op->spec.inputs[slot]].shape[0];
    uint64_t low = region.low[0] > offset ? region.low[0] - offset : 0;
    uint64_t high = region.high[0] > offset ? region.high[0] - offset : 0;
    region.low[0] = low < extent ? low : extent;
    region.high[0] = high < extent ? high : extent;
    return region;
}

struct region weft_region_input(const struct weft_model *model, uint32_t index, uint32_t slot,
                                uint32_t p, uint32_t parts)
{
    const struct weft_operator *op = &model->operators[index];
    const struct weft_operator *input = &model->operators[op->spec.inputs[slot]];
    struct region output = weft_region_output(op, p, parts);
    switch (op->spec.kind) {
    case WEFT_OP_ADD:
    case WEFT_OP_MULTIPLY:
    case WEFT_OP_UNARY:
        return output;
    case WEFT_OP_POOL2D: {
        struct region region = whole(input);
        region.low[0] = output.low[0];
        region.high[0] = output.high[0];
        return region;
    }
    case WEFT_OP_FLAT:
        return slabs(input, output.low[0], output.high[0]);
    case WEFT_OP_CONCAT:
        return piece(model, op, slot, output);
    case WEFT_OP_INPUT:
    case WEFT_OP_CONV2D:
    case WEFT_OP_DENSE:
    case WEFT_OP_EMBEDDING:
    case WEFT_OP_NORM:
    case WEFT_OP_SOFTMAX:
    case WEFT_OP_ATTENTION:
    case WEFT_OP_EXPERTS:
        return whole(input);
    case WEFT_OP_KIND_COUNT:
        break;
    }
    WEFT_ASSERT(false); // an operator kind
    return output;
}

uint64_t weft_region_shared(const struct region *a, const struct region *b)
{
    uint64_t count = 1;
    for (uint32_t axis = 0; axis < WEFT_SHAPE_MAX; axis++) {
        uint64_t low = a->low[axis] > b->low[axis] ? a->low[axis] : b->low[axis];
        uint64_t high = a->high[axis] < b->high[axis] ? a->high[axis] : b->high[axis];
        if (low >= high) {
            return 0;
        }
        count *= high - low;
    }
    return count;
}
