// SPDX-License-Identifier: Apache-2.0
// Flows over hashed uplinks: exact expectations against published arithmetic, against every
// assignment of small counts and against closed forms of large ones; the sample against both.
//
// Mutations that made these tests fail (each was run): k > cap for k >= cap; a part counted among
// its own companions; trials - k for trials - k + 1 in the walk down; a walk up that begins at the
// mode's neighbor; walks that end at 1e-3 of the mode; choices for choices - 1; load >= split as
// overloaded; one key for all draws, or of seed 1 for all seeds; parts of a flow hashed together;
// a variance not divided by the draws, or by their square; a slowdown below 1; no limit of parts.

#include "../arenas.h"
#include "weft/fabric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct weft_ecmp_expected expect(uint32_t uplinks, uint32_t flows, uint32_t split)
{
    const struct weft_ecmp ecmp = {uplinks, flows, split};
    struct weft_ecmp_expected expected;
    struct weft_error error;
    if (!weft_fabric_ecmp_expect(&expected, &ecmp, &error)) {
        fail_msg("%s", error.message);
    }
    return expected;
}

static struct weft_ecmp_sample sample(const struct weft_ecmp *ecmp, uint32_t draws, uint64_t seed)
{
    struct weft_ecmp_sample sampled;
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = &arena_kept, .scratch = scratch_kept, .seed = seed, .error = &error};
    if (!weft_fabric_ecmp_sample(&sampled, ecmp, draws, NULL, &environment)) {
        fail_msg("%s", error.message);
    }
    return sampled;
}

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) {
        fail_msg("%.15g, not %.15g within %g", value, wanted, tolerance);
    }
}

