// SPDX-License-Identifier: Apache-2.0
// Photonic rails against a timeline that was worked out by hand (two jobs, three modes, six dark
// times), the smoke test and the tables that Opus' authors publish, and the ratios of their cost
// script.

#include "weft/format.h"
#include "weft/plan/rails.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MS 1000000000ull

static struct weft_arena arena;
static struct weft_arena scratch;

// An example with so many replicas (0: its own).
static struct weft_rail_result run_wide(const char *name, enum weft_rail_mode mode,
                                        uint64_t dark_ps, bool within, uint32_t dp)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rail_job job;
    struct weft_taskgraph graph;
    struct weft_rail_result result = {0};
    const char *path = weft_arena_format(&arena, SOURCE_ROOT "/examples/rails/%s.yaml", name);
    assert_true(weft_rail_job_load(&job, path, &arena, &error));
    job.dp = dp > 0 ? dp : job.dp;
    assert_true(weft_rail_job_taskgraph(&graph, &job, &arena, scratch, &error));
    const struct weft_rail_options options = {
        .mode = mode,
        .delays = {.dark_ps = dark_ps},
        .within = within,
        .rate_Bps = job.rate_Bps,
        .ports = job.ports,
        .places = 1,
        .replays_max = 12,
    };
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .threads = 1, .error = &error};
    assert_true(weft_rail_run(&result, &graph, &options, &environment));
    return result;
}

static struct weft_rail_result run(const char *name, enum weft_rail_mode mode, uint64_t dark_ps)
{
    return run_wide(name, mode, dark_ps, false, 0);
}

// ---- the worked timeline ----

struct row {
    const char *job;
    enum weft_rail_mode mode;
    double ms[6]; // at d = 0, 1, 10, 25, 50, 100 ms
};
static const uint64_t darks[6] = {0, 1, 10, 25, 50, 100};
static const struct row timeline[] = {
    {"job-a", WEFT_RAIL_DEMAND, {212, 214, 232, 262, 312, 412}},
    {"job-a", WEFT_RAIL_PROVISION, {212, 212, 212, 217, 252, 352}},
    {"job-b", WEFT_RAIL_DEMAND, {222, 226, 262, 322, 422, 622}},
    {"job-b", WEFT_RAIL_PROVISION, {222, 222, 222, 227, 273, 444}},
};
static const struct row formulas[] = {
    {"job-a", WEFT_RAIL_PROVISION, {212, 212, 212, 217, 252, 352}},
    {"job-b", WEFT_RAIL_PROVISION, {222, 222, 222, 232, 302, 502}},
};

static double in_ms(uint64_t time_ps)
{
    return (double)time_ps / (double)MS;
}

static void the_worked_timeline_is_replayed(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof timeline / sizeof timeline[0]; r++) {
        for (uint32_t i = 0; i < 6; i++) {
            struct weft_rail_result result = run(timeline[r].job, timeline[r].mode, darks[i] * MS);
            assert_true(fabs(in_ms(result.iteration_ps) - timeline[r].ms[i]) < 0.01);
            assert_true(result.bound_ps <= result.iteration_ps);
            struct weft_rail_result best = run(timeline[r].job, WEFT_RAIL_BEST, darks[i] * MS);
            assert_true(best.iteration_ps <= result.iteration_ps);
            assert_true(best.bound_ps <= best.iteration_ps);
        }
    }
}

static void the_sum_formula_is_the_worked_one(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof formulas / sizeof formulas[0]; r++) {
        for (uint32_t i = 0; i < 6; i++) {
            struct weft_rail_result result = run(formulas[r].job, formulas[r].mode, darks[i] * MS);
            assert_true(fabs(in_ms(result.formula_ps) - formulas[r].ms[i]) < 0.01);
            assert_true(result.iteration_ps <= result.formula_ps);
        }
    }
}

static void boundaries_of_job_a_are_those_of_the_timeline(void **state)
{
    (void)state;
    struct weft_rail_result result = run("job-a", WEFT_RAIL_PROVISION, 25 * MS);
    // asked, window, cost, servers
    static const double rows[3][4] = {{10, 20, 5, 4}, {157, 0, 25, 2}, {157, 40, 0, 2}};
    assert_int_equal(result.boundary_count, 3);
    assert_int_equal(result.phase_starts, 2);
    for (uint32_t b = 0; b < 3; b++) {
        const struct weft_rail_boundary *boundary = &result.boundaries[b];
        assert_true(fabs(in_ms(boundary->asked_ps) - rows[b][0]) < 0.01);
        assert_true(fabs(in_ms(boundary->dark_to_ps - boundary->dark_from_ps) - 25) < 0.01);
        assert_true(fabs(in_ms(boundary->window_ps) - rows[b][1]) < 0.01);
        assert_true(fabs(in_ms(boundary->cost_ps) - rows[b][2]) < 0.01);
        assert_int_equal(boundary->servers, (int)rows[b][3]);
        assert_string_equal(boundary->before, b == 0 ? "dp" : "pp");
        assert_string_equal(boundary->after, b == 0 ? "pp" : "dp");
    }
}

