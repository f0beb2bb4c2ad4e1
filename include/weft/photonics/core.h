// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_CORE_H
#define WEFT_PHOTONICS_CORE_H

// The photonic core: what light does to products and sums, and what it costs in energy.
//
//   magnitudes ──► modulators ──► light on W wavelengths ──► detectors ──► 8-bit products

#include "weft/base.h"

WEFT_API_BEGIN

// Noise is Gaussian, in units of an 8-bit step (full scale is 256 of them).
struct weft_photonic_core {
    double product_sigma;    // added to each product before the detector's steps
    double sum_sigma;        // to each sum, on the scale of 8 bits of the layer
    double crosstalk_ratio;  // of a neighboring wavelength's light that reaches a detector
    uint32_t modulator_bits; // 1 to 8; 0 = 8
    uint32_t detector_bits;  // 1 to 8; 0 = 8
    // What the detector's converter reads of dark, up to 255. Above 0 dark is in the middle of that
    // code's step, so that noise of dark lanes has no mean; 0: at the bottom of the scale.
    uint32_t dark_code;
    double loss_db; // of the path
    double gain_db; // of what undoes it, behind the detector
};

// One cycle's products: out[i] = |product| of magnitudes a[i] and w[i], which noise brings below 0
// where the converter has codes below that of dark: -dark_code to 255 - dark_code before the gain.
// Lane i is of wavelength i / 16, its neighbors are lanes i - 16 and i + 16. With no noise,
// crosstalk, loss or missing bits out[i] = (a[i] * w[i]) >> 8, and where dark_code is above 0 the
// nearest step, up to the top of the scale. rng may be NULL where product_sigma is 0. O(lanes).
void weft_photonic_core_multiply(int16_t *out, const uint8_t *a, const uint8_t *w, uint32_t lanes,
                                 const struct weft_photonic_core *core, struct weft_rng *rng);

// The value of the digital gain's register for a gain: 256 = 1 (Lightning's register 17).
uint32_t weft_photonic_core_gain(double gain_db);

// Noise of the sums of one layer, as Lightning's emulator adds it: on the scale on which the
// largest |sum| has its highest bit at bit 7, x becomes sign(x) | |x| + N(0, sum_sigma) |, so a sum
// of 0 stays 0. Rounds to whole sums. Nothing where sum_sigma is 0. O(count).
void weft_photonic_core_sums(int32_t *sums, uint32_t count, const struct weft_photonic_core *core,
                             struct weft_rng *rng);

WEFT_API_END

#endif
