// SPDX-License-Identifier: Apache-2.0
// StragglAR's time under the alpha-beta model: published speed-ups over ring, the closed form
// against the schedule itself, the best factor against all, and the break-even delay.
//
// Mutations they failed with: K rounds without the log; the ring's chunk S / (n-1); the delay added
// to a reduce-scatter that it hides; the factor rounded down only.

#include "collective/straggler/stragglar.h"
#include "schedule_cases.h"

#include <math.h>

static const double size_bytes = 1024.0 * 1024 * 1024;
static const struct weft_cost_model published = {
    .alpha_s = 3e-6,
    .beta_s_per_byte = 1 / (450.0 * 1024 * 1024 * 1024),
};

// Ring over StragglAR, from the moment the late rank comes, its delay long enough.
static double speedup(uint32_t n, uint32_t factor_max, struct weft_straggler_cost *cost)
{
    const double delay_s = 1;
    weft_straggler_cost(cost, n, size_bytes, delay_s, factor_max, &published);
    assert_true(cost->partial_s <= 0);
    return (cost->ring_s - delay_s) / (cost->stragglar_s - delay_s);
}

static void near(double value, double expected, double tolerance, const char *what, uint32_t n)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%s at %u ranks: %.6g instead of %.6g", what, n, value, expected);
    }
}

static void speedups_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double speedup;
    } cases[] = {{4, 1.127},  {8, 1.363},   {16, 1.565}, {32, 1.718},
                 {64, 1.826}, {128, 1.897}, {256, 1.941}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_straggler_cost cost;
        double found = speedup(cases[i].n, 1, &cost);
        near(found, cases[i].speedup, 0.0006, "speed-up", cases[i].n);
        assert_int_equal(cost.chunk_factor, 1);
    }
}

// Where the published schedules take more rounds than the bound, ours are quicker; nowhere slower.
static void other_numbers_of_ranks_are_no_slower_than_published(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double speedup;
    } cases[] = {{6, 1.192}, {12, 1.346}, {24, 1.635}, {48, 1.617}, {96, 1.743}, {192, 1.829}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_straggler_cost cost;
        double found = speedup(cases[i].n, 1, &cost);
        if (found < cases[i].speedup - 0.0006) {
            fail_msg("%u ranks: %.4f, published %.4f", cases[i].n, found, cases[i].speedup);
        }
    }
}

// (k(n-1) + log2 n)(a + S b / (k(n-1))) are the sub-chunked times to beat; ours take a round less.
static void sub_chunks_gain_more_than_with_a_round_more(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, factor;
        double speedup;
    } cases[] = {{4, 13, 1.363}, {8, 7, 1.563}, {16, 4, 1.661}, {64, 1, 1.800}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_straggler_cost cost;
        uint32_t n = cases[i].n;
        double ring_s = 2 * (n - 1.0) * (3e-6 + size_bytes / n * published.beta_s_per_byte);
        double chunks = (n - 1.0) * cases[i].factor;
        double more_s =
            (chunks + log2(n)) * (3e-6 + size_bytes / chunks * published.beta_s_per_byte);
        near(ring_s / more_s, cases[i].speedup, 0.0006, "formula", n);
        double found = speedup(n, 64, &cost);
        assert_true(found > cases[i].speedup + 0.005);
    }
}

static void break_even_at_eight_ranks_is_the_published_one(void **state)
{
    (void)state;
    struct weft_straggler_cost cost;
    weft_straggler_cost(&cost, 8, size_bytes, 0, 1, &published);
    near(cost.break_even_delay_s, 0.876e-3, 1e-6, "break-even without sub-chunks", 8);
    weft_straggler_cost(&cost, 8, size_bytes, 0, 64, &published);
    // 0.506 ms for 7 sub-chunks and a round more.
    assert_true(cost.break_even_delay_s < 0.506e-3 && cost.break_even_delay_s > 0.4e-3);
}

static void at_the_break_even_delay_both_take_as_long(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 300; n += 9) {
        struct weft_straggler_cost cost;
        weft_straggler_cost(&cost, n, size_bytes, 0, 64, &published);
        double delay_s = cost.break_even_delay_s;
        if (delay_s <= 0 || isinf(delay_s)) {
            continue;
        }
        weft_straggler_cost(&cost, n, size_bytes, delay_s, 64, &published);
        near(cost.stragglar_s, cost.ring_s, 1e-12, "time at break-even", n);
        weft_straggler_cost(&cost, n, size_bytes, delay_s * 0.9, 64, &published);
        assert_true(cost.stragglar_s > cost.ring_s);
        weft_straggler_cost(&cost, n, size_bytes, delay_s * 1.1, 64, &published);
        assert_true(cost.stragglar_s < cost.ring_s);
        near(cost.partial_s, fmax(0, cost.reduce_s - delay_s * 1.1), 1e-15, "left to hide", n);
    }
}

