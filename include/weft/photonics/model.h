// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_MODEL_H
#define WEFT_PHOTONICS_MODEL_H

// Models of the zoo on the datapath of light: which of their operators are products with constant
// matrices, what these cost in cycles and memory, and what is left to a host.

#include "weft/model.h"
#include "weft/photonics/program.h"

WEFT_API_BEGIN

// An operator, or a part of one, that light does not compute.
struct weft_photonic_left {
    const char *name;
    enum weft_operator_kind kind;
    const char *reason;
};
struct weft_photonic_model_count {
    struct weft_photonic_program program; // rows to be counted, not to be run: no weights
    uint32_t left_count;
    const struct weft_photonic_left *left;
};

// Each convolution and each dense product of a sample becomes a row, whose pixels are positions of
// the map or tokens; of experts those that a token passes. Products of two activations (scores and
// values of attention), norms, sums, look-ups and functions other than ReLU are listed as left.
// Memories are not held against limits. Fails with INPUT where options are out of range, with
// INFEASIBLE where nothing is left to count. O(operators + pixels).
bool weft_photonic_count_model(struct weft_photonic_model_count *count,
                               const struct weft_model *model,
                               const struct weft_photonic_compile_options *options,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
