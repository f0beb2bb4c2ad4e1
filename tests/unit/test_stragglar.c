// SPDX-License-Identifier: Apache-2.0
// StragglAR: schedules pass the checker and take as many rounds as the bound, for every number of
// ranks, factor and straggler.
//
// Mutations they failed with: exchanges without the straggler's way; the last chunk's slot taken
// from the family; labels with the straggler first; one round more in a family; the straggler idle
// after the exchanges; with three ranks the last copy to rank 0 a round earlier.

#include "collective/straggler/stragglar.h"
#include "schedule_cases.h"

#include <stdio.h>

static uint32_t ceil_log2(uint32_t n)
{
    uint32_t levels = 0;
    while ((1ull << levels) < n) {
        levels++;
    }
    return levels;
}

static struct weft_schedule build(uint32_t n, uint32_t factor, uint32_t straggler)
{
    arena = arena_kept;
    struct weft_schedule schedule;
    const struct weft_algorithm_options options = {
        .rank_count = n, .chunk_factor = factor, .straggler = straggler};
    if (!weft_stragglar_build(&schedule, &options, &arena, scratch, &error)) {
        fail_msg("%u ranks, factor %u: %s", n, factor, error.message);
    }
    return schedule;
}

static void check(uint32_t n, uint32_t factor, uint32_t straggler)
{
    struct weft_schedule schedule = build(n, factor, straggler);
    struct weft_schedule_report report;
    if (!weft_schedule_well_formed(&schedule, scratch, &error) ||
        !weft_schedule_check(&report, &schedule, scratch, &error)) {
        fail_msg("%u ranks, factor %u, straggler %u: %s", n, factor, straggler, error.message);
    }
    if (!report.valid) {
        fail_msg("%u ranks, factor %u, straggler %u: %s", n, factor, straggler, report.why);
    }
    // The one-port rule is part of the check: the schedule claims it.
    assert_int_equal(schedule.port_count, 1);
    assert_int_equal(schedule.chunk_count, (n - 1) * factor);
    uint32_t reduce = n - 2;
    uint32_t bound = (n - 1) * factor - 1 + ceil_log2(n);
    if (schedule.round_count != reduce + bound) {
        fail_msg("%u ranks, factor %u: %u rounds instead of %u", n, factor,
                 schedule.round_count - reduce, bound);
    }
}

static void every_number_of_ranks_takes_the_rounds_of_the_bound(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 130; n++) {
        check(n, 1, n - 1);
    }
    static const uint32_t large[] = {160, 192, 193, 255, 256, 257};
    for (uint32_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        check(large[i], 1, i);
    }
    check(1024, 1, 1023);
}

static void factors_and_stragglers_are_all_the_same(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 20; n++) {
        for (uint32_t factor = 1; factor <= 4; factor++) {
            for (uint32_t straggler = 0; straggler < n; straggler++) {
                check(n, factor, straggler);
            }
        }
    }
    check(3, 50, 0);
    check(4, 13, 2);
    check(33, 7, 16);
}

// n - 2 + log2 n, the paper's, for powers of two.
static void powers_of_two_take_the_published_rounds(void **state)
{
    (void)state;
    static const uint32_t rounds[][2] = {{4, 4},   {8, 9},     {16, 18},   {32, 35},
                                         {64, 68}, {128, 133}, {256, 262}, {512, 519}};
    for (uint32_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        uint32_t n = rounds[i][0];
        struct weft_schedule schedule = build(n, 1, 0);
        assert_int_equal(schedule.round_count - (n - 2), rounds[i][1]);
    }
}

// Before the straggler comes nobody waits for it, and it takes part in nothing.
static void the_straggler_is_left_alone_until_the_others_have_reduced(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 20; n++) {
        struct weft_schedule schedule = build(n, 2, 1);
        struct weft_arena local = scratch;
        struct weft_round_walk walk;
        weft_round_walk_begin(&walk, &schedule, &local);
        while (weft_round_walk_next(&walk)) {
            bool met = false;
            for (uint32_t i = 0; i < walk.transfer_count; i++) {
                met |= walk.transfers[i].from == 1 || walk.transfers[i].to == 1;
            }
            assert_true(walk.round < n - 2 ? !met : met || walk.round >= n - 2 + 2 * (n - 1));
        }
    }
}

// A family a position: as many steps for many chunks as for few, but for the last rounds.
static void steps_do_not_grow_with_the_factor(void **state)
{
    (void)state;
    uint32_t few = build(257, 1, 0).step_count;
    uint32_t many = build(257, 64, 0).step_count;
    assert_int_equal(few, many);
    assert_true(few < 12 * 257);
}

static void real_buffers_hold_the_sum(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 40; n++) {
        struct weft_schedule schedule = build(n, 1 + n % 3, n / 2);
        if (!weft_schedule_try(&schedule, 3, 77 + n, scratch, &error)) {
            fail_msg("%u ranks: %s", n, error.message);
        }
    }
}

static void bad_options_are_refused_in_a_line(void **state)
{
    (void)state;
    static const struct {
        struct weft_algorithm_options options;
        const char *says;
    } cases[] = {
        {{.rank_count = 0}, "0 ranks; it needs three, one of them late; take ring"},
        {{.rank_count = 2}, "2 ranks; it needs three, one of them late; take ring"},
        {{.rank_count = 20000}, "20000 ranks are more than 16384; take ring"},
        {{.rank_count = 4, .straggler = 4}, "straggler 4 is no rank; the last is 3"},
        {{.rank_count = 5, .chunk_factor = 1u << 29},
         "536870912 sub-chunks of 4 chunks are too many; use 268435456"},
        {{.rank_count = 4, .kind = WEFT_COLLECTIVE_ALLGATHER},
         "it does no allgather; take another algorithm"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_schedule schedule;
        arena = arena_kept;
        assert_false(weft_stragglar_build(&schedule, &cases[i].options, &arena, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_string_equal(error.message, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_ranks_takes_the_rounds_of_the_bound),
        cmocka_unit_test(factors_and_stragglers_are_all_the_same),
        cmocka_unit_test(powers_of_two_take_the_published_rounds),
        cmocka_unit_test(the_straggler_is_left_alone_until_the_others_have_reduced),
        cmocka_unit_test(steps_do_not_grow_with_the_factor),
        cmocka_unit_test(real_buffers_hold_the_sum),
        cmocka_unit_test(bad_options_are_refused_in_a_line),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