// ---- the authors' smoke test ----

// DP2 PP2 TP2, 62.2416 s: two changes on the critical path, windows of 1.1 ms and beyond 50 ms.
static void the_smoke_test_is_reproduced(void **state)
{
    (void)state;
    static const uint64_t dark_ms[] = {1, 10, 50};
    static const double published[2][3] = {{62.2436, 62.2616, 62.3416},
                                           {62.2416, 62.2505, 62.2905}};
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t mode = WEFT_RAIL_DEMAND; mode <= WEFT_RAIL_PROVISION; mode++) {
            struct weft_rail_result result =
                run("opus-smoke", (enum weft_rail_mode)mode, dark_ms[i] * MS);
            assert_true(fabs(weft_seconds(result.iteration_ps) - published[mode][i]) < 0.0001);
            assert_int_equal(result.phase_starts, 2);
        }
    }
}

// ---- published tables ----

// Seconds at 10, 50, 100 ms and 1 s; jobs are described so that they come near.
static void published_tables_are_reproduced(void **state)
{
    (void)state;
    static const struct {
        const char *job;
        enum weft_rail_mode mode;
        double published[4]; // 0 = not published
        double within;       // of it
    } rows[] = {
        {"h200", WEFT_RAIL_DEMAND, {12.259, 12.630, 13.130, 22.130}, 0.003},
        {"h200", WEFT_RAIL_PROVISION, {12.223, 12.343, 12.565, 17.965}, 0.01},
        {"gb200", WEFT_RAIL_DEMAND, {22.781, 23.136, 23.625, 32.625}, 0.003},
        {"gb200", WEFT_RAIL_PROVISION, {22.750, 22.870, 23.020, 28.393}, 0.012},
        {"deepseek-v2", WEFT_RAIL_DEMAND, {0, 0, 13.024, 0}, 0.001},
        {"perlmutter-16", WEFT_RAIL_DEMAND, {10.46, 10.68, 10.90, 15.40}, 0.05},
        {"perlmutter-16", WEFT_RAIL_PROVISION, {10.37, 10.32, 10.61, 15.12}, 0.06},
        {"perlmutter-64", WEFT_RAIL_DEMAND, {14.70, 14.93, 14.99, 19.55}, 0.05},
        {"perlmutter-64", WEFT_RAIL_PROVISION, {13.99, 14.09, 14.31, 18.72}, 0.08},
    };
    static const uint64_t dark_ms[] = {10, 50, 100, 1000};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (uint32_t i = 0; i < 4; i++) {
            double published = rows[r].published[i];
            struct weft_rail_result result =
                run_wide(rows[r].job, rows[r].mode, dark_ms[i] * MS, true, 0);
            double seconds = weft_seconds(result.iteration_ps);
            if (published > 0 && fabs(seconds / published - 1) > rows[r].within) {
                fail_msg("%s at %d ms: %.4f s, published %.4f", rows[r].job, (int)dark_ms[i],
                         seconds, published);
            }
        }
    }
}

static double slope(const char *job, enum weft_rail_mode mode, uint64_t from_ms, uint64_t to_ms)
{
    struct weft_rail_result low = run_wide(job, mode, from_ms * MS, true, 0);
    struct weft_rail_result high = run_wide(job, mode, to_ms * MS, true, 0);
    return (weft_seconds(high.iteration_ps) - weft_seconds(low.iteration_ps)) /
           (1e-3 * (double)(to_ms - from_ms));
}

