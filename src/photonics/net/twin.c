// SPDX-License-Identifier: Apache-2.0
// The twin: layer by layer, patch by patch, what the datapath computes word by word. Sums are
// integers, so their order is free, and only what rounds is kept as the hardware has it: 8 bits of
// each product.
//
// Cost: one pass over the weights for each pixel, in vectors of 8 products by SSE2 (the loop in
// dot() has no branch and only types of 16 bits); bench/bench_photonic.c measures it.

#include "weft/photonics/twin.h"
#include "photonics/net/softmax.h"
#include "weft/photonics/layer.h"

#include <string.h>

struct weft_photonic_twin {
    const struct weft_photonic_program *program;
    uint64_t cycles;
    uint16_t *inputs;  // of the layer that is played, shifted to 8 bits
    uint16_t *patch;   // words * lanes of them
    uint8_t *bytes[2]; // a word of activations, of weights
    int16_t *products; // of them
    int32_t *sums;     // of the layer, before its pool
    int32_t **values;  // [row_count][results]
    uint8_t *highest;
    int32_t *log_probabilities;
    struct weft_photonic_tables tables;
};

// Where a word's light comes from; core NULL: exact.
struct light {
    const struct weft_photonic_core *core;
    struct weft_rng *rng;
};

struct weft_photonic_twin *weft_photonic_twin_build(const struct weft_photonic_program *program,
                                                    uint32_t path_samples, struct weft_arena *arena)
{
    WEFT_ASSERT(program->weights != NULL && program->row_count > 0);
    struct weft_photonic_twin *twin = WEFT_NEW(arena, struct weft_photonic_twin, 1);
    size_t inputs = 0, patch = 0, sums = 0;
    twin->values = WEFT_NEW(arena, int32_t *, program->row_count);
    for (uint32_t i = 0; i < program->row_count; i++) {
        const struct weft_photonic_row *row = &program->rows[i];
        size_t words = (size_t)row->words * program->lanes;
        inputs = row->inputs > inputs ? row->inputs : inputs;
        patch = words > patch ? words : patch;
        sums = row->sums > sums ? row->sums : sums;
        twin->values[i] = WEFT_NEW(arena, int32_t, row->results);
    }
    twin->program = program;
    twin->cycles = weft_photonic_cycles(NULL, program, path_samples);
    twin->inputs = WEFT_NEW(arena, uint16_t, inputs);
    twin->patch = WEFT_NEW(arena, uint16_t, patch);
    for (uint32_t i = 0; i < 2; i++) {
        twin->bytes[i] = WEFT_NEW(arena, uint8_t, program->lanes);
    }
    twin->products = WEFT_NEW(arena, int16_t, program->lanes);
    twin->sums = WEFT_NEW(arena, int32_t, sums);
    twin->highest = WEFT_NEW(arena, uint8_t, program->row_count);
    const struct weft_photonic_row *last = &program->rows[program->row_count - 1];
    if ((last->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0) {
        twin->log_probabilities = WEFT_NEW(arena, int32_t, last->results);
        weft_photonic_tables_build(&twin->tables);
    }
    return twin;
}

// Gathers the patch of a pixel: runs of values, zeros outside of the map and behind the end.
static void gather(uint16_t *patch, const uint16_t *inputs, const struct weft_photonic_row *row,
                   uint32_t pixel, size_t size)
{
    uint32_t top = pixel / row->out_width * row->stride;
    uint32_t left = pixel % row->out_width * row->stride;
    // Columns of the run, in the padded map, that lie inside the map.
    uint32_t first = left < row->padding ? row->padding - left : 0;
    uint32_t end = row->padding + row->width > left ? row->padding + row->width - left : 0;
    end = end > row->kernel ? row->kernel : end;
    memset(patch, 0, size * sizeof *patch);
    for (uint32_t ky = 0; ky < row->kernel && first < end; ky++) {
        uint32_t y = top + ky;
        if (y < row->padding || y >= row->padding + row->height) {
            continue;
        }
        const uint16_t *line = inputs + (size_t)(y - row->padding) * row->width * row->channels_in;
        memcpy(patch + (size_t)ky * row->run_bytes + (size_t)first * row->channels_in,
               line + (size_t)(left + first - row->padding) * row->channels_in,
               (size_t)(end - first) * row->channels_in * sizeof *patch);
    }
}

// The sum of sign(w) * ((a * |w|) >> 8), n a multiple of 16.
static int32_t dot(const uint16_t *restrict a, const int16_t *restrict w, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        int16_t sign = (int16_t)(w[i] >> 15); // 0, or -1 where w is negative
        uint16_t magnitude = (uint16_t)((w[i] ^ sign) - sign);
        int16_t product = (int16_t)((uint16_t)(a[i] * magnitude) >> 8);
        sum += (int16_t)((product ^ sign) - sign);
    }
    return sum;
}

