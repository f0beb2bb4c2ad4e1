// SPDX-License-Identifier: Apache-2.0
// Placements of appliances against all of them: random kinds, demands and places; the dollars are
// those of the cheapest of all choices of kinds by place that the demands fit, and shares,
// loads and latencies keep what was asked.
//
// Mutations that made this test fail (each was run): nodes whose bound is above 0.9 of the best are
// left; y is rounded down; the load of a kind has no bound; classes hold one place more.

#include "../arenas.h"
#include "../seeds.h"
#include "weft/serving/place.h"

#include <coin/Clp_C_Interface.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEEDS 300u
#define KINDS 3u
#define PLACES 4u
#define DEMANDS 3u

struct scene {
    struct weft_serving_appliance kinds[KINDS];
    struct weft_serving_demand demands[DEMANDS];
    double network_ns[DEMANDS * PLACES];
    struct weft_serving_place_problem problem;
};

static void draw(struct scene *scene, uint64_t seed)
{
    struct weft_rng rng = weft_rng_stream(0x91ace, seed);
    *scene = (struct scene){0};
    for (uint32_t k = 0; k < KINDS; k++) {
        struct weft_serving_appliance *kind = &scene->kinds[k];
        kind->name = "kind";
        kind->usd = 100 + weft_rng_below(&rng, 900);
        kind->watts = 10 + weft_rng_below(&rng, 90);
        for (uint32_t n = 0; n < 2; n++) {
            kind->rate[n] = weft_rng_below(&rng, 6) == 0 ? 0 : 20 + weft_rng_below(&rng, 180);
            kind->isolated_ns[n] = 1e9 / fmax(kind->rate[n], 1) * (1 + weft_rng_unit(&rng));
        }
    }
    for (uint32_t j = 0; j < DEMANDS; j++) {
        scene->demands[j] = (struct weft_serving_demand){"demand", weft_rng_below(&rng, 2),
                                                         1 + weft_rng_below(&rng, 120),
                                                         1e6 * (20 + weft_rng_below(&rng, 250))};
        for (uint32_t p = 0; p < PLACES; p++) {
            scene->network_ns[j * PLACES + p] = 1e6 * weft_rng_below(&rng, 2) * 60;
        }
    }
    scene->problem = (struct weft_serving_place_problem){
        .kind_count = 1 + weft_rng_below(&rng, KINDS),
        .kinds = scene->kinds,
        .demand_count = 1 + weft_rng_below(&rng, DEMANDS),
        .demands = scene->demands,
        .place_count = PLACES,
        .network_ns = scene->network_ns,
        .rho_max = 0.5 + 0.4 * weft_rng_unit(&rng),
    };
}

static bool allowed(const struct scene *scene, uint32_t j, uint32_t kind, uint32_t p)
{
    const struct weft_serving_demand *demand = &scene->demands[j];
    return kind < KINDS && scene->kinds[kind].rate[demand->net] > 0 &&
           scene->network_ns[j * PLACES + p] + weft_serving_shared_ns(&scene->kinds[kind],
                                                                      demand->net,
                                                                      scene->problem.rho_max) <=
               demand->objective_ns;
}

