// SPDX-License-Identifier: Apache-2.0
// Recursive exchange on random numbers of chips, radices, wavelengths and sizes: the schedule is
// valid, its time round by round is the closed form's, the best plan is the least of all radices in
// all orders and all choices to stay (each summed by code of its own), nothing is quicker by
// staying always, turning always or on the ring, regimes end where they say, and the flow engine
// takes the formula's time.
//
// Seen to fail: the all-gather's rounds in the order of the reduce-scatter's; rounds behind the
// first with twice their bytes; no change at the turn between the halves; a turn back to the ring
// for nothing; opposite chips down the ring; wavelengths rounded to the nearest; one wavelength a
// circuit in the engine.

#include "../seeds.h"
#include "weft/collective/recursive.h"
#include "weft/plan/circuits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_rng rng;

#define CHIPS_MAX 96u

static const enum weft_collective_kind kinds[] = {
    WEFT_COLLECTIVE_ALLREDUCE, WEFT_COLLECTIVE_REDUCE_SCATTER, WEFT_COLLECTIVE_ALLGATHER};

// A random product, in a random order.
static uint32_t draw_radices(uint32_t radices[WEFT_RADICES_MAX], uint32_t *chips)
{
    uint32_t count = 0;
    *chips = 1;
    do {
        uint32_t radix = 2 + (uint32_t)weft_rng_below(&rng, count == 0 ? 12 : 5);
        if (*chips * radix > CHIPS_MAX) {
            break;
        }
        radices[count++] = radix;
        *chips *= radix;
    } while (weft_rng_below(&rng, 4) > 0);
    return count;
}

static struct weft_recursive_options draw_options(uint32_t chips)
{
    static const double changes_s[] = {0, 1e-7, 3.7e-6, 1e-4};
    uint32_t circuits = (uint32_t)weft_rng_below(&rng, 9);
    return (struct weft_recursive_options){
        .kind = kinds[weft_rng_below(&rng, 3)],
        .chip_count = chips,
        .wavelengths = weft_rng_below(&rng, 2) > 0 ? 1 + (uint32_t)weft_rng_below(&rng, 32) : 0,
        .circuits_max = circuits > 6 ? 0 : circuits + 1,
        .rate_Bps = 1e11 * (1 + (double)weft_rng_below(&rng, 5)),
        .hop_s = 1e-7 * (double)weft_rng_below(&rng, 20),
        .change_s = changes_s[weft_rng_below(&rng, 4)],
    };
}

static double draw_size(void)
{
    return floor(pow(2, 10 + (double)weft_rng_below(&rng, 200) / 10));
}

// ---- schedules ----

static void schedules_are_valid_and_take_the_formula(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t radices[WEFT_RADICES_MAX];
        uint32_t chips = 0;
        uint32_t count = draw_radices(radices, &chips);
        struct weft_recursive_options options = draw_options(chips);
        options.wavelengths = options.circuits_max = 0;
        const struct weft_algorithm_options asked = {.kind = options.kind,
                                                     .rank_count = chips,
                                                     .chunk_factor = 1 + i % 3,
                                                     .radix_count = count,
                                                     .radices = radices};
        struct weft_arena kept = arena;
        struct weft_error error;
        struct weft_schedule schedule;
        struct weft_schedule_report report = {0};
        assert_true(weft_algorithm_build(&schedule, WEFT_ALGORITHM_RECURSIVE_EXCHANGE, &asked,
                                         &kept, scratch, &error));
        assert_true(weft_schedule_check(&report, &schedule, scratch, &error));
        if (!report.valid) {
            fail_msg("%u chips: %s", chips, report.why);
        }
        uint32_t largest = 0;
        for (uint32_t k = 0; k < count; k++) {
            largest = radices[k] > largest ? radices[k] : largest;
        }
        assert_int_equal(report.send_port_max, largest - 1);
        assert_int_equal(report.receive_port_max, largest - 1);
        double size = draw_size();
        const struct weft_cost_model model = {options.hop_s + options.change_s,
                                              1 / options.rate_Bps, 0};
        struct weft_recursive_plan plan;
        weft_recursive_follow(&plan, &options, size, WEFT_RECURSIVE_ALWAYS, radices, count,
                              scratch);
        double rounds_s = weft_schedule_seconds(&schedule, size, &model, scratch);
        double closed_s =
            weft_algorithm_seconds(WEFT_ALGORITHM_RECURSIVE_EXCHANGE, &asked, size, &model);
        assert_true(fabs(plan.seconds - rounds_s) < 1e-12 * rounds_s);
        assert_true(fabs(closed_s - rounds_s) < 1e-12 * rounds_s);
    }
}

