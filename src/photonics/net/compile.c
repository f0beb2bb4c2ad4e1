// SPDX-License-Identifier: Apache-2.0
// weft_photonic_compile: shapes to rows (rows.c), numbers to integers (quantize.c), and here what
// stands where in the memories, and whether it fits them.

#include "photonics/net/quantize.h"

#include <string.h>

enum {
    WAVELENGTHS_MAX = 64,
    PREAMBLE_MIN = 2, // a rotation of 9 and more is found after L - 1 words
    PREAMBLE_MAX = 4096,
    ROWS_MAX = 1024,
};

static bool resolve(struct weft_photonic_compile_options *options, struct weft_error *error)
{
    options->wavelengths = options->wavelengths == 0 ? 1 : options->wavelengths;
    options->preamble = options->preamble == 0 ? 10 : options->preamble;
    struct weft_photonic_limits *limits = &options->limits;
    limits->weight_bytes = limits->weight_bytes == 0 ? (uint64_t)64 << 20 : limits->weight_bytes;
    limits->activation_count = limits->activation_count == 0 ? 65536 : limits->activation_count;
    limits->accumulator_bits = limits->accumulator_bits == 0 ? 32 : limits->accumulator_bits;
    if (options->wavelengths > WAVELENGTHS_MAX) {
        weft_fail(error, WEFT_INPUT, "%u wavelengths: %u are the most", options->wavelengths,
                  WAVELENGTHS_MAX);
        return weft_remedy(error, "wavelengths", "%u", WAVELENGTHS_MAX);
    }
    if (options->preamble < PREAMBLE_MIN || options->preamble > PREAMBLE_MAX) {
        weft_fail(error, WEFT_INPUT, "a preamble of %u cycles is not from %u to %u",
                  options->preamble, PREAMBLE_MIN, PREAMBLE_MAX);
        return weft_remedy(error, "preamble", "%u", 10);
    }
    if (limits->accumulator_bits > 32) {
        weft_fail(error, WEFT_INPUT, "an accumulator of %u bits: 32 are the most",
                  limits->accumulator_bits);
        return weft_remedy(error, "accumulator", "32");
    }
    return true;
}

// Addresses of each row's words and biases, and whether the memories hold them.
static bool lay_out(struct weft_photonic_program *program, struct weft_photonic_row *rows,
                    const struct net_source *sources, const struct weft_photonic_net *net,
                    const struct weft_photonic_limits *limits, struct weft_error *error)
{
    uint64_t words = 0, needed = 0;
    for (uint32_t i = 0; i < program->row_count; i++) {
        needed += (uint64_t)rows[i].words * rows[i].outputs * program->lanes;
    }
    for (uint32_t i = 0; i < program->row_count; i++) {
        struct weft_photonic_row *row = &rows[i];
        const struct weft_photonic_layer *layer = &net->layers[sources[i].layer];
        row->preamble = program->preamble;
        row->weight_first = (uint32_t)words;
        row->bias_first = program->bias_count;
        words += (uint64_t)row->words * row->outputs;
        if (words * program->lanes > limits->weight_bytes || words > UINT32_MAX) {
            weft_fail(error, WEFT_INFEASIBLE,
                      "weights of %llu bytes up to this layer do not fit a memory of %llu; the "
                      "net needs %llu",
                      (unsigned long long)words * program->lanes,
                      (unsigned long long)limits->weight_bytes, (unsigned long long)needed);
            weft_remedy(error, "memory", "%lluB", (unsigned long long)needed);
            return net_wrap_layer(error, net, sources[i].layer);
        }
        uint32_t values = row->inputs > row->results ? row->inputs : row->results;
        if (values > limits->activation_count) {
            weft_fail(error, WEFT_INFEASIBLE,
                      "%u %s do not fit a buffer of %u values; fewer channels, a smaller map or "
                      "a larger buffer would do",
                      values, row->inputs > row->results ? "inputs" : "results",
                      limits->activation_count);
            weft_remedy(error, "buffer", "%u", values);
            return net_wrap_layer(error, net, sources[i].layer);
        }
        if (layer->bias != NULL) {
            row->flags |= WEFT_PHOTONIC_FLAG_BIAS;
            program->bias_count += row->outputs;
        }
    }
    program->word_count = (uint32_t)words;
    return true;
}

