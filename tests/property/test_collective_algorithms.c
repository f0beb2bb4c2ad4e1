// SPDX-License-Identifier: Apache-2.0
// Every algorithm, every kind it does, every number of ranks: the checker executes the schedule and
// finds it valid, its rounds and its time round by round are those of the closed form, and no time
// is below the bound.
//
// Seen to fail: a ring whose ranks begin with their own block in a reduce-scatter (lag 0); both
// edges of a receiver in one color in the double tree; phases of a torus that begin a round early;
// a circulant hop of a block too many; rows of a torus that begin with the own block; given rings
// whose blocks begin at home; a staged all-to-all that sends along the rails from the input; a
// binary tree's closed form without the lone leaf of n = 2^d; a bound with floor(log2 n) + 1
// rounds; the bytes of a round counted out and in together.

#include "weft/collective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct weft_arena arena_start;
static struct weft_arena scratch_start;

static const uint32_t large_counts[] = {160, 192, 193, 255, 256, 257, 1024};
#define LARGE_COUNT (sizeof large_counts / sizeof large_counts[0])

// A case that can fail with its own words.
struct attempt {
    enum weft_algorithm algorithm;
    const struct weft_algorithm_options *options;
};

static const char *words_of(const struct attempt *attempt)
{
    static char words[160];
    const struct weft_algorithm_options *options = attempt->options;
    snprintf(words, sizeof words, "%s %s, %u ranks, factor %u, root %u, shape %ux%ux%u",
             weft_algorithm_name(attempt->algorithm), weft_collective_name(options->kind),
             options->rank_count, options->chunk_factor, options->root, options->shape[0],
             options->shape[1], options->shape[2]);
    return words;
}

// ---- time ----

static void expect_time(const struct attempt *attempt, const struct weft_schedule *schedule,
                        double size_bytes, const struct weft_cost_model *model)
{
    double closed = weft_algorithm_seconds(attempt->algorithm, attempt->options, size_bytes, model);
    double rounds = weft_schedule_seconds(schedule, size_bytes, model, scratch_start);
    double bound =
        weft_collective_bound_seconds(schedule->kind, schedule->rank_count, size_bytes, model);
    if (!(fabs(closed - rounds) <= 1e-12 * rounds)) {
        fail_msg("%s: closed form %.17g s, round by round %.17g s", words_of(attempt), closed,
                 rounds);
    }
    // The bound is of one message a rank and round.
    bool several = attempt->algorithm == WEFT_ALGORITHM_RECURSIVE_EXCHANGE;
    if ((!several && !(bound <= rounds * (1 + 1e-12))) || !(bound > 0)) {
        fail_msg("%s: %.17g s, bound %.17g s", words_of(attempt), rounds, bound);
    }
}

static void expect_times(const struct attempt *attempt, const struct weft_schedule *schedule,
                         uint32_t round_count)
{
    static const struct weft_cost_model model = {1e-6, 8e-11, 3e-11};
    static const struct weft_cost_model only_bytes = {0, 1e-9, 0};
    static const struct weft_cost_model only_rounds = {1, 0, 0};
    expect_time(attempt, schedule, 1e9 / 3, &model);
    if (schedule->rank_count <= 64) {
        expect_time(attempt, schedule, 4096, &only_bytes);
    }
    // With a second a message and nothing else the closed form counts rounds.
    double rounds = weft_algorithm_seconds(attempt->algorithm, attempt->options, 1, &only_rounds);
    if (rounds != round_count) {
        fail_msg("%s: %u rounds, not %g", words_of(attempt), round_count, rounds);
    }
}

// ---- one case ----

static void expect_sound(const struct attempt *attempt)
{
    struct weft_arena arena = arena_start;
    struct weft_error error = {0};
    struct weft_schedule schedule;
    struct weft_schedule_report report = {0};
    if (!weft_algorithm_build(&schedule, attempt->algorithm, attempt->options, &arena,
                              scratch_start, &error) ||
        !weft_schedule_check(&report, &schedule, scratch_start, &error)) {
        fail_msg("%s: %s", words_of(attempt), error.message);
    }
    if (!report.valid) {
        fail_msg("%s: %s", words_of(attempt), report.why);
    }
    // Never a record for each pair of ranks.
    double n = attempt->options->rank_count;
    uint32_t factor = attempt->options->chunk_factor > 0 ? attempt->options->chunk_factor : 1;
    if (schedule.step_count > 64 + 30 * n * cbrt(n) * factor) {
        fail_msg("%s: %u steps", words_of(attempt), schedule.step_count);
    }
    expect_times(attempt, &schedule, report.round_count);
}