static void late_by_more_is_never_quicker(void **state)
{
    (void)state;
    double last_s = 0;
    for (uint32_t i = 0; i < 100; i++) {
        struct weft_straggler_cost cost;
        weft_straggler_cost(&cost, 12, size_bytes, i * 1e-4, 16, &published);
        assert_true(cost.stragglar_s >= last_s);
        last_s = cost.stragglar_s;
    }
}

// The closed form is the time of the schedule, round by round: every round has a rank that moves a
// chunk, and those with an exchange a rank that adds one.
static double walked_seconds(const struct weft_schedule *schedule, uint32_t first_round,
                             double bytes, const struct weft_cost_model *model)
{
    struct weft_arena local = scratch;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &local);
    double seconds = 0;
    while (weft_round_walk_next(&walk)) {
        uint32_t moved = 0;
        uint32_t added = 0;
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            moved = transfer->slot_count > moved ? transfer->slot_count : moved;
            added = transfer->op == WEFT_STEP_REDUCE && transfer->slot_count > added
                        ? transfer->slot_count
                        : added;
        }
        double slot_bytes = bytes / schedule->chunk_count;
        double round_s = model->alpha_s + moved * slot_bytes * model->beta_s_per_byte +
                         added * slot_bytes * model->gamma_s_per_byte;
        seconds += walk.round >= first_round ? round_s : 0;
    }
    return seconds;
}

static void the_closed_form_is_the_time_of_the_schedule(void **state)
{
    (void)state;
    const struct weft_cost_model model = {2e-6, 1e-11, 3e-12};
    for (uint32_t n = 3; n <= 70; n++) {
        struct weft_straggler_cost cost;
        weft_straggler_cost(&cost, n, 3e8, 0, 9, &model);
        const struct weft_algorithm_options options = {.rank_count = n,
                                                       .chunk_factor = cost.chunk_factor};
        arena = arena_kept;
        struct weft_schedule schedule;
        if (!weft_stragglar_build(&schedule, &options, &arena, scratch, &error)) {
            fail_msg("%s", error.message);
        }
        double all_s = walked_seconds(&schedule, 0, 3e8, &model);
        double late_s = walked_seconds(&schedule, n - 2, 3e8, &model);
        assert_int_equal(cost.round_count, schedule.round_count - (n - 2));
        near(cost.finish_s, late_s, 1e-9 * late_s, "time after the late rank", n);
        near(cost.stragglar_s, all_s, 1e-9 * all_s, "time", n);
        double closed_s = weft_algorithm_seconds(WEFT_ALGORITHM_STRAGGLAR, &options, 3e8, &model);
        near(closed_s, all_s, 1e-9 * all_s, "closed form", n);
        double rounds_s = weft_schedule_seconds(&schedule, 3e8, &model, scratch);
        near(rounds_s, all_s, 1e-9 * all_s, "round by round", n);
    }
}

static void the_factor_is_the_best_of_all(void **state)
{
    (void)state;
    static const double sizes[] = {1, 1e4, 1e6, 1e8, 1e10};
    for (uint32_t n = 3; n <= 40; n++) {
        for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct weft_straggler_cost best;
            weft_straggler_cost(&best, n, sizes[i], 1, 50, &published);
            double levels = ceil(log2(n));
            for (uint32_t factor = 1; factor <= 50; factor++) {
                double chunks = (n - 1.0) * factor;
                double other_s =
                    (chunks - 1 + levels) * (3e-6 + sizes[i] / chunks * published.beta_s_per_byte);
                if (best.finish_s > other_s * (1 + 1e-12)) {
                    fail_msg("%u ranks, %g bytes: factor %u takes %g s, %u takes %g s", n, sizes[i],
                             best.chunk_factor, best.finish_s, factor, other_s);
                }
            }
        }
    }
}

static void two_ranks_have_only_the_ring(void **state)
{
    (void)state;
    struct weft_straggler_cost cost;
    weft_straggler_cost(&cost, 2, 1e6, 0.5, 8, &published);
    assert_true(isinf(cost.stragglar_s) && isinf(cost.break_even_delay_s));
    near(cost.ring_s, 0.5 + 2 * (3e-6 + 5e5 * published.beta_s_per_byte), 1e-12, "ring", 2);
    // With three, a byte takes 3 rounds and not 4.
    weft_straggler_cost(&cost, 3, 1, 0.5, 8, &published);
    assert_true(cost.finish_s < cost.ring_s - 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speedups_are_the_published_ones),
        cmocka_unit_test(other_numbers_of_ranks_are_no_slower_than_published),
        cmocka_unit_test(sub_chunks_gain_more_than_with_a_round_more),
        cmocka_unit_test(break_even_at_eight_ranks_is_the_published_one),
        cmocka_unit_test(at_the_break_even_delay_both_take_as_long),
        cmocka_unit_test(late_by_more_is_never_quicker),
        cmocka_unit_test(the_closed_form_is_the_time_of_the_schedule),
        cmocka_unit_test(the_factor_is_the_best_of_all),
        cmocka_unit_test(two_ranks_have_only_the_ring),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
