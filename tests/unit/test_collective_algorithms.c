// SPDX-License-Identifier: Apache-2.0
// The registry of algorithms, what it refuses and how it says so, and closed forms against numbers
// worked out by hand.

#include "weft/collective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena_start;
static struct weft_arena scratch_start;

static void names_find_their_algorithms(void **state)
{
    (void)state;
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        const char *name = weft_algorithm_name((enum weft_algorithm)a);
        assert_int_equal(weft_algorithm_find(name), a);
    }
    assert_int_equal(weft_algorithm_find("HalvingDoubling"), WEFT_ALGORITHM_HALVING_DOUBLING);
    assert_int_equal(weft_algorithm_find("double_tree"), WEFT_ALGORITHM_DOUBLE_TREE);
    assert_int_equal(weft_algorithm_find("rin"), WEFT_ALGORITHM_COUNT);
    assert_int_equal(weft_algorithm_find("rings"), WEFT_ALGORITHM_COUNT);
    assert_int_equal(weft_algorithm_find(""), WEFT_ALGORITHM_COUNT);
}

struct refusal {
    enum weft_algorithm algorithm;
    struct weft_algorithm_options options;
    const char *words; // of the message
};

static const uint32_t twice[] = {0, 1, 1, 3};
static const uint32_t beyond[] = {0, 1, 2, 4};
static const struct weft_ring ring_twice = {.member_count = 4, .members = twice};
static const struct weft_ring ring_beyond = {.member_count = 4, .members = beyond};
static const struct weft_ring ring_short = {.member_count = 3, .members = twice};

static void what_cannot_be_is_refused_with_a_remedy(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {WEFT_ALGORITHM_RING, {.rank_count = 1}, "1 ranks; a collective needs two or more"},
        {WEFT_ALGORITHM_RING, {.rank_count = 0}, "two or more"},
        {WEFT_ALGORITHM_RING,
         {.kind = WEFT_COLLECTIVE_ALLTOALL, .rank_count = 8},
         "it does no alltoall; take another algorithm"},
        {WEFT_ALGORITHM_BINARY_TREE,
         {.kind = WEFT_COLLECTIVE_BROADCAST, .rank_count = 8, .root = 8},
         "root 8 is none of the ranks 0 to 7"},
        {WEFT_ALGORITHM_STRAGGLAR, {.rank_count = 2}, "stragglar"},
        {WEFT_ALGORITHM_SYNTHESIZE, {.rank_count = 8}, "needs a fabric"},
        {WEFT_ALGORITHM_PACKED_TREES, {.rank_count = 8}, "needs a fabric"},
        {WEFT_ALGORITHM_RECURSIVE_DOUBLING,
         {.kind = WEFT_COLLECTIVE_ALLGATHER, .rank_count = 12},
         "take bruck"},
        {WEFT_ALGORITHM_TORUS, {.rank_count = 12, .shape = {5, 2}}, "sides that multiply to 12"},
        {WEFT_ALGORITHM_TORUS, {.rank_count = 12, .shape = {5}}, "sides that multiply to 12"},
        {WEFT_ALGORITHM_TORUS,
         {.rank_count = 12, .shape = {UINT32_MAX, UINT32_MAX, UINT32_MAX}},
         "sides that multiply to 12"},
        {WEFT_ALGORITHM_HIERARCHICAL, {.rank_count = 12, .shape = {5}}, "take a divisor of 12"},
        {WEFT_ALGORITHM_HIERARCHICAL, {.rank_count = 12, .shape = {24}}, "take a divisor of 12"},
        {WEFT_ALGORITHM_MULTI_RING, {.rank_count = 6, .ring_count = 3}, "2 circulant rings, not 3"},
        {WEFT_ALGORITHM_MULTI_RING,
         {.rank_count = 4, .rings = &ring_twice, .ring_count = 1},
         "ring 0: member 2, 1, is there twice"},
        {WEFT_ALGORITHM_MULTI_RING,
         {.rank_count = 4, .rings = &ring_beyond, .ring_count = 1},
         "member 3, 4, is no rank"},
        {WEFT_ALGORITHM_MULTI_RING,
         {.rank_count = 4, .rings = &ring_short, .ring_count = 1},
         "it has 3 members; it needs all of the 4 ranks"},
        {WEFT_ALGORITHM_RING, {.rank_count = 1u << 20, .chunk_factor = 1u << 20}, "smaller chunk"},
        {WEFT_ALGORITHM_RING, {.rank_count = UINT32_MAX}, "take fewer ranks"},
        {WEFT_ALGORITHM_DOUBLE_TREE, {.rank_count = 1u << 20, .chunk_factor = 64}, "steps"},
        {WEFT_ALGORITHM_DOUBLE_TREE, {.rank_count = UINT32_MAX}, "steps"},
        {WEFT_ALGORITHM_BINARY_TREE, {.rank_count = 9, .chunk_factor = 1u << 28}, "steps"},
        {WEFT_ALGORITHM_BRUCK, {.kind = WEFT_COLLECTIVE_ALLTOALL, .rank_count = 1u << 24}, "steps"},
    };
    for (uint32_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct weft_arena arena = arena_start;
        struct weft_schedule schedule;
        struct weft_error error = {0};
        const struct refusal *refusal = &refusals[i];
        assert_false(weft_algorithm_build(&schedule, refusal->algorithm, &refusal->options, &arena,
                                          scratch_start, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, refusal->words) == NULL) {
            fail_msg("refusal %u: %s", i, error.message);
        }
    }
}

