// SPDX-License-Identifier: Apache-2.0
// Programs that come from files. Nothing in a row is believed: the net that its shapes state is
// compiled anew, without weights, and the rows must be those that come out; then numbers are held
// against their ranges.

#include "photonics/net/quantize.h"

#include <math.h>
#include <string.h>

enum {
    SHIFT_MAX = 1 << 12, // of biases and softmax, either way: beyond doubles' exponents
    BIAS_MAX = 1 << 23,
};

// Fields in the order of the struct, which is that of the memory image.
static const char *const field_names[] = {
    "flags",        "words",      "outputs",    "pixels",        "sums",          "results",
    "inputs",       "height",     "width",      "channels_in",   "kernel",        "stride",
    "padding",      "run_bytes",  "out_width",  "pool",          "pooled_width",  "pooled_height",
    "weight_first", "bias_first", "bias_shift", "softmax_scale", "softmax_shift", "preamble",
};
enum { FIELDS = sizeof field_names / sizeof *field_names };
_Static_assert(sizeof(struct weft_photonic_row) == FIELDS * sizeof(uint32_t), "a name a field");

const uint32_t weft_photonic_field_count = FIELDS;

const char *weft_photonic_row_field(uint32_t field)
{
    WEFT_ASSERT(field < FIELDS);
    return field_names[field];
}

uint64_t weft_photonic_row_macs(const struct weft_photonic_row *row)
{
    return (uint64_t)row->sums * row->kernel * row->run_bytes;
}

static bool is_dense(const struct weft_photonic_row *row)
{
    return row->kernel == 1 && row->height == 1 && row->width == 1 && row->stride == 1 &&
           row->padding == 0;
}

