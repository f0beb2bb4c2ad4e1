// SPDX-License-Identifier: Apache-2.0
// Random nets on the datapath of light against a reference that shares nothing with the compiler
// and the twin: it takes the layers as their author states them, with weights in the order of their
// files, walks maps by channel, row and column, and multiplies one pair after the other.
//
// Seen to fail when patches were gathered by [ky][kx] without the padding's columns (gather), when
// a dense layer behind a map took its columns as they stand (weight_at), when bias_shift ignored
// earlier shifts or was shifted left by 9 (play_sums, shift_bias), when a pool kept its first value
// (keep), and when the stall of a patch was counted from its first word alone (patch_lead).

#include "../fresh_arenas.h"
#include "../seeds.h"
#include "weft/photonics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LAYERS_MAX = 8, NETS = 1000, SEED = 2103 };

// ---- a random net ----

struct random_net {
    struct weft_photonic_net net;
    struct weft_photonic_layer layers[LAYERS_MAX];
    uint32_t count;
    uint32_t channels, height, width; // of what the next layer is given
    uint32_t input_channels, input_height, input_width;
    struct weft_photonic_compile_options options;
};

static float *random_floats(struct weft_rng *rng, uint32_t count, double size)
{
    float *values = WEFT_NEW_RAW(&arena, float, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        double value = weft_rng_below(rng, 8) == 0 ? 0 : size * (2 * weft_rng_unit(rng) - 1);
        values[i] = (float)value;
    }
    return values;
}

static void add_weights(struct weft_photonic_layer *layer, struct weft_rng *rng, uint32_t inputs,
                        uint32_t outputs)
{
    static const double sizes[] = {0.3, 1, 2.5, 300};
    double size = sizes[weft_rng_below(rng, 4)];
    layer->weights = random_floats(rng, inputs * outputs, size);
    if (weft_rng_below(rng, 2) == 0) {
        // Some are so large beside dark images that their shift to the left meets its limit.
        double most = size * inputs / 4 * (weft_rng_below(rng, 6) == 0 ? 1e4 : 1);
        layer->bias = random_floats(rng, outputs, most * weft_rng_unit(rng));
    }
    layer->activation = WEFT_PHOTONIC_RELU;
}

static void add_conv(struct random_net *made, struct weft_rng *rng)
{
    struct weft_photonic_layer *layer = &made->layers[made->count++];
    uint32_t smaller = made->height < made->width ? made->height : made->width;
    uint32_t kernel = 1 + weft_rng_below(rng, smaller < 5 ? smaller : 5);
    *layer = (struct weft_photonic_layer){
        .kind = WEFT_PHOTONIC_CONV,
        .channels_in = made->channels,
        .channels_out = 1 + weft_rng_below(rng, 20),
        .kernel = kernel,
        .stride = 1 + weft_rng_below(rng, 3),
        .padding = weft_rng_below(rng, kernel),
        .height = made->height,
        .width = made->width,
    };
    add_weights(layer, rng, kernel * kernel * made->channels, layer->channels_out);
    made->channels = layer->channels_out;
    made->height = (made->height + 2 * layer->padding - kernel) / layer->stride + 1;
    made->width = (made->width + 2 * layer->padding - kernel) / layer->stride + 1;
    smaller = made->height < made->width ? made->height : made->width;
    if (smaller > 1 && weft_rng_below(rng, 2) == 0) {
        uint32_t size = 2 + weft_rng_below(rng, smaller > 2 ? 2 : 1);
        made->layers[made->count++] =
            (struct weft_photonic_layer){.kind = WEFT_PHOTONIC_MAXPOOL, .size = size};
        made->height /= size;
        made->width /= size;
    }
}

static void add_dense(struct random_net *made, struct weft_rng *rng)
{
    struct weft_photonic_layer *layer = &made->layers[made->count++];
    uint32_t inputs = made->channels * made->height * made->width;
    *layer = (struct weft_photonic_layer){
        .kind = WEFT_PHOTONIC_DENSE,
        .inputs = inputs,
        .outputs = 1 + weft_rng_below(rng, 40),
    };
    add_weights(layer, rng, inputs, layer->outputs);
    made->channels = layer->outputs;
    made->height = 1;
    made->width = 1;
}

