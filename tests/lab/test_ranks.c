// SPDX-License-Identifier: Apache-2.0
// Schedules by real processes over loopback: sums, and what becomes of a run when a rank dies.
//
// Mutations that these tests caught: a write that does not wait for the reads of its round
// (lab_may without `reads`: swapped slots come out wrong in recursive-doubling), a segment counted
// on the wrong lane (sums come out wrong with lanes > 1), a copy where the schedule adds, a turn
// that waits for its own round too (has_turn with <=: the run ends by its timeout).

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/collective/ranks.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct arenas {
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_arena all[2];
};

static void open_arenas(struct arenas *arenas)
{
    struct weft_error error;
    assert_true(weft_arena_init(&arenas->arena, (size_t)1 << 30, &error));
    assert_true(weft_arena_init(&arenas->scratch, (size_t)1 << 30, &error));
    arenas->all[0] = arenas->arena;
    arenas->all[1] = arenas->scratch;
}

static void close_arenas(struct arenas *arenas)
{
    weft_arena_release(&arenas->all[0]);
    weft_arena_release(&arenas->all[1]);
}

static const struct lab_ranks_options plain = {
    .size_bytes = 100000,
    .iterations = 2,
    .check = true,
    .lanes = 1,
    .timeout_ms = 20000,
    .late_rank = WEFT_NONE,
    .fault_rank = WEFT_NONE,
};

static void build(struct weft_schedule *schedule, const char *algorithm,
                  enum weft_collective_kind kind, uint32_t ranks, uint32_t chunks,
                  struct arenas *arenas)
{
    const struct weft_algorithm_options options = {
        .kind = kind, .rank_count = ranks, .chunk_factor = chunks, .root = ranks / 2};
    struct weft_error error;
    if (!weft_algorithm_build(schedule, weft_algorithm_find(algorithm), &options, &arenas->arena,
                              arenas->scratch, &error)) {
        fail_msg("%s: %s", algorithm, error.message);
    }
}

// ---- sums ----

struct combination {
    const char *algorithm;
    enum weft_collective_kind kind;
    uint32_t ranks;
    uint32_t chunks;
    uint32_t lanes;
    uint32_t segment_bytes;
    enum lab_type type;
    bool zero_copy;
    bool round_by_round;
};

static const struct combination combinations[] = {
    {"ring", WEFT_COLLECTIVE_ALLREDUCE, 2, 1, 1, 0, LAB_FLOAT32, false, false},
    {"ring", WEFT_COLLECTIVE_ALLREDUCE, 5, 3, 3, 1000, LAB_FLOAT32, false, false},
    {"ring", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, 1, 0, LAB_BFLOAT16, false, false},
    {"ring", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, 2, 4096, LAB_FLOAT32, true, false},
    {"bidirectional", WEFT_COLLECTIVE_REDUCE_SCATTER, 5, 1, 1, 0, LAB_FLOAT32, false, false},
    {"binomial-tree", WEFT_COLLECTIVE_BROADCAST, 6, 1, 1, 4096, LAB_FLOAT32, false, false},
    {"binary-tree", WEFT_COLLECTIVE_REDUCE, 6, 4, 1, 0, LAB_FLOAT32, false, false},
    {"double-tree", WEFT_COLLECTIVE_ALLREDUCE, 7, 4, 1, 0, LAB_FLOAT32, false, false},
    {"halving-doubling", WEFT_COLLECTIVE_ALLREDUCE, 6, 1, 2, 512, LAB_FLOAT32, false, false},
    {"halving-doubling", WEFT_COLLECTIVE_ALLGATHER, 4, 1, 1, 0, LAB_BFLOAT16, false, false},
    {"recursive-doubling", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, 1, 1024, LAB_FLOAT32, false, false},
    {"recursive-doubling", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, 1, 1024, LAB_FLOAT32, true, false},
    {"bruck", WEFT_COLLECTIVE_ALLTOALL, 5, 2, 1, 0, LAB_FLOAT32, false, false},
    {"staged", WEFT_COLLECTIVE_ALLTOALL, 6, 1, 1, 0, LAB_FLOAT32, false, false},
    {"torus", WEFT_COLLECTIVE_ALLREDUCE, 6, 1, 1, 0, LAB_FLOAT32, false, false},
    {"direct", WEFT_COLLECTIVE_REDUCE_SCATTER, 5, 1, 1, 0, LAB_FLOAT32, false, false},
    {"stragglar", WEFT_COLLECTIVE_ALLREDUCE, 5, 2, 1, 0, LAB_FLOAT32, false, false},
    {"stragglar", WEFT_COLLECTIVE_ALLREDUCE, 6, 2, 2, 512, LAB_FLOAT32, false, true},
    {"bruck", WEFT_COLLECTIVE_ALLTOALL, 5, 2, 1, 512, LAB_FLOAT32, false, true},
};