// MegaScale's ToR switches have 32 uplinks of 400G and host ports of 400G or 2 x 200G; in percent,
// with the digits that were printed.
static void published_switches_lose_what_was_printed(void **state)
{
    (void)state;
    static const struct {
        struct weft_ecmp ecmp;
        double delivered;
        double conflict;
        double half_digit;
    } rows[] = {
        {{32, 32, 1}, 63.8, 62.6, 0.05},  {{32, 32, 2}, 73.4, 59.0, 0.05},
        {{32, 16, 1}, 79.7, 37.9, 0.05},  {{32, 16, 2}, 90.2, 25.3, 0.05},
        {{32, 8, 1}, 89.7, 19.9, 0.05},   {{32, 8, 2}, 97.2, 7.8, 0.05},
        {{32, 32, 4}, 80.8, 56.3, 0.05},  {{4, 4, 1}, 68.36, 57.81, 0.005},
        {{4, 4, 2}, 76.64, 55.51, 0.005}, {{2, 2, 1}, 75, 50, 1e-12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct weft_ecmp *ecmp = &rows[i].ecmp;
        struct weft_ecmp_expected expected =
            expect(ecmp->uplink_count, ecmp->flow_count, ecmp->split);
        print_message("%u uplinks, %u flows in %u: %.4f %.4f\n", ecmp->uplink_count,
                      ecmp->flow_count, ecmp->split, 100 * expected.delivered_ratio,
                      100 * expected.conflict_probability);
        assert_near(100 * expected.delivered_ratio, rows[i].delivered, rows[i].half_digit);
        assert_near(100 * expected.conflict_probability, rows[i].conflict, rows[i].half_digit);
    }
}

// Over every assignment of the parts: mean, variance and fourth central moment of what is
// delivered, of what is in conflict, and of the slowdown.
enum { DELIVERED, CONFLICT, SLOWDOWN, VALUES };
struct enumerated {
    double mean[VALUES];
    double variance[VALUES];
    double fourth[VALUES];
};

static void count_loads(uint32_t *load, const struct weft_ecmp *ecmp, uint64_t assignment)
{
    for (uint32_t u = 0; u < ecmp->uplink_count; u++) {
        load[u] = 0;
    }
    for (uint32_t p = 0; p < ecmp->flow_count * ecmp->split; p++) {
        load[assignment % ecmp->uplink_count]++;
        assignment /= ecmp->uplink_count;
    }
}

// What one assignment comes to.
static void evaluate(double values[VALUES], const struct weft_ecmp *ecmp, uint64_t assignment)
{
    uint32_t load[8];
    count_loads(load, ecmp, assignment);
    double parts = ecmp->flow_count * ecmp->split;
    values[DELIVERED] = 0;
    values[CONFLICT] = 0;
    values[SLOWDOWN] = 1;
    for (uint32_t u = 0; u < ecmp->uplink_count; u++) {
        bool over = load[u] > ecmp->split;
        values[DELIVERED] += (over ? ecmp->split : load[u]) / parts;
        values[CONFLICT] += over ? load[u] / parts : 0;
        values[SLOWDOWN] = fmax(values[SLOWDOWN], (double)load[u] / ecmp->split);
    }
}

static struct enumerated enumerate(const struct weft_ecmp *ecmp, uint64_t assignment_count)
{
    struct enumerated all = {{0}, {0}, {0}};
    double chance = 1 / (double)assignment_count;
    double values[VALUES];
    for (uint64_t a = 0; a < assignment_count; a++) {
        evaluate(values, ecmp, a);
        for (uint32_t v = 0; v < VALUES; v++) {
            all.mean[v] += chance * values[v];
        }
    }
    for (uint64_t a = 0; a < assignment_count; a++) {
        evaluate(values, ecmp, a);
        for (uint32_t v = 0; v < VALUES; v++) {
            double away = values[v] - all.mean[v];
            all.variance[v] += chance * away * away;
            all.fourth[v] += chance * away * away * away * away;
        }
    }
    return all;
}

// The sampled mean within 4 of its true standard errors, and the stated one likewise: the variance
// of a sample's variance is (fourth moment - variance^2) / draws.
static void assert_sampled(const struct weft_ecmp_mean *sampled, const struct enumerated *all,
                           uint32_t value, uint32_t draws)
{
    double variance = all->variance[value];
    double spread = sqrt(fmax(0, all->fourth[value] - variance * variance) / draws);
    double stated = sampled->standard_error * sampled->standard_error * draws;
    assert_near(sampled->mean, all->mean[value], 4 * sqrt(variance / draws) + 1e-12);
    assert_near(stated, variance, 4 * spread + 1e-3 * variance + 1e-12);
}

static void every_assignment_of_small_counts_agrees(void **state)
{
    (void)state;
    enum { DRAWS = 20000, ASSIGNMENTS_MAX = 70000 };
    uint32_t case_count = 0;
    for (uint32_t n = 1; n <= 6; n++) {
        for (uint32_t flows = 1; flows <= 8; flows++) {
            for (uint32_t split = 1; split <= 4; split++) {
                double assignments = pow(n, flows * split);
                if (assignments > ASSIGNMENTS_MAX) {
                    continue;
                }
                const struct weft_ecmp ecmp = {n, flows, split};
                struct enumerated all = enumerate(&ecmp, (uint64_t)assignments);
                struct weft_ecmp_expected expected = expect(n, flows, split);
                assert_near(expected.delivered_ratio, all.mean[DELIVERED], 1e-12);
                assert_near(expected.conflict_probability, all.mean[CONFLICT], 1e-12);
                assert_near(expected.even_delivered_ratio, fmin(1, (double)n / flows), 1e-15);
                struct weft_ecmp_sample sampled = sample(&ecmp, DRAWS, case_count);
                assert_sampled(&sampled.delivered_ratio, &all, DELIVERED, DRAWS);
                assert_sampled(&sampled.conflict_ratio, &all, CONFLICT, DRAWS);
                assert_sampled(&sampled.slowdown_ratio, &all, SLOWDOWN, DRAWS);
                case_count++;
            }
        }
    }
    print_message("%u cases\n", case_count);
    assert_true(case_count > 60);
}

// Where whole flows are hashed, both ratios are powers.
static void whole_flows_follow_the_closed_form(void **state)
{
    (void)state;
    static const uint32_t counts[][2] = {{32, 1},         {1024, 700},        {1, 1000},
                                         {3, 100000},     {1 << 20, 1},       {1 << 20, 3},
                                         {1 << 20, 1000}, {1 << 20, 1 << 24}, {7, 1 << 24}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        double n = counts[i][0];
        double flows = counts[i][1];
        double none = log1p(-1 / n); // log of the chance that a flow is elsewhere; n = 1: -infinity
        struct weft_ecmp_expected expected = expect(counts[i][0], counts[i][1], 1);
        double conflict = flows > 1 ? -expm1((flows - 1) * none) : 0;
        assert_near(expected.delivered_ratio, n / flows * -expm1(flows * none), 1e-11);
        assert_near(expected.conflict_probability, conflict, 1e-11 * conflict);
    }
}

// Chances far from 1 keep their digits, and none is lost where (1 - 1/n)^parts is 0 as a double.
static void small_chances_and_long_walks_keep_their_digits(void **state)
{
    (void)state;
    double p = 0x1p-20; // 4 parts over 2^20 uplinks that carry 2: two of three companions
    double conflict = 3 * p * p * (1 - p) + p * p * p;
    assert_near(expect(1 << 20, 2, 2).conflict_probability, conflict, 1e-12 * conflict);
    // Two uplinks that are full if the parts divide evenly lose E|K - N/2| / N =
    // C(N, N/2) / 2^(N+1), by Stirling's series; N = 2^24 underflows any (1/2)^N.
    double parts = 0x1p24;
    double lost = sqrt(1 / (2 * M_PI * parts)) * (1 - 1 / (4 * parts));
    assert_near(1 - expect(2, 2, 1 << 23).delivered_ratio, lost, 1e-12);
    // One uplink of all flows.
    assert_near(expect(1, 1000, 16).delivered_ratio, 1e-3, 1e-15);
    assert_near(expect(1, 1000, 16).conflict_probability, 1, 0);
    assert_near(expect(1, 1, 16).conflict_probability, 0, 0);
}

// The hash itself against the expectations, for counts beyond enumeration.
static void samples_of_random_switches_agree(void **state)
{
    (void)state;
    enum { CASES = 60, DRAWS = 4000 };
    uint64_t seed = 20241117;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t c = 0; c < CASES; c++) {
        const struct weft_ecmp ecmp = {2 + weft_rng_below(&rng, 127), 1 + weft_rng_below(&rng, 128),
                                       1 + weft_rng_below(&rng, 8)};
        struct weft_ecmp_expected expected = expect(ecmp.uplink_count, ecmp.flow_count, ecmp.split);
        struct weft_ecmp_sample sampled = sample(&ecmp, DRAWS, c);
        // Where conflicts are too rare for these draws, a sample without any says nothing.
        double rare = 10.0 / DRAWS / ecmp.flow_count / ecmp.split;
        assert_near(sampled.delivered_ratio.mean, expected.delivered_ratio,
                    4 * sampled.delivered_ratio.standard_error + rare);
        assert_near(sampled.conflict_ratio.mean, expected.conflict_probability,
                    4 * sampled.conflict_ratio.standard_error + rare);
        assert_true(sampled.slowdown_ratio.mean >= 1);
    }
}