// Ten changes a step on demand; provisioned three of 10 to 50 ms and six beyond 100 ms.
static void slopes_are_those_of_the_published_tables(void **state)
{
    (void)state;
    static const char *const jobs[] = {"h200", "gb200"};
    for (uint32_t j = 0; j < 2; j++) {
        assert_true(fabs(slope(jobs[j], WEFT_RAIL_DEMAND, 100, 1000) - 10) < 1e-6);
        assert_true(fabs(slope(jobs[j], WEFT_RAIL_PROVISION, 10, 50) - 3) < 1e-6);
        assert_true(fabs(slope(jobs[j], WEFT_RAIL_PROVISION, 100, 1000) - 6) < 0.3);
    }
    assert_true(fabs(slope("deepseek-v2", WEFT_RAIL_DEMAND, 10, 100) - 30) < 1e-6);
    assert_true(fabs(slope("perlmutter-16", WEFT_RAIL_DEMAND, 100, 1000) - 6) < 1e-6);
}

// Up to 2,048 accelerators.
static void provisioning_costs_less_than_six_percent(void **state)
{
    (void)state;
    for (uint32_t dp = 4; dp <= 64; dp *= 2) {
        for (uint64_t dark_ms = 10; dark_ms <= 50; dark_ms += 40) {
            struct weft_rail_result result =
                run_wide("h200", WEFT_RAIL_PROVISION, dark_ms * MS, true, dp);
            struct weft_rail_result best =
                run_wide("h200", WEFT_RAIL_BEST, dark_ms * MS, false, dp);
            assert_true((double)result.iteration_ps < 1.06 * (double)result.electrical_ps);
            assert_true(best.iteration_ps <= result.iteration_ps);
        }
    }
}

// ---- cost and power ----

static void ratios_are_those_of_the_cost_script(void **state)
{
    (void)state;
    static const struct {
        uint32_t prices, servers;
        double rail_usd, rail_watts, tree_usd; // over photonic rails; 0 = not published
    } rows[] = {
        {0, 16, 4.27, 23.9, 4.27},  {0, 32, 4.35, 24.4, 4.18},  {0, 64, 4.27, 23.9, 4.54},
        {0, 128, 4.22, 23.6, 4.27}, {0, 256, 4.27, 23.9, 4.18}, {1, 4, 3.2, 15.4, 0},
        {1, 8, 2.6, 12.5, 0},       {1, 32, 3.2, 15.8, 0},
    };
    uint32_t count = 0;
    const struct weft_rail_prices *prices = weft_rail_prices(&count);
    assert_int_equal(count, 2);
    struct weft_rail_bills bills;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        weft_rail_count(&bills, rows[r].servers, &prices[rows[r].prices]);
        double digits = rows[r].prices == 0 ? 0.005 : 0.05;
        const struct weft_cost *own = &bills.photonic.cost;
        assert_true(fabs(bills.rail.cost.total_usd / own->total_usd - rows[r].rail_usd) <=
                    digits + 1e-9);
        assert_true(fabs(bills.rail.cost.power_watts / own->power_watts - rows[r].rail_watts) <=
                    0.05 + 1e-9);
        assert_true(rows[r].tree_usd == 0 || fabs(bills.fat_tree.cost.total_usd / own->total_usd -
                                                  rows[r].tree_usd) <= digits + 1e-9);
    }
    weft_rail_count(&bills, 128, &prices[0]);
    assert_int_equal(bills.fat_tree.ports, 5120);
    assert_int_equal(bills.fat_tree_radix, 16);
    assert_int_equal(bills.rail.ports, 5060);
    assert_int_equal(bills.rail_radix, 23);
    assert_int_equal(bills.photonic.ports, 2048);
    assert_true(fabs(bills.fat_tree.cost.total_usd - 8384496) < 1);
    assert_true(fabs(bills.rail.cost.total_usd - 8296788) < 1);
    assert_true(fabs(bills.photonic.cost.total_usd - 1965056) < 1);
    assert_true(fabs(bills.rail.cost.power_watts - 260400) < 50);
    assert_true(fabs(bills.photonic.cost.power_watts - 11040) < 1);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 1u << 30, &error) ||
        !weft_arena_init(&scratch, 1u << 30, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_timeline_is_replayed),
        cmocka_unit_test(the_sum_formula_is_the_worked_one),
        cmocka_unit_test(boundaries_of_job_a_are_those_of_the_timeline),
        cmocka_unit_test(the_smoke_test_is_reproduced),
        cmocka_unit_test(published_tables_are_reproduced),
        cmocka_unit_test(slopes_are_those_of_the_published_tables),
        cmocka_unit_test(provisioning_costs_less_than_six_percent),
        cmocka_unit_test(ratios_are_those_of_the_cost_script),
    };
    return cmocka_run_group_tests_name("rails", tests, NULL, NULL);
}
