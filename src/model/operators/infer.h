// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MODEL_OPERATORS_INFER_H
#define WEFT_MODEL_OPERATORS_INFER_H

// Shapes and counts of one operator from those before it, and the saturating sums and products that
// they are made with: counts stick at UINT64_MAX, so that one check at the end finds every
// overflow. Private to the model room.

#include "weft/model.h"

#define WEFT_MODEL_COUNT_MAX (1ull << 50)

// Products and sums that stick at UINT64_MAX, so that one check at the end finds every overflow.
static inline uint64_t weft_times(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
static inline uint64_t weft_plus(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// Adds a parameter tensor; none if `elements` is 0.
static inline void weft_operator_add_tensor(struct weft_operator *op, uint64_t elements)
{
    if (elements > 0) {
        WEFT_ASSERT(op->tensor_count < WEFT_TENSORS_MAX);
        op->tensor_elements[op->tensor_count++] = elements;
        op->parameters = weft_plus(op->parameters, elements);
    }
}

// Fills everything of `op` from op->spec (whose inputs are earlier entries of `operators`). The
// message names neither the operator nor the model.
bool weft_operator_infer(struct weft_operator *op, const struct weft_operator *operators,
                         struct weft_error *error) WEFT_MUST_USE;

// The kinds of transformers: output shape, tensors, forward FLOPs, elements and bytes between.
bool weft_operator_infer_attention(struct weft_operator *op, const struct weft_operator *operators,
                                   struct weft_error *error) WEFT_MUST_USE;
bool weft_operator_infer_experts(struct weft_operator *op, const struct weft_operator *operators,
                                 struct weft_error *error) WEFT_MUST_USE;

#endif
