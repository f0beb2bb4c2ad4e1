// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_COLLECTIVE_SUMS_H
#define WEFT_RUNTIME_COLLECTIVE_SUMS_H

// Elements of collectives: float32 and bfloat16, their sums, inputs and references.
//
//   [sums] ──► exec, train

#include "weft/base.h"
#include "weft/collective.h"

enum lab_type { LAB_FLOAT32, LAB_BFLOAT16 };
static inline uint32_t lab_type_bytes(enum lab_type type)
{
    return type == LAB_FLOAT32 ? 4 : 2;
}

// What ranks give.
enum lab_values {
    LAB_WHOLE, // small whole numbers, whose sums are exact in any order: up to 4096 ranks in
               // float32, up to 128 in bfloat16
    LAB_REAL,  // in (-1, 1): sums are rounded
};

// into[i] += from[i], rounded to nearest even. count is of elements.
void lab_add(void *into, const void *from, size_t count, enum lab_type type);

// What rank `rank` gives at element `index` of the collective.
double lab_value(enum lab_values values, enum lab_type type, uint32_t rank, uint64_t index);

// What a rank's memory is for: slot_count * slot_elements elements of the schedule.
struct lab_data {
    const struct weft_schedule *schedule;
    uint32_t rank;
    size_t slot_elements;
    enum lab_values values;
    enum lab_type type;
};
// Fills the rank's inputs, and all else with noise that no sum is.
void lab_fill(void *memory, const struct lab_data *data);
// Compares output slot `place` (below chunk_count, from output_first on) of a rank with what a
// direct sum in double precision gives. WHOLE: exactly. REAL: within (n-1) roundings of the sum of
// the addends' sizes, which holds for any order of adding (Higham, Accuracy and Stability of
// Numerical Algorithms, 4.2), and in bfloat16 up to second order. *worst_ratio becomes the largest
// difference over that bound, if larger than it was. Fails with INFEASIBLE, naming rank, chunk and
// element. O(slot_elements * ranks).
bool lab_check(double *worst_ratio, const void *memory, const struct lab_data *data, uint32_t place,
               struct weft_error *error) WEFT_MUST_USE;

#endif
