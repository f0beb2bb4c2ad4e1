// SPDX-License-Identifier: Apache-2.0
// Calibration of a photonic core as a lab does it: known samples go into the converters, and all
// that is read are the detector's samples (docs/lightning.md, "Calibration").
//
// Delays. Both modulators get the same pseudorandom pattern of light and dark. While they are
// skewed, light passes where two independent bits are 1, a quarter of the time; without skew where
// one is, half of the time. So the mean of the detector doubles at the one setting of the delay
// lines that undoes the skew. Its samples then are the pattern itself, as late as light arrives.
//
// Loss. For products p = a w / 256 the detector reads d = floor(T p + noise), of mean T p - 1/2, as
// long as neither end of its scale cuts the noise: products are kept between 100 and 235. Then
// T = sum(d + 1/2) / sum(p), and the gain is 1 / T.
//
// Noise. What is left, d + 1/2 - T p, has variance sigma^2 + 1/12: noise, and the error of cutting
// to steps (Sheppard's correction). The estimate of a variance from n values has the relative
// deviation sqrt(2 / n).
//
// Crosstalk. A wavelength carries the same products while its neighbor is dark and while it is at
// full scale; the mean difference is what leaks, in which offsets cancel.

#include "weft/photonics/lab.h"

#include <math.h>
#include <string.h>

enum {
    SWEEP = 128,        // samples either way; twice the skew that a bench has
    ARRIVAL_MAX = 512,  // samples
    PATTERN = 1024,     // samples of the pattern: 13 deviations between peak and rest at 6 dB
    KNOWN = 8192,       // products for each estimate: sigma to 0.8 %
    TAIL = ARRIVAL_MAX, // dark samples in which the last light arrives
    FULL_SCALE = 255,
};
// The peak is twice the rest; noise of 3 steps and loss of 6 dB leave 1.9 of it.
#define PEAK_RATIO_MIN 1.5
#define DEVIATIONS_95 1.959964

struct lab {
    struct weft_photonic_bench *bench;
    uint32_t wavelengths;
    uint8_t *activation, *weight, *detector; // [wavelengths * samples]
    uint32_t samples;                        // of each wavelength, tail included
    struct weft_rng rng;                     // of the patterns
    struct weft_photonic_calibration found;
};

static void play(struct lab *lab)
{
    const struct weft_photonic_streams streams = {lab->wavelengths, lab->samples, lab->activation,
                                                  lab->weight};
    weft_photonic_bench_play(lab->bench, lab->detector, &streams);
    lab->found.bursts++;
}

static void dark(struct lab *lab)
{
    size_t size = (size_t)lab->wavelengths * lab->samples;
    memset(lab->activation, 0, size);
    memset(lab->weight, 0, size);
}

static void set_gain(struct lab *lab, uint32_t gain)
{
    weft_photonic_bench_set(lab->bench, lab->found.delay_activation, lab->found.delay_weight, gain);
}

static void set_delay(struct lab *lab, int32_t later_weight)
{
    lab->found.delay_activation = later_weight < 0 ? (uint32_t)-later_weight : 0;
    lab->found.delay_weight = later_weight > 0 ? (uint32_t)later_weight : 0;
    set_gain(lab, 256);
}

// Products from 160^2 / 256 = 100 to 245^2 / 256 = 234 on wavelength 0.
static void play_known(struct lab *lab)
{
    for (uint32_t t = 0; t < KNOWN; t++) {
        lab->activation[t] = (uint8_t)(160 + weft_rng_below(&lab->rng, 86));
        lab->weight[t] = (uint8_t)(160 + weft_rng_below(&lab->rng, 86));
    }
    play(lab);
}

// Wavelength 0 alone speaks here and below, but for crosstalk: all share modulators and fiber.
static bool find_delays(struct lab *lab, struct weft_error *error)
{
    dark(lab);
    for (uint32_t t = 0; t < PATTERN; t++) {
        lab->activation[t] = weft_rng_below(&lab->rng, 2) == 0 ? 0 : FULL_SCALE;
        lab->weight[t] = lab->activation[t];
    }
    double best = -1, total = 0;
    for (int32_t delay = -SWEEP; delay <= SWEEP; delay++) {
        set_delay(lab, delay);
        play(lab);
        double light = 0;
        for (uint32_t t = 0; t < lab->samples; t++) {
            light += lab->detector[t];
        }
        total += light;
        if (light > best) {
            best = light;
            lab->found.skew = delay;
        }
    }
    double others = (total - best) / (2 * SWEEP);
    lab->found.peak_ratio = others > 0 ? best / others : 0;
    set_delay(lab, lab->found.skew);
    return lab->found.peak_ratio >= PEAK_RATIO_MIN ||
           weft_fail(error, WEFT_INFEASIBLE,
                     "no setting of the delay lines lets both streams meet: the most light of all "
                     "is %.2f times the rest; 2 is expected, %d samples of skew can be undone",
                     lab->found.peak_ratio, SWEEP);
}

