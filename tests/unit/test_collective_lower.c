// SPDX-License-Identifier: Apache-2.0
// Schedules as tasks: who waits for whom, and closed forms in the flow engine.
//
// Mutations that made these tests fail (each was run): a sum read before its addends have come; a
// swap that waits for its own other half; sends of one rank side by side.

#include "../arenas.h"
#include "weft/collective.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define RATE_BPS 50e9
#define LATENCY_PS 500000u

static struct weft_network network;

static double play_s(const struct weft_schedule *schedule, uint64_t size_bytes)
{
    struct weft_arena arena = arena_kept;
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    struct weft_sim_job job = {.graph = &graph};
    uint32_t n = schedule->rank_count;
    bool built = weft_cluster_build(&cluster, n, 1, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built || !weft_schedule_well_formed(schedule, scratch_kept, &error) ||
        !weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error) ||
        !weft_schedule_lower(
            &graph, schedule,
            &(struct weft_lower_options){.size_bytes = size_bytes, .server_count = n}, &arena,
            scratch_kept, &error) ||
        !weft_sim_run_jobs(&result, &network, &job, 1, &(struct weft_sim_options){0},
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

// Two hops of latency and the bytes' time.
static double message_s(double bytes)
{
    return 2e-12 * LATENCY_PS + bytes / RATE_BPS;
}

static void a_ring_takes_its_closed_form(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 40; n += 7) {
        struct weft_index next = weft_index_walk(1, 1, 0, n);
        struct weft_index here = weft_index_walk(0, 1, 0, n);
        struct weft_index added = weft_index_walk(0, 1, n - 1, n);
        struct weft_index final = weft_index_walk(1, 1, n - 1, n);
        const struct weft_step steps[] = {
            {WEFT_STEP_REDUCE, 0, n - 1, n, 1, WEFT_NONE, 0, here, next, added, added},
            {WEFT_STEP_COPY, n - 1, n - 1, n, 1, WEFT_NONE, 0, here, next, final, final},
        };
        const struct weft_schedule ring = {
            .name = "ring",
            .kind = WEFT_COLLECTIVE_ALLREDUCE,
            .rank_count = n,
            .chunk_count = n,
            .slot_count = n,
            .port_count = 1,
            .round_count = 2 * (n - 1),
            .step_count = 2,
            .steps = steps,
        };
        uint64_t size_bytes = 1000000ull * n;
        double expected_s = 2.0 * (n - 1) * message_s(1e6);
        assert_true(fabs(play_s(&ring, size_bytes) / expected_s - 1) < 1e-6);
    }
}

static struct weft_step single(enum weft_step_op op, uint32_t round, uint32_t from, uint32_t to)
{
    return (struct weft_step){
        .op = op,
        .first_round = round,
        .round_count = 1,
        .item_count = 1,
        .slot_count = 1,
        .label = WEFT_NONE,
        .from = weft_index_fixed(from),
        .to = weft_index_fixed(to),
        .from_slot = weft_index_fixed(0),
        .to_slot = weft_index_fixed(0),
    };
}

static double play_steps_s(const struct weft_step *steps, uint32_t step_count, uint32_t rounds,
                           uint32_t port_count)
{
    const struct weft_schedule schedule = {
        .name = "steps",
        .kind = WEFT_COLLECTIVE_ALLREDUCE,
        .rank_count = 4,
        .chunk_count = 1,
        .slot_count = 1,
        .port_count = port_count,
        .round_count = rounds,
        .step_count = step_count,
        .steps = steps,
    };
    return play_s(&schedule, 1000000);
}

static void two_ranks_swap_in_one_message_time(void **state)
{
    (void)state;
    const struct weft_step swap[] = {
        single(WEFT_STEP_REDUCE, 0, 0, 1),
        single(WEFT_STEP_REDUCE, 0, 1, 0),
    };
    assert_true(fabs(play_steps_s(swap, 2, 1, 1) / message_s(1e6) - 1) < 1e-6);
}

static void a_sum_goes_on_when_all_addends_have_come(void **state)
{
    (void)state;
    // 3 has the addend of 1 after one message and that of 2 after two, then passes the sum on.
    const struct weft_step gather[] = {
        single(WEFT_STEP_REDUCE, 0, 0, 2),
        single(WEFT_STEP_REDUCE, 0, 1, 3),
        single(WEFT_STEP_REDUCE, 1, 2, 3),
        single(WEFT_STEP_COPY, 2, 3, 0),
    };
    assert_true(fabs(play_steps_s(gather, 4, 3, 0) / (3 * message_s(1e6)) - 1) < 1e-6);
}

static void one_port_means_one_send_at_a_time(void **state)
{
    (void)state;
    const struct weft_step twice[] = {
        single(WEFT_STEP_COPY, 0, 0, 1),
        single(WEFT_STEP_COPY, 1, 0, 2),
    };
    assert_true(fabs(play_steps_s(twice, 2, 2, 1) / (2 * message_s(1e6)) - 1) < 1e-6);
    assert_true(fabs(play_steps_s(twice, 2, 2, 0) / message_s(2e6) - 1) < 1e-6);
}

static void too_many_slots_are_refused(void **state)
{
    (void)state;
    uint32_t n = 40000;
    struct weft_step step = single(WEFT_STEP_COPY, 0, 0, 1);
    step.item_count = n;
    step.round_count = n;
    const struct weft_schedule schedule = {.name = "many",
                                           .rank_count = n,
                                           .chunk_count = 1,
                                           .slot_count = 1,
                                           .round_count = n,
                                           .step_count = 1,
                                           .steps = &step};
    struct weft_taskgraph graph;
    struct weft_error error;
    struct weft_arena arena = arena_kept;
    assert_false(weft_schedule_lower(
        &graph, &schedule, &(struct weft_lower_options){.size_bytes = 1, .server_count = n}, &arena,
        scratch_kept, &error));
    assert_int_equal(error.code, WEFT_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_takes_its_closed_form),
        cmocka_unit_test(two_ranks_swap_in_one_message_time),
        cmocka_unit_test(a_sum_goes_on_when_all_addends_have_come),
        cmocka_unit_test(one_port_means_one_send_at_a_time),
        cmocka_unit_test(too_many_slots_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
