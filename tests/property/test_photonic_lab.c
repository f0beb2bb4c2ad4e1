// SPDX-License-Identifier: Apache-2.0
// Waveforms and calibration of the photonic core: dot products are read whatever the rotation, and
// calibration finds faults that a seed hid.
//
// Mutations that made this test fail (each was run): the detector's target is the preamble for all
// rotations; it is one less for all; rotations are not cyclic; the delay lines are swapped; the
// half step is not added to what was detected; Sheppard's correction is left out; the gain is the
// loss; the neighbor is never lit; half of what leaks arrives.

#include "../fresh_arenas.h"
#include "../seeds.h"
#include "weft/photonics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS TEST_SEEDS(120u)

static struct weft_photonic_dot run(const struct weft_photonic_dot_input *input,
                                    struct weft_rng *rng)
{
    struct weft_photonic_dot dot;
    struct weft_error error;
    assert_true(weft_photonic_dot_run(&dot, input, rng, &arena, &error));
    return dot;
}

// The rows of the first word: a partial word is a pattern for r <= 8, an error for r >= 9.
static void every_rotation_is_found_and_undone(void **state)
{
    (void)state;
    for (uint32_t latency = 1; latency <= 64; latency++) {
        for (uint32_t preamble = 2; preamble <= 10; preamble += 4) {
            uint32_t count = 1 + latency * 7 % 70, lanes = 16 * (1 + latency % 3);
            uint8_t a[70];
            int16_t w[70];
            int32_t sum = 0;
            for (uint32_t i = 0; i < count; i++) {
                a[i] = (uint8_t)(255 - i);
                w[i] = (int16_t)(i % 3 == 0 ? -200 : 255);
                sum += (i % 3 == 0 ? -1 : 1) * ((255 - (int32_t)i) * (i % 3 == 0 ? 200 : 255) >> 8);
            }
            struct weft_photonic_dot dot = run(
                &(struct weft_photonic_dot_input){
                    .activations = a,
                    .weights = w,
                    .count = count,
                    .wavelengths = lanes / 16,
                    .preamble = preamble,
                    .path = {.latency = latency, .skew_activation = 35, .delay_weight = 35},
                },
                NULL);
            assert_true(dot.found);
            assert_int_equal(dot.arrival, latency + 35);
            assert_int_equal(dot.rotation, (latency + 35) % 16);
            assert_int_equal(dot.first, dot.arrival + preamble * 16);
            assert_int_equal(dot.errors, dot.rotation >= 9);
            assert_int_equal(dot.sum, sum);
            assert_int_equal(dot.exact, sum);
        }
    }
}

static void skews_that_do_not_cancel_are_refused(void **state)
{
    (void)state;
    const uint8_t a = 100;
    const int16_t w = 50;
    struct weft_photonic_dot dot;
    struct weft_error error;
    assert_false(weft_photonic_dot_run(&dot,
                                       &(struct weft_photonic_dot_input){
                                           .activations = &a,
                                           .weights = &w,
                                           .count = 1,
                                           .path = {.skew_activation = 35, .delay_weight = 34},
                                       },
                                       NULL, &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "a delay of weights of 35 would do"));
}

static bool holds(const struct weft_photonic_estimate *estimate, double truth)
{
    assert_true(estimate->low <= estimate->value && estimate->value <= estimate->high);
    return estimate->low <= truth && truth <= estimate->high;
}

// Delays exactly; each interval of 95 % holds the truth in at least 88 % of the seeds, which it
// would miss once in a thousand by chance.
static void calibration_finds_what_the_seed_hid(void **state)
{
    (void)state;
    uint32_t loss = 0, sigma = 0, crosstalk = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t wavelengths = 1 + seed % 2;
        struct weft_photonic_bench *bench = weft_photonic_bench_build(seed, wavelengths, &arena);
        struct weft_photonic_path path;
        struct weft_photonic_core core;
        weft_photonic_bench_truth(&path, &core, bench);
        struct weft_photonic_calibration found;
        struct weft_error error;
        if (!weft_photonic_calibrate(&found, bench, wavelengths, scratch, &error)) {
            fail_msg("seed %u: %s", (unsigned)seed, error.message);
        }
        int32_t skew = (int32_t)path.skew_activation - (int32_t)path.skew_weight;
        uint32_t later = path.skew_activation + path.skew_weight; // one of them is 0
        if (found.skew != skew || found.arrival != path.latency + later ||
            fabs(found.loss_db.value - core.loss_db) > 0.05 ||
            fabs(found.sigma.value - core.product_sigma) > 0.1 ||
            fabs(found.crosstalk.value - core.crosstalk_ratio) > 0.003) {
            fail_msg("seed %u: skew %d of %d, arrival %u, loss %.4f of %.4f dB, sigma %.4f of %.4f",
                     (unsigned)seed, found.skew, skew, found.arrival, found.loss_db.value,
                     core.loss_db, found.sigma.value, core.product_sigma);
        }
        loss += holds(&found.loss_db, core.loss_db);
        sigma += holds(&found.sigma, core.product_sigma);
        crosstalk += holds(&found.crosstalk, core.crosstalk_ratio);
        weft_photonic_bench_truth(&path, &core, bench);
        assert_int_equal(path.skew_activation + path.delay_activation,
                         path.skew_weight + path.delay_weight);
        assert_true(fabs(core.gain_db - core.loss_db) < 0.06); // and half a step of 256 at 6 dB
    }
    print_message("of %u seeds: loss %u, sigma %u, crosstalk %u inside\n", SEEDS, loss, sigma,
                  crosstalk);
    assert_true(loss >= SEEDS * 88 / 100);
    assert_true(sigma >= SEEDS * 88 / 100);
    assert_true(crosstalk >= SEEDS * 88 / 100);
}

// Lightning's published noise and accuracy: 0.65 % of full scale.
static void published_noise_gives_published_accuracy(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    enum { COUNT = 40000 };
    double off = 0, squares = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        int16_t out;
        uint8_t a = (uint8_t)(64 + weft_rng_below(&rng, 192));
        uint8_t w = (uint8_t)(64 + weft_rng_below(&rng, 192));
        weft_photonic_core_multiply(&out, &a, &w, 1,
                                    &(struct weft_photonic_core){.product_sigma = 1.6569279}, &rng);
        double error = out - (a * w >> 8);
        off += fabs(error) / 255;
        squares += error / 255 * (error / 255);
    }
    assert_true(fabs(sqrt(squares / COUNT) - 0.0067) < 0.0002); // 0.65 % and the steps' 0.16 %
    assert_true(1 - off / COUNT > 0.9925);                      // the abstract's
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_rotation_is_found_and_undone, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(skews_that_do_not_cancel_are_refused, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(calibration_finds_what_the_seed_hid, open_arenas,
                                        tear_down),
        cmocka_unit_test(published_noise_gives_published_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
