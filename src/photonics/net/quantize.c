// SPDX-License-Identifier: Apache-2.0
// From what was trained to integers (docs/lightning.md, "Numbers").
//
// A layer's true sum is s = sum of w x + b. With q = w scale the integer weight, x = a unit the
// activation and a product that keeps the upper 8 of 16 bits, S = sum of a |q| / 256 stands for
//
//   s = S * 256 unit / scale + b
//
// so the bias in units of S is b scale / (256 unit), and one unit of S is worth 256 unit / scale.
// That is the next layer's unit, but for the shift that the normaliser makes, which depends on the
// input: unit(l) = U(l) 2^e with U known here and e, the sum of all right shifts before, at run
// time. A bias is therefore kept as the integer b scale / (256 U) 2^bias_shift, and the datapath
// shifts it right by bias_shift + e.

#include "photonics/net/quantize.h"

#include <math.h>

enum {
    BIAS_BITS = 23, // of magnitudes; another 7 are left for shifts to the left
    BIAS_LEFT_MAX = 7,
    SHIFT_MAX = 1 << 10, // of biases and factors: beyond all doubles
};

static uint64_t weight_count(const struct weft_photonic_row *row)
{
    return (uint64_t)row->outputs * row->kernel * row->kernel * row->channels_in;
}

static bool check_finite(float *largest, const float *values, uint64_t count, const char *what,
                         struct weft_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return weft_fail(error, WEFT_INPUT, "%s[%llu]: %s is no number to compute with", what,
                             (unsigned long long)i, isnan(values[i]) ? "nan" : "infinite");
        }
        *largest = fabsf(values[i]) > *largest ? fabsf(values[i]) : *largest;
    }
    return true;
}

bool net_scales_build(double *scales, const struct weft_photonic_row *rows,
                      const struct net_source *sources, uint32_t row_count,
                      const struct weft_photonic_net *net, struct weft_error *error)
{
    float most = 1; // a net below 1 does not use its 8 bits where it has one scale, as Lightning's
    for (uint32_t i = 0; i < row_count; i++) {
        const struct weft_photonic_layer *layer = &net->layers[sources[i].layer];
        float largest = 0, unused = 0;
        if (!check_finite(&largest, layer->weights, weight_count(&rows[i]), "weights", error) ||
            (layer->bias != NULL &&
             !check_finite(&unused, layer->bias, rows[i].outputs, "bias", error))) {
            return net_wrap_layer(error, net, sources[i].layer);
        }
        scales[i] = 255 / (largest > 0 ? (double)largest : 1);
        most = largest > most ? largest : most;
    }
    for (uint32_t i = 0; i < row_count && !net->layer_scales; i++) {
        scales[i] = 255 / (double)most;
    }
    return true;
}

// Where a file has the weight of value k of a patch.
static uint64_t weight_at(const struct weft_photonic_row *row, const struct net_source *source,
                          uint32_t k)
{
    if (row->kernel == 1 && row->height == 1 && row->width == 1) {
        if (source->height * source->width <= 1) {
            return k;
        }
        uint32_t channel = k % source->channels, pixel = k / source->channels;
        return (uint64_t)channel * source->height * source->width + pixel;
    }
    uint32_t channel = k % row->channels_in, place = k / row->channels_in;
    return (uint64_t)channel * row->kernel * row->kernel + place;
}

void net_quantize_weights(int16_t *words, const struct weft_photonic_row *row,
                          const struct net_source *source, const struct weft_photonic_layer *layer,
                          double scale, uint32_t lanes)
{
    uint32_t patch = row->kernel * row->run_bytes;
    size_t stride = (size_t)row->words * lanes;
    for (uint32_t k = 0; k < stride; k++) {
        uint64_t at = k < patch ? weight_at(row, source, k) : 0;
        for (uint32_t o = 0; o < row->outputs; o++) {
            double weight = k < patch ? (double)layer->weights[(uint64_t)o * patch + at] : 0;
            words[o * stride + k] = (int16_t)lround(weight * scale);
        }
    }
}

void net_quantize_bias(int32_t *biases, int32_t *shift, const float *bias, uint32_t count,
                       double factor)
{
    double largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)bias[i]));
    }
    int exponent = 0;
    (void)frexp(largest * factor, &exponent); // below 2^exponent
    *shift = BIAS_BITS - exponent;
    if (lround(ldexp(largest * factor, *shift)) >= 1 << BIAS_BITS) {
        *shift -= 1; // it is rounded up to a power of 2
    }
    *shift = *shift > SHIFT_MAX ? SHIFT_MAX : *shift;
    for (uint32_t i = 0; i < count; i++) {
        biases[i] = (int32_t)lround(ldexp((double)bias[i] * factor, *shift));
    }
}

void net_quantize_softmax(uint32_t *scale, uint32_t *shift, double sum_unit)
{
    int exponent = 0;
    double mantissa = frexp(256 * sum_unit, &exponent); // 0.5 <= mantissa < 1
    *scale = (uint32_t)lround(ldexp(mantissa, 16));
    *scale = *scale > UINT16_MAX ? UINT16_MAX : *scale;
    *shift = (uint32_t)(16 - exponent); // of two's complement where it is negative
}

bool net_check_sums(const struct weft_photonic_row *row, const int16_t *words,
                    const int32_t *biases, uint32_t lanes, int32_t least_e, uint32_t bits,
                    struct weft_error *error)
{
    int64_t high = 0, low = 0;
    size_t stride = (size_t)row->words * lanes;
    int32_t shift = row->bias_shift + least_e;
    if (biases != NULL && least_e == 0 && shift < -BIAS_LEFT_MAX) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "bias: 2^30 times a sum's unit and more; smaller biases would do");
    }
    shift = shift < -BIAS_LEFT_MAX ? -BIAS_LEFT_MAX : shift > 31 ? 31 : shift;
    for (uint32_t o = 0; o < row->outputs; o++) {
        int64_t bias = biases == NULL ? 0 : biases[o];
        bias = shift >= 0 ? bias >> shift : bias * (1 << -shift);
        int64_t plus = bias > 0 ? bias : 0, minus = bias < 0 ? bias : 0;
        for (size_t k = 0; k < stride; k++) {
            int32_t weight = words[o * stride + k];
            plus += weight > 0 ? (255 * weight) >> 8 : 0;
            minus -= weight < 0 ? (255 * -weight) >> 8 : 0;
        }
        high = plus > high ? plus : high;
        low = minus < low ? minus : low;
    }
    uint32_t needed = 1;
    while (high >= (int64_t)1 << (needed - 1) || low < -((int64_t)1 << (needed - 1))) {
        needed++;
    }
    if (needed <= bits) {
        return true;
    }
    weft_fail(error, WEFT_INFEASIBLE,
              "sums from %lld to %lld do not fit an accumulator of %u bits: %u would do%s",
              (long long)low, (long long)high, bits, needed,
              needed > 32 ? ", which is more than there are; fewer inputs or smaller biases" : "");
    return needed > 32 ? false : weft_remedy(error, "accumulator", "%u", needed);
}
