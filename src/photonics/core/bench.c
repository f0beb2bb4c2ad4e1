// SPDX-License-Identifier: Apache-2.0
// A photonic core with faults that a seed draws and that calibration has to find.

#include "weft/photonics/lab.h"

#include <math.h>

struct weft_photonic_bench {
    struct weft_photonic_path path;
    struct weft_photonic_core core;
    struct weft_rng rng; // of its noise
};

// As wide as a lab meets them: Lightning's light takes 10 cycles of 16 samples and its activations
// lag by 35 samples; its noise is 1.66 of 255.
#define LATENCY_FIRST 64u
#define LATENCY_COUNT 128u
#define SKEW_COUNT 64u
#define LOSS_MAX_DB 6.0
#define SIGMA_LOW 0.3
#define SIGMA_HIGH 3.0
#define CROSSTALK_MAX 0.02

struct weft_photonic_bench *weft_photonic_bench_build(uint64_t seed, uint32_t wavelengths,
                                                      struct weft_arena *arena)
{
    struct weft_photonic_bench *bench = WEFT_NEW(arena, struct weft_photonic_bench, 1);
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    bench->path.latency = LATENCY_FIRST + weft_rng_below(&rng, LATENCY_COUNT);
    uint32_t skew = weft_rng_below(&rng, SKEW_COUNT);
    *(weft_rng_below(&rng, 2) == 0 ? &bench->path.skew_activation : &bench->path.skew_weight) =
        skew;
    bench->core.loss_db = LOSS_MAX_DB * weft_rng_unit(&rng);
    bench->core.product_sigma = SIGMA_LOW + (SIGMA_HIGH - SIGMA_LOW) * weft_rng_unit(&rng);
    bench->core.crosstalk_ratio = wavelengths > 1 ? CROSSTALK_MAX * weft_rng_unit(&rng) : 0;
    bench->rng = weft_rng_split(&rng, 1);
    return bench;
}

void weft_photonic_bench_set(struct weft_photonic_bench *bench, uint32_t delay_activation,
                             uint32_t delay_weight, uint32_t gain)
{
    bench->path.delay_activation = delay_activation;
    bench->path.delay_weight = delay_weight;
    bench->core.gain_db = 10 * log10(gain / 256.0);
}

void weft_photonic_bench_play(struct weft_photonic_bench *bench, uint8_t *detector,
                              const struct weft_photonic_streams *streams)
{
    weft_photonic_play(detector, streams, &bench->path, &bench->core, &bench->rng);
}

void weft_photonic_bench_truth(struct weft_photonic_path *path, struct weft_photonic_core *core,
                               const struct weft_photonic_bench *bench)
{
    *path = bench->path;
    *core = bench->core;
}