static void make_net(struct random_net *made, struct weft_rng *rng)
{
    static const uint32_t wavelengths[] = {1, 2, 4};
    *made = (struct random_net){.channels = 1 + weft_rng_below(rng, 60), .height = 1, .width = 1};
    uint32_t convs = weft_rng_below(rng, 3), denses = weft_rng_below(rng, 3) + (convs == 0);
    if (convs > 0) {
        made->channels = 1 + weft_rng_below(rng, 5);
        made->height = 3 + weft_rng_below(rng, 10);
        made->width = 3 + weft_rng_below(rng, 10);
    }
    made->input_channels = made->channels;
    made->input_height = made->height;
    made->input_width = made->width;
    for (uint32_t i = 0; i < convs; i++) {
        add_conv(made, rng);
    }
    for (uint32_t i = 0; i < denses; i++) {
        add_dense(made, rng);
    }
    static const enum weft_photonic_activation last[] = {WEFT_PHOTONIC_LINEAR, WEFT_PHOTONIC_RELU,
                                                         WEFT_PHOTONIC_SOFTMAX};
    uint32_t at = made->count - 1;
    at -= made->layers[at].kind == WEFT_PHOTONIC_MAXPOOL;
    made->layers[at].activation = last[weft_rng_below(rng, 3)];
    made->net = (struct weft_photonic_net){.layer_count = made->count,
                                           .layers = made->layers,
                                           .layer_scales = weft_rng_below(rng, 2) == 0,
                                           .input_unit = 1.0 / (1 + weft_rng_below(rng, 300))};
    made->options.wavelengths = wavelengths[weft_rng_below(rng, 3)];
    made->options.preamble = 2 + weft_rng_below(rng, 12);
}

// ---- the reference ----

// A map by [channel][y][x].
struct map {
    uint32_t channels, height, width;
    int64_t *values;
};

static int64_t *at(const struct map *map, uint32_t c, uint32_t y, uint32_t x)
{
    return &map->values[((size_t)c * map->height + y) * map->width + x];
}

static struct map new_map(uint32_t channels, uint32_t height, uint32_t width)
{
    return (struct map){channels, height, width,
                        WEFT_NEW(&arena, int64_t, (size_t)channels * height * width)};
}

struct reference {
    double unit;  // of activations, before shifts
    int64_t e;    // all right shifts so far
    double scale; // of the layer's weights
};

static int64_t product(int64_t activation, float weight, double scale)
{
    int64_t q = llround((double)weight * scale);
    int64_t size = activation * llabs(q) / 256;
    return q < 0 ? -size : size;
}

// The bias in units of a sum, as far as its fixed point goes: 23 bits of the layer's largest.
static int64_t bias_of(const struct weft_photonic_layer *layer, uint32_t o, uint32_t outputs,
                       const struct reference *reference)
{
    if (layer->bias == NULL) {
        return 0;
    }
    double factor = reference->scale / (256 * reference->unit), largest = 0;
    for (uint32_t i = 0; i < outputs; i++) {
        largest = fmax(largest, fabs((double)layer->bias[i] * factor));
    }
    int64_t shift = 1024;
    while (shift > -1024 && round(ldexp(largest, (int)shift)) >= 1 << 23) {
        shift--;
    }
    shift = largest == 0 ? 0 : shift;
    int64_t fixed = llround(ldexp((double)layer->bias[o] * factor, (int)shift));
    shift += reference->e;
    shift = shift < -7 ? -7 : shift;
    return (int64_t)floor(ldexp((double)fixed, (int)-shift));
}

static struct map reference_conv(const struct weft_photonic_layer *layer, const struct map *in,
                                 const struct reference *reference)
{
    uint32_t k = layer->kernel, p = layer->padding, s = layer->stride;
    struct map out = new_map(layer->channels_out, (in->height + 2 * p - k) / s + 1,
                             (in->width + 2 * p - k) / s + 1);
    for (uint32_t o = 0; o < out.channels; o++) {
        int64_t bias = bias_of(layer, o, out.channels, reference);
        for (uint32_t y = 0; y < out.height; y++) {
            for (uint32_t x = 0; x < out.width; x++) {
                int64_t sum = bias;
                for (uint32_t i = 0; i < in->channels * k * k; i++) {
                    uint32_t c = i / (k * k), ky = i / k % k, kx = i % k;
                    int64_t from_y = (int64_t)y * s + ky - p, from_x = (int64_t)x * s + kx - p;
                    bool inside =
                        from_y >= 0 && from_y < in->height && from_x >= 0 && from_x < in->width;
                    float w = layer->weights[((o * in->channels + c) * k + ky) * k + kx];
                    sum += inside ? product(*at(in, c, (uint32_t)from_y, (uint32_t)from_x), w,
                                            reference->scale)
                                  : 0;
                }
                *at(&out, o, y, x) = sum;
            }
        }
    }
    return out;
}