static void find_arrival(struct lab *lab)
{
    play(lab);
    uint64_t best = 0;
    for (uint32_t lag = 0; lag < ARRIVAL_MAX; lag++) {
        uint64_t match = 0;
        for (uint32_t t = 0; t < PATTERN; t++) {
            match += lab->activation[t] == 0 ? 0u : lab->detector[t + lag];
        }
        if (match > best) {
            best = match;
            lab->found.arrival = lag;
        }
    }
}

static void find_loss_and_noise(struct lab *lab)
{
    dark(lab);
    play_known(lab);
    const uint8_t *seen = lab->detector + lab->found.arrival;
    double light = 0, known = 0, variance = 0;
    for (uint32_t t = 0; t < KNOWN; t++) {
        light += seen[t] + 0.5;
        known += lab->activation[t] * lab->weight[t] / 256.0;
    }
    double kept = light / known;
    for (uint32_t t = 0; t < KNOWN; t++) {
        double left = seen[t] + 0.5 - kept * lab->activation[t] * lab->weight[t] / 256.0;
        variance += left * left / (KNOWN - 1);
    }
    double spread = DEVIATIONS_95 * sqrt(variance * KNOWN) / known; // of `kept`
    lab->found.loss_db = (struct weft_photonic_estimate){
        -10 * log10(kept), -10 * log10(kept + spread), -10 * log10(kept - spread)};
    double relative = DEVIATIONS_95 * sqrt(2.0 / (KNOWN - 1));
    lab->found.sigma = (struct weft_photonic_estimate){
        sqrt(fmax(0, variance - 1.0 / 12)), sqrt(fmax(0, variance * (1 - relative) - 1.0 / 12)),
        sqrt(fmax(0, variance * (1 + relative) - 1.0 / 12))};
    lab->found.gain = (uint32_t)lround(256 / kept);
}

// The same products on wavelength 0 with its neighbor dark, then lit. Products of many sizes, since
// the steps of the detector hide what leaks into one product whose noise is less than a step.
static void find_crosstalk(struct lab *lab)
{
    if (lab->wavelengths < 2) {
        return;
    }
    set_gain(lab, 256);
    dark(lab);
    play_known(lab);
    int16_t alone[KNOWN];
    for (uint32_t t = 0; t < KNOWN; t++) {
        alone[t] = lab->detector[t + lab->found.arrival];
    }
    memset(lab->activation + lab->samples, FULL_SCALE, KNOWN);
    memset(lab->weight + lab->samples, FULL_SCALE, KNOWN);
    play(lab);
    double sum = 0, squares = 0;
    for (uint32_t t = 0; t < KNOWN; t++) {
        double more = lab->detector[t + lab->found.arrival] - alone[t];
        sum += more;
        squares += more * more;
    }
    double full = FULL_SCALE * FULL_SCALE / 256.0 * pow(10, -lab->found.loss_db.value / 10);
    double mean = sum / KNOWN,
           spread = DEVIATIONS_95 * sqrt((squares / KNOWN - mean * mean) / KNOWN);
    lab->found.crosstalk = (struct weft_photonic_estimate){mean / full, (mean - spread) / full,
                                                           (mean + spread) / full};
}

static void measure_accuracy(struct lab *lab)
{
    set_gain(lab, lab->found.gain);
    dark(lab);
    for (uint32_t t = 0; t < KNOWN; t++) {
        lab->activation[t] = (uint8_t)weft_rng_below(&lab->rng, 256);
        lab->weight[t] = (uint8_t)weft_rng_below(&lab->rng, 256);
    }
    play(lab);
    const uint8_t *seen = lab->detector + lab->found.arrival;
    double off = 0, squares = 0;
    for (uint32_t t = 0; t < KNOWN; t++) {
        double error = seen[t] - (lab->activation[t] * lab->weight[t] >> 8);
        off += fabs(error);
        squares += error * error;
    }
    lab->found.accuracy_ratio = 1 - off / KNOWN / FULL_SCALE;
    lab->found.noise_ratio = sqrt(squares / KNOWN) / FULL_SCALE;
}

bool weft_photonic_calibrate(struct weft_photonic_calibration *calibration,
                             struct weft_photonic_bench *bench, uint32_t wavelengths,
                             struct weft_arena scratch, struct weft_error *error)
{
    struct lab lab = {.bench = bench, .wavelengths = wavelengths};
    size_t most = (size_t)wavelengths * (KNOWN + TAIL);
    lab.activation = WEFT_NEW(&scratch, uint8_t, most);
    lab.weight = WEFT_NEW(&scratch, uint8_t, most);
    lab.detector = WEFT_NEW(&scratch, uint8_t, most);
    weft_rng_init(&lab.rng, 0); // any pattern does; calibration of one core is the same each time
    lab.samples = PATTERN + TAIL;
    if (!find_delays(&lab, error)) {
        return false;
    }
    find_arrival(&lab);
    lab.samples = KNOWN + TAIL;
    find_loss_and_noise(&lab);
    find_crosstalk(&lab);
    measure_accuracy(&lab);
    *calibration = lab.found;
    return true;
}