static void sums_are_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof combinations / sizeof combinations[0]; i++) {
        const struct combination *c = &combinations[i];
        struct arenas arenas;
        open_arenas(&arenas);
        struct weft_schedule schedule;
        build(&schedule, c->algorithm, c->kind, c->ranks, c->chunks, &arenas);
        struct lab_ranks_options options = plain;
        options.lanes = c->lanes;
        options.segment_bytes = c->segment_bytes;
        options.type = c->type;
        options.connections.zero_copy = c->zero_copy;
        options.round_by_round = c->round_by_round;
        struct lab_ranks_result result;
        struct weft_error error;
        if (!lab_ranks_run(&result, &schedule, &options, &arenas.arena, arenas.scratch, &error)) {
            fail_msg("%s of %u ranks, %u lanes: %s", c->algorithm, c->ranks, c->lanes,
                     error.message);
        }
        assert_true(result.times[0].seconds > 0);
        assert_true(result.times[1].worst_ratio <= 1.01);
        assert_int_equal(result.counts.sent_bytes, result.counts.received_bytes);
        assert_true(!c->zero_copy || result.counts.zero_copies + result.counts.copies > 0);
        close_arenas(&arenas);
    }
}

static void a_wrong_schedule_is_found_out(void **state)
{
    (void)state;
    struct arenas arenas;
    open_arenas(&arenas);
    struct weft_schedule schedule;
    build(&schedule, "ring", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, &arenas);
    struct weft_step *steps = WEFT_NEW(&arenas.arena, struct weft_step, schedule.step_count);
    memcpy(steps, schedule.steps, schedule.step_count * sizeof *steps);
    steps[0].op = WEFT_STEP_COPY;
    schedule.steps = steps;
    struct lab_ranks_result result;
    struct weft_error error;
    assert_false(lab_ranks_run(&result, &schedule, &plain, &arenas.arena, arenas.scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "rank "));
    assert_non_null(strstr(error.message, "but must be"));
    close_arenas(&arenas);
}

static void a_late_rank_holds_up_the_others(void **state)
{
    (void)state;
    struct arenas arenas;
    open_arenas(&arenas);
    struct weft_schedule schedule;
    build(&schedule, "stragglar", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, &arenas);
    struct lab_ranks_options options = plain;
    options.late_rank = 0;
    options.late_ns = 100000000;
    struct lab_ranks_result result;
    struct weft_error error;
    assert_true(lab_ranks_run(&result, &schedule, &options, &arenas.arena, arenas.scratch, &error));
    assert_true(result.times[0].seconds >= 0.1);
    assert_true(result.times[0].after_late_s <= result.times[0].seconds - 0.09);
    close_arenas(&arenas);
}

// ---- faults ----

static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static void a_rank_that_dies_or_stops_ends_the_run_in_one_line(void **state)
{
    (void)state;
    for (int stops = 0; stops < 2; stops++) {
        struct arenas arenas;
        open_arenas(&arenas);
        struct weft_schedule schedule;
        build(&schedule, "ring", WEFT_COLLECTIVE_ALLREDUCE, 4, 1, &arenas);
        struct lab_ranks_options options = plain;
        options.fault_rank = 2;
        options.fault_iteration = 1;
        options.fault_stops = stops != 0;
        options.timeout_ms = 1000;
        uint32_t files = count_files();
        struct lab_ranks_result result;
        struct weft_error error;
        uint64_t begin_ns = lab_now_ns();
        assert_false(
            lab_ranks_run(&result, &schedule, &options, &arenas.arena, arenas.scratch, &error));
        assert_true(lab_now_ns() - begin_ns < 15000000000u);
        assert_int_equal(error.code, WEFT_IO);
        assert_non_null(strstr(error.message, "rank "));
        assert_non_null(strstr(error.message, stops ? "peer 2 sent nothing" : "rank 2 was ended"));
        // No process and no file is left.
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(count_files(), files);
        close_arenas(&arenas);
    }
}

static void unknown_congestion_control_is_refused(void **state)
{
    (void)state;
    struct arenas arenas;
    open_arenas(&arenas);
    struct weft_schedule schedule;
    build(&schedule, "ring", WEFT_COLLECTIVE_ALLREDUCE, 3, 1, &arenas);
    struct lab_ranks_options options = plain;
    options.connections.congestion = "nosuch";
    struct lab_ranks_result result;
    struct weft_error error;
    assert_false(
        lab_ranks_run(&result, &schedule, &options, &arenas.arena, arenas.scratch, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_non_null(strstr(error.message, "nosuch"));
    close_arenas(&arenas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right),
        cmocka_unit_test(a_wrong_schedule_is_found_out),
        cmocka_unit_test(a_late_rank_holds_up_the_others),
        cmocka_unit_test(a_rank_that_dies_or_stops_ends_the_run_in_one_line),
        cmocka_unit_test(unknown_congestion_control_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