static bool can_do(enum weft_algorithm algorithm, enum weft_collective_kind kind, uint32_t n)
{
    bool power = (n & (n - 1)) == 0;
    return !weft_algorithm_needs_fabric(algorithm) && weft_algorithm_supports(algorithm, kind) &&
           (algorithm != WEFT_ALGORITHM_STRAGGLAR || n > 2) &&
           (algorithm != WEFT_ALGORITHM_RECURSIVE_DOUBLING || power ||
            kind != WEFT_COLLECTIVE_ALLGATHER);
}

static uint32_t check_count(uint32_t n, uint32_t factor)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
            struct weft_algorithm_options options = {.kind = (enum weft_collective_kind)k,
                                                     .rank_count = n,
                                                     .chunk_factor = factor,
                                                     .root = n * 2 / 3,
                                                     .ring_count = n > 130 ? 2 : 0};
            if (can_do((enum weft_algorithm)a, options.kind, n)) {
                expect_sound(&(struct attempt){(enum weft_algorithm)a, &options});
                count++;
            }
        }
    }
    return count;
}

// ---- the tests ----

static void small_counts_are_sound(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 130; n++) {
        uint32_t count = check_count(n, 1);
        bool power = (n & (n - 1)) == 0;
        assert_int_equal(count, 42 + power + (n > 2));
    }
}

static void large_counts_are_sound(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LARGE_COUNT; i++) {
        check_count(large_counts[i], 0);
    }
}

static void sub_chunks_are_sound(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 24; n++) {
        for (uint32_t factor = 2; factor <= 7; factor += factor < 4 ? 1 : 3) {
            check_count(n, factor);
        }
    }
    for (uint32_t a = WEFT_ALGORITHM_BINARY_TREE; a <= WEFT_ALGORITHM_DOUBLE_TREE; a++) {
        struct weft_algorithm_options options = {
            .kind = WEFT_COLLECTIVE_ALLREDUCE, .rank_count = 100, .chunk_factor = 200};
        expect_sound(&(struct attempt){(enum weft_algorithm)a, &options});
    }
}

static void shapes_are_sound(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{2, 9, 3}, {3, 2, 9}, {9, 3, 2}, {4, 4, 4}, {2, 3, 4},
                                         {5, 3, 2}, {2, 2, 2}, {8, 1, 3}, {1, 1, 7}, {7, 5, 1},
                                         {3, 9, 3}, {2, 1, 2}, {16, 2, 1}};
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const uint32_t *shape = shapes[i];
        struct weft_algorithm_options options = {
            .rank_count = shape[0] * shape[1] * shape[2],
            .chunk_factor = 1 + i % 2,
            .shape = {shape[0], shape[1], shape[2]},
        };
        for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
            options.kind = (enum weft_collective_kind)k;
            for (uint32_t a = WEFT_ALGORITHM_HIERARCHICAL; a <= WEFT_ALGORITHM_STAGED; a++) {
                if (weft_algorithm_supports((enum weft_algorithm)a, options.kind)) {
                    expect_sound(&(struct attempt){(enum weft_algorithm)a, &options});
                }
            }
        }
    }
}

// Rings in any order of ranks, as a plan gives them, for every kind that runs around them.
static void given_rings_are_sound(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t n = 2 + weft_rng_below(&rng, 40);
        uint32_t members[4][64];
        struct weft_ring rings[4];
        uint32_t count = 1 + weft_rng_below(&rng, 4);
        for (uint32_t r = 0; r < count; r++) {
            for (uint32_t i = 0; i < n; i++) {
                members[r][i] = i;
            }
            weft_rng_shuffle(&rng, members[r], n);
            rings[r] = (struct weft_ring){.member_count = n, .members = members[r]};
        }
        for (uint32_t k = 0; k <= WEFT_COLLECTIVE_ALLGATHER; k++) {
            struct weft_algorithm_options options = {.kind = (enum weft_collective_kind)k,
                                                     .rank_count = n,
                                                     .chunk_factor = 1 + seed % 3,
                                                     .rings = rings,
                                                     .ring_count = count};
            expect_sound(&(struct attempt){WEFT_ALGORITHM_MULTI_RING, &options});
        }
    }
}

