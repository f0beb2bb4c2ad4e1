// SPDX-License-Identifier: Apache-2.0
// The photonic core: products and sums under each of its faults alone.

#include "photonics/core/preamble.h"
#include "weft/photonics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int16_t product(uint8_t a, uint8_t w, const struct weft_photonic_core *core)
{
    int16_t out;
    weft_photonic_core_multiply(&out, &a, &w, 1, core, NULL);
    return out;
}

static void a_perfect_core_shifts_all_products(void **state)
{
    (void)state;
    const struct weft_photonic_core perfect = {0};
    // A loss so small takes the general code, and pulls only products of whole steps below them.
    const struct weft_photonic_core all_bits = {.modulator_bits = 8, .loss_db = 1e-13};
    for (uint32_t a = 0; a < 256; a++) {
        for (uint32_t w = 0; w < 256; w++) {
            assert_int_equal(product((uint8_t)a, (uint8_t)w, &perfect), a * w >> 8);
            uint32_t cut = a * w % 256 == 0 && a * w > 0; // a whole step, a hair below it
            assert_int_equal(product((uint8_t)a, (uint8_t)w, &all_bits), (a * w >> 8) - cut);
        }
    }
}

static void missing_bits_are_the_lower_ones(void **state)
{
    (void)state;
    assert_int_equal(product(100, 200, &(struct weft_photonic_core){.modulator_bits = 4}),
                     96 * 192 >> 8);
    assert_int_equal(product(100, 200, &(struct weft_photonic_core){.detector_bits = 4}),
                     (100 * 200 >> 8) & 0xf0);
    assert_int_equal(product(255, 255, &(struct weft_photonic_core){.detector_bits = 1}), 128);
}

static void gain_undoes_loss_but_not_its_steps(void **state)
{
    (void)state;
    struct weft_photonic_core core = {.loss_db = 10 * log10(2)};
    assert_int_equal(product(255, 255, &core), 127);
    core.gain_db = core.loss_db;
    assert_int_equal(weft_photonic_core_gain(core.gain_db), 512);
    assert_int_equal(product(255, 255, &core), 254);
    assert_int_equal(product(255, 254, &core), 252); // 253 of 256, whose lowest bit was lost
    core.gain_db = 20;
    assert_int_equal(product(255, 255, &core), 255); // it saturates
}

static void light_leaks_to_both_neighbors(void **state)
{
    (void)state;
    const struct weft_photonic_core core = {.crosstalk_ratio = 0.1};
    uint8_t a[48] = {0}, w[48];
    int16_t out[48];
    memset(w, 255, sizeof w);
    a[16 + 5] = 255;
    a[15] = 128;
    weft_photonic_core_multiply(out, a, w, 48, &core, NULL);
    for (uint32_t i = 0; i < 48; i++) {
        int32_t expected = i == 21             ? 254
                           : i == 5 || i == 37 ? 25
                           : i == 15           ? 127
                           : i == 31           ? 12
                                               : 0;
        assert_int_equal(out[i], expected);
    }
}

static void check_noise(double mean, double deviation, double sigma, uint32_t count)
{
    // Five deviations of the estimates: one run in a million.
    assert_true(fabs(mean) < 5 * sigma / sqrt(count));
    assert_true(fabs(deviation - sigma) < 5 * sigma / sqrt(2.0 * count));
}

// Cutting to steps adds a uniform error of mean -1/2 and variance 1/12.
static void noise_of_products_has_its_sigma(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    const struct weft_photonic_core core = {.product_sigma = 1.6569279};
    struct weft_rng rng;
    weft_rng_init(&rng, 7);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < COUNT; i += 2) {
        const uint8_t a[2] = {128, 128}, w[2] = {200, 200};
        int16_t out[2];
        weft_photonic_core_multiply(out, a, w, 2, &core, &rng);
        for (uint32_t k = 0; k < 2; k++) {
            double error = out[k] - 100 + 0.5;
            sum += error;
            squares += error * error;
        }
    }
    double mean = sum / COUNT;
    check_noise(mean, sqrt(squares / COUNT - mean * mean), sqrt(1.6569279 * 1.6569279 + 1.0 / 12),
                COUNT);
}

// Dark lanes under noise of 3 steps: their mean.
static double mean_of_dark(uint32_t dark_code)
{
    enum { COUNT = 100000 };
    const struct weft_photonic_core core = {.product_sigma = 3, .dark_code = dark_code};
    const uint8_t dark[2] = {0, 0}, w[2] = {200, 0};
    struct weft_rng rng;
    weft_rng_init(&rng, 9);
    double sum = 0;
    for (uint32_t i = 0; i < COUNT; i += 2) {
        int16_t out[2];
        weft_photonic_core_multiply(out, dark, w, 2, &core, &rng);
        assert_true(out[0] >= -(int32_t)dark_code && out[1] >= -(int32_t)dark_code);
        sum += out[0] + out[1];
    }
    return sum / COUNT;
}

