// SPDX-License-Identifier: Apache-2.0
// Energy of an inference: published totals, and each part counted by hand for a small net; a host
// between layers costs what its transfers and wake-ups add up to.
//
// Mutations that made this test fail (each was run): dark lanes are no MACs but are counted as
// such; signs are no bytes; results are not written; the laser is one whatever the wavelengths;
// DRAM is read for every pixel; the host reads bytes instead of sums; waiting costs no energy.

#include "../fresh_arenas.h"
#include "weft/photonics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES 163u

static struct weft_photonic_program compile(uint32_t wavelengths)
{
    // 40 inputs are 3 words of 16 lanes; the convolution has 4 x 4 pixels of 18 bytes, 2 words.
    const struct weft_photonic_layer layers[] = {
        {.name = "conv",
         .kind = WEFT_PHOTONIC_CONV,
         .activation = WEFT_PHOTONIC_RELU,
         .channels_in = 2,
         .channels_out = 4,
         .kernel = 3,
         .stride = 1,
         .height = 6,
         .width = 6},
        {.name = "dense",
         .kind = WEFT_PHOTONIC_DENSE,
         .activation = WEFT_PHOTONIC_LINEAR,
         .inputs = 64,
         .outputs = 10},
    };
    const struct weft_photonic_net net = {.name = "small", .layer_count = 2, .layers = layers};
    struct weft_photonic_program program;
    struct weft_error error;
    assert_true(weft_photonic_compile(
        &program, &net, &(struct weft_photonic_compile_options){.wavelengths = wavelengths}, &arena,
        scratch, &error));
    return program;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static const struct weft_photonic_power *power(const char *name)
{
    for (uint32_t p = 0; p < weft_photonic_power_count; p++) {
        if (strcmp(weft_photonic_powers[p].name, name) == 0) {
            return &weft_photonic_powers[p];
        }
    }
    fail_msg("no preset %s", name);
    return NULL;
}

static void published_totals_are_per_mac(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double mac_joules;
    } rows[] = {{"lightning-1024", 0.925e-12}, {"lightning-576", 1.644e-12}, {"netcast", 40e-18}};
    struct weft_photonic_program program = compile(1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weft_photonic_energy energy;
        weft_photonic_energy_of(&energy, &program, SAMPLES, power(rows[i].name), true);
        assert_true(fabs(energy.mac_joules / rows[i].mac_joules - 1) < 5e-4);
        assert_true(near(energy.total_joules, energy.mac_joules * (16 * 4 * 18 + 64 * 10)));
    }
}

static void parts_are_counted_by_hand(void **state)
{
    (void)state;
    for (uint32_t w = 1; w <= 2; w++) {
        struct weft_photonic_program program = compile(w);
        uint32_t lanes = 16 * w;
        uint64_t data = w == 1 ? 16 * 4 * 2 + 4 * 10 : 16 * 4 + 2 * 10;
        uint64_t words = w == 1 ? 4 * 2 + 4 * 10 : 4 + 2 * 10; // of weights, each once
        uint64_t cycles = weft_photonic_cycles(NULL, &program, SAMPLES);
        struct weft_photonic_power unit = {.samples_per_s = 16}; // a cycle a second
        for (uint32_t p = 0; p < WEFT_PHOTONIC_PART_WHOLE; p++) {
            unit.per_unit[p] = 1;
        }
        struct weft_photonic_energy energy;
        weft_photonic_energy_of(&energy, &program, SAMPLES, &unit, true);
        const double expected[WEFT_PHOTONIC_PARTS] = {
            [WEFT_PHOTONIC_PART_MODULATORS] = (double)(data + 2 * 10) * lanes,
            [WEFT_PHOTONIC_PART_DACS] = (double)cycles * lanes,
            [WEFT_PHOTONIC_PART_ADC] = (double)cycles * lanes,
            [WEFT_PHOTONIC_PART_LASER] = (double)cycles * w,
            [WEFT_PHOTONIC_PART_SRAM] = (double)(data * (2 * lanes + lanes / 8) +
                                                 words * (lanes + lanes / 8) + 4 * (64 + 10)),
            [WEFT_PHOTONIC_PART_DRAM] = (double)(words * (lanes + lanes / 8)),
            [WEFT_PHOTONIC_PART_DIGITAL] = (double)data * lanes,
            [WEFT_PHOTONIC_PART_FIXED] = (double)cycles,
        };
        double total = 0;
        for (uint32_t p = 0; p < WEFT_PHOTONIC_PARTS; p++) {
            assert_true(near(energy.part_joules[p], expected[p]));
            total += expected[p];
        }
        assert_true(near(energy.total_joules, total));
        assert_int_equal(energy.cycles, cycles);
        assert_int_equal(energy.macs, 16 * 4 * 18 + 64 * 10);
    }
}

static void a_host_costs_its_transfers_and_wake_ups(void **state)
{
    (void)state;
    struct weft_photonic_program program = compile(1);
    struct weft_photonic_power unit = {.samples_per_s = 16,
                                       .per_unit = {[WEFT_PHOTONIC_PART_LASER] = 3}}; // 3 W
    struct weft_photonic_host host = {
        .bus_s = 100, .bus_Bps = 2, .wake_s = 1000, .value_s = 0.5, .rearm_s = 7, .watts = 11};
    struct weft_photonic_stop_row rows[2];
    weft_photonic_stop_and_go(rows, &program, SAMPLES, &unit, &host);
    // Samples of 2 bytes: 16 patches of 2 words, then 4 words; sums of 4 bytes, before the pool.
    double first = 16 * 2 * 32 / 2 + 64 * 4 / 2 + 2 * 100 + 1000 + 7 + 64 * 0.5;
    double both = first + 4 * 32 / 2 + 10 * 4 / 2 + 2 * 100 + 1000 + 7 + 10 * 0.5;
    assert_true(near(rows[0].stop_s - rows[0].count_s, first));
    assert_true(near(rows[1].stop_s - rows[1].count_s, both));
    assert_true(near(rows[1].count_s, (double)weft_photonic_cycles(NULL, &program, SAMPLES)));
    assert_true(near(rows[1].stop_joules - rows[1].count_joules, 3 * both));
    assert_true(near(rows[1].host_joules, 11 * rows[1].stop_s));
    assert_true(near(rows[1].light_s, 16 * 4 * 2 + 4 * 10));
    host.weights_too = true;
    struct weft_photonic_stop_row more[2];
    weft_photonic_stop_and_go(more, &program, SAMPLES, &unit, &host);
    assert_true(near(more[1].stop_s - rows[1].stop_s, (4 * 2 + 4 * 10) * 32 / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(published_totals_are_per_mac, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(parts_are_counted_by_hand, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(a_host_costs_its_transfers_and_wake_ups, open_arenas,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
