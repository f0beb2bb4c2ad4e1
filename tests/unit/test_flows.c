// SPDX-License-Identifier: Apache-2.0
// Flows in words.

#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void each_kind_is_read_by_place_and_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct weft_flows_spec spec;
    } cases[] = {
        {"allreduce:100MB", {WEFT_FLOWS_ALLREDUCE, 100000000, 0, 0, 1, false}},
        {"allreduce:size=1KiB", {WEFT_FLOWS_ALLREDUCE, 1024, 0, 0, 1, false}},
        {"permutation:10MB", {WEFT_FLOWS_PERMUTATION, 10000000, 0, 0, 1, false}},
        {"permutation:10MB:42", {WEFT_FLOWS_PERMUTATION, 10000000, 0, 0, 42, true}},
        {"permutation:10MB:seed", {WEFT_FLOWS_PERMUTATION, 10000000, 0, 0, 1, false}},
        {"permutation:seed=0:10MB", {WEFT_FLOWS_PERMUTATION, 10000000, 0, 0, 0, true}},
        {"alltoall:1MB", {WEFT_FLOWS_ALLTOALL, 1000000, 0, 0, 1, false}},
        {"poisson:1MB:load=0.3:count=100000:7",
         {WEFT_FLOWS_POISSON, 1000000, 0.3, 100000, 7, true}},
        {"poisson:1MB:load=0.3:count=100000:seed=7",
         {WEFT_FLOWS_POISSON, 1000000, 0.3, 100000, 7, true}},
        {"poisson:1MB:load=0.3:count=100000", {WEFT_FLOWS_POISSON, 1000000, 0.3, 100000, 1, false}},
        {"poisson:1MB:0.6:50:18446744073709551615",
         {WEFT_FLOWS_POISSON, 1000000, 0.6, 50, UINT64_MAX, true}},
        {"poisson:count=50:load=1:1MB", {WEFT_FLOWS_POISSON, 1000000, 1, 50, 1, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_flows_spec spec;
        struct weft_error error;
        bool matches = false;
        if (!weft_flows_parse(&spec, &matches, cases[i].text, &error)) {
            fail_msg("%s", error.message);
        }
        assert_true(matches);
        assert_int_equal(spec.kind, cases[i].spec.kind);
        assert_true(spec.size_bytes == cases[i].spec.size_bytes);
        assert_true(spec.load_ratio == cases[i].spec.load_ratio);
        assert_int_equal(spec.count, cases[i].spec.count);
        assert_true(spec.seed == cases[i].spec.seed);
        assert_int_equal(spec.seeded, cases[i].spec.seeded);
    }
}

static void names_of_files_are_no_flows(void **state)
{
    (void)state;
    static const char *const texts[] = {"dlrm.fbuf", "allreduce", "alltoall.fbuf",
                                        "",          ":",         "./poisson:1MB"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct weft_flows_spec spec;
        struct weft_error error;
        bool matches = true;
        assert_true(weft_flows_parse(&spec, &matches, texts[i], &error));
        assert_false(matches);
    }
}

static void bad_flows_are_told_how(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"allreduce:", "size: '' is not a quantity; write for example 100MB"},
        {"allreduce:100", "size: '100' has no unit Weft knows; write for example 100MB"},
        {"allreduce:0", "size: '0' is not between 1B and 1024TiB"},
        {"allreduce:9000TB", "size: '9000TB' is not between 1B and 1024TiB"},
        {"allreduce:1MB:3", "'3' is not part of such flows; write allreduce:100MB"},
        {"alltoall:1MB:seed=3", "'seed=3' is not part of such flows; write alltoall:1MB"},
        {"permutation:1MB:x", "seed: 'x' is not a whole number from 0 to 18446744073709551615"},
        {"permutation:1MB:3:4", "'4' is not part of such flows; write permutation:10MB:SEED"},
        {"permutation:1MB:load=0.5",
         "'load=0.5' is not part of such flows; write permutation:10MB:SEED"},
        {"permutation:seed=4", "size: missing; write permutation:10MB:SEED"},
        {"poisson:1MB", "load: missing; write poisson:1MB:load=0.3:count=100000:SEED"},
        {"poisson:1MB:load=0.3", "count: missing; write poisson:1MB:load=0.3:count=100000:SEED"},
        {"poisson:1MB:load=0:count=5", "load: '0' is not a number from 1e-06 to 1"},
        {"poisson:1MB:load=1.5:count=5", "load: '1.5' is not a number from 1e-06 to 1"},
        {"poisson:1MB:load=0.3:count=0", "count: '0' is not a whole number from 1 to 1000000000"},
        {"poisson:1MB:load=0.3:count=1e5",
         "count: '1e5' is not a whole number from 1 to 1000000000"},
        {"poisson:1MB:load=0.3:load=0.4:count=5",
         "load: given twice; write poisson:1MB:load=0.3:count=100000:SEED"},
        {"poisson:1MB:load=0.3:count=5:rate=3",
         "'rate=3' is not part of such flows; write poisson:1MB:load=0.3:count=100000:SEED"},
        {"poisson:1:2:3:4:5:6:7:8:9",
         "more than flows of this kind say; write poisson:1MB:load=0.3:count=100000:SEED"},
        {"allreduce:11111111111111111111111111111111111111111111111111111111MB",
         "more than flows of this kind say; write allreduce:100MB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_flows_spec spec = {.seed = 99};
        struct weft_error error = {.code = WEFT_OK};
        bool matches = false;
        assert_false(weft_flows_parse(&spec, &matches, cases[i].text, &error));
        assert_true(matches);
        assert_int_equal(error.code, WEFT_INPUT);
        size_t length = strlen(cases[i].text);
        assert_memory_equal(error.message, cases[i].text, length);
        assert_string_equal(error.message + length + 2, cases[i].message);
        assert_true(spec.seed == 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_read_by_place_and_by_name),
        cmocka_unit_test(names_of_files_are_no_flows),
        cmocka_unit_test(bad_flows_are_told_how),
    };
    return cmocka_run_group_tests_name("flows", tests, NULL, NULL);
}
