// SPDX-License-Identifier: Apache-2.0
// A dot product as it goes over the optical bench, sample by sample: preamble and data on both
// converters, delay lines, skewed modulators, light, detector; then the preamble is found again and
// the products are read (docs/lightning.md, "A multiplication as a waveform").
//
// Both converters play whole cycles of 16 samples, but light arrives when it does: the detector's
// words are cut anywhere. The preamble says where. All activations are at full scale during it,
// while 8 samples of weights are at full scale and 8 are dark, so that the products of a cycle are
// half light and half dark; cut r samples late they are 0x00FF rotated by r.

#include "photonics/core/preamble.h"
#include "weft/photonics/lab.h"

#include <string.h>

enum { CYCLE = PREAMBLE_SAMPLES, LATENCY_DEFAULT = 128, PREAMBLE_DEFAULT = 10, FULL_SCALE = 255 };

// The sample that a modulator sees `lag` samples after it left the converter.
static uint8_t delayed(const uint8_t *stream, uint32_t samples, uint32_t now, uint64_t lag)
{
    return lag > now || now - lag >= samples ? 0 : stream[now - lag];
}

void weft_photonic_play(uint8_t *detector, const struct weft_photonic_streams *streams,
                        const struct weft_photonic_path *path,
                        const struct weft_photonic_core *core, struct weft_rng *rng)
{
    enum { LANES_MAX = WEFT_PHOTONIC_LAB_WAVELENGTHS * CYCLE };
    uint32_t samples = streams->samples, lanes = streams->wavelengths * CYCLE;
    WEFT_ASSERT(streams->wavelengths > 0 && lanes <= LANES_MAX && samples % CYCLE == 0);
    WEFT_ASSERT(core->dark_code == 0); // samples have no sign
    uint64_t latency = path->latency == 0 ? LATENCY_DEFAULT : path->latency;
    uint64_t lag_a = latency + path->skew_activation + path->delay_activation;
    uint64_t lag_w = latency + path->skew_weight + path->delay_weight;
    uint8_t a[LANES_MAX], w[LANES_MAX];
    int16_t out[LANES_MAX];
    for (uint32_t begin = 0; begin < samples; begin += CYCLE) {
        for (uint32_t lane = 0; lane < lanes; lane++) {
            size_t first = (size_t)(lane / CYCLE) * samples;
            uint32_t now = begin + lane % CYCLE;
            a[lane] = delayed(streams->activation + first, samples, now, lag_a);
            w[lane] = delayed(streams->weight + first, samples, now, lag_w);
        }
        weft_photonic_core_multiply(out, a, w, lanes, core, rng);
        for (uint32_t k = 0; k < streams->wavelengths; k++) {
            for (uint32_t t = 0; t < CYCLE; t++) {
                detector[(size_t)k * samples + begin + t] = (uint8_t)out[k * CYCLE + t];
            }
        }
    }
}

// Preamble and data of both streams: pair i is sample i % 16 of wavelength i / 16 % W, in the cycle
// i / (16 W) of the data.
static void fill_streams(struct weft_photonic_dot *dot, const struct weft_photonic_dot_input *input,
                         struct weft_arena *arena)
{
    struct weft_photonic_streams *streams = &dot->streams;
    size_t size = (size_t)streams->wavelengths * streams->samples;
    uint8_t *activation = WEFT_NEW(arena, uint8_t, size);
    uint8_t *weight = WEFT_NEW(arena, uint8_t, size);
    for (uint32_t k = 0; k < streams->wavelengths; k++) {
        size_t first = (size_t)k * streams->samples;
        for (uint32_t t = 0; t < dot->preamble * CYCLE; t++) {
            activation[first + t] = FULL_SCALE;
            weight[first + t] = t % CYCLE < CYCLE / 2 ? FULL_SCALE : 0;
        }
    }
    uint32_t lanes = streams->wavelengths * CYCLE;
    for (uint32_t i = 0; i < input->count; i++) {
        size_t at = (size_t)(i % lanes / CYCLE) * streams->samples +
                    (size_t)(dot->preamble + i / lanes) * CYCLE + i % CYCLE;
        int32_t value = input->weights[i];
        activation[at] = input->activations[i];
        weight[at] = (uint8_t)(value < 0 ? -value : value);
    }
    streams->activation = activation;
    streams->weight = weight;
}

// Counts patterns of wavelength 0 until a rotation reaches its target. The first word of a preamble
// that is cut r samples late begins with r dark samples. For r <= 8 the light that is left of it is
// still the whole pattern, for r >= 9 it is shorter, and the word counts as an error.
static void find_preamble(struct weft_photonic_dot *dot)
{
    uint32_t seen[CYCLE] = {0};
    for (uint32_t begin = 0; begin < dot->streams.samples; begin += CYCLE) {
        uint32_t r;
        bool light = preamble_detect(&r, dot->detector + begin);
        if (r == PREAMBLE_NONE) {
            dot->errors += light;
            continue;
        }
        seen[r]++;
        if (seen[r] >= dot->preamble - (r > CYCLE / 2)) {
            dot->found = true;
            dot->rotation = r;
            dot->first = begin + CYCLE + r;
            return;
        }
    }
}

static void read_products(struct weft_photonic_dot *dot,
                          const struct weft_photonic_dot_input *input, struct weft_arena *arena)
{
    uint8_t *products = WEFT_NEW(arena, uint8_t, input->count);
    uint32_t lanes = dot->streams.wavelengths * CYCLE;
    for (uint32_t i = 0; i < input->count; i++) {
        uint32_t now = dot->first + i / lanes * CYCLE + i % CYCLE;
        size_t first = (size_t)(i % lanes / CYCLE) * dot->streams.samples;
        int32_t weight = input->weights[i];
        uint32_t magnitude = (uint32_t)(weight < 0 ? -weight : weight);
        int32_t exact = (int32_t)((input->activations[i] * magnitude) >> 8);
        products[i] = dot->found && now < dot->streams.samples ? dot->detector[first + now] : 0;
        dot->sum += weight < 0 ? -products[i] : products[i];
        dot->exact += weight < 0 ? -exact : exact;
    }
    dot->products = products;
}

bool weft_photonic_dot_run(struct weft_photonic_dot *dot,
                           const struct weft_photonic_dot_input *input, struct weft_rng *rng,
                           struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_photonic_path *path = &input->path;
    uint32_t arrival;
    WEFT_ASSERT(input->count > 0 && input->count <= WEFT_PHOTONIC_LAB_PAIRS);
    if (!weft_photonic_path_samples(&arrival, path, error)) {
        return false;
    }
    struct weft_photonic_dot made = {0};
    made.preamble = input->preamble == 0 ? PREAMBLE_DEFAULT : input->preamble;
    made.streams.wavelengths = input->wavelengths == 0 ? 1 : input->wavelengths;
    made.delay_activation = path->delay_activation;
    made.delay_weight = path->delay_weight;
    made.arrival = arrival;
    uint32_t lanes = made.streams.wavelengths * CYCLE;
    uint32_t cycles =
        made.preamble + (input->count + lanes - 1) / lanes + (arrival + CYCLE - 1) / CYCLE;
    made.streams.samples = cycles * CYCLE;
    fill_streams(&made, input, arena);
    uint8_t *detector =
        WEFT_NEW(arena, uint8_t, (size_t)made.streams.wavelengths * made.streams.samples);
    weft_photonic_play(detector, &made.streams, path, &input->core, rng);
    made.detector = detector;
    find_preamble(&made);
    read_products(&made, input, arena);
    *dot = made;
    return true;
}
