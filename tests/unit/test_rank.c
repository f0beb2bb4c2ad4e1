// SPDX-License-Identifier: Apache-2.0
// Which collective is the quickest: by closed forms, played, and on any number of threads.
//
// Mutations that made these tests fail (each was run): the slowest taken for the best; a sub-chunk
// factor that is not tried; a bound of the latency of all hops of a ring.

#include "../arenas.h"
#include "weft/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SIZES 4u
static const uint64_t sizes_bytes[SIZES] = {1 << 10, 1 << 16, 1 << 22, 1 << 26};

static struct weft_network network;

static struct weft_collective_question question_of(enum weft_collective_kind kind, uint32_t n)
{
    return (struct weft_collective_question){
        .options = {.kind = kind, .rank_count = n},
        .chunk_factor_max = 64,
        .model = {.alpha_s = 2e-6, .beta_s_per_byte = 1 / 12.5e9},
        .transfers_max = 1 << 16,
        .threads = 1,
    };
}

static void use_switch(struct weft_collective_question *question, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    if (!weft_cluster_build(&cluster, question->options.rank_count, 1, 12.5e9, &error)) {
        fail_msg("%s", error.message);
    }
    cluster.latency_ps = 1000000;
    if (!weft_fabric_build_ideal(&network, &cluster, NULL, arena, &error)) {
        fail_msg("%s", error.message);
    }
    question->network = &network;
}

static void ask(struct weft_collective_ranking *rankings,
                const struct weft_collective_question *question)
{
    struct weft_error error;
    if (!weft_collective_rank(rankings, sizes_bytes, SIZES, question, &error)) {
        fail_msg("%s", error.message);
    }
}

static void hold(const struct weft_collective_ranking *ranking, enum weft_collective_kind kind,
                 uint32_t n)
{
    assert_true(ranking->best < WEFT_ALGORITHM_COUNT);
    double best_s = ranking->times[ranking->best].seconds;
    if (best_s < ranking->bound_s * (1 - 1e-9)) {
        fail_msg("%s of %u ranks, %llu bytes: %s takes %.9g s, the bound is %.9g s",
                 weft_collective_name(kind), n, (unsigned long long)ranking->size_bytes,
                 weft_algorithm_name(ranking->best), best_s, ranking->bound_s);
    }
    for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        double seconds = ranking->times[a].seconds;
        if (seconds < 0) {
            continue;
        }
        assert_true(weft_algorithm_supports(a, kind));
        assert_true(seconds >= best_s * (1 - 1e-8));
        assert_true(a == ranking->best || ranking->second < WEFT_ALGORITHM_COUNT);
        assert_true(a == ranking->best ||
                    seconds >= ranking->times[ranking->second].seconds * (1 - 1e-8));
    }
}

static void the_best_is_the_least_and_above_its_bound(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < WEFT_COLLECTIVE_KIND_COUNT * 7 * 2; i++) {
        enum weft_collective_kind kind = i / 14;
        uint32_t n = 2 + 3 * (i / 2 % 7);
        struct weft_arena arena = arena_kept;
        struct weft_collective_question question = question_of(kind, n);
        if (i % 2 == 1) {
            use_switch(&question, &arena);
        }
        struct weft_collective_ranking rankings[SIZES];
        ask(rankings, &question);
        for (uint32_t s = 0; s < SIZES; s++) {
            hold(&rankings[s], kind, n);
        }
    }
}

static void small_and_large_sizes_take_what_theory_says(void **state)
{
    (void)state;
    struct weft_collective_question question = question_of(WEFT_COLLECTIVE_ALLREDUCE, 64);
    struct weft_collective_ranking rankings[SIZES];
    ask(rankings, &question);
    assert_int_equal(rankings[0].best, WEFT_ALGORITHM_RECURSIVE_DOUBLING);
    assert_int_equal(rankings[3].best, WEFT_ALGORITHM_HALVING_DOUBLING);
    // The balance of a double tree's rounds: k = sqrt((L-1) S b / (2a)) for a broadcast.
    question = question_of(WEFT_COLLECTIVE_BROADCAST, 64);
    ask(rankings, &question);
    const struct weft_collective_time *tree = &rankings[2].times[WEFT_ALGORITHM_DOUBLE_TREE];
    assert_in_range(tree->chunk_factor, 16, 24); // 20.5
    struct weft_algorithm_options options = question.options;
    for (uint32_t factor = 1; factor <= 64; factor *= 2) {
        options.chunk_factor = factor;
        assert_true(tree->seconds <= weft_algorithm_seconds(WEFT_ALGORITHM_DOUBLE_TREE, &options,
                                                            (double)sizes_bytes[2],
                                                            &question.model));
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_collective_question question = question_of(WEFT_COLLECTIVE_ALLREDUCE, 9);
    use_switch(&question, &arena);
    struct weft_collective_ranking alone[SIZES];
    struct weft_collective_ranking many[SIZES];
    ask(alone, &question);
    question.threads = 3;
    ask(many, &question);
    for (uint32_t i = 0; i < SIZES; i++) {
        assert_int_equal(alone[i].best, many[i].best);
        for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
            assert_true(alone[i].times[a].seconds == many[i].times[a].seconds);
        }
    }
}

static void a_lone_rank_is_refused(void **state)
{
    (void)state;
    struct weft_collective_question question = question_of(WEFT_COLLECTIVE_ALLREDUCE, 1);
    struct weft_collective_ranking rankings[SIZES];
    struct weft_error error;
    assert_false(weft_collective_rank(rankings, sizes_bytes, SIZES, &question, &error));
    assert_int_equal(error.code, WEFT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_the_least_and_above_its_bound),
        cmocka_unit_test(small_and_large_sizes_take_what_theory_says),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(a_lone_rank_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