static struct map reference_dense(const struct weft_photonic_layer *layer, const struct map *in,
                                  const struct reference *reference)
{
    struct map out = new_map(layer->outputs, 1, 1);
    for (uint32_t o = 0; o < layer->outputs; o++) {
        out.values[o] = bias_of(layer, o, layer->outputs, reference);
        for (uint32_t i = 0; i < layer->inputs; i++) {
            out.values[o] +=
                product(in->values[i], layer->weights[o * layer->inputs + i], reference->scale);
        }
    }
    return out;
}

static struct map reference_pool(const struct map *in, uint32_t size)
{
    struct map out = new_map(in->channels, in->height / size, in->width / size);
    for (uint32_t i = 0; i < out.channels * out.height * out.width; i++) {
        uint32_t c = i / (out.height * out.width), y = i / out.width % out.height,
                 x = i % out.width;
        int64_t largest = INT64_MIN;
        for (uint32_t j = 0; j < size * size; j++) {
            int64_t value = *at(in, c, y * size + j / size, x * size + j % size);
            largest = value > largest ? value : largest;
        }
        out.values[i] = largest;
    }
    return out;
}

static double scale_of(const struct weft_photonic_net *net, uint32_t layer)
{
    double largest = net->layer_scales ? 0 : 1;
    for (uint32_t i = 0; i < net->layer_count; i++) {
        const struct weft_photonic_layer *other = &net->layers[i];
        uint32_t count =
            other->kind == WEFT_PHOTONIC_CONV
                ? other->kernel * other->kernel * other->channels_in * other->channels_out
            : other->kind == WEFT_PHOTONIC_DENSE ? other->inputs * other->outputs
                                                 : 0;
        for (uint32_t j = 0; j < count && (i == layer || !net->layer_scales); j++) {
            largest = fmax(largest, fabs((double)other->weights[j]));
        }
    }
    return 255 / (largest == 0 ? 1 : largest);
}

// The highest bit of the largest value.
static uint32_t highest_of(const struct map *map)
{
    int64_t largest = 0;
    for (uint32_t i = 0; i < map->channels * map->height * map->width; i++) {
        largest = map->values[i] > largest ? map->values[i] : largest;
    }
    uint32_t highest = 0;
    while (largest >> highest > 1) {
        highest++;
    }
    return highest;
}

// What the twin kept of row `row`, value by value, channels last there.
static void compare_map(const struct weft_photonic_twin *twin, uint32_t row, const struct map *map)
{
    const int32_t *values = weft_photonic_twin_values(twin, row);
    for (uint32_t c = 0; c < map->channels; c++) {
        for (uint32_t y = 0; y < map->height; y++) {
            for (uint32_t x = 0; x < map->width; x++) {
                assert_int_equal(values[(y * map->width + x) * map->channels + c],
                                 *at(map, c, y, x));
            }
        }
    }
}

static void compare_run(const struct random_net *made, const struct weft_photonic_twin *twin,
                        const struct weft_photonic_result *result, const uint8_t *input)
{
    const struct weft_photonic_net *net = &made->net;
    struct map map = new_map(made->input_channels, made->input_height, made->input_width);
    for (uint32_t i = 0; i < map.channels * map.height * map.width; i++) {
        *at(&map, i % map.channels, i / map.channels / map.width, i / map.channels % map.width) =
            input[i];
    }
    struct reference reference = {.unit = net->input_unit};
    uint32_t row = 0;
    for (uint32_t i = 0; i < net->layer_count; row++) {
        const struct weft_photonic_layer *layer = &net->layers[i++];
        reference.scale = scale_of(net, i - 1);
        struct map out = layer->kind == WEFT_PHOTONIC_CONV
                             ? reference_conv(layer, &map, &reference)
                             : reference_dense(layer, &map, &reference);
        size_t count = (size_t)out.channels * out.height * out.width;
        for (size_t j = 0; j < count && layer->activation == WEFT_PHOTONIC_RELU; j++) {
            out.values[j] = out.values[j] < 0 ? 0 : out.values[j];
        }
        for (; i < net->layer_count && net->layers[i].kind == WEFT_PHOTONIC_MAXPOOL; i++) {
            out = reference_pool(&out, net->layers[i].size);
        }
        compare_map(twin, row, &out);
        uint32_t highest = highest_of(&out);
        assert_int_equal(result->highest[row], highest);
        reference.unit = 256 * reference.unit / reference.scale;
        reference.e += (int64_t)highest - 7;
        map = out;
        for (uint32_t j = 0; j < map.channels * map.height * map.width && i < net->layer_count;
             j++) {
            map.values[j] =
                highest >= 7 ? map.values[j] >> (highest - 7) : map.values[j] << (7 - highest);
        }
    }
    uint32_t best = 0; // by the order of the sums' registers, channels last
    for (uint32_t i = 1; i < result->sum_count; i++) {
        best = result->sums[i] > result->sums[best] ? i : best;
    }
    assert_int_equal(result->class_index, best);
}