// The fewest radices of at most so much, by trying all.
static uint32_t fewest(uint32_t n, uint32_t radix)
{
    uint32_t least = n == 1 ? 0 : WEFT_NONE;
    for (uint32_t r = 2; r <= radix && r <= n; r++) {
        uint32_t rest = n % r == 0 ? fewest(n / r, radix) : WEFT_NONE;
        least = rest != WEFT_NONE && rest + 1 < least ? rest + 1 : least;
    }
    return least;
}

static void radices_are_the_fewest(void **state)
{
    (void)state;
    static const struct weft_cost_model rounds = {1, 0, 0};
    for (uint32_t n = 2; n < 200; n++) {
        for (uint32_t radix = 2; radix < 20; radix++) {
            const struct weft_algorithm_options options = {
                .kind = WEFT_COLLECTIVE_ALLGATHER, .rank_count = n, .radix = radix};
            uint32_t expected = fewest(n, radix);
            double found =
                weft_algorithm_seconds(WEFT_ALGORITHM_RECURSIVE_EXCHANGE, &options, 1, &rounds);
            assert_true(expected == WEFT_NONE ? found < 0 : found == expected);
        }
    }
}

// ---- the least of all plans ----

static double circuit_round_s(const struct weft_recursive_options *options, uint32_t radix,
                              double bytes)
{
    double share = 1.0 / (radix - 1);
    if (options->wavelengths > 0) {
        share = floor((double)options->wavelengths / (radix - 1)) / options->wavelengths;
    }
    return options->hop_s + bytes / (share * options->rate_Bps);
}

// Every flow walked hop by hop.
static double ring_round_s(const struct weft_recursive_options *options, uint32_t radix,
                           uint32_t stride, double bytes)
{
    uint32_t n = options->chip_count;
    double up[CHIPS_MAX] = {0};
    double down[CHIPS_MAX] = {0};
    uint32_t hops_max = 0;
    double load = 0;
    bool one_way = options->wavelengths == 1;
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t digit = 0; digit < radix; digit++) {
            uint32_t to = from - from / stride % radix * stride + digit * stride;
            uint32_t hops = (to + n - from) % n;
            bool goes_up = one_way || hops <= n - hops;
            hops = goes_up ? hops : n - hops;
            hops_max = hops > hops_max ? hops : hops_max;
            for (uint32_t h = 0; h < hops; h++) {
                (goes_up ? up : down)[(from + n + (goes_up ? h : n - h)) % n]++;
            }
        }
    }
    for (uint32_t s = 0; s < n; s++) {
        load = fmax(load, fmax(up[s], down[s]));
    }
    double share = one_way ? 1
                   : options->wavelengths == 0
                       ? 0.5
                       : floor(options->wavelengths / 2.0) / options->wavelengths;
    return hops_max * options->hop_s + bytes * load / (share * options->rate_Bps);
}

struct trial {
    const struct weft_recursive_options *options;
    double size;
    enum weft_recursive_policy policy;
    uint32_t radices[WEFT_RADICES_MAX];
    uint32_t count;
    double least;
    double ring_s[CHIPS_MAX + 1][CHIPS_MAX + 1]; // of a round, by radix and stride; 0: not walked
};

