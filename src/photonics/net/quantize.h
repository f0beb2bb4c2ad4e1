// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_NET_QUANTIZE_H
#define WEFT_PHOTONICS_NET_QUANTIZE_H

// Weights and biases as integers: second step of weft_photonic_compile.

#include "photonics/net/rows.h"

// What the layers' weights are multiplied by, one for each row. Fails with INPUT where a weight or
// a bias is not finite. O(weights).
bool net_scales_build(double *scales, const struct weft_photonic_row *rows,
                      const struct net_source *sources, uint32_t row_count,
                      const struct weft_photonic_net *net, struct weft_error *error) WEFT_MUST_USE;

// The weights of one row as words [output][word][lane].
void net_quantize_weights(int16_t *words, const struct weft_photonic_row *row,
                          const struct net_source *source, const struct weft_photonic_layer *layer,
                          double scale, uint32_t lanes);

// What one unit of an activation, and of a sum, is worth before all shifts: with both known, a bias
// is laid down as an integer, and log-probabilities have their factor.
//
// bias[i] = round(b[i] * scale / (256 unit) * 2^shift), the largest of them below 2^23, and *shift.
void net_quantize_bias(int32_t *biases, int32_t *shift, const float *bias, uint32_t count,
                       double factor);
// 256 * sum_unit as scale * 2^-shift with 2^15 <= scale < 2^16.
void net_quantize_softmax(uint32_t *scale, uint32_t *shift, double sum_unit);

// Fails with INFEASIBLE where a sum of the row could leave an accumulator of `bits`: the largest
// and the smallest sum over all inputs, each activation being 255 or 0. `least_e` is the smallest e
// that the row can meet. O(weights of the row).
bool net_check_sums(const struct weft_photonic_row *row, const int16_t *words,
                    const int32_t *biases, uint32_t lanes, int32_t least_e, uint32_t bits,
                    struct weft_error *error) WEFT_MUST_USE;

#endif
