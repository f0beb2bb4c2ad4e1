// SPDX-License-Identifier: Apache-2.0
// What light does to a cycle's products and to a layer's sums.
//
// A product passes, in this order (docs/lightning.md, "The photonic core"): two modulators of m
// bits in series, whose transmissions multiply; the path, which keeps 10^(-loss/10) of the power;
// the filter before its detector, which lets crosstalk_ratio of both neighboring wavelengths in;
// the detector and its converter, which add Gaussian noise and a constant that dark is to read as,
// cut to 0 to 255 and keep the upper n bits; digital logic that takes the code of dark off; and a
// digital gain in steps of 1/256, which is Lightning's register 17. Light is carried in units of an
// 8-bit step, so that full scale is 255 * 255 / 256 and cutting a product to its step is the shift
// by 8 of the datapath.
//
// The code of dark is above 0 so that noise of dark lanes has both signs. Where dark is the least
// code, noise below it is lost, each dark lane gains up to 0.4 sigma on average, and that has the
// sign of the lane's weight, so that no sum averages it out. For the same reason dark then lies in
// the middle of its step: at the step's edge the least noise brings half of the dark products one
// step down, with the sign of their weights too. So an offset rounds products to the nearest step
// where the datapath cuts them down.

#include "weft/photonics/core.h"

#include <math.h>
#include <stdlib.h>

enum { WAVELENGTH_LANES = 16 };

// The mask that keeps the upper bits of a byte; 0 bits stands for all 8.
static uint32_t upper_bits(uint32_t bits)
{
    return bits == 0 || bits >= 8 ? 0xffu : 0xffu & (0xffu << (8 - bits));
}

static bool is_exact(const struct weft_photonic_core *core)
{
    return core->product_sigma == 0 && core->crosstalk_ratio == 0 && core->loss_db == 0 &&
           core->gain_db == 0 && upper_bits(core->modulator_bits) == 0xffu &&
           upper_bits(core->detector_bits) == 0xffu && core->dark_code == 0;
}

uint32_t weft_photonic_core_gain(double gain_db)
{
    double gain = 256 * pow(10, gain_db / 10);
    return gain >= UINT16_MAX ? UINT16_MAX : (uint32_t)lround(gain);
}

// What a detector and the logic behind it make of light.
struct detector {
    uint32_t mask; // of the bits that its converter keeps
    uint32_t dark; // the code that is taken off
    uint32_t gain; // behind that, 256 = 1
};

static int16_t detect(double light, const struct detector *detector)
{
    light += detector->dark == 0 ? 0 : detector->dark + 0.5; // the middle of that code's step
    uint32_t code = light <= 0 ? 0 : light >= 255 ? 255 : (uint32_t)light;
    int32_t above = (int32_t)(code & detector->mask) - (int32_t)(detector->dark & detector->mask);
    int32_t made = (above * (int32_t)detector->gain) >> 8;
    return (int16_t)(made > 255 ? 255 : made < -255 ? -255 : made);
}

void weft_photonic_core_multiply(int16_t *out, const uint8_t *a, const uint8_t *w, uint32_t lanes,
                                 const struct weft_photonic_core *core, struct weft_rng *rng)
{
    if (is_exact(core)) {
        for (uint32_t i = 0; i < lanes; i++) {
            out[i] = (int16_t)((uint32_t)a[i] * w[i] >> 8);
        }
        return;
    }
    uint32_t modulator = upper_bits(core->modulator_bits);
    const struct detector detector = {
        .mask = upper_bits(core->detector_bits),
        .dark = core->dark_code,
        .gain = core->gain_db == 0 ? 256 : weft_photonic_core_gain(core->gain_db),
    };
    WEFT_ASSERT(core->dark_code <= 255);
    double step = (core->loss_db == 0 ? 1 : pow(10, -core->loss_db / 10)) / 256;
    double noise[2] = {0, 0};
    for (uint32_t i = 0; i < lanes; i++) {
        double light = (a[i] & modulator) * (w[i] & modulator);
        if (core->crosstalk_ratio != 0) {
            uint32_t lower = i >= WAVELENGTH_LANES ? i - WAVELENGTH_LANES : UINT32_MAX;
            uint32_t upper = lanes - i > WAVELENGTH_LANES ? i + WAVELENGTH_LANES : UINT32_MAX;
            double leaked =
                lower == UINT32_MAX ? 0 : (a[lower] & modulator) * (w[lower] & modulator);
            leaked += upper == UINT32_MAX ? 0 : (a[upper] & modulator) * (w[upper] & modulator);
            light += core->crosstalk_ratio * leaked;
        }
        if (core->product_sigma != 0 && i % 2 == 0) {
            weft_rng_normal_pair(rng, &noise[0], &noise[1]);
        }
        out[i] = detect(light * step + core->product_sigma * noise[i % 2], &detector);
    }
}

void weft_photonic_core_sums(int32_t *sums, uint32_t count, const struct weft_photonic_core *core,
                             struct weft_rng *rng)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t magnitude = sums[i] < 0 ? -(uint32_t)sums[i] : (uint32_t)sums[i];
        largest = magnitude > largest ? magnitude : largest;
    }
    if (core->sum_sigma == 0 || largest == 0) {
        return;
    }
    int highest = 31 - __builtin_clz(largest);
    double sigma = ldexp(core->sum_sigma, highest - 7);
    double noise[2] = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2 == 0) {
            weft_rng_normal_pair(rng, &noise[0], &noise[1]);
        }
        double magnitude = fabs(fabs((double)sums[i]) + sigma * noise[i % 2]);
        int32_t rounded = magnitude >= INT32_MAX ? INT32_MAX : (int32_t)lround(magnitude);
        sums[i] = sums[i] < 0 ? -rounded : sums[i] == 0 ? 0 : rounded;
    }
}
