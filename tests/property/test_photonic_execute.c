// SPDX-License-Identifier: Apache-2.0
// Random nets by the executor, cycle by cycle, against the twin, and its cycles against the closed
// form: all rotations, wavelengths, biases, pools; memories that make the streamer wait change the
// cycles and nothing else. Modulators that lag behind each other are noticed.
//
// Mutations that made this test fail (each was run): the words before a rotation's first lanes are
// dropped (light_realign); the shift is that of the layer before last (begin_layer); a bubble's
// entry is not pushed (clock_fifo); the assembler's third patch begins a cycle early
// (assembler_clock); the pipeline of sums is a stage longer (datapath_build). Texts of modules are
// mutated in tests/unit/test_photonic_countaction.c.

#include "../fresh_arenas.h"
#include "../seeds.h"
#include "weft/photonics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NETS = 1000, SEED = 2107, LAYERS_MAX = 6 };

struct random_net {
    struct weft_photonic_layer layers[LAYERS_MAX];
    struct weft_photonic_net net;
    struct weft_photonic_compile_options options;
    struct weft_photonic_program program;
    const uint8_t *input;
    struct weft_photonic_twin *twin;
};

static const float *random_floats(struct weft_rng *rng, uint32_t count, double size)
{
    float *values = WEFT_NEW(&arena, float, count);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = (float)(size * (2 * weft_rng_unit(rng) - 1));
    }
    return values;
}

static void add_weights(struct weft_photonic_layer *layer, struct weft_rng *rng, uint32_t inputs,
                        uint32_t outputs)
{
    layer->activation = WEFT_PHOTONIC_RELU;
    layer->weights = random_floats(rng, inputs * outputs, 1);
    layer->bias = weft_rng_below(rng, 2) == 0 ? random_floats(rng, outputs, 4) : NULL;
}

// One or two small convolutions, each with a pool or none, then one or two dense layers.
static void make_layers(struct random_net *made, struct weft_rng *rng)
{
    uint32_t channels = 1 + weft_rng_below(rng, 40), height = 1, width = 1, count = 0;
    if (weft_rng_below(rng, 2) == 0) {
        channels = 1 + weft_rng_below(rng, 3);
        height = 3 + weft_rng_below(rng, 6);
        width = 3 + weft_rng_below(rng, 6);
        uint32_t kernel = 1 + weft_rng_below(rng, 3);
        struct weft_photonic_layer *conv = &made->layers[count++];
        *conv = (struct weft_photonic_layer){.kind = WEFT_PHOTONIC_CONV,
                                             .channels_in = channels,
                                             .channels_out = 1 + weft_rng_below(rng, 5),
                                             .kernel = kernel,
                                             .stride = 1 + weft_rng_below(rng, 2),
                                             .padding = weft_rng_below(rng, kernel),
                                             .height = height,
                                             .width = width};
        add_weights(conv, rng, kernel * kernel * channels, conv->channels_out);
        channels = conv->channels_out;
        height = (height + 2 * conv->padding - kernel) / conv->stride + 1;
        width = (width + 2 * conv->padding - kernel) / conv->stride + 1;
        if (height > 1 && width > 1 && weft_rng_below(rng, 2) == 0) {
            made->layers[count++] =
                (struct weft_photonic_layer){.kind = WEFT_PHOTONIC_MAXPOOL, .size = 2};
            height /= 2;
            width /= 2;
        }
    }
    for (uint32_t i = 1 + weft_rng_below(rng, 2); i > 0; i--) {
        struct weft_photonic_layer *dense = &made->layers[count++];
        *dense = (struct weft_photonic_layer){.kind = WEFT_PHOTONIC_DENSE,
                                              .inputs = channels * height * width,
                                              .outputs = 2 + weft_rng_below(rng, 9)};
        add_weights(dense, rng, dense->inputs, dense->outputs);
        channels = dense->outputs;
        height = width = 1;
    }
    made->layers[count - 1].activation =
        weft_rng_below(rng, 2) == 0 ? WEFT_PHOTONIC_SOFTMAX : WEFT_PHOTONIC_LINEAR;
    made->net = (struct weft_photonic_net){
        .layer_count = count, .layers = made->layers, .layer_scales = weft_rng_below(rng, 2) == 0};
}

static bool make_net(struct random_net *made, struct weft_rng *rng, uint32_t samples)
{
    struct weft_error error;
    make_layers(made, rng);
    made->options = (struct weft_photonic_compile_options){
        .wavelengths = 1u << weft_rng_below(rng, 3), .preamble = 2 + weft_rng_below(rng, 12)};
    if (!weft_photonic_compile(&made->program, &made->net, &made->options, &arena, scratch,
                               &error)) {
        return false;
    }
    uint8_t *input = WEFT_NEW(&arena, uint8_t, made->program.rows[0].inputs);
    uint32_t most = weft_rng_below(rng, 4) == 0 ? 4 : 256;
    for (uint32_t i = 0; i < made->program.rows[0].inputs; i++) {
        input[i] = (uint8_t)weft_rng_below(rng, most);
    }
    made->input = input;
    made->twin = weft_photonic_twin_build(&made->program, samples, &arena);
    return true;
}

