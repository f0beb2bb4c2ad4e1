// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_NET_SOFTMAX_H
#define WEFT_PHOTONICS_NET_SOFTMAX_H

// Log-probabilities in fixed point, of 1/256 nat: what the last unit of the datapath computes.

#include <stdint.h>

// The unit's three tables, 528 words of 17 bits in all. A number of z/256 nats is looked up as a
// product: exp(-z/256) * 65536 = fraction[z % 256] * whole[z / 256] / 65536.
struct weft_photonic_tables {
    uint32_t fraction[256]; // round(65536 exp(-i/256))
    uint32_t whole[16];     // round(65536 exp(-i)); nothing from 16 nats on
    uint32_t mantissa[256]; // round(256 ln(1 + i/256))
};
void weft_photonic_tables_build(struct weft_photonic_tables *tables);

// From a sum's distance to the largest one to 1/256 nat: (distance * scale) >> shift, << where
// shift is negative, 65535 at most. 1 <= scale <= 65535.
uint32_t weft_photonic_nats(uint32_t distance, uint32_t scale, int32_t shift);
// 1/256 nat of the probabilities' common divisor, whose 65536-fold is `total` >= 65536: with k its
// highest bit, (k - 16) ln 2 as ((k - 16) * 45426) >> 8, and the 8 bits below k by the table.
int32_t weft_photonic_log(const struct weft_photonic_tables *tables, uint64_t total);

// out[i] = log of the i-th probability. `shift` is the row's softmax_shift - e (program.h).
// O(count).
void weft_photonic_log_softmax(int32_t *out, const int32_t *sums, uint32_t count, uint32_t scale,
                               int32_t shift, const struct weft_photonic_tables *tables);

#endif