struct price {
    enum weft_algorithm algorithm;
    enum weft_collective_kind kind;
    uint32_t rank_count;
    uint32_t chunk_factor;
    double rounds;
    double share; // of S that the busiest rank moves
    double added; // of S that it adds
};

// S = 1 byte; each term alone.
static void closed_forms_are_the_published_ones(void **state)
{
    (void)state;
    static const struct price prices[] = {
        {WEFT_ALGORITHM_RING, WEFT_COLLECTIVE_ALLREDUCE, 8, 1, 14, 1.75, 0.875},
        {WEFT_ALGORITHM_RING, WEFT_COLLECTIVE_BROADCAST, 8, 4, 10, 2.5, 0},
        {WEFT_ALGORITHM_BIDIRECTIONAL, WEFT_COLLECTIVE_ALLGATHER, 5, 1, 4, 0.8, 0},
        {WEFT_ALGORITHM_BINOMIAL_TREE, WEFT_COLLECTIVE_ALLREDUCE, 9, 1, 8, 8, 4},
        {WEFT_ALGORITHM_BINARY_TREE, WEFT_COLLECTIVE_BROADCAST, 7, 10, 22, 2.2, 0},
        {WEFT_ALGORITHM_DOUBLE_TREE, WEFT_COLLECTIVE_BROADCAST, 8, 50, 104, 1.04, 0},
        {WEFT_ALGORITHM_HALVING_DOUBLING, WEFT_COLLECTIVE_ALLREDUCE, 8, 1, 6, 1.75, 0.875},
        {WEFT_ALGORITHM_HALVING_DOUBLING, WEFT_COLLECTIVE_ALLREDUCE, 5, 1, 6, 1.6, 0.8},
        {WEFT_ALGORITHM_RECURSIVE_DOUBLING, WEFT_COLLECTIVE_ALLREDUCE, 8, 1, 3, 3, 3},
        {WEFT_ALGORITHM_RECURSIVE_DOUBLING, WEFT_COLLECTIVE_ALLREDUCE, 9, 1, 5, 5, 4},
        {WEFT_ALGORITHM_BRUCK, WEFT_COLLECTIVE_ALLGATHER, 9, 1, 4, 8.0 / 9, 0},
        {WEFT_ALGORITHM_BRUCK, WEFT_COLLECTIVE_ALLTOALL, 8, 1, 3, 1.5, 0},
        {WEFT_ALGORITHM_HIERARCHICAL, WEFT_COLLECTIVE_ALLREDUCE, 32, 1, 20, 62.0 / 32, 31.0 / 32},
        {WEFT_ALGORITHM_TORUS, WEFT_COLLECTIVE_ALLREDUCE, 64, 1, 28, 126.0 / 64, 63.0 / 64},
        {WEFT_ALGORITHM_DIRECT, WEFT_COLLECTIVE_ALLTOALL, 8, 1, 7, 0.875, 0},
        {WEFT_ALGORITHM_STAGED, WEFT_COLLECTIVE_ALLTOALL, 32, 1, 10, 1.625, 0},
    };
    static const struct weft_cost_model rounds = {1, 0, 0};
    static const struct weft_cost_model bytes = {0, 1, 0};
    static const struct weft_cost_model adds = {0, 0, 1};
    for (uint32_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
        const struct price *price = &prices[i];
        struct weft_algorithm_options options = {.kind = price->kind,
                                                 .rank_count = price->rank_count,
                                                 .chunk_factor = price->chunk_factor};
        double found[3] = {weft_algorithm_seconds(price->algorithm, &options, 1, &rounds),
                           weft_algorithm_seconds(price->algorithm, &options, 1, &bytes),
                           weft_algorithm_seconds(price->algorithm, &options, 1, &adds)};
        if (!(fabs(found[0] - price->rounds) < 1e-12) || !(fabs(found[1] - price->share) < 1e-12) ||
            !(fabs(found[2] - price->added) < 1e-12)) {
            fail_msg("price %u: %g rounds, %g moved, %g added", i, found[0], found[1], found[2]);
        }
    }
}

static void without_a_closed_form_the_answer_is_negative(void **state)
{
    (void)state;
    static const struct weft_cost_model model = {1, 1, 1};
    struct weft_algorithm_options options = {.rank_count = 8};
    assert_true(weft_algorithm_seconds(WEFT_ALGORITHM_SYNTHESIZE, &options, 1, &model) < 0);
    options.kind = WEFT_COLLECTIVE_ALLTOALL;
    assert_true(weft_algorithm_seconds(WEFT_ALGORITHM_RING, &options, 1, &model) < 0);
    options.rank_count = 1;
    assert_true(weft_algorithm_seconds(WEFT_ALGORITHM_DIRECT, &options, 1, &model) < 0);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_start, 0, &error) || !weft_arena_init(&scratch_start, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_find_their_algorithms),
        cmocka_unit_test(what_cannot_be_is_refused_with_a_remedy),
        cmocka_unit_test(closed_forms_are_the_published_ones),
        cmocka_unit_test(without_a_closed_form_the_answer_is_negative),
    };
    return cmocka_run_group_tests_name("collective algorithms", tests, NULL, NULL);
}
