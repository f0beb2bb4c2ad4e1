// SPDX-License-Identifier: Apache-2.0
// LUMORPH's recursive r-ing on 64 chips of 300 GB/s, 1 us a message and 3.7 us a change: the times
// that were worked out from its formula, by ours to a tenth of a microsecond and in both engines
// within 1 %, every round on its own circuits; and up to which sizes the published 74 % hold.
//
// Seen to fail: circuits of a round at the full rate each; a change less at the turn from one half
// to the other, in the formula and in the engines; no dark time in the engines; messages that set
// out before circuits are ordered; an all-gather whose rounds are in the reduce-scatter's order.

#include "../arenas.h"
#include "weft/collective/recursive.h"
#include "weft/plan/circuits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CHIPS 64u
#define KIB 1024.0
#define MIB (1024 * KIB)

static const struct weft_recursive_options rack = {
    .kind = WEFT_COLLECTIVE_ALLREDUCE,
    .chip_count = CHIPS,
    .rate_Bps = 300e9,
    .hop_s = 1e-6,
    .change_s = 3.7e-6,
};
static const uint32_t twos[] = {2, 2, 2, 2, 2, 2};
static const uint32_t fours[] = {4, 4, 4};

static const struct {
    double size_bytes, ring_us, four_us, two_us;
    double four_saves, two_saves; // percent
} table[] = {
    {64 * KIB, 126.4, 28.6, 56.8, 77, 55},   {MIB, 132.9, 35.1, 63.3, 74, 52},
    {4 * MIB, 153.5, 55.7, 83.9, 64, 45},    {16 * MIB, 236.1, 138.3, 166.5, 41, 29},
    {64 * MIB, 566.4, 468.6, 496.8, 17, 12}, {256 * MIB, 1887.6, 1789.8, 1818.0, 5, 4},
};
enum { ROWS = sizeof table / sizeof table[0] };

static double published_us(double size_bytes, const uint32_t *radices, uint32_t count)
{
    struct weft_recursive_plan plan;
    weft_recursive_follow(&plan, &rack, size_bytes, WEFT_RECURSIVE_ALWAYS, radices, count,
                          scratch_kept);
    assert_int_equal(plan.change_count, 2 * count);
    assert_int_equal(plan.round_count, 2 * count);
    return plan.seconds * 1e6;
}

static void formulas_are_the_table(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        double ring_us = weft_recursive_ring_seconds(&rack, table[i].size_bytes) * 1e6;
        double four_us = published_us(table[i].size_bytes, fours, 3);
        double two_us = published_us(table[i].size_bytes, twos, 6);
        assert_true(fabs(ring_us - table[i].ring_us) < 0.1);
        assert_true(fabs(four_us - table[i].four_us) < 0.1);
        assert_true(fabs(two_us - table[i].two_us) < 0.1);
        assert_true(fabs(100 * (1 - four_us / ring_us) - table[i].four_saves) < 0.5);
        assert_true(fabs(100 * (1 - two_us / ring_us) - table[i].two_saves) < 0.5);
    }
}

// ---- engines ----

struct run {
    enum weft_algorithm algorithm;
    const uint32_t *radices;
    uint32_t radix_count;
    enum weft_sim_engine engine;
    uint64_t stays;
    bool keeps;
};

static struct weft_circuit_play play(const struct run *run, double size_bytes)
{
    struct weft_arena kept = arena_kept;
    struct weft_error error;
    struct weft_schedule schedule;
    struct weft_circuit_play played;
    const struct weft_algorithm_options options = {.kind = rack.kind,
                                                   .rank_count = CHIPS,
                                                   .radices = run->radices,
                                                   .radix_count = run->radix_count};
    const struct weft_circuit_play_options asked = {
        .size_bytes = (uint64_t)size_bytes,
        .rate_Bps = rack.rate_Bps,
        .latency_ps = weft_picoseconds(rack.hop_s),
        .delays = {.dark_ps = weft_picoseconds(rack.change_s)},
        .engine = run->engine,
        .packets_max = 1e5,
        .is_set = run->algorithm == WEFT_ALGORITHM_RING,
        .sets_anew = !run->keeps,
        .stays = run->stays,
    };
    const struct weft_environment environment = {
        .arena = &kept, .scratch = scratch_kept, .error = &error};
    if (!weft_algorithm_build(&schedule, run->algorithm, &options, &kept, scratch_kept, &error) ||
        !weft_circuit_play(&played, &schedule, &asked, &environment)) {
        fail_msg("%s", error.message);
    }
    return played;
}

static double played_ratio(const struct run *run, double size_bytes, double us)
{
    return play(run, size_bytes).seconds * 1e6 / us - 1;
}