// The same by what light makes of each word.
static int32_t dot_light(struct weft_photonic_twin *twin, const int16_t *w, size_t n,
                         const struct light *light)
{
    uint32_t lanes = twin->program->lanes;
    int32_t sum = 0;
    for (size_t at = 0; at < n; at += lanes) {
        for (uint32_t i = 0; i < lanes; i++) {
            twin->bytes[0][i] = (uint8_t)twin->patch[at + i];
            twin->bytes[1][i] = (uint8_t)(w[at + i] < 0 ? -w[at + i] : w[at + i]);
        }
        weft_photonic_core_multiply(twin->products, twin->bytes[0], twin->bytes[1], lanes,
                                    light->core, light->rng);
        for (uint32_t i = 0; i < lanes; i++) {
            sum += w[at + i] < 0 ? -twin->products[i] : twin->products[i];
        }
    }
    return sum;
}

static void play_sums(struct weft_photonic_twin *twin, const struct weft_photonic_row *row,
                      int32_t exponent, const struct light *light)
{
    const struct weft_photonic_program *program = twin->program;
    size_t size = (size_t)row->words * program->lanes;
    const int16_t *weights = program->weights + (size_t)row->weight_first * program->lanes;
    int32_t *sum = twin->sums;
    for (uint32_t pixel = 0; pixel < row->pixels; pixel++) {
        gather(twin->patch, twin->inputs, row, pixel, size);
        for (uint32_t o = 0; o < row->outputs; o++) {
            const int16_t *w = weights + o * size;
            *sum++ =
                light->core == NULL ? dot(twin->patch, w, size) : dot_light(twin, w, size, light);
        }
    }
    weft_photonic_add_biases(twin->sums, program, row, exponent);
    if (light->core != NULL) {
        weft_photonic_core_sums(twin->sums, row->sums, light->core, light->rng);
    }
}

void weft_photonic_twin_run(struct weft_photonic_result *result, struct weft_photonic_twin *twin,
                            const uint8_t *input, const struct weft_photonic_core *core,
                            struct weft_rng *rng)
{
    const struct weft_photonic_program *program = twin->program;
    const struct light light = {core, rng};
    int32_t exponent = 0; // e of program.h
    for (uint32_t i = 0; i < program->rows[0].inputs; i++) {
        twin->inputs[i] = input[i];
    }
    const struct weft_photonic_row *row = &program->rows[0];
    for (uint32_t i = 0; i < program->row_count; i++) {
        row = &program->rows[i];
        play_sums(twin, row, exponent, &light);
        const int32_t *values = twin->values[i];
        weft_photonic_keep(twin->values[i], twin->sums, row);
        uint32_t highest =
            weft_photonic_highest_bit(values[weft_photonic_largest(values, row->results)]);
        twin->highest[i] = (uint8_t)highest;
        exponent += i + 1 < program->row_count ? (int32_t)highest - 7 : 0;
        for (uint32_t v = 0; i + 1 < program->row_count && v < row->results; v++) {
            twin->inputs[v] = weft_photonic_normalize(values[v], highest);
        }
    }
    const int32_t *sums = twin->values[program->row_count - 1];
    if (twin->log_probabilities != NULL) {
        weft_photonic_log_softmax(twin->log_probabilities, sums, row->results, row->softmax_scale,
                                  (int32_t)row->softmax_shift - exponent, &twin->tables);
    }
    *result = (struct weft_photonic_result){
        .class_index = weft_photonic_largest(sums, row->results),
        .sum_count = row->results,
        .sums = sums,
        .log_probabilities = twin->log_probabilities,
        .highest = twin->highest,
        .cycles = twin->cycles,
    };
}

const int32_t *weft_photonic_twin_values(const struct weft_photonic_twin *twin, uint32_t row)
{
    WEFT_ASSERT(row < twin->program->row_count);
    return twin->values[row];
}