static void they_add_up_on_real_buffers(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 24; n += 1 + n / 12) {
        for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
            for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
                struct weft_algorithm_options options = {.kind = (enum weft_collective_kind)k,
                                                         .rank_count = n,
                                                         .chunk_factor = 1 + a % 3,
                                                         .root = n - 1};
                if (!can_do((enum weft_algorithm)a, options.kind, n)) {
                    continue;
                }
                struct attempt attempt = {(enum weft_algorithm)a, &options};
                struct weft_arena arena = arena_start;
                struct weft_error error = {0};
                struct weft_schedule schedule;
                if (!weft_algorithm_build(&schedule, attempt.algorithm, &options, &arena,
                                          scratch_start, &error) ||
                    !weft_schedule_try(&schedule, 1000 + n, n, scratch_start, &error)) {
                    fail_msg("%s: %s", words_of(&attempt), error.message);
                }
            }
        }
    }
}

// What goes between servers in an all-reduce of two levels is 2(s-1)/s of S/g a rank.
static void hierarchical_spares_the_rails(void **state)
{
    (void)state;
    struct weft_algorithm_options options = {
        .kind = WEFT_COLLECTIVE_ALLREDUCE, .rank_count = 96, .shape = {8}};
    struct weft_arena arena = arena_start;
    struct weft_arena scratch = scratch_start;
    struct weft_error error;
    struct weft_schedule schedule;
    assert_true(weft_algorithm_build(&schedule, WEFT_ALGORITHM_HIERARCHICAL, &options, &arena,
                                     scratch, &error));
    uint64_t across = 0;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, &schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            if (transfer->from / 8 != transfer->to / 8) {
                assert_int_equal(transfer->from % 8, transfer->to % 8);
                across += transfer->slot_count;
            }
        }
    }
    assert_int_equal(across, (uint64_t)96 * 2 * 11 * schedule.chunk_count / (12 * 8));
}

// In every round of a torus of equal sides each rank sends one message each way in each dimension.
static void a_torus_is_busy_in_all_dimensions(void **state)
{
    (void)state;
    struct weft_algorithm_options options = {
        .kind = WEFT_COLLECTIVE_ALLREDUCE, .rank_count = 64, .shape = {4, 4, 4}};
    struct weft_arena arena = arena_start;
    struct weft_arena scratch = scratch_start;
    struct weft_error error;
    struct weft_schedule schedule;
    assert_true(
        weft_algorithm_build(&schedule, WEFT_ALGORITHM_TORUS, &options, &arena, scratch, &error));
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, &schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        assert_int_equal(walk.transfer_count, 64 * 6);
        bool used[64][64] = {0};
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            assert_false(used[transfer->from][transfer->to]);
            used[transfer->from][transfer->to] = true;
        }
    }
}

static void a_ring_of_thousands_is_two_steps(void **state)
{
    (void)state;
    struct weft_algorithm_options options = {.kind = WEFT_COLLECTIVE_ALLREDUCE, .rank_count = 4096};
    struct weft_error error;
    struct weft_schedule schedule;
    clock_t begin = clock();
    for (uint32_t i = 0; i < 100; i++) {
        struct weft_arena arena = arena_start;
        assert_true(weft_algorithm_build(&schedule, WEFT_ALGORITHM_RING, &options, &arena,
                                         scratch_start, &error));
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC / 100;
    assert_int_equal(schedule.step_count, 2);
    assert_int_equal(schedule.round_count, 2 * 4095);
    assert_true(seconds < 1e-3);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_start, 0, &error) || !weft_arena_init(&scratch_start, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_counts_are_sound),
        cmocka_unit_test(large_counts_are_sound),
        cmocka_unit_test(sub_chunks_are_sound),
        cmocka_unit_test(shapes_are_sound),
        cmocka_unit_test(given_rings_are_sound),
        cmocka_unit_test(they_add_up_on_real_buffers),
        cmocka_unit_test(hierarchical_spares_the_rails),
        cmocka_unit_test(a_torus_is_busy_in_all_dimensions),
        cmocka_unit_test(a_ring_of_thousands_is_two_steps),
    };
    return cmocka_run_group_tests_name("collective algorithms", tests, NULL, NULL);
}