// These radices, with these rounds on the ring.
static double sum_rounds(struct trial *trial, uint64_t stays)
{
    const struct weft_recursive_options *options = trial->options;
    bool reduces = options->kind != WEFT_COLLECTIVE_ALLGATHER;
    bool gathers = options->kind != WEFT_COLLECTIVE_REDUCE_SCATTER;
    uint32_t rounds = trial->count * (reduces && gathers ? 2 : 1);
    double seconds = 0;
    uint32_t wired = WEFT_NONE; // stride of the circuits; NONE: the ring
    for (uint32_t t = 0; t < rounds; t++) {
        uint32_t k = reduces && t < trial->count ? t : rounds - 1 - t;
        uint32_t stride = options->chip_count;
        for (uint32_t i = 0; i <= k; i++) {
            stride /= trial->radices[i];
        }
        double bytes = trial->size * stride / options->chip_count;
        bool on_ring = (stays >> t & 1) != 0;
        uint32_t wanted = on_ring ? WEFT_NONE : stride;
        bool anew = trial->policy == WEFT_RECURSIVE_ALWAYS && !on_ring;
        seconds += wanted != wired || anew ? options->change_s : 0;
        double *ring_s = &trial->ring_s[trial->radices[k]][stride];
        if (on_ring && *ring_s == 0) {
            *ring_s = ring_round_s(options, trial->radices[k], stride, bytes);
        }
        seconds += on_ring ? *ring_s : circuit_round_s(options, trial->radices[k], bytes);
        wired = wanted;
    }
    return seconds;
}

static void try_stays(struct trial *trial)
{
    uint32_t rounds = trial->count * (trial->options->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1);
    uint64_t most = trial->policy == WEFT_RECURSIVE_CHOOSE ? 1u << rounds : 1;
    for (uint64_t stays = 0; stays < most; stays++) {
        trial->least = fmin(trial->least, sum_rounds(trial, stays));
    }
}

static void try_radices(struct trial *trial, uint32_t rest)
{
    const struct weft_recursive_options *options = trial->options;
    if (rest == 1) {
        try_stays(trial);
        return;
    }
    for (uint32_t r = 2; r <= rest; r++) {
        bool fits = (options->circuits_max == 0 || r - 1 <= options->circuits_max) &&
                    (options->wavelengths == 0 || r - 1 <= options->wavelengths);
        if (rest % r == 0 && fits) {
            trial->radices[trial->count++] = r;
            try_radices(trial, rest / r);
            trial->count--;
        }
    }
}

static void the_best_is_the_least_of_all(void **state)
{
    (void)state;
    uint32_t stayed = 0;
    uint32_t mixed = 0;
    uint32_t rings = 0;
    for (uint32_t i = 0; i < TEST_SEEDS(300); i++) {
        uint32_t radices[WEFT_RADICES_MAX];
        uint32_t chips = 0;
        (void)draw_radices(radices, &chips);
        const struct weft_recursive_options options = draw_options(chips);
        double size = draw_size();
        double ring_s = weft_recursive_ring_seconds(&options, size);
        for (int policy = 0; policy <= WEFT_RECURSIVE_CHOOSE; policy++) {
            struct trial trial = {
                .options = &options, .size = size, .policy = policy, .least = (double)INFINITY};
            struct weft_recursive_plan plan;
            try_radices(&trial, chips);
            weft_recursive_best(&plan, &options, size, (enum weft_recursive_policy)policy, scratch);
            double least = fmin(trial.least, ring_s);
            if (fabs(plan.seconds - least) > 1e-11 * least) {
                fail_msg("%u chips, policy %d: %.17g, by trying all %.17g", chips, policy,
                         plan.seconds, least);
            }
            assert_true(fabs(trial.least - ring_s) < 1e-9 * ring_s ||
                        plan.is_ring == !(trial.least < ring_s));
            rings += plan.is_ring;
            // What it says of itself is what it takes.
            if (!plan.is_ring) {
                memcpy(trial.radices, plan.radices, sizeof trial.radices);
                trial.count = plan.radix_count;
                assert_true(fabs(sum_rounds(&trial, plan.stays) - least) <= 1e-11 * least);
                stayed += plan.stays != 0;
                for (uint32_t k = 1; k < plan.radix_count; k++) {
                    mixed += plan.radices[k] != plan.radices[0];
                }
            }
        }
    }
    print_message("%u stay on the ring somewhere, %u are mixed, %u are rings\n", stayed, mixed,
                  rings);
    assert_true(stayed > 0 && mixed > 0 && rings > 0);
}

// ---- regimes ----