// True: all layers have weights; false: none has, or *fails, some have.
static bool has_weights(bool *fails, const struct weft_photonic_net *net,
                        const struct net_source *sources, uint32_t row_count,
                        struct weft_error *error)
{
    uint32_t first = WEFT_NONE, given = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        bool has = net->layers[sources[i].layer].weights != NULL;
        given += has;
        first = !has && first == WEFT_NONE ? sources[i].layer : first;
    }
    *fails = given > 0 && given < row_count;
    if (*fails) {
        weft_fail(error, WEFT_INPUT, "weights: there are none, other layers have theirs");
        net_wrap_layer(error, net, first);
    }
    return given == row_count;
}

// Fills the images, and of the rows what depends on numbers.
static bool fill(struct weft_photonic_program *program, struct weft_photonic_row *rows,
                 const struct net_source *sources, const struct weft_photonic_net *net,
                 uint32_t accumulator_bits, struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    double *scales = WEFT_NEW(arena, double, program->row_count);
    if (!net_scales_build(scales, rows, sources, program->row_count, net, environment->error)) {
        return false;
    }
    size_t lanes = program->lanes;
    int16_t *weights = WEFT_NEW_RAW(arena, int16_t, program->word_count * lanes);
    int32_t *biases = WEFT_NEW(arena, int32_t, program->bias_count);
    double unit = net->input_unit > 0 ? net->input_unit : 1.0 / 255; // U of quantize.c
    for (uint32_t i = 0; i < program->row_count; i++) {
        struct weft_photonic_row *row = &rows[i];
        const struct weft_photonic_layer *layer = &net->layers[sources[i].layer];
        int16_t *words = weights + row->weight_first * lanes;
        net_quantize_weights(words, row, &sources[i], layer, scales[i], program->lanes);
        if (layer->bias != NULL) {
            net_quantize_bias(biases + row->bias_first, &row->bias_shift, layer->bias, row->outputs,
                              scales[i] / (256 * unit));
        }
        // A layer's values may be all zero, which the normaliser shifts left by 7.
        if (!net_check_sums(row, words, layer->bias == NULL ? NULL : biases + row->bias_first,
                            program->lanes, -7 * (int32_t)i, accumulator_bits,
                            environment->error)) {
            return net_wrap_layer(environment->error, net, sources[i].layer);
        }
        unit = 256 * unit / scales[i];
        if ((row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0) {
            net_quantize_softmax(&row->softmax_scale, &row->softmax_shift, unit);
        }
    }
    program->scales = scales;
    program->weights = weights;
    program->biases = biases;
    return true;
}

bool weft_photonic_compile(struct weft_photonic_program *program,
                           const struct weft_photonic_net *net,
                           const struct weft_photonic_compile_options *options,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct weft_photonic_compile_options set = *options;
    if (!resolve(&set, error)) {
        return false;
    }
    if (net->layer_count == 0 || net->layer_count > ROWS_MAX) {
        return weft_fail(error, WEFT_INPUT, "layers: %u are not from 1 to %u", net->layer_count,
                         ROWS_MAX);
    }
    struct weft_photonic_program made = {
        .name = weft_arena_format(arena, "%s", net->name == NULL ? "" : net->name),
        .lanes = 16 * set.wavelengths,
        .wavelengths = set.wavelengths,
        .preamble = set.preamble,
    };
    struct weft_photonic_row *rows = WEFT_NEW(arena, struct weft_photonic_row, net->layer_count);
    struct net_source *sources = WEFT_NEW(&scratch, struct net_source, net->layer_count);
    bool fails = false;
    if (!net_rows_build(rows, sources, &made.row_count, net, made.lanes, error)) {
        return false;
    }
    bool filled = has_weights(&fails, net, sources, made.row_count, error);
    if (fails || !lay_out(&made, rows, sources, net, &set.limits, error)) {
        return false;
    }
    struct weft_environment environment = {.arena = arena, .scratch = scratch, .error = error};
    if (filled && !fill(&made, rows, sources, net, set.limits.accumulator_bits, &environment)) {
        return false;
    }
    const char **names = WEFT_NEW(arena, const char *, made.row_count);
    for (uint32_t i = 0; i < made.row_count; i++) {
        const char *name = net->layers[sources[i].layer].name;
        names[i] = name == NULL || *name == '\0' ? weft_arena_format(arena, "layer%u", i)
                                                 : weft_arena_format(arena, "%s", name);
    }
    made.names = names;
    made.rows = rows;
    *program = made;
    return true;
}