static void engines_play_the_table(void **state)
{
    (void)state;
    const char *names[] = {"flow", "packet"};
    for (uint32_t e = 0; e < 2; e++) {
        double widest = 0;
        for (uint32_t i = 0; i < ROWS; i++) {
            struct run ring = {.algorithm = WEFT_ALGORITHM_RING, .keeps = true};
            struct run run = {.algorithm = WEFT_ALGORITHM_RECURSIVE_EXCHANGE};
            ring.engine = run.engine = e == 0 ? WEFT_ENGINE_FLOW : WEFT_ENGINE_PACKET;
            double size = table[i].size_bytes;
            double ratios[3];
            ratios[0] = played_ratio(&ring, size, weft_recursive_ring_seconds(&rack, size) * 1e6);
            run.radices = fours;
            run.radix_count = 3;
            ratios[1] = played_ratio(&run, size, published_us(size, fours, 3));
            run.radices = twos;
            run.radix_count = 6;
            ratios[2] = played_ratio(&run, size, published_us(size, twos, 6));
            for (uint32_t r = 0; r < 3; r++) {
                widest = fabs(ratios[r]) > fabs(widest) ? ratios[r] : widest;
                if (fabs(ratios[r]) > 0.01) {
                    fail_msg("%s engine, row %u, %u: %+.3f %% from the formula", names[e], i, r,
                             100 * ratios[r]);
                }
            }
        }
        print_message("%s engine: %+.4f %% from the formula at most\n", names[e], 100 * widest);
    }
}

// Circuits that stay are played as well: those at the turn, and rounds on the ring.
static void engines_play_what_stays(void **state)
{
    (void)state;
    static const double sizes[] = {64 * KIB, MIB, 64 * MIB};
    for (uint32_t i = 0; i < 6; i++) {
        struct weft_recursive_plan plan;
        double size = sizes[i / 2];
        weft_recursive_best(&plan, &rack, size, WEFT_RECURSIVE_KEEP, scratch_kept);
        assert_int_equal(plan.radix_count, 1); // everybody to everybody
        assert_int_equal(plan.change_count, 1);
        weft_recursive_follow(&plan, &rack, size,
                              i % 2 == 0 ? WEFT_RECURSIVE_KEEP : WEFT_RECURSIVE_CHOOSE, twos, 6,
                              scratch_kept);
        for (uint32_t e = 0; e < 2; e++) {
            const struct run run = {.algorithm = WEFT_ALGORITHM_RECURSIVE_EXCHANGE,
                                    .radices = twos,
                                    .radix_count = 6,
                                    .engine = e == 0 ? WEFT_ENGINE_FLOW : WEFT_ENGINE_PACKET,
                                    .stays = plan.stays,
                                    .keeps = true};
            struct weft_circuit_play played = play(&run, size);
            double ratio = played.seconds / plan.seconds - 1;
            if (fabs(ratio) > 0.01 || played.change_count != plan.change_count) {
                fail_msg("engine %u, %g bytes, stays %llx: %+.3f %%, %u changes for %u", e, size,
                         (unsigned long long)plan.stays, 100 * ratio, played.change_count,
                         plan.change_count);
            }
        }
        assert_true((plan.stays != 0) == (i == 1 || i == 3));
    }
}

// ---- regimes ----

// (A + B s) = (1 - g) (C + B s), both sides with the same bytes.
static void sizes_of_the_published_gains_are_exact(void **state)
{
    (void)state;
    static const double ratios[] = {0.74, 0.5, 0.1};
    double byte_s = 2.0 * (CHIPS - 1) / CHIPS / rack.rate_Bps;
    for (uint32_t g = 0; g < 3; g++) {
        const struct weft_recursive_goal goal = {ratios[g], WEFT_RECURSIVE_ALWAYS, fours, 3};
        double by_hand = ((1 - ratios[g]) * 126e-6 - 6 * 4.7e-6) / (ratios[g] * byte_s);
        double found = weft_recursive_regime(&goal, &rack, scratch_kept);
        assert_true(fabs(found - floor(by_hand)) <= 1);
        print_message("radix 4 saves %.0f %% up to %.0f bytes\n", 100 * ratios[g], found);
    }
    const struct weft_recursive_goal goal = {0.74, WEFT_RECURSIVE_ALWAYS, twos, 6};
    assert_true(weft_recursive_regime(&goal, &rack, scratch_kept) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_are_the_table),
        cmocka_unit_test(engines_play_the_table),
        cmocka_unit_test(engines_play_what_stays),
        cmocka_unit_test(sizes_of_the_published_gains_are_exact),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