static void regimes_end_where_they_say(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t radices[WEFT_RADICES_MAX];
        uint32_t chips = 0;
        uint32_t count = draw_radices(radices, &chips);
        struct weft_recursive_options options = draw_options(chips);
        options.circuits_max = options.wavelengths = 0;
        struct weft_recursive_goal goal = {
            .saved_ratio = 0.01 * (1 + (double)weft_rng_below(&rng, 98)),
            .policy = (enum weft_recursive_policy)weft_rng_below(&rng, 3)};
        if (i % 2 == 0) {
            goal.radices = radices;
            goal.radix_count = count;
        }
        double size = weft_recursive_regime(&goal, &options, scratch);
        for (uint32_t after = 0; after < 2 && !isinf(size); after++) {
            struct weft_recursive_plan plan;
            weft_recursive_follow(&plan, &options, size + after, goal.policy, goal.radices,
                                  goal.radix_count, scratch);
            double left_s =
                (1 - goal.saved_ratio) * weft_recursive_ring_seconds(&options, size + after);
            assert_true(size + after == 0 || (plan.seconds <= left_s) == (after == 0));
        }
    }
}

// ---- the engine ----

static void the_flow_engine_takes_the_formula(void **state)
{
    (void)state;
    double widest = 0;
    for (uint32_t i = 0; i < TEST_SEEDS(60); i++) {
        uint32_t radices[WEFT_RADICES_MAX];
        uint32_t chips = 0;
        uint32_t count = draw_radices(radices, &chips);
        struct weft_recursive_options options = draw_options(chips);
        options.circuits_max = 0;
        options.wavelengths = i % 2 == 0 ? 0 : 24;
        options.hop_s += 1e-7;
        // Blocks of whole bytes; on fewer chips the ring has circuits of a round.
        double size = chips * floor(1 + draw_size() / chips);
        if (chips < 4 || count < 2) {
            continue;
        }
        enum weft_recursive_policy policy = (enum weft_recursive_policy)weft_rng_below(&rng, 3);
        struct weft_recursive_plan plan;
        weft_recursive_follow(&plan, &options, size, policy, radices, count, scratch);
        const struct weft_algorithm_options asked = {
            .kind = options.kind, .rank_count = chips, .radix_count = count, .radices = radices};
        const struct weft_circuit_play_options playing = {
            .size_bytes = (uint64_t)size,
            .rate_Bps = options.rate_Bps,
            .latency_ps = weft_picoseconds(options.hop_s),
            .wavelengths = options.wavelengths,
            .delays = {.dark_ps = weft_picoseconds(options.change_s)},
            .sets_anew = policy == WEFT_RECURSIVE_ALWAYS,
            .stays = plan.stays,
        };
        struct weft_arena kept = arena;
        struct weft_error error;
        struct weft_schedule schedule;
        struct weft_circuit_play play;
        const struct weft_environment environment = {
            .arena = &kept, .scratch = scratch, .error = &error};
        assert_true(weft_algorithm_build(&schedule, WEFT_ALGORITHM_RECURSIVE_EXCHANGE, &asked,
                                         &kept, scratch, &error));
        if (!weft_circuit_play(&play, &schedule, &playing, &environment)) {
            fail_msg("%u chips: %s", chips, error.message);
        }
        double ratio = play.seconds / plan.seconds - 1;
        widest = fabs(ratio) > fabs(widest) ? ratio : widest;
        if (fabs(ratio) > 1e-4) {
            fail_msg("%u chips, policy %d, stays %llx, %u wavelengths: %.9g s, formula %.9g", chips,
                     (int)policy, (unsigned long long)plan.stays, options.wavelengths, play.seconds,
                     plan.seconds);
        }
    }
    print_message("flow engine: %+.6f %% from the formula at most\n", 100 * widest);
}

int main(void)
{
    struct weft_error error;
    uint64_t seed = (uint64_t)time(NULL);
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    print_message("seed %llu\n", (unsigned long long)seed);
    weft_rng_init(&rng, seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_valid_and_take_the_formula),
        cmocka_unit_test(radices_are_the_fewest),
        cmocka_unit_test(the_best_is_the_least_of_all),
        cmocka_unit_test(regimes_end_where_they_say),
        cmocka_unit_test(the_flow_engine_takes_the_formula),
    };
    return cmocka_run_group_tests_name("recursive", tests, NULL, NULL);
}
