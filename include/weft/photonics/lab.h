// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_LAB_H
#define WEFT_PHOTONICS_LAB_H

// The photonic core on a bench: waveforms sample by sample, and calibration as in a lab.
//
//   converter samples ──► delay lines ──► skewed modulators ──► light ──► detector samples
//
// A sample is a magnitude of 0 to 255 on each of W wavelengths; 16 samples are a cycle of the
// datapath. docs/lightning.md has the derivations.

#include "weft/photonics/core.h"
#include "weft/photonics/program.h"

WEFT_API_BEGIN

#define WEFT_PHOTONIC_LAB_WAVELENGTHS 64u // at most
#define WEFT_PHOTONIC_LAB_PAIRS 4096u     // of one dot product, at most

// What both converters play; samples outside are dark.
struct weft_photonic_streams {
    uint32_t wavelengths;
    uint32_t samples;          // of each wavelength, whole cycles of 16
    const uint8_t *activation; // [wavelengths * samples], wavelength after wavelength
    const uint8_t *weight;
};
// The detectors' samples of the same time; dark is code 0 of them. O(samples).
void weft_photonic_play(uint8_t *detector, const struct weft_photonic_streams *streams,
                        const struct weft_photonic_path *path,
                        const struct weft_photonic_core *core, struct weft_rng *rng);

// ---- a dot product as a waveform ----

struct weft_photonic_dot_input {
    const uint8_t *activations;
    const int16_t *weights; // -255 to 255; the sign travels beside the light
    uint32_t count;
    uint32_t wavelengths; // 0 = 1
    uint32_t preamble;    // cycles; 0 = 10
    struct weft_photonic_path path;
    struct weft_photonic_core core;
};
struct weft_photonic_dot {
    struct weft_photonic_streams streams;    // as converters play them, delay lines not yet applied
    const uint8_t *detector;                 // [wavelengths * samples]
    uint32_t preamble;                       // cycles
    uint32_t delay_activation, delay_weight; // samples that the delay lines add
    uint32_t arrival;                        // samples from converter to detector
    bool found;                              // the preamble; without it the rest is 0
    uint32_t rotation;                       // lanes by which words are rotated
    uint32_t first;                          // the detector's sample of the first product
    uint32_t errors;                         // words before it that are neither dark nor a rotation
    const uint8_t *products;                 // [count], magnitudes
    int32_t sum;                             // of signed products
    int32_t exact;                           // the same without any fault of the light
};
// Plays preamble and data, finds the preamble among the detector's samples and realigns, as the
// datapath does: a lane is 1 where its sample is at least the mean of its word, and a rotation r of
// 0x00FF that was seen as often as it can be (preamble times, once less for r >= 9, whose first
// word is not whole) locks. Fails with INPUT where skews and delays do not cancel.
bool weft_photonic_dot_run(struct weft_photonic_dot *dot,
                           const struct weft_photonic_dot_input *input, struct weft_rng *rng,
                           struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- calibration ----

// A core whose faults nobody was told: converter samples in, detector samples out.
struct weft_photonic_bench;
// Faults drawn from the seed: latency of 64 to 191 samples, one modulator up to 63 samples behind,
// loss of 0 to 6 dB, product noise of 0.3 to 3 steps, crosstalk of up to 2 % between wavelengths.
struct weft_photonic_bench *weft_photonic_bench_build(uint64_t seed, uint32_t wavelengths,
                                                      struct weft_arena *arena);
// Its registers: both delay lines in samples, and the digital gain (256 = 1).
void weft_photonic_bench_set(struct weft_photonic_bench *bench, uint32_t delay_activation,
                             uint32_t delay_weight, uint32_t gain);
void weft_photonic_bench_play(struct weft_photonic_bench *bench, uint8_t *detector,
                              const struct weft_photonic_streams *streams);
// What calibration must not know: for tests, and for reports of how near it came.
void weft_photonic_bench_truth(struct weft_photonic_path *path, struct weft_photonic_core *core,
                               const struct weft_photonic_bench *bench);

// An estimate with the interval that holds the truth 95 times of 100.
struct weft_photonic_estimate {
    double value, low, high;
};
struct weft_photonic_calibration {
    uint32_t delay_activation, delay_weight; // of the lines, so that both streams meet
    int32_t skew;                            // samples by which the activations lag
    uint32_t arrival;                        // samples from converters to detector, then
    double peak_ratio; // of the best correlation over the mean of all others, 2 without faults
    struct weft_photonic_estimate loss_db;
    uint32_t gain;                           // of the register, 256 = 1
    struct weft_photonic_estimate sigma;     // of product noise before the detector's steps
    struct weft_photonic_estimate crosstalk; // ratio; 0 with one wavelength
    double accuracy_ratio;                   // 1 - mean |error| / 255 of products behind the gain
    double noise_ratio;                      // root of the mean squared error over 255
    uint32_t bursts;                         // that were played
};
// Finds it all with bursts of known samples: delays by sweeping the delay lines up to 128 samples
// either way, until the same pseudorandom pattern on both modulators lets most light through; the
// arrival by the pattern's correlation with the detector; loss as mean of known products over mean
// of what was detected; sigma from what is left then; crosstalk by switching a neighbor on and off;
// accuracy from random products behind the gain. Leaves the registers set. Fails with INFEASIBLE
// where no delay stands out. O(257 bursts).
bool weft_photonic_calibrate(struct weft_photonic_calibration *calibration,
                             struct weft_photonic_bench *bench, uint32_t wavelengths,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
