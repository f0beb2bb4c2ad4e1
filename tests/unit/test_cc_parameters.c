// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernel's MLTCP, and how a contest is judged: what needs no kernel.

#include "runtime/experiment/contention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void names_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool fine;
    } cases[] = {
        {"mltcp", true},  {"reno_twin", true}, {"a", true},     {"abcdefghijklmno", true},
        {"", false},      {"1st", false},      {"_a", false},   {"abcdefghijklmnop", false},
        {"Mltcp", false}, {"a-b", false},      {"a/b", false},  {"..", false},
        {"reno", false},  {"cubic", false},    {"bbr", false},  {"dctcp", false},
        {"a b", false},   {"a\n", false},      {"renoo", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error = {.code = WEFT_OK};
        assert_int_equal(weft_cc_check_name(cases[i].name, &error), cases[i].fine);
        assert_int_equal(error.code, cases[i].fine ? WEFT_OK : WEFT_INPUT);
    }
}

static void parameters_are_checked(void **state)
{
    (void)state;
    static const struct {
        double slope;
        double intercept;
        uint32_t restart;
        uint32_t gap_ms;
        bool fine;
    } cases[] = {
        {1.75, 0.25, 10, 20, true},  {0, 1, 0, 1, true},         {64, 64, 65535, 3600000, true},
        {-0.1, 0.25, 0, 20, false},  {64.1, 0.25, 0, 20, false}, {NAN, 0.25, 0, 20, false},
        {1, 0, 0, 20, false},        {1, NAN, 0, 20, false},     {1, 65, 0, 20, false},
        {1, 0.25, 65536, 20, false}, {1, 0.25, 0, 0, false},     {1, 0.25, 0, 3600001, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error;
        const struct weft_cc_parameters parameters = {.slope = cases[i].slope,
                                                      .intercept = cases[i].intercept,
                                                      .restart = cases[i].restart,
                                                      .gap_ms = cases[i].gap_ms};
        assert_int_equal(weft_cc_check(&parameters, &error), cases[i].fine);
    }
}

static void packing_keeps_1_in_1024(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 64 * MLTCP_ONE; i += 7) {
        struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
        parameters.slope = (double)i / MLTCP_ONE;
        parameters.intercept = (double)(64 * MLTCP_ONE + 1 - i) / MLTCP_ONE;
        parameters.group = MLTCP_BY_MARK;
        struct mltcp_parameters packed = weft_cc_pack(&parameters);
        struct weft_cc_parameters back = weft_cc_unpack(&packed);
        assert_true(back.slope == parameters.slope && back.intercept == parameters.intercept);
        assert_true(back.restart == 10 && back.gap_ms == 20 && back.group == MLTCP_BY_MARK);
    }
    struct weft_cc_parameters least = {.intercept = 0.0001};
    assert_int_equal(weft_cc_pack(&least).intercept, 1); // a window grows in the end
}

static void twins_have_no_factor(void **state)
{
    (void)state;
    struct weft_cc_parameters reno = weft_cc_defaults("reno_twin");
    struct weft_cc_parameters cubic = weft_cc_defaults("cubic_twin");
    assert_true(reno.slope == 0 && reno.intercept == 1 && reno.restart == 0);
    assert_int_equal(reno.base, MLTCP_RENO);
    assert_int_equal(cubic.base, MLTCP_CUBIC);
}

// Two jobs, six iterations, an ideal of 1 s.
static void a_contention_is_scored_by_its_second_half(void **state)
{
    (void)state;
    static const struct {
        double iterations_s[12];
        double mean_s;
        uint32_t converged_after;
    } cases[] = {
        {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, 0},
        {{2, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1}, 1, 2},
        // One job far off, the mean of both within 5 %.
        {{2, 1.09, 1.09, 1.09, 1.09, 1.09, 1, 1, 1, 1, 1, 1}, 1.045, 1},
        {{1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1}, 7.0 / 6, WEFT_NONE},
    };
    struct weft_arena arena;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 1 << 20, &error));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_contention_result result = {.ideal_s = 1,
                                                .iterations_s = cases[i].iterations_s};
        weft_contention_score(&result, 2, 6, arena);
        assert_true(fabs(result.mean_s - cases[i].mean_s) < 1e-12);
        assert_int_equal(result.converged_after, cases[i].converged_after);
    }
}

static void contentions_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct weft_error error;
    const struct weft_contention_options fine = {
        .job_count = 3,
        .flow_count = 2,
        .compute_s = 0.2,
        .bytes = 2300000,
        .rate_Bps = 25e6,
        .mtu_bytes = 1500,
        .queue_packets = 40,
        .iterations = 50,
        .parameters = weft_cc_defaults("mltcp"),
    };
    assert_true(weft_contention_check(&fine, &error));
    // 1448 of 1514 bytes of a frame are the job's.
    assert_true(fabs(weft_contention_alone_s(&fine) - 2300000.0 * 1514 / 1448 / 25e6) < 1e-4);
    struct weft_contention_options bad = fine;
    bad.bytes = 1;
    assert_false(weft_contention_check(&bad, &error));
    bad = fine;
    bad.mark_packets = 40;
    assert_false(weft_contention_check(&bad, &error));
    bad = fine;
    bad.iterations = 100000;
    assert_false(weft_contention_check(&bad, &error));
    assert_non_null(strstr(error.message, "hour"));
    bad = fine;
    bad.parameters.intercept = 0;
    assert_false(weft_contention_check(&bad, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(packing_keeps_1_in_1024),
        cmocka_unit_test(twins_have_no_factor),
        cmocka_unit_test(a_contention_is_scored_by_its_second_half),
        cmocka_unit_test(contentions_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