// The registers are those of the twin.
static bool agree(const struct weft_photonic_registers *registers,
                  const struct weft_photonic_result *result, uint32_t rows)
{
    return registers->done && !registers->error && registers->pattern_errors == 0 &&
           registers->sum_count == result->sum_count &&
           registers->class_index == result->class_index &&
           memcmp(registers->sums, result->sums, result->sum_count * sizeof result->sums[0]) == 0 &&
           memcmp(registers->highest, result->highest, rows) == 0 &&
           (result->log_probabilities == NULL ||
            memcmp(registers->log_probabilities, result->log_probabilities,
                   result->sum_count * sizeof result->sums[0]) == 0);
}

static uint64_t stalls_of(const struct weft_photonic_program *program, uint32_t samples)
{
    struct weft_photonic_layer_cycles layers[LAYERS_MAX];
    uint64_t stalls = 0;
    (void)weft_photonic_cycles(layers, program, samples);
    for (uint32_t i = 0; i < program->row_count; i++) {
        stalls += layers[i].stalls;
    }
    return stalls;
}

static void executor_and_twin_leave_the_same_registers(void **state)
{
    (void)state;
    uint32_t played = 0, waited = 0;
    print_message("seed %u\n", SEED);
    for (uint32_t i = 0; i < TEST_SEEDS(NETS); i++) {
        struct weft_arena kept = arena;
        struct weft_rng rng = weft_rng_stream(SEED, i);
        struct random_net made;
        struct weft_error error;
        struct weft_photonic_path path = {.latency = 96 + i % 64,
                                          .skew_activation = weft_rng_below(&rng, 40),
                                          .skew_weight = weft_rng_below(&rng, 40)};
        path.delay_activation = path.skew_weight;
        path.delay_weight = path.skew_activation;
        uint32_t samples;
        assert_true(weft_photonic_path_samples(&samples, &path, &error));
        if (!make_net(&made, &rng, samples)) {
            arena = kept;
            continue;
        }
        struct weft_photonic_result result;
        weft_photonic_twin_run(&result, made.twin, made.input, NULL, NULL);
        for (uint32_t stall = 0; stall < 2; stall++) {
            struct weft_photonic_execute_options options = {.path = path,
                                                            .stall_seed = stall * (i + 1)};
            struct weft_photonic_registers registers;
            if (!weft_photonic_execute(&registers, &made.program, made.input, &options, &arena,
                                       scratch, &error)) {
                fail_msg("net %u: %s", i, error.message);
            }
            assert_true(agree(&registers, &result, made.program.row_count));
            assert_int_equal(registers.rotation, samples % 16);
            assert_true(stall ? registers.cycles >= result.cycles
                              : registers.cycles == result.cycles);
            assert_true(stall || registers.stalls == stalls_of(&made.program, samples));
            waited += stall && registers.cycles > result.cycles;
        }
        played++;
        arena = kept;
    }
    print_message("%u nets, %u of which waited for their memories\n", played, waited);
    assert_true(played > TEST_SEEDS(NETS) * 9 / 10 && waited > TEST_SEEDS(NETS) / 2);
}

static void modulators_that_lag_are_noticed(void **state)
{
    (void)state;
    uint32_t noticed = 0, played = 0;
    for (uint32_t i = 0; i < TEST_SEEDS(NETS) / 3; i++) {
        struct weft_arena kept = arena;
        struct weft_rng rng = weft_rng_stream(SEED + 1, i);
        struct random_net made;
        if (!make_net(&made, &rng, 128)) {
            arena = kept;
            continue;
        }
        struct weft_photonic_execute_options options = {
            .path = {.skew_activation = i % 2 ? 0 : 1 + i, .skew_weight = i % 2 ? i : 0}};
        struct weft_photonic_registers registers;
        struct weft_photonic_result result;
        struct weft_error error;
        weft_photonic_twin_run(&result, made.twin, made.input, NULL, NULL);
        bool ran = weft_photonic_execute(&registers, &made.program, made.input, &options, &arena,
                                         scratch, &error);
        noticed += !ran || !agree(&registers, &result, made.program.row_count);
        played++;
        arena = kept;
    }
    print_message("%u of %u noticed\n", noticed, played);
    assert_int_equal(noticed, played);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(executor_and_twin_leave_the_same_registers, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(modulators_that_lag_are_noticed, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
