// SPDX-License-Identifier: Apache-2.0
// What follows light in a layer.

#include "weft/photonics/layer.h"

int32_t weft_photonic_bias(const struct weft_photonic_program *program,
                           const struct weft_photonic_row *row, uint32_t output, int32_t exponent)
{
    if ((row->flags & WEFT_PHOTONIC_FLAG_BIAS) == 0) {
        return 0;
    }
    int32_t bias = program->biases[row->bias_first + output];
    int32_t shift = row->bias_shift + exponent;
    return shift >= 0 ? bias >> (shift > 31 ? 31 : shift) : bias * (1 << (shift < -7 ? 7 : -shift));
}

void weft_photonic_add_biases(int32_t *sums, const struct weft_photonic_program *program,
                              const struct weft_photonic_row *row, int32_t exponent)
{
    for (uint32_t o = 0; o < row->outputs; o++) {
        int32_t bias = weft_photonic_bias(program, row, o, exponent);
        for (uint32_t pixel = 0; pixel < row->pixels; pixel++) {
            sums[(size_t)pixel * row->outputs + o] += bias;
        }
    }
}

void weft_photonic_keep(int32_t *values, const int32_t *sums, const struct weft_photonic_row *row)
{
    bool relu = (row->flags & WEFT_PHOTONIC_FLAG_RELU) != 0;
    uint32_t pool = row->pool, channels = row->outputs;
    // A result never stands behind the sums that it is made of, which is why one array will do.
    for (uint32_t y = 0; y < row->pooled_height * pool; y++) {
        for (uint32_t x = 0; x < row->pooled_width * pool; x++) {
            const int32_t *from = sums + ((size_t)y * row->out_width + x) * channels;
            int32_t *to = values + ((size_t)(y / pool) * row->pooled_width + x / pool) * channels;
            bool first = y % pool == 0 && x % pool == 0;
            for (uint32_t c = 0; c < channels; c++) {
                int32_t value = relu && from[c] < 0 ? 0 : from[c];
                to[c] = first || value > to[c] ? value : to[c];
            }
        }
    }
}

uint32_t weft_photonic_largest(const int32_t *values, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

uint32_t weft_photonic_highest_bit(int32_t largest)
{
    return largest <= 0 ? 0 : 31 - (uint32_t)__builtin_clz((uint32_t)largest);
}

uint8_t weft_photonic_normalize(int32_t value, uint32_t highest)
{
    return (uint8_t)(highest >= 8 ? value >> (highest - 7) : value * (1 << (7 - highest)));
}