// Mutations seen to fail: in detect(), `light <= 0` compared with the code of dark, and dark at the
// edge of its step (without the + 0.5), which gives a mean of -1/2.
static void an_offset_leaves_noise_of_dark_without_a_mean(void **state)
{
    (void)state;
    // Five deviations of the mean.
    assert_true(fabs(mean_of_dark(16)) < 5 * 3 / sqrt(100000));
    // Cut at dark: the mean of floor(3 z) where it is positive, the sum over k >= 1 of P(3 z >= k).
    double expected = 0;
    for (uint32_t k = 1; k < 30; k++) {
        expected += 0.5 * erfc(k / 3.0 / sqrt(2));
    }
    assert_true(expected > 0.9 && fabs(mean_of_dark(0) - expected) < 5 * 3 / sqrt(100000));
}

static void an_offset_rounds_and_moves_the_top_of_the_scale(void **state)
{
    (void)state;
    for (uint32_t dark = 1; dark < 256; dark += 15) {
        const struct weft_photonic_core core = {.dark_code = dark};
        for (uint32_t a = 0; a < 256; a++) {
            int32_t nearest = (int32_t)(a * 255 + 128) >> 8, top = 255 - (int32_t)dark;
            assert_int_equal(product((uint8_t)a, 255, &core), nearest < top ? nearest : top);
        }
    }
    // Bits are kept of the code and of dark, so that dark stays 0: 20 + 30 is 48, less 16.
    const struct weft_photonic_core coarse = {.dark_code = 20, .detector_bits = 4};
    assert_int_equal(product(0, 255, &coarse), 0);
    assert_int_equal(product(128, 60, &coarse), 32);
}

static void noise_of_sums_is_on_the_scale_of_the_layer(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static int32_t sums[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        sums[i] = i % 2 == 0 ? 100000 : -70000; // highest bit 16: a step of 8 bits is 512
    }
    sums[1] = 0;
    struct weft_rng rng;
    weft_rng_init(&rng, 8);
    weft_photonic_core_sums(sums, COUNT, &(struct weft_photonic_core){.sum_sigma = 2}, &rng);
    assert_int_equal(sums[1], 0);
    double sum = 0, squares = 0;
    for (uint32_t i = 2; i < COUNT; i++) {
        double error = i % 2 == 0 ? sums[i] - 100000 : sums[i] + 70000;
        sum += error;
        squares += error * error;
    }
    double mean = sum / (COUNT - 2);
    check_noise(mean, sqrt(squares / (COUNT - 2) - mean * mean), 2 * 512, COUNT - 2);
    int32_t kept = 5;
    weft_photonic_core_sums(&kept, 1, &(struct weft_photonic_core){0}, NULL);
    assert_int_equal(kept, 5);
}

static void a_preamble_is_found_by_the_mean_of_its_word(void **state)
{
    (void)state;
    uint32_t rotation;
    for (uint32_t r = 0; r < PREAMBLE_SAMPLES; r++) {
        uint8_t dim[PREAMBLE_SAMPLES] = {0}; // the least light that a detector can tell
        for (uint32_t i = 0; i < PREAMBLE_SAMPLES / 2; i++) {
            dim[(i + r) % PREAMBLE_SAMPLES] = 1;
        }
        assert_true(preamble_detect(&rotation, dim));
        assert_int_equal(rotation, r);
        dim[r] = 0;
        assert_true(preamble_detect(&rotation, dim));
        assert_int_equal(rotation, PREAMBLE_NONE);
    }
    // The mean is 10: a sample of 10 is a 1.
    const uint8_t at_mean[PREAMBLE_SAMPLES] = {20, 20, 20, 20, 20, 20, 20, 10, 5, 5};
    assert_true(preamble_detect(&rotation, at_mean));
    assert_int_equal(rotation, 0);
    uint8_t even[PREAMBLE_SAMPLES];
    memset(even, 7, sizeof even);
    assert_true(preamble_detect(&rotation, even));
    assert_int_equal(rotation, PREAMBLE_NONE);
    const uint8_t dark[PREAMBLE_SAMPLES] = {0};
    assert_false(preamble_detect(&rotation, dark));
    assert_int_equal(rotation, PREAMBLE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perfect_core_shifts_all_products),
        cmocka_unit_test(missing_bits_are_the_lower_ones),
        cmocka_unit_test(gain_undoes_loss_but_not_its_steps),
        cmocka_unit_test(light_leaks_to_both_neighbors),
        cmocka_unit_test(noise_of_products_has_its_sigma),
        cmocka_unit_test(an_offset_leaves_noise_of_dark_without_a_mean),
        cmocka_unit_test(an_offset_rounds_and_moves_the_top_of_the_scale),
        cmocka_unit_test(a_preamble_is_found_by_the_mean_of_its_word),
        cmocka_unit_test(noise_of_sums_is_on_the_scale_of_the_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
