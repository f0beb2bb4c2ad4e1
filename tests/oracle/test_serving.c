// SPDX-License-Identifier: Apache-2.0
// The serving simulator against what an exact re-implementation of the published one gave: the
// latency of one request alone on an empty processor, the multiply-accumulates, work and load.
//
// Mutations that made this test fail (each was run): layers made last come first of events at one
// time (BERT on Brainwave 7587.33); ResNet-18 without a projection; tasks rounded down; the pointer
// of the cores does not move; the datapath is left out.

#include "../arenas.h"
#include "weft/serving.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LIGHTNING, A100, A100X, P4, BRAINWAVE };

static const struct {
    const char *name;
    uint64_t macs;
    double us[4]; // Lightning, A100, A100X, Brainwave
} published[WEFT_SERVING_NETS] = {
    {"AlexNet", 714188480, {13.88, 663.07, 82.07, 118.78}},
    {"ResNet-18", 1814073344, {34.95, 825.61, 210.61, 172.03}},
    {"VGG-16", 15470264320, {279.02, 2213.81, 1606.81, 829.44}},
    {"VGG-19", 19632062464, {353.85, 2631.29, 2035.29, 1017.86}},
    {"BERT", 167533477888, {3019.83, 18417.24, 17241.24, 7390.72}},
    {"GPT-2", 1753433832000, {31425.62, 186860.29, 180255.29, 75297.09}},
    {"DLRM", 2505926848, {107.17, 20294.06, 7084.06, 39954.10}},
};
static const uint32_t columns[4] = {LIGHTNING, A100, A100X, BRAINWAVE};

static const struct weft_serving_net *nets_of(void)
{
    const struct weft_serving_net *nets = NULL;
    struct weft_error error;
    assert_true(weft_serving_nets(&nets, &arena_kept, &error));
    return nets;
}

static void nets_have_the_published_work(void **state)
{
    (void)state;
    const struct weft_serving_net *nets = nets_of();
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        assert_string_equal(nets[n].name, published[n].name);
        assert_int_equal(nets[n].macs, published[n].macs);
    }
    assert_int_equal(nets[0].input_bits, 1204224);
    assert_int_equal(nets[4].input_bits, 40960);
    assert_int_equal(nets[5].input_bits, 81920);
    assert_int_equal(nets[6].input_bits, 40960);
}

static void isolated_latencies_are_the_published_ones(void **state)
{
    (void)state;
    const struct weft_serving_net *nets = nets_of();
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        for (uint32_t c = 0; c < 4; c++) {
            const struct weft_serving_processor *processor = &weft_serving_processors[columns[c]];
            double us = weft_serving_isolated_ns(processor, nets, n, WEFT_SERVING_GRANULARITY,
                                                 scratch_kept) *
                        1e-3;
            if (fabs(us - published[n].us[c]) > 0.00501) {
                fail_msg("%s on %s: %.4f us, not %.2f", nets[n].name, processor->name, us,
                         published[n].us[c]);
            }
        }
    }
}

// Two of the traces' kind; figures of load need no run.
static void study_of(struct weft_serving_study *study, double load_Bps)
{
    const struct weft_serving_net *nets = nets_of();
    struct weft_serving_trace traces[2];
    for (uint32_t t = 0; t < 2; t++) {
        struct weft_rng rng = weft_rng_stream(7, t);
        weft_serving_draw(&traces[t], nets, 4, load_Bps, &rng, &arena_kept);
    }
    const struct weft_serving_study_options options = {
        .load_Bps = load_Bps, .objective_ns = 1e8, .idle_share = 1};
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = &arena_kept, .scratch = scratch_kept, .threads = 1, .error = &error};
    weft_serving_study(study, weft_serving_processors, weft_serving_processor_count, nets, traces,
                       2, &options, &environment);
}

static void loads_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        double load_Bps;
        double rho[3]; // Lightning, A100, Brainwave
    } loads[] = {{7.5e6, {0.42, 2.42, 0.98}},
                 {3.75e6, {0.21, 1.21, 0.49}},
                 {2.5e6, {0.14, 0.81, 0.33}},
                 {1.25e6, {0.07, 0.40, 0.16}}};
    for (uint32_t l = 0; l < sizeof loads / sizeof loads[0]; l++) {
        struct weft_serving_study study;
        study_of(&study, loads[l].load_Bps);
        assert_true(fabs(study.rows[LIGHTNING].rho - loads[l].rho[0]) < 0.00501);
        assert_true(fabs(study.rows[A100].rho - loads[l].rho[1]) < 0.00501);
        assert_true(fabs(study.rows[A100X].rho - loads[l].rho[1]) < 0.00501);
        assert_true(fabs(study.rows[BRAINWAVE].rho - loads[l].rho[2]) < 0.00501);
    }
}

static void work_energy_and_sharing_are_the_published_ones(void **state)
{
    (void)state;
    struct weft_serving_study study;
    study_of(&study, 1.25e6);
    const struct weft_serving_row *rows = study.rows;
    static const double work_us[4] = {5014, 28746, 28746, 11673};
    static const double sharing_ms[4] = {5.41, 52.6, 49.3, 20.1};
    static const double picojoules[4] = {0.925, 25.65, 30.78, 5.21};
    for (uint32_t c = 0; c < 4; c++) {
        const struct weft_serving_row *row = &rows[columns[c]];
        assert_true(fabs(row->work_ns * 1e-3 - work_us[c]) < 0.51);
        assert_true(fabs(row->sharing_ns * 1e-6 / sharing_ms[c] - 1) < 0.002);
        assert_true(fabs(row->published_picojoules / picojoules[c] - 1) < 0.001);
    }
    assert_true(fabs(rows[LIGHTNING].macs_picojoules - 1.644) < 0.0005);
    assert_true(fabs(rows[A100].capacity_ratio - 5.7) < 0.05);
    assert_true(fabs(rows[BRAINWAVE].capacity_ratio - 2.3) < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_have_the_published_work),
        cmocka_unit_test(isolated_latencies_are_the_published_ones),
        cmocka_unit_test(loads_are_the_published_ones),
        cmocka_unit_test(work_energy_and_sharing_are_the_published_ones),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