// The net whose compilation makes these rows: at most two layers for each.
static struct weft_photonic_net state_net(const struct weft_photonic_program *program,
                                          struct weft_arena *arena)
{
    static const float some = 0; // a bias that is there; without weights it is not looked at
    struct weft_photonic_layer *layers =
        WEFT_NEW(arena, struct weft_photonic_layer, 2 * (size_t)program->row_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->row_count; i++) {
        const struct weft_photonic_row *row = &program->rows[i];
        layers[count++] = (struct weft_photonic_layer){
            .name = program->names[i],
            .kind = is_dense(row) ? WEFT_PHOTONIC_DENSE : WEFT_PHOTONIC_CONV,
            .activation = (row->flags & WEFT_PHOTONIC_FLAG_RELU) != 0      ? WEFT_PHOTONIC_RELU
                          : (row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0 ? WEFT_PHOTONIC_SOFTMAX
                                                                           : WEFT_PHOTONIC_LINEAR,
            .inputs = row->channels_in,
            .outputs = row->outputs,
            .channels_in = row->channels_in,
            .channels_out = row->outputs,
            .kernel = row->kernel,
            .stride = row->stride,
            .padding = row->padding,
            .height = row->height,
            .width = row->width,
            .bias = (row->flags & WEFT_PHOTONIC_FLAG_BIAS) != 0 ? &some : NULL,
        };
        if (row->pool != 1) {
            layers[count++] = (struct weft_photonic_layer){
                .name = program->names[i], .kind = WEFT_PHOTONIC_MAXPOOL, .size = row->pool};
        }
    }
    return (struct weft_photonic_net){.layer_count = count, .layers = layers};
}

static bool compare_rows(const struct weft_photonic_program *program,
                         const struct weft_photonic_program *made, struct weft_error *error)
{
    for (uint32_t i = 0; i < program->row_count; i++) {
        struct weft_photonic_row expected = made->rows[i];
        const struct weft_photonic_row *row = &program->rows[i];
        expected.bias_shift = row->bias_shift; // ranges are checked instead
        expected.softmax_scale = row->softmax_scale;
        expected.softmax_shift = row->softmax_shift;
        uint32_t want[FIELDS], got[FIELDS];
        memcpy(want, &expected, sizeof want);
        memcpy(got, row, sizeof got);
        for (uint32_t f = 0; f < FIELDS; f++) {
            if (want[f] != got[f]) {
                return weft_fail(error, WEFT_INPUT,
                                 "rows[%u].%s: %u is not the %u that its shape "
                                 "makes; compile the net again",
                                 i, field_names[f], got[f], want[f]);
            }
        }
    }
    return true;
}

static bool check_shift(const char *key, int32_t shift, struct weft_error *error)
{
    return (shift >= -SHIFT_MAX && shift <= SHIFT_MAX) ||
           weft_fail(error, WEFT_INPUT, "%s: %d is not from -%d to %d", key, shift, SHIFT_MAX,
                     SHIFT_MAX);
}

static bool check_row_numbers(const struct weft_photonic_program *program, uint32_t index,
                              struct weft_error *error)
{
    const struct weft_photonic_row *row = &program->rows[index];
    bool softmax = (row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0;
    bool has_bias = (row->flags & WEFT_PHOTONIC_FLAG_BIAS) != 0;
    const int32_t *biases = has_bias ? program->biases + row->bias_first : NULL;
    size_t size = (size_t)row->words * program->lanes;
    const int16_t *weights = program->weights + (size_t)row->weight_first * program->lanes;
    if (!check_shift("bias_shift", row->bias_shift, error) ||
        !check_shift("softmax_shift", (int32_t)row->softmax_shift, error)) {
        return false;
    }
    if (softmax ? row->softmax_scale < 1 || row->softmax_scale > UINT16_MAX
                : row->softmax_scale != 0) {
        return weft_fail(error, WEFT_INPUT, "softmax_scale: %u is not %s", row->softmax_scale,
                         softmax ? "from 1 to 65535" : "0, which it is without softmax");
    }
    for (uint32_t i = 0; has_bias && i < row->outputs; i++) {
        if (biases[i] <= -BIAS_MAX || biases[i] >= BIAS_MAX) {
            return weft_fail(error, WEFT_INPUT, "bias %u: %d is not within 2^23", i, biases[i]);
        }
    }
    for (size_t i = 0; i < size * row->outputs; i++) {
        if (weights[i] < -255 || weights[i] > 255) {
            return weft_fail(error, WEFT_INPUT, "weight %zu: %d is not from -255 to 255", i,
                             weights[i]);
        }
    }
    if (!isfinite(program->scales[index]) || program->scales[index] <= 0) {
        return weft_fail(error, WEFT_INPUT, "scale: not a number above 0");
    }
    return net_check_sums(row, weights, biases, program->lanes, -7 * (int32_t)index, 32, error);
}

bool weft_photonic_program_check(const struct weft_photonic_program *program,
                                 struct weft_arena scratch, struct weft_error *error)
{
    struct weft_photonic_compile_options options = {
        .wavelengths = program->wavelengths,
        .preamble = program->preamble,
        .limits = {.weight_bytes = UINT64_MAX, .activation_count = UINT32_MAX},
    };
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_photonic_net net = state_net(program, &kept);
    struct weft_photonic_program made;
    bool fine = weft_photonic_compile(&made, &net, &options, &kept, scratch, error);
    if (fine && (made.row_count != program->row_count || made.lanes != program->lanes ||
                 made.preamble != program->preamble || made.word_count != program->word_count ||
                 made.bias_count != program->bias_count)) {
        fine = weft_fail(error, WEFT_INPUT,
                         "lanes, preamble or sizes of images do not follow from "
                         "the rows; compile the net again");
    }
    fine = fine && compare_rows(program, &made, error);
    for (uint32_t i = 0; fine && program->weights != NULL && i < program->row_count; i++) {
        fine = check_row_numbers(program, i, error) || weft_wrap(error, "rows[%u]", i);
    }
    if (!fine) {
        error->code = WEFT_INPUT; // whatever it would be of a net
    }
    return fine;
}
