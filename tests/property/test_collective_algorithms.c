// SPDX-License-Identifier: Apache-2.0
// Every algorithm, every kind it supports, every number of ranks: the schedule is executed by the
// checker, and its rounds are those of its closed form.

#include "weft/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct weft_arena arena_start;
static struct weft_arena scratch_start;

static void expect_valid(enum weft_algorithm algorithm,
                         const struct weft_algorithm_options *options)
{
    struct weft_arena arena = arena_start;
    struct weft_arena scratch = scratch_start;
    struct weft_error error = {0};
    struct weft_schedule schedule;
    struct weft_schedule_report report = {0};
    const char *name = weft_algorithm_name(algorithm);
    const char *kind = weft_collective_name(options->kind);
    if (!weft_algorithm_build(&schedule, algorithm, options, &arena, scratch, &error) ||
        !weft_schedule_check(&report, &schedule, scratch, &error)) {
        fail_msg("%s %s, %u ranks, factor %u: %s", name, kind, options->rank_count,
                 options->chunk_factor, error.message);
    }
    if (!report.valid) {
        fail_msg("%s %s, %u ranks, factor %u: %s", name, kind, options->rank_count,
                 options->chunk_factor, report.why);
    }
}

static const uint32_t large_counts[] = {160, 192, 193, 255, 256, 257, 1024};
#define LARGE_COUNT (sizeof large_counts / sizeof large_counts[0])

static bool can_do(enum weft_algorithm algorithm, enum weft_collective_kind kind, uint32_t n)
{
    if (algorithm == WEFT_ALGORITHM_SYNTHESIZE || algorithm == WEFT_ALGORITHM_STRAGGLAR ||
        !weft_algorithm_supports(algorithm, kind)) {
        return false;
    }
    bool power = (n & (n - 1)) == 0;
    return algorithm != WEFT_ALGORITHM_RECURSIVE_DOUBLING || kind != WEFT_COLLECTIVE_ALLGATHER ||
           power;
}

static void check_count(uint32_t n, uint32_t factor)
{
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
            struct weft_algorithm_options options = {.kind = (enum weft_collective_kind)k,
                                                     .rank_count = n,
                                                     .chunk_factor = factor,
                                                     .root = n * 2 / 3};
            if (can_do((enum weft_algorithm)a, options.kind, n)) {
                expect_valid((enum weft_algorithm)a, &options);
            }
        }
    }
}

static void small_counts_are_valid(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 130; n++) {
        check_count(n, 1);
    }
}

static void sub_chunks_are_valid(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 40; n++) {
        for (uint32_t factor = 2; factor <= 5; factor++) {
            check_count(n, factor);
        }
    }
}

static void large_counts_are_valid(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LARGE_COUNT; i++) {
        check_count(large_counts[i], 1);
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_start, 0, &error) || !weft_arena_init(&scratch_start, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_counts_are_valid),
        cmocka_unit_test(sub_chunks_are_valid),
        cmocka_unit_test(large_counts_are_valid),
    };
    return cmocka_run_group_tests_name("collective algorithms", tests, NULL, NULL);
}