static void seeds_decide_samples(void **state)
{
    (void)state;
    const struct weft_ecmp ecmp = {32, 32, 2};
    struct weft_ecmp_sample one = sample(&ecmp, 100, 1);
    struct weft_ecmp_sample again = sample(&ecmp, 100, 1);
    struct weft_ecmp_sample other = sample(&ecmp, 100, 2);
    assert_true(one.delivered_ratio.mean == again.delivered_ratio.mean);
    assert_true(one.slowdown_ratio.standard_error == again.slowdown_ratio.standard_error);
    assert_true(one.delivered_ratio.mean != other.delivered_ratio.mean);
}

static void counts_beyond_limits_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct weft_ecmp ecmp;
        uint32_t draws;
        const char *message;
    } rows[] = {
        {{0, 1, 1}, 2, "0 uplinks; there are 1 to 1048576"},
        {{(1 << 20) + 1, 1, 1}, 2, "1048577 uplinks; there are 1 to 1048576"},
        {{1, 0, 1}, 2, "0 flows of 1 parts each are 0; there are 1 to 16777216 parts"},
        {{1, 1, 0}, 2, "1 flows of 0 parts each are 0; there are 1 to 16777216 parts"},
        {{1, UINT32_MAX, UINT32_MAX},
         2,
         "4294967295 flows of 4294967295 parts each are 18446744065119617025; there are 1 to "
         "16777216 parts"},
        {{1, 1, 1}, 1, "1 draws of 1 parts over 1 uplinks; there are 2 to 1000000"},
        {{1, 1 << 24, 1}, 1000, "1000 draws of 16777216 parts over 1 uplinks; there are 2 to 63"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weft_error error = {.code = WEFT_OK};
        const struct weft_environment environment = {
            .arena = &arena_kept, .scratch = scratch_kept, .seed = 1, .error = &error};
        struct weft_ecmp_sample sampled;
        assert_false(
            weft_fabric_ecmp_sample(&sampled, &rows[i].ecmp, rows[i].draws, NULL, &environment));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_string_equal(error.message, rows[i].message);
        struct weft_ecmp_expected expected;
        bool drawn_wrong = i >= 5; // the counts of the switch are fine
        assert_true(weft_fabric_ecmp_expect(&expected, &rows[i].ecmp, &error) == drawn_wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_switches_lose_what_was_printed),
        cmocka_unit_test(every_assignment_of_small_counts_agrees),
        cmocka_unit_test(whole_flows_follow_the_closed_form),
        cmocka_unit_test(small_chances_and_long_walks_keep_their_digits),
        cmocka_unit_test(samples_of_random_switches_agree),
        cmocka_unit_test(seeds_decide_samples),
        cmocka_unit_test(counts_beyond_limits_are_refused),
    };
    return cmocka_run_group_tests_name("ecmp", tests, set_up, tear_down);
}
