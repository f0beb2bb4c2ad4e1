// SPDX-License-Identifier: Apache-2.0
// A demand is found again in the series that it makes, with noise and where steps do not divide the
// iteration; what has none is refused.
//
// Mutation seen to fail: a period taken at the nearest sample, its stated error a tenth of the
// true.

#include "weft/interleave.h"

#include <math.h>
#include <setjmp.h> // cmocka wants it
#include <stdarg.h>

#include <cmocka.h>

#define STEP_PS 1000000000ull // 1 ms
#define SAMPLES 3000u

// Bytes of each step for bursts of 1 GB/s from `from_s` to `to_s` of each iteration.
static void make(double *bytes, double iteration_s, double from_s, double to_s, double noise,
                 struct weft_rng *rng)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        enum { PARTS = 100 };
        uint32_t busy = 0;
        for (uint32_t k = 0; k < PARTS; k++) {
            double at_s = fmod((i + (k + 0.5) / PARTS) * 1e-3, iteration_s);
            bool wraps = to_s > iteration_s && at_s < to_s - iteration_s;
            busy += (at_s >= from_s && at_s < to_s) || wraps ? 1 : 0;
        }
        bytes[i] = 1e9 * 1e-3 * busy / PARTS * (1 + noise * (weft_rng_unit(rng) - 0.5));
    }
}

static void a_burst_is_found_again(void **state)
{
    (void)state;
    static const struct {
        double iteration_s;
        double from_s;
        double to_s;
        double noise;
    } cases[] = {
        {0.1034, 0.030, 0.0512, 0}, {0.1034, 0.030, 0.0512, 0.1}, {0.08, 0.01, 0.03, 0.05},
        {0.2507, 0.1, 0.15, 0.05},  {0.0333, 0.01, 0.025, 0},
    };
    struct weft_error error;
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct weft_arena arena;
        assert_true(weft_arena_init(&arena, 0, &error));
        struct weft_arena all = arena;
        struct weft_arena scratch = weft_arena_split(&arena);
        double *bytes = WEFT_NEW(&arena, double, SAMPLES);
        make(bytes, cases[c].iteration_s, cases[c].from_s, cases[c].to_s, cases[c].noise, &rng);
        const struct weft_series series = {STEP_PS, SAMPLES, bytes};
        struct weft_measured_demand found;
        assert_true(weft_demand_measure(
            &found, &series, 1, 0,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
        double iteration_s = weft_seconds(found.iteration_ps);
        assert_true(fabs(iteration_s / cases[c].iteration_s - 1) <= found.period_error_ratio);
        assert_true(found.period_error_ratio < 1e-3);
        assert_true(found.shape_error_ratio < 0.1);
        assert_int_equal(found.link_demands[0].phase_count, 1);
        const struct weft_demand_phase *phase = &found.link_demands[0].phases[0];
        assert_true(fabs(weft_seconds(phase->start_ps) - cases[c].from_s) < 7e-4);
        double length_s = cases[c].to_s - cases[c].from_s;
        assert_true(fabs(weft_seconds(phase->duration_ps) - length_s) < 7e-4);
        assert_true(fabs(phase->rate_Bps / 1e9 - 1) < 0.03);
        weft_arena_release(&all);
    }
}

static void a_series_without_iterations_is_refused(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_arena arena;
    assert_true(weft_arena_init(&arena, 0, &error));
    struct weft_arena all = arena;
    struct weft_arena scratch = weft_arena_split(&arena);
    double *bytes = WEFT_NEW(&arena, double, SAMPLES);
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        bytes[i] = weft_rng_unit(&rng);
    }
    const struct weft_series noise = {STEP_PS, SAMPLES, bytes};
    struct weft_measured_demand found;
    assert_false(weft_demand_measure(
        &found, &noise, 1, 0,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        bytes[i] = 1;
    }
    assert_false(weft_demand_measure(
        &found, &noise, 1, 0,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    // A flat series of a known iteration is one that always sends.
    assert_true(weft_demand_measure(
        &found, &noise, 1, 50 * STEP_PS,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(found.link_demands[0].phase_count, 1);
    assert_int_equal(found.link_demands[0].phases[0].duration_ps, 50 * STEP_PS);
    weft_arena_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_found_again),
        cmocka_unit_test(a_series_without_iterations_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
