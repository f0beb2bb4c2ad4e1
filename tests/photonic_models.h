// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_PHOTONIC_MODELS_H
#define WEFT_TESTS_PHOTONIC_MODELS_H

// Three small models without a compiler: dense layers whose weights are a pattern, the last one
// with biases. Tests of packets need what fits a request, not a net that was trained.

#include "weft/photonics.h"

#include <string.h>

enum { TEST_MODELS = 3 };

static inline struct weft_photonic_row test_dense(uint32_t inputs, uint32_t outputs, uint32_t first,
                                                  uint32_t flags)
{
    return (struct weft_photonic_row){.flags = flags,
                                      .words = (inputs + 15) / 16,
                                      .outputs = outputs,
                                      .pixels = 1,
                                      .sums = outputs,
                                      .results = outputs,
                                      .inputs = inputs,
                                      .height = 1,
                                      .width = 1,
                                      .channels_in = inputs,
                                      .kernel = 1,
                                      .stride = 1,
                                      .run_bytes = inputs,
                                      .out_width = 1,
                                      .pool = 1,
                                      .pooled_width = 1,
                                      .pooled_height = 1,
                                      .weight_first = first,
                                      .preamble = 10};
}

// inputs -> hidden -> outputs.
static inline struct weft_photonic_program *test_program(const char *name, const uint32_t sizes[3],
                                                         bool biases, struct weft_arena *arena)
{
    struct weft_photonic_program *program = WEFT_NEW(arena, struct weft_photonic_program, 1);
    struct weft_photonic_row *rows = WEFT_NEW(arena, struct weft_photonic_row, 2);
    const uint32_t bias = biases ? WEFT_PHOTONIC_FLAG_BIAS : 0;
    rows[0] = test_dense(sizes[0], sizes[1], 0, WEFT_PHOTONIC_FLAG_RELU | bias);
    rows[1] =
        test_dense(sizes[1], sizes[2], sizes[1] * rows[0].words, WEFT_PHOTONIC_FLAG_LAST | bias);
    rows[1].bias_first = biases ? sizes[1] : 0;
    const uint32_t words = rows[1].weight_first + sizes[2] * rows[1].words;
    int16_t *weights = WEFT_NEW(arena, int16_t, (size_t)words * 16);
    int32_t *bias_values = WEFT_NEW(arena, int32_t, sizes[1] + sizes[2]);
    for (uint32_t r = 0; r < 2; r++) {
        for (uint32_t o = 0; o < rows[r].outputs; o++) {
            for (uint32_t i = 0; i < rows[r].inputs; i++) {
                const uint32_t word = rows[r].weight_first + o * rows[r].words + i / 16;
                weights[(size_t)word * 16 + i % 16] =
                    (int16_t)((int32_t)(weft_hash(o * 977 + i * 31 + r) % 511) - 255);
            }
        }
    }
    for (uint32_t i = 0; i < sizes[1] + sizes[2]; i++) {
        bias_values[i] = (int32_t)i * 7 - 20;
    }
    *program = (struct weft_photonic_program){.name = name,
                                              .lanes = 16,
                                              .wavelengths = 1,
                                              .preamble = 10,
                                              .row_count = 2,
                                              .rows = rows,
                                              .word_count = words,
                                              .weights = weights,
                                              .bias_count = biases ? sizes[1] + sizes[2] : 0,
                                              .biases = biases ? bias_values : NULL};
    return program;
}

// Numbers 3, 7 and 9: 16 -> 8 -> 4, 40 -> 16 -> 10, and 20 -> 4 -> 3 with biases.
static inline struct weft_photonic_models test_models(struct weft_arena *arena)
{
    const struct weft_photonic_resident residents[TEST_MODELS] = {
        {3, test_program("small", (const uint32_t[]){16, 8, 4}, false, arena)},
        {7, test_program("long", (const uint32_t[]){40, 16, 10}, false, arena)},
        {9, test_program("biased", (const uint32_t[]){20, 4, 3}, true, arena)},
    };
    struct weft_photonic_models models;
    struct weft_error error;
    WEFT_ASSERT(weft_photonic_models_build(&models, residents, TEST_MODELS,
                                           &(struct weft_photonic_room){0}, arena, &error));
    return models;
}

// An engine that is no net: sums that depend on every byte of the input and its place.
struct test_sums {
    struct weft_photonic_outcome outcome;
    int32_t sums[16];
    uint8_t highest[2];
};
static inline void test_compute(struct test_sums *sums, const struct weft_photonic_model *model,
                                const uint8_t *input)
{
    uint64_t hash = model->id;
    for (uint32_t i = 0; i < model->input_bytes; i++) {
        hash = weft_hash(hash ^ input[i]) + i;
    }
    uint32_t largest = 0;
    WEFT_ASSERT(model->output_count <= 16 && model->program.row_count == 2);
    for (uint32_t i = 0; i < model->output_count; i++) {
        sums->sums[i] = (int32_t)(uint32_t)weft_hash(hash + i);
        largest = sums->sums[i] > sums->sums[largest] ? i : largest;
    }
    sums->highest[0] = (uint8_t)(hash % 32);
    sums->highest[1] = (uint8_t)(hash / 32 % 32);
    sums->outcome =
        (struct weft_photonic_outcome){largest, model->output_count, sums->sums, sums->highest};
}

// Payloads, drops and what is held: every payload is in one counter.
static inline bool test_conserved(const struct weft_photonic_responder *responder)
{
    const struct weft_photonic_counts *counts = weft_photonic_responder_counts(responder);
    uint64_t sum = counts->answered + counts->described + counts->fragments_repeated +
                   counts->fragments_joined + weft_photonic_responder_held(responder);
    for (uint32_t i = 0; i < WEFT_PHOTONIC_DROPS; i++) {
        sum += counts->drops[i];
    }
    return sum == counts->received;
}

#endif
