// SPDX-License-Identifier: Apache-2.0
// Nets on the datapath of light against cases computed by hand, closed forms, and 2,000 digits.

#include "../fresh_arenas.h"
#include "photonics/net/softmax.h"
#include "photonics/net/stages.h"
#include "weft/photonics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PATH_SAMPLES = 163 };

static struct weft_photonic_program compile(const struct weft_photonic_net *net)
{
    struct weft_photonic_program program;
    struct weft_error error = {.message = ""};
    struct weft_photonic_compile_options options = {0};
    if (!weft_photonic_compile(&program, net, &options, &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
    return program;
}

static struct weft_photonic_layer dense(uint32_t inputs, uint32_t outputs, const float *weights)
{
    return (struct weft_photonic_layer){.kind = WEFT_PHOTONIC_DENSE,
                                        .activation = WEFT_PHOTONIC_RELU,
                                        .inputs = inputs,
                                        .outputs = outputs,
                                        .weights = weights};
}

static void same(const int32_t *got, const int32_t *expected, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(got[i], expected[i]);
    }
}

// Products, sums, ReLU, shift and class of a net of 4-3-2, worked out by hand.
static void the_worked_example_holds_bit_by_bit(void **state)
{
    (void)state;
    static const float w1[] = {255, -128, 64, 32, -255, 255, 0, 10, 100, 100, 100, 100};
    static const float w2[] = {255, -255, 128, -64, 200, 255};
    static const uint8_t input[] = {255, 128, 64, 0};
    struct weft_photonic_layer layers[] = {dense(4, 3, w1), dense(3, 2, w2)};
    layers[1].activation = WEFT_PHOTONIC_LINEAR;
    struct weft_photonic_program program =
        compile(&(struct weft_photonic_net){.layer_count = 2, .layers = layers});
    struct weft_photonic_twin *twin = weft_photonic_twin_build(&program, PATH_SAMPLES, &arena);
    struct weft_photonic_result result;
    weft_photonic_twin_run(&result, twin, input, NULL, NULL);
    same(weft_photonic_twin_values(twin, 0), (const int32_t[]){206, 0, 174}, 3);
    assert_int_equal(result.highest[0], 7);
    same(result.sums, (const int32_t[]){292, 122}, 2);
    assert_int_equal(result.class_index, 0);
    // Without ReLU the sums of the first layer are seen as they are.
    layers[0].activation = WEFT_PHOTONIC_LINEAR;
    program = compile(&(struct weft_photonic_net){.layer_count = 1, .layers = layers});
    twin = weft_photonic_twin_build(&program, PATH_SAMPLES, &arena);
    weft_photonic_twin_run(&result, twin, input, NULL, NULL);
    same(result.sums, (const int32_t[]){206, -127, 174}, 3);
}

// 784 full products: sums that an accumulator of 16 bits turns round, so that another class wins.
static void wide_sums_keep_the_class_that_16_bits_lose(void **state)
{
    (void)state;
    static const float rows[] = {255, 200, -255};
    float *weights = WEFT_NEW(&scratch, float, 3 * 784);
    uint8_t *input = WEFT_NEW(&scratch, uint8_t, 784);
    memset(input, 255, 784);
    for (uint32_t i = 0; i < 3 * 784; i++) {
        weights[i] = rows[i / 784];
    }
    static const float next[] = {255, 0, 0, 0, 255, 0, 0, 0, 255};
    struct weft_photonic_layer layers[] = {dense(784, 3, weights), dense(3, 3, next)};
    layers[0].name = "fc_1";
    struct weft_photonic_net net = {.layer_count = 2, .layers = layers};
    struct weft_photonic_program program = compile(&net);
    struct weft_photonic_twin *twin = weft_photonic_twin_build(&program, PATH_SAMPLES, &arena);
    struct weft_photonic_result result;
    weft_photonic_twin_run(&result, twin, input, NULL, NULL);
    static const int32_t exact[] = {199136, 156016, 0};
    same(weft_photonic_twin_values(twin, 0), exact, 3);
    assert_int_equal(result.highest[0], 17);
    // The second layer multiplies 194, 152 and 0 by 255.
    same(result.sums, (const int32_t[]){193, 151, 0}, 3);
    assert_int_equal(result.class_index, 0);
    assert_int_equal((int16_t)exact[0], 2528);
    assert_int_equal((int16_t)exact[1], 24944);

    // What could overflow is refused, with what would do, and 129 products of 254 are the most.
    struct weft_photonic_compile_options options = {.limits.accumulator_bits = 16};
    struct weft_error error = {.message = ""};
    assert_false(weft_photonic_compile(&program, &net, &options, &arena, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_string_equal(error.message,
                        "layers[0] (fc_1): sums from -199136 to 199136 do not fit an accumulator "
                        "of 16 bits: 19 would do");
    assert_string_equal(error.value, "19");
    layers[0] = dense(129, 1, weights);
    net.layer_count = 1;
    assert_true(weft_photonic_compile(&program, &net, &options, &arena, scratch, &error));
    layers[0] = dense(130, 1, weights);
    assert_false(weft_photonic_compile(&program, &net, &options, &arena, scratch, &error));
    assert_string_equal(error.value, "17");
}

// Data cycles of six nets, and what the whole of Lightning's own may last at most.
static void cycles_are_the_closed_form(void **state)
{
    (void)state;
    static const struct {
        uint32_t sizes[5]; // up to a 0
        uint64_t data;
    } cases[] = {
        {{784, 300, 100, 10}, 16670}, {{784, 100, 10}, 4970}, {{3072, 512, 10}, 98624},
        {{16, 16, 16}, 32},           {{4, 3, 2}, 5},         {{784, 300}, 14700},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weft_photonic_layer layers[4];
        uint32_t count = 0;
        while (cases[i].sizes[count + 1] != 0) {
            layers[count] = dense(cases[i].sizes[count], cases[i].sizes[count + 1], NULL);
            count++;
        }
        layers[count - 1].activation = WEFT_PHOTONIC_SOFTMAX;
        struct weft_photonic_program program =
            compile(&(struct weft_photonic_net){.layer_count = count, .layers = layers});
        struct weft_photonic_layer_cycles cycles[4];
        uint64_t total = weft_photonic_cycles(cycles, &program, PATH_SAMPLES);
        uint64_t data = 0, overhead = 0;
        for (uint32_t j = 0; j < count; j++) {
            data += cycles[j].data;
            overhead += cycles[j].overhead;
            assert_int_equal(cycles[j].stalls, 0);
        }
        assert_int_equal(data, cases[i].data);
        assert_int_equal(total, data + overhead);
        assert_null(program.weights);
        if (i == 0) {
            // 32 a layer, and 2 passes of 10 and 8 of log-probabilities.
            assert_int_equal(total, 16670 + 3 * 32 + 28);
            assert_true(total <= 16825);
        }
    }
}

static void light_that_does_not_meet_is_refused(void **state)
{
    (void)state;
    uint32_t samples = 0;
    struct weft_error error = {.message = ""};
    assert_true(weft_photonic_path_samples(&samples, &weft_photonic_path_default, &error));
    assert_int_equal(samples, PATH_SAMPLES);
    struct weft_photonic_path path = weft_photonic_path_default;
    path.delay_weight = 30;
    assert_false(weft_photonic_path_samples(&samples, &path, &error));
    assert_string_equal(error.message, "light of activations comes 5 samples after that of its "
                                       "weights: a delay of weights of 35 would do");
    path.delay_weight = 40;
    assert_false(weft_photonic_path_samples(&samples, &path, &error));
    assert_string_equal(error.message, "light of activations comes 5 samples before that of its "
                                       "weights: a delay of activations of 5 would do");
}

// Log-probabilities by tables against exp and log, for random sums of any size.
static void log_probabilities_are_within_steps_of_the_exact(void **state)
{
    (void)state;
    struct weft_photonic_tables tables;
    weft_photonic_tables_build(&tables);
    struct weft_rng rng;
    weft_rng_init(&rng, 21);
    double worst = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        int32_t sums[40], logs[40];
        uint32_t count = 1 + weft_rng_below(&rng, 40);
        uint32_t scale = 32768 + weft_rng_below(&rng, 32768);
        int32_t shift = 8 + (int32_t)weft_rng_below(&rng, 12);
        double total = 0;
        for (uint32_t j = 0; j < count; j++) {
            sums[j] = (int32_t)weft_rng_below(&rng, 4000) - 2000;
            total += exp(ldexp(sums[j] * (double)scale, -shift) / 256);
        }
        weft_photonic_log_softmax(logs, sums, count, scale, shift, &tables);
        for (uint32_t j = 0; j < count; j++) {
            double exact = ldexp(sums[j] * (double)scale, -shift) - 256 * log(total);
            if (exact > -60000) {
                worst = fmax(worst, fabs(logs[j] - exact));
            }
        }
    }
    print_message("log-probabilities are off by %.2f of 1/256 nat at most\n", worst);
    assert_true(worst < 4);
}

// ---- Lightning's own net and 2,000 digits ----

static const void *load(const char *name, size_t size)
{
    const char *shared = getenv("WEFT_SHARED");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/inputs/lightning/%s",
                   shared == NULL ? SOURCE_ROOT "/../shared" : shared, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    void *data = weft_arena_alloc_raw(&arena, size, 1);
    assert_int_equal(fread(data, 1, size, file), size);
    (void)fclose(file);
    return data;
}

static void digits_are_read_as_well_as_the_8_bit_model_does(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {784, 300, 100, 10};
    static const char *const names[] = {"fc_1.f32", "fc_2.f32", "fc_3.f32"};
    const uint8_t *digits = load("digits.u8", 2000 * 784);
    const uint8_t *labels = load("labels.u8", 2000);
    if (digits == NULL || labels == NULL) {
        print_message("skipped: no inputs/lightning in WEFT_SHARED\n");
        skip();
    }
    struct weft_photonic_layer layers[3];
    for (uint32_t i = 0; i < 3; i++) {
        size_t count = (size_t)sizes[i] * sizes[i + 1];
        layers[i] = dense(sizes[i], sizes[i + 1], load(names[i], count * sizeof(float)));
    }
    layers[2].activation = WEFT_PHOTONIC_LINEAR;
    struct weft_photonic_net net = {.layer_count = 3, .layers = layers};
    for (uint32_t scales = 0; scales < 2; scales++) {
        net.layer_scales = scales == 1;
        struct weft_photonic_program program = compile(&net);
        struct weft_photonic_twin *twin = weft_photonic_twin_build(&program, PATH_SAMPLES, &arena);
        uint32_t right = 0, first = 0;
        for (uint32_t i = 0; i < 2000; i++) {
            struct weft_photonic_result result;
            weft_photonic_twin_run(&result, twin, digits + (size_t)i * 784, NULL, NULL);
            right += result.class_index == labels[i];
            first += i < 500 && result.class_index == labels[i];
        }
        print_message("%s scale: %u of 2000 right, %u of the first 500\n",
                      scales == 0 ? "global" : "layer", right, first);
        assert_true(first >= 483); // 96.6 %
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_worked_example_holds_bit_by_bit, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(wide_sums_keep_the_class_that_16_bits_lose, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(cycles_are_the_closed_form, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(light_that_does_not_meet_is_refused, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(log_probabilities_are_within_steps_of_the_exact,
                                        open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(digits_are_read_as_well_as_the_8_bit_model_does,
                                        open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
