// SPDX-License-Identifier: Apache-2.0
// The annealer: at a fixed temperature its visits are those of Boltzmann's distribution, it finds
// the best of a rugged row, and it ends where it is told to.
//
// Mutations that made this test fail (each was run): the accepted change is undone; the current
// cost is not updated; losses are accepted with chance 1 - exp(-loss / temperature); what is kept
// is always recorded; the temperature is that of the beginning; the bound is not looked at; a chain
// that is stuck goes on.

#include "weft/base/anneal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define STATES 5u
#define VISITS 400000u
#define ROW 400u
#define SEEDS 10u

// A walk on a ring of states, each with a cost.
struct walk {
    const double *cost;
    uint32_t count;
    uint32_t at;
    uint32_t before;
    uint32_t best_at;
    uint32_t record_count;
    double hot;
    double cold;
    uint64_t steps_to_block; // after so many nothing can change
    uint64_t *visits;        // per state, NULL = nobody counts
};

static double progress(const struct weft_anneal *anneal)
{
    return (double)anneal->steps / (double)anneal->steps_max;
}

static double temperature(const struct weft_anneal *anneal, double done)
{
    const struct walk *walk = anneal->state;
    return weft_anneal_cool(walk->hot, walk->cold, done);
}

static enum weft_anneal_proposal propose(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    if (walk->visits != NULL) {
        walk->visits[walk->at]++;
    }
    if (anneal->steps == walk->steps_to_block) {
        return WEFT_ANNEAL_STUCK;
    }
    walk->before = walk->at;
    bool up = weft_rng_below(anneal->rng, 2) == 0;
    walk->at = (walk->at + (up ? 1 : walk->count - 1)) % walk->count;
    return WEFT_ANNEAL_MOVED;
}

static double evaluate(struct weft_anneal *anneal)
{
    const struct walk *walk = anneal->state;
    assert_true(anneal->draws_late || weft_anneal_limit(anneal) >= anneal->current);
    return walk->cost[walk->at];
}

static void undo(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    walk->at = walk->before;
}

static void record(struct weft_anneal *anneal)
{
    struct walk *walk = anneal->state;
    assert_true(walk->cost[walk->at] < walk->cost[walk->best_at]);
    assert_true(anneal->best <= walk->cost[walk->at] && anneal->best >= walk->cost[walk->at]);
    walk->best_at = walk->at;
    walk->record_count++;
}

static const struct weft_anneal_moves moves = {progress, temperature, propose, evaluate,
                                               NULL,     undo,        record};

static struct weft_anneal begin(struct walk *walk, struct weft_rng *rng, uint64_t steps_max)
{
    double cost = walk->cost[walk->at];
    return (struct weft_anneal){.moves = &moves,
                                .state = walk,
                                .rng = rng,
                                .bound = -HUGE_VAL,
                                .steps_max = steps_max,
                                .current = cost,
                                .best = cost};
}

static void visits_are_those_of_boltzmann(void **state)
{
    (void)state;
    const double cost[STATES] = {0, 1.3, 0.4, 2, 0.9};
    for (uint32_t kind = 0; kind < 4; kind++) {
        uint64_t visits[STATES] = {0};
        struct weft_rng rng;
        weft_rng_init(&rng, kind);
        struct walk walk = {.cost = cost,
                            .count = STATES,
                            .hot = 0.7,
                            .cold = 0.7,
                            .steps_to_block = UINT64_MAX,
                            .visits = visits};
        struct weft_anneal anneal = begin(&walk, &rng, VISITS);
        anneal.draws_late = kind % 2 == 1;
        anneal.period = kind < 2 ? 0 : 10;
        weft_anneal_run(&anneal);
        assert_int_equal(anneal.steps, VISITS);
        double sum = 0;
        for (uint32_t i = 0; i < STATES; i++) {
            sum += exp(-cost[i] / 0.7);
        }
        for (uint32_t i = 0; i < STATES; i++) {
            double share = (double)visits[i] / VISITS;
            assert_true(fabs(share - exp(-cost[i] / 0.7) / sum) < 0.01);
        }
    }
}

static void the_best_of_a_rugged_row_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %u\n", (unsigned)seed);
        double cost[ROW];
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t lowest = 0;
        for (uint32_t i = 0; i < ROW; i++) {
            double far = fmin(fabs(i - 200.0), ROW - fabs(i - 200.0));
            cost[i] = 0.05 * far + weft_rng_unit(&rng);
            lowest = cost[i] < cost[lowest] ? i : lowest;
        }
        struct walk walk = {
            .cost = cost, .count = ROW, .hot = 2, .cold = 0.02, .steps_to_block = UINT64_MAX};
        struct weft_anneal anneal = begin(&walk, &rng, 200000);
        weft_anneal_run(&anneal);
        assert_int_equal(walk.best_at, lowest);
        assert_true(walk.record_count > 1);
        assert_true(anneal.best <= cost[lowest]);
        // It ends cold: near the bottom, not where a warm walk would be.
        assert_true(anneal.current < cost[lowest] + 1);
    }
}

static void a_chain_ends_where_it_is_told_to(void **state)
{
    (void)state;
    const double cost[STATES] = {0, 1, 2, 3, 4};
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    struct walk walk = {.cost = cost,
                        .count = STATES,
                        .at = 3,
                        .best_at = 3,
                        .hot = 9,
                        .cold = 9,
                        .steps_to_block = UINT64_MAX};
    struct weft_anneal anneal = begin(&walk, &rng, 100000);
    anneal.bound = 1;
    weft_anneal_run(&anneal);
    assert_true(anneal.best <= 1 && anneal.steps < 1000);

    walk.steps_to_block = 17;
    walk.best_at = walk.at;
    anneal = begin(&walk, &rng, 100000);
    weft_anneal_run(&anneal);
    assert_true(anneal.stuck);
    assert_int_equal(anneal.steps, 17);

    weft_atomic_bool stop = true;
    anneal = begin(&walk, &rng, 100000);
    anneal.stop = &stop;
    weft_anneal_run(&anneal);
    assert_true(anneal.stopped);
    assert_int_equal(anneal.steps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_are_those_of_boltzmann),
        cmocka_unit_test(the_best_of_a_rugged_row_is_found),
        cmocka_unit_test(a_chain_ends_where_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
