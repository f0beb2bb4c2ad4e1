// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_TWIN_H
#define WEFT_PHOTONICS_TWIN_H

// The twin: a program run in C at speed, equal to the hardware in every sum and register.
//
//   program + input ──► [twin] ──► sums, shifts, class, cycles

#include "weft/photonics/core.h"
#include "weft/photonics/program.h"

WEFT_API_BEGIN

// What one run leaves behind, as the registers of the hardware do.
struct weft_photonic_result {
    uint32_t class_index; // of the largest sum, the first of equals
    uint32_t sum_count;
    const int32_t *sums;              // of the last layer
    const int32_t *log_probabilities; // [sum_count], 1/256 nat; NULL without softmax
    const uint8_t *highest; // [row_count]: h, the highest set bit of each layer's largest value
    uint64_t cycles;
};

// Memory that runs of one program share; one a thread.
struct weft_photonic_twin;
// O(largest layer); lives in the arena.
struct weft_photonic_twin *weft_photonic_twin_build(const struct weft_photonic_program *program,
                                                    uint32_t path_samples,
                                                    struct weft_arena *arena);

// Runs one input of rows[0].inputs bytes. `light` NULL: exact. Otherwise what the photonic core
// does to products and sums (core.h), with random numbers of *rng. The result lives in the twin,
// until its next run. O(products): at least 500 million a second on one core where light is NULL.
void weft_photonic_twin_run(struct weft_photonic_result *result, struct weft_photonic_twin *twin,
                            const uint8_t *input, const struct weft_photonic_core *light,
                            struct weft_rng *rng);
// After a run: all values that layer `row` kept, results of it, before the shift.
const int32_t *weft_photonic_twin_values(const struct weft_photonic_twin *twin, uint32_t row);

WEFT_API_END

#endif
