// SPDX-License-Identifier: Apache-2.0
// Every algorithm for every collective as a plan of MSCCL++, over memory channels, ports and in
// packets: written, read back, proved for one call and for several, with as many transfers as the
// program that it came from; and with a wait, a signal, a nop or a chunk less not proved any more.
//
// Seen to fail: without the nop behind wait, without the sender's rlxwait, without the last flush
// of ports, with landing places used twice, and with all waits matched with the first signal.

#include "../arenas.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum way { MEMORY, PORTS, PACKETS, WAYS };

struct made {
    struct weft_program program; // that sends and receives
    struct weft_program plan;    // read back
};

static bool build(struct weft_program *program, enum weft_algorithm algorithm,
                  enum weft_collective_kind kind, uint32_t ranks,
                  const struct weft_program_options *options, struct weft_arena *arena)
{
    struct weft_error error;
    struct weft_schedule schedule;
    struct weft_program_size size;
    struct weft_algorithm_options chosen = {
        .kind = kind, .rank_count = ranks, .chunk_factor = 1, .root = ranks / 2};
    if (weft_algorithm_needs_fabric(algorithm) || !weft_algorithm_supports(algorithm, kind) ||
        !weft_algorithm_build(&schedule, algorithm, &chosen, arena, scratch_kept, &error)) {
        return false;
    }
    weft_program_build(program, &size, &schedule, options, arena, scratch_kept);
    return true;
}

// False where the way cannot take the program, which packets cannot that it keeps in scratch.
static bool make(struct made *made, enum way way, struct weft_arena *arena)
{
    struct weft_error error = {.message = ""};
    struct weft_mscclpp_size size;
    const char *text = NULL;
    if (!weft_mscclpp_write(&text, &size, &made->program, way == PORTS, arena, scratch_kept,
                            &error)) {
        assert_int_equal(error.code, WEFT_UNSUPPORTED);
        assert_int_equal(way, PACKETS);
        return false;
    }
    assert_in_range(size.op_max, 1, 64);
    if (!weft_mscclpp_read(&made->plan, text, strlen(text), arena, scratch_kept, &error)) {
        fail_msg("%s of %u ranks: %s", made->program.name, made->program.rank_count, error.message);
    }
    return true;
}

static void prove(const struct made *made, enum way way)
{
    struct weft_error error = {.message = ""};
    struct weft_program_report report;
    struct weft_program_report wanted;
    assert_true(weft_program_check(&report, &made->plan, scratch_kept, &error));
    assert_true(weft_program_check(&wanted, &made->program, scratch_kept, &error));
    if (!report.valid || report.repeats[0] != '\0') {
        fail_msg("%s %s of %u ranks, way %u: %s%s", made->program.name,
                 weft_collective_name(made->program.kind), made->program.rank_count, way,
                 report.why, report.repeats);
    }
    // Chunks in packets go one by one.
    assert_true(way == PACKETS ? report.transfer_count >= wanted.transfer_count
                               : report.transfer_count == wanted.transfer_count);
    assert_int_equal(made->plan.kind, made->program.kind);
    assert_int_equal(made->plan.root, made->program.root);
    assert_int_equal(made->plan.chunk_count, made->program.chunk_count);
    assert_int_equal(made->plan.size_max_bytes, made->program.size_max_bytes);
}

static void every_algorithm_makes_the_round(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 3, 5, 6, 8};
    uint32_t counts[WAYS] = {0};
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
            for (uint32_t i = 0; i < 2 * WAYS * sizeof ranks / sizeof ranks[0]; i++) {
                struct weft_arena arena = arena_kept;
                struct made made;
                enum way way = i / 2 % WAYS;
                struct weft_program_options options = {.in_place_only = i % 2 == 1,
                                                       .protocol = way == PACKETS ? "LL" : NULL};
                if (build(&made.program, (enum weft_algorithm)a, (enum weft_collective_kind)k,
                          ranks[i / 2 / WAYS], &options, &arena) &&
                    make(&made, way, &arena)) {
                    prove(&made, way);
                    counts[way]++;
                }
            }
        }
    }
    assert_true(counts[MEMORY] > 150 && counts[PORTS] == counts[MEMORY] && counts[PACKETS] > 100);
    printf("%u plans over memory channels, %u over ports, %u in packets\n", counts[MEMORY],
           counts[PORTS], counts[PACKETS]);
}

// Takes something away from a plan. *needed: that it cannot do without; a nop or a wait may be
// implied by others.
static bool damage(struct weft_program *plan, bool *needed, struct weft_rng *rng,
                   struct weft_arena *arena)
{
    struct weft_block_step *steps = WEFT_NEW_RAW(arena, struct weft_block_step, plan->step_count);
    memcpy(steps, plan->steps, plan->step_count * sizeof *steps);
    struct weft_block_step *step = &steps[weft_rng_below(rng, plan->step_count)];
    plan->steps = steps;
    *needed = step->op != WEFT_BLOCK_AWAIT && step->op != WEFT_BLOCK_SYNC;
    if (!*needed || step->op == WEFT_BLOCK_SIGNAL) {
        step->op = WEFT_BLOCK_WAIT;
        return true;
    }
    step->from += 1;
    return step->op == WEFT_BLOCK_PUT || step->op == WEFT_BLOCK_REDUCE;
}

static void damaged_plans_are_not_proved(void **state)
{
    (void)state;
    struct weft_rng rng;
    uint64_t seed = 20261126;
    weft_rng_init(&rng, seed);
    static const enum weft_algorithm algorithms[] = {
        WEFT_ALGORITHM_RING, WEFT_ALGORITHM_HALVING_DOUBLING, WEFT_ALGORITHM_DOUBLE_TREE,
        WEFT_ALGORITHM_DIRECT};
    uint32_t damaged[2] = {0}; // without what may be implied, without what is needed
    uint32_t caught[2] = {0};
    for (uint32_t i = 0; i < 600; i++) {
        struct weft_arena arena = arena_kept;
        struct made made;
        struct weft_error error;
        struct weft_program_report report;
        enum way way = i / 4 % WAYS;
        bool needed;
        struct weft_program_options options = {.in_place_only = true,
                                               .protocol = way == PACKETS ? "LL" : NULL};
        if (!build(&made.program, algorithms[i % 4], WEFT_COLLECTIVE_ALLREDUCE,
                   3 + weft_rng_below(&rng, 6), &options, &arena) ||
            !make(&made, way, &arena) || !damage(&made.plan, &needed, &rng, &arena)) {
            continue;
        }
        damaged[needed]++;
        assert_true(weft_program_check(&report, &made.plan, scratch_kept, &error));
        bool found = !report.valid || report.repeats[0] != '\0';
        caught[needed] += found ? 1 : 0;
        if (needed && !found) {
            print_message("seed %llu, case %u, way %u, %s: still valid\n", (unsigned long long)seed,
                          i, way, made.program.name);
        }
    }
    printf("of nops and waits %u taken away, %u noticed; of others %u and %u\n", damaged[0],
           caught[0], damaged[1], caught[1]);
    assert_true(damaged[1] > 100 && caught[1] == damaged[1]);
    assert_true(damaged[0] > 100 && caught[0] > damaged[0] / 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_algorithm_makes_the_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_plans_are_not_proved, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