// Whether demands fit these kinds, place by place: the least largest load is rho at most.
static bool fits(const struct scene *scene, const uint32_t *kinds)
{
    const struct weft_serving_place_problem *problem = &scene->problem;
    Clp_Simplex *lp = Clp_newModel();
    Clp_setLogLevel(lp, 0);
    // Column 0 is the largest load; then a share for each demand and place.
    CoinBigIndex start[2 + DEMANDS * PLACES] = {0};
    int index[PLACES + 2 * DEMANDS * PLACES];
    double value[PLACES + 2 * DEMANDS * PLACES];
    double upper[1 + DEMANDS * PLACES];
    double objective[1 + DEMANDS * PLACES] = {1};
    double row_low[PLACES + DEMANDS];
    double row_high[PLACES + DEMANDS];
    int entries = 0;
    for (int p = 0; p < (int)PLACES; p++) {
        index[entries] = p;
        value[entries++] = -1;
        row_low[p] = -DBL_MAX;
        row_high[p] = 0;
    }
    upper[0] = DBL_MAX;
    uint32_t column = 1;
    for (uint32_t j = 0; j < problem->demand_count; j++) {
        const struct weft_serving_demand *demand = &scene->demands[j];
        row_low[PLACES + j] = row_high[PLACES + j] = 1;
        for (uint32_t p = 0; p < PLACES; p++, column++) {
            bool may = allowed(scene, j, kinds[p], p);
            start[column] = entries;
            index[entries] = (int)p;
            value[entries++] =
                may ? demand->requests_per_s / scene->kinds[kinds[p]].rate[demand->net] : 0;
            index[entries] = (int)(PLACES + j);
            value[entries++] = 1;
            upper[column] = may ? 1 : 0;
        }
    }
    start[column] = entries;
    Clp_loadProblem(lp, (int)column, (int)(PLACES + problem->demand_count), start, index, value,
                    NULL, upper, objective, row_low, row_high);
    Clp_dual(lp, 0);
    bool fine = Clp_status(lp) == 0 && Clp_objectiveValue(lp) <= problem->rho_max + 1e-9;
    Clp_deleteModel(lp);
    return fine;
}

static double cheapest(const struct scene *scene)
{
    double best = (double)INFINITY;
    uint32_t choices = scene->problem.kind_count + 1;
    uint32_t all = choices * choices * choices * choices;
    for (uint32_t code = 0; code < all; code++) {
        uint32_t kinds[PLACES];
        double usd = 0;
        uint32_t rest = code;
        for (uint32_t p = 0; p < PLACES; p++) {
            uint32_t k = rest % choices;
            rest /= choices;
            kinds[p] = k < scene->problem.kind_count ? k : WEFT_NONE;
            usd += k < scene->problem.kind_count ? scene->kinds[k].usd : 0;
        }
        if (usd < best && fits(scene, kinds)) {
            best = usd;
        }
    }
    return best;
}

static void check(const struct scene *scene, const struct weft_serving_placement *placement)
{
    for (uint32_t j = 0; j < scene->problem.demand_count; j++) {
        double sum = 0;
        for (uint32_t p = 0; p < PLACES; p++) {
            double share = placement->shares[j * PLACES + p];
            sum += share;
            assert_true(share <= 0 || allowed(scene, j, placement->kinds[p], p));
        }
        assert_true(fabs(sum - 1) < 1e-6);
        assert_true(placement->latencies_ns[j] <= scene->demands[j].objective_ns * (1 + 1e-6));
    }
    for (uint32_t p = 0; p < PLACES; p++) {
        assert_true(placement->rhos[p] <= scene->problem.rho_max + 1e-6);
    }
}

static void placements_are_the_cheapest(void **state)
{
    (void)state;
    uint32_t served = 0;
    for (uint64_t seed = 0; seed < TEST_SEEDS(SEEDS); seed++) {
        struct scene scene;
        draw(&scene, seed);
        struct weft_arena scratch = scratch_kept;
        struct weft_arena arena = weft_arena_split(&scratch);
        struct weft_serving_placement placement;
        struct weft_error error;
        double best = cheapest(&scene);
        bool found = weft_serving_place(&placement, &scene.problem, &arena, scratch, &error);
        if (found != isfinite(best) || (found && fabs(placement.usd - best) > 1e-6)) {
            fail_msg("seed %llu: $%.2f, the cheapest of all $%.2f", (unsigned long long)seed,
                     found ? placement.usd : -1, best);
        }
        if (found) {
            assert_true(placement.proved);
            check(&scene, &placement);
            served++;
        } else {
            assert_int_equal(error.code, WEFT_INFEASIBLE);
        }
    }
    assert_true(served > TEST_SEEDS(SEEDS) / 4);
}

int main(void)
{
    print_message("seeds 0 to %u of stream 0x91ace\n", TEST_SEEDS(SEEDS) - 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(placements_are_the_cheapest)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
