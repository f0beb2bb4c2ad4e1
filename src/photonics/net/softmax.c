// SPDX-License-Identifier: Apache-2.0
// Log-softmax without a multiplier of floating point: with m the largest sum and z(i) what a sum
// lies below it, in 1/256 nat,
//
//   log p(i) = -z(i) - log(sum over j of exp(-z(j)))
//
// Exponentials and the logarithm are read off tables. Each exponential is off by at most 2 of
// 65536, the logarithm by one table step, so log-probabilities are off by about 2/256 nat where
// sums are exact (tests/oracle/test_photonic_net.c measures it).

#include "photonics/net/softmax.h"
#include "weft/base.h"

#include <math.h>

enum {
    NATS_MAX = 65535,
    LN2_SHIFT = 8,
    LN2 = 45426, // 65536 ln 2, of which (k LN2) >> 8 is in 1/256 nat
};

void weft_photonic_tables_build(struct weft_photonic_tables *tables)
{
    for (uint32_t i = 0; i < 256; i++) {
        tables->fraction[i] = (uint32_t)lround(65536 * exp(-(double)i / 256));
        tables->mantissa[i] = (uint32_t)lround(256 * log1p((double)i / 256));
    }
    for (uint32_t i = 0; i < 16; i++) {
        tables->whole[i] = (uint32_t)lround(65536 * exp(-(double)i));
    }
}

uint32_t weft_photonic_nats(uint32_t distance, uint32_t scale, int32_t shift)
{
    uint64_t product = (uint64_t)distance * scale; // below 2^48
    if (shift >= 48 || product == 0) {
        return 0;
    }
    if (shift <= -16) {
        return NATS_MAX;
    }
    uint64_t nats = shift >= 0 ? product >> shift : product << -shift;
    return nats > NATS_MAX ? NATS_MAX : (uint32_t)nats;
}

int32_t weft_photonic_log(const struct weft_photonic_tables *tables, uint64_t total)
{
    WEFT_ASSERT(total >= 65536);
    uint32_t highest = 63 - (uint32_t)__builtin_clzll(total);
    uint32_t below = (uint32_t)(total >> (highest - 8)) & 255;
    return (int32_t)(((highest - 16) * LN2 >> LN2_SHIFT) + tables->mantissa[below]);
}

void weft_photonic_log_softmax(int32_t *out, const int32_t *sums, uint32_t count, uint32_t scale,
                               int32_t shift, const struct weft_photonic_tables *tables)
{
    int32_t largest = sums[0];
    for (uint32_t i = 1; i < count; i++) {
        largest = sums[i] > largest ? sums[i] : largest;
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t nats = weft_photonic_nats((uint32_t)largest - (uint32_t)sums[i], scale, shift);
        out[i] = -(int32_t)nats;
        total += nats >= 4096
                     ? 0
                     : (uint64_t)tables->fraction[nats & 255] * tables->whole[nats >> 8] >> 16;
    }
    int32_t log = weft_photonic_log(tables, total);
    for (uint32_t i = 0; i < count; i++) {
        out[i] -= log;
    }
}
