// SPDX-License-Identifier: Apache-2.0
// The annealer: at a fixed temperature its visits are those of Boltzmann's distribution, it finds
// the best of a rugged row, and it ends where it is told to.
//
// Mutations that made this test fail (each was run): the accepted change is undone; the current
// cost is not updated; losses are accepted with chance 1 - exp(-loss / temperature); what is kept
// is always recorded; the temperature is that of the beginning; the bound is not looked at; a chain
// that is stuck goes on; `work` or `step_work` does not count; the unit of the temperature is 1.

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
    double work;             // of an evaluation
    uint64_t steps_to_block; // after so many nothing can change
    uint64_t *visits;        // per state, NULL = nobody counts
};

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
    anneal->work += walk->work;
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

static const struct weft_anneal_moves moves = {propose, evaluate, NULL, undo, record};

static struct weft_anneal begin(struct walk *walk, struct weft_rng *rng, uint64_t steps_max,
                                double hot, double cold)
{
    double cost = walk->cost[walk->at];
    walk->best_at = walk->at;
    return (struct weft_anneal){.moves = &moves,
                                .state = walk,
                                .rng = rng,
                                .bound = -HUGE_VAL,
                                .steps_max = steps_max,
                                .work_max = HUGE_VAL,
                                .cooling = {hot, cold, WEFT_ANNEAL_ABSOLUTE, 0},
                                .current = cost,
                                .best = cost};
}

static void visits_are_those_of_boltzmann(void **state)
{
    (void)state;
    const double above[STATES] = {0, 1.3, 0.4, 2, 0.9};
    for (uint32_t kind = 0; kind < 12; kind++) {
        // Of a cost of a million the share that is 0.7; which state it is of changes nothing.
        const enum weft_anneal_unit unit = kind / 4;
        double lowest = unit == WEFT_ANNEAL_ABSOLUTE ? 0 : 1e6;
        double hot = unit == WEFT_ANNEAL_ABSOLUTE ? 0.7 : 0.7 / lowest;
        double cost[STATES];
        for (uint32_t i = 0; i < STATES; i++) {
            cost[i] = lowest + above[i];
        }
        uint64_t visits[STATES] = {0};
        struct weft_rng rng;
        weft_rng_init(&rng, kind);
        struct walk walk = {
            .cost = cost, .count = STATES, .steps_to_block = UINT64_MAX, .visits = visits};
        struct weft_anneal anneal = begin(&walk, &rng, VISITS, hot, hot);
        anneal.cooling.unit = unit;
        anneal.draws_late = kind % 2 == 1;
        anneal.cooling.period = kind % 4 < 2 ? 0 : 10;
        weft_anneal_run(&anneal);
        assert_int_equal(anneal.steps, VISITS);
        double sum = 0;
        for (uint32_t i = 0; i < STATES; i++) {
            sum += exp(-above[i] / 0.7);
        }
        for (uint32_t i = 0; i < STATES; i++) {
            double share = (double)visits[i] / VISITS;
            assert_true(fabs(share - exp(-above[i] / 0.7) / sum) < 0.01);
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
        struct walk walk = {.cost = cost, .count = ROW, .steps_to_block = UINT64_MAX};
        struct weft_anneal anneal = begin(&walk, &rng, 200000, 2, 0.02);
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
    struct walk walk = {.cost = cost, .count = STATES, .at = 3, .steps_to_block = UINT64_MAX};
    struct weft_anneal anneal = begin(&walk, &rng, 100000, 9, 9);
    anneal.bound = 1;
    weft_anneal_run(&anneal);
    assert_true(anneal.best <= 1 && anneal.steps < 1000);

    walk.steps_to_block = 17;
    anneal = begin(&walk, &rng, 100000, 9, 9);
    weft_anneal_run(&anneal);
    assert_true(anneal.stuck);
    assert_int_equal(anneal.steps, 17);

    walk.steps_to_block = UINT64_MAX;
    walk.work = 3;
    anneal = begin(&walk, &rng, 100000, 9, 9);
    anneal.step_work = 1;
    anneal.work_max = 400;
    weft_anneal_run(&anneal);
    assert_int_equal(anneal.steps, 100);

    weft_atomic_bool stop = true;
    anneal = begin(&walk, &rng, 100000, 9, 9);
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