// ---- cycles, one after the other ----

// Plays one row: the assembler of patches and the streamer, cycle by cycle, as
// src/photonics/net/stages.h has them. Returns the cycle after the last word.
static uint64_t play_row(const struct weft_photonic_row *row, uint32_t lanes)
{
    struct weft_arena memory = scratch;
    uint32_t size = row->kernel * row->run_bytes;
    uint32_t *filled = WEFT_NEW(&memory, uint32_t, row->pixels); // bytes of each patch
    uint32_t assembled = 0, run = 0, used = 0;                   // used: patches that are used up
    uint32_t pixel = 0, output = 0, word = 0;
    for (uint64_t cycle = 0;; cycle++) {
        bool sends = false, ends = false;
        if (cycle >= row->preamble) {
            uint32_t end = (word + 1) * lanes < size ? (word + 1) * lanes : size;
            sends = filled[pixel] >= end;
        }
        // The assembler works beside it on what it saw at the begin of the cycle.
        if (assembled < row->pixels && assembled < used + 2) {
            uint32_t rest = row->run_bytes - run;
            uint32_t step = rest < lanes ? rest : lanes;
            run = step == rest ? 0 : run + step;
            filled[assembled] += step;
            assembled += filled[assembled] == size;
        }
        if (sends && ++word == row->words) {
            word = 0;
            ends = ++output == row->outputs;
        }
        if (ends) {
            output = 0;
            used++;
            if (++pixel == row->pixels) {
                return cycle + 1;
            }
        }
    }
}

static void compare_cycles(const struct weft_photonic_program *program)
{
    struct weft_photonic_layer_cycles cycles[LAYERS_MAX];
    (void)weft_photonic_cycles(cycles, program, 163);
    for (uint32_t i = 0; i < program->row_count; i++) {
        const struct weft_photonic_row *row = &program->rows[i];
        assert_int_equal(row->preamble + cycles[i].data + cycles[i].stalls,
                         play_row(row, program->lanes));
    }
}

static void random_nets_are_the_reference_in_every_sum(void **state)
{
    (void)state;
    struct weft_error error = {.message = ""};
    uint32_t compiled = 0, stalled = 0, biased = 0;
    print_message("seed %u\n", SEED);
    for (uint32_t i = 0; i < TEST_SEEDS(NETS); i++) {
        struct weft_arena kept = arena;
        struct weft_rng rng = weft_rng_stream(SEED, i);
        struct random_net made;
        struct weft_photonic_program program;
        make_net(&made, &rng);
        if (!weft_photonic_compile(&program, &made.net, &made.options, &arena, scratch, &error)) {
            // Biases in front of small weights may need more than 32 bits, nothing else may.
            assert_int_equal(error.code, WEFT_INFEASIBLE);
            arena = kept;
            continue;
        }
        assert_true(weft_photonic_program_check(&program, scratch, &error));
        struct weft_photonic_twin *twin = weft_photonic_twin_build(&program, 163, &arena);
        uint32_t size = program.rows[0].inputs;
        uint8_t *input = WEFT_NEW_RAW(&arena, uint8_t, size);
        uint32_t most = weft_rng_below(&rng, 4) == 0 ? 3 : 256; // dark images shift to the left
        for (uint32_t j = 0; j < 2 * size; j++) {
            input[j % size] = (uint8_t)weft_rng_below(&rng, most);
        }
        struct weft_photonic_result result;
        weft_photonic_twin_run(&result, twin, input, NULL, NULL);
        compare_run(&made, twin, &result, input);
        compare_cycles(&program);
        struct weft_photonic_layer_cycles cycles[LAYERS_MAX];
        (void)weft_photonic_cycles(cycles, &program, 163);
        compiled++;
        stalled += cycles[0].stalls > 0;
        biased += program.bias_count > 0;
        arena = kept;
    }
    print_message("%u nets, %u with biases, %u with stalls in their first layer\n", compiled,
                  biased, stalled);
    assert_true(compiled > TEST_SEEDS(NETS) * 9 / 10 && stalled > 10 && biased > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_nets_are_the_reference_in_every_sum, open_arenas,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
