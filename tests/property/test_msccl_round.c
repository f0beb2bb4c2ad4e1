// SPDX-License-Identifier: Apache-2.0
// Every algorithm for every collective as an MSCCL program: written, read back, proved, and with a
// step changed not proved any more.
//
// Seen to fail: when receives no longer waited for reads of what they overwrite (no `readers` in
// need_writes: races), and when nops lost their wait.

#include "../arenas.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A schedule, or false where the algorithm has none for these ranks.
static bool build(struct weft_schedule *schedule, enum weft_algorithm algorithm,
                  enum weft_collective_kind kind, uint32_t ranks, uint32_t factor,
                  struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_error error;
    struct weft_algorithm_options options = {
        .kind = kind, .rank_count = ranks, .chunk_factor = factor, .root = ranks / 2};
    return !weft_algorithm_needs_fabric(algorithm) && weft_algorithm_supports(algorithm, kind) &&
           weft_algorithm_build(schedule, algorithm, &options, arena, scratch, &error);
}

static void prove(const struct weft_program *program, const char *what, uint32_t ranks,
                  struct weft_arena arena, struct weft_arena scratch)
{
    struct weft_error error = {.message = ""};
    struct weft_program_report report;
    const char *text = weft_msccl_write(program, &arena);
    struct weft_program again;
    if (!weft_msccl_read(&again, text, strlen(text), &arena, scratch, &error) ||
        !weft_program_check(&report, &again, scratch, &error)) {
        fail_msg("%s, %u ranks: %s", what, ranks, error.message);
    }
    if (!report.valid) {
        fail_msg("%s, %u ranks: %s", what, ranks, report.why);
    }
    assert_string_equal(weft_msccl_write(&again, &arena), text);
    assert_int_equal(again.root, program->root);
}

static void every_algorithm_makes_the_round(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 3, 4, 5, 6, 8, 9, 12, 16};
    uint32_t count = 0;
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        for (uint32_t k = 0; k < WEFT_COLLECTIVE_KIND_COUNT; k++) {
            for (size_t i = 0; i < 2 * sizeof ranks / sizeof ranks[0]; i++) {
                struct weft_arena arena = arena_kept;
                struct weft_schedule schedule;
                struct weft_program program;
                struct weft_program_size size;
                uint32_t n = ranks[i / 2];
                struct weft_program_options options = {.in_place_only = i % 2 == 1};
                if (!build(&schedule, (enum weft_algorithm)a, (enum weft_collective_kind)k, n,
                           1 + (uint32_t)(i % 2), &arena, scratch_kept)) {
                    continue;
                }
                weft_program_build(&program, &size, &schedule, &options, &arena, scratch_kept);
                assert_true(program.in_place || program.out_of_place);
                char what[96];
                snprintf(what, sizeof what, "%s %s", weft_algorithm_name((enum weft_algorithm)a),
                         weft_collective_name((enum weft_collective_kind)k));
                prove(&program, what, n, arena, scratch_kept);
                count++;
            }
        }
    }
    assert_true(count > 150);
    printf("%u programs\n", count);
}

// One random change of a step: another op, chunk, peer or wait. Where the program is still valid,
// the change must have touched nothing that counts: a wait that another covers, or a count of a
// nop.
static bool damage(struct weft_program *program, struct weft_rng *rng, struct weft_arena *arena)
{
    struct weft_block_step *steps =
        WEFT_NEW_RAW(arena, struct weft_block_step, program->step_count);
    memcpy(steps, program->steps, program->step_count * sizeof *steps);
    struct weft_block_step *step = &steps[weft_rng_below(rng, program->step_count)];
    program->steps = steps;
    if (step->op == WEFT_BLOCK_WAIT) {
        return false;
    }
    bool reads = step->op != WEFT_BLOCK_RECEIVE;
    switch (weft_rng_below(rng, 3)) {
    case 0:
        if (!reads) {
            return false;
        }
        step->from = (step->from + 1) % program->chunk_count;
        return step->op != WEFT_BLOCK_RECEIVE_REDUCE_COPY && program->chunk_count > 1;
    case 1:
        if (step->op == WEFT_BLOCK_SEND) {
            return false;
        }
        step->to = (step->to + 1) % program->chunk_count;
        return program->chunk_count > 1;
    default:
        if (step->op == WEFT_BLOCK_RECEIVE) {
            step->op = WEFT_BLOCK_RECEIVE_REDUCE_COPY;
            step->from_buffer = step->to_buffer;
            step->from = step->to;
            return true;
        }
        if (step->op == WEFT_BLOCK_RECEIVE_REDUCE_COPY) {
            step->op = WEFT_BLOCK_RECEIVE;
            return true;
        }
        return false;
    }
}

static void damaged_programs_are_not_proved(void **state)
{
    (void)state;
    struct weft_rng rng;
    uint64_t seed = 20260611;
    weft_rng_init(&rng, seed);
    static const enum weft_algorithm algorithms[] = {
        WEFT_ALGORITHM_RING, WEFT_ALGORITHM_HALVING_DOUBLING, WEFT_ALGORITHM_DOUBLE_TREE,
        WEFT_ALGORITHM_STRAGGLAR};
    uint32_t damaged = 0;
    uint32_t caught = 0;
    for (uint32_t i = 0; i < 400; i++) {
        struct weft_arena arena = arena_kept;
        struct weft_schedule schedule;
        struct weft_program program;
        struct weft_program_size size;
        struct weft_program_report report;
        struct weft_error error;
        struct weft_program_options options = {.in_place_only = true};
        if (!build(&schedule, algorithms[i % 4], WEFT_COLLECTIVE_ALLREDUCE,
                   4 + weft_rng_below(&rng, 5), 1, &arena, scratch_kept)) {
            continue;
        }
        weft_program_build(&program, &size, &schedule, &options, &arena, scratch_kept);
        if (!damage(&program, &rng, &arena)) {
            continue;
        }
        damaged++;
        if (!weft_program_check(&report, &program, scratch_kept, &error)) {
            fail_msg("seed %llu, case %u: %s", (unsigned long long)seed, i, error.message);
        }
        caught += report.valid ? 0 : 1;
        if (report.valid) {
            print_message("seed %llu, case %u: still valid\n", (unsigned long long)seed, i);
        }
    }
    assert_true(damaged > 100);
    assert_int_equal(caught, damaged);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_algorithm_makes_the_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_programs_are_not_proved, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
