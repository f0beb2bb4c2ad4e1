// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_LAYER_H
#define WEFT_PHOTONICS_LAYER_H

// What follows light in a layer, once for everyone who does it in C: the bias of a sum, ReLU and
// pool, the highest bit, the shift to the next layer's activations (program.h states the numbers).
//
//   products' sums ──► bias ──► keep ──► highest bit ──► the next layer's bytes

#include "weft/photonics/program.h"

WEFT_API_BEGIN

// What the sums of channel `output` begin at, 0 without a bias. `exponent` is e of program.h. O(1).
int32_t weft_photonic_bias(const struct weft_photonic_program *program,
                           const struct weft_photonic_row *row, uint32_t output, int32_t exponent);
// Adds it to all sums of a layer, [pixels][outputs]. O(sums).
void weft_photonic_add_biases(int32_t *sums, const struct weft_photonic_program *program,
                              const struct weft_photonic_row *row, int32_t exponent);
// ReLU where the row asks for it, and the largest of each window of its pool: results values of
// row->sums sums. `values` may be `sums`. O(sums).
void weft_photonic_keep(int32_t *values, const int32_t *sums, const struct weft_photonic_row *row);
// The index of the largest value, the first of equals; count > 0. O(count).
uint32_t weft_photonic_largest(const int32_t *values, uint32_t count);
// The highest set bit of a layer's largest value, 0 where that is not positive. O(1).
uint32_t weft_photonic_highest_bit(int32_t largest);
// A kept value as the next layer's activation, `highest` being the highest bit of the largest.
uint8_t weft_photonic_normalize(int32_t value, uint32_t highest);

WEFT_API_END

#endif
