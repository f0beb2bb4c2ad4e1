// SPDX-License-Identifier: Apache-2.0
// Rounds of rings that repeat are skipped, and nothing else comes of it: every task begins and ends
// when it does with all rounds played, within 1e-9, links carry the same bytes, and the counts of
// flows, events and solves are the same. Random collectives over hundreds of servers, two at a
// time, beside a device that computes, sends and reduces.
//
// Mutations that made this test fail (each was run): one period less of time; other events that are
// due ignored, or those that came since; bytes of links left out; as many rounds skipped as the
// last ring has instead of the one with the fewest.

#include "../arenas.h"
#include "../seeds.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INSTANCES TEST_SEEDS(8u)
#define SEED 31u
#define SERVERS_MAX 1100u
#define TASKS 7u

static struct weft_network network; // its routes point to its fabric

static void build_network(uint32_t instance, uint32_t n, struct weft_arena *arena)
{
    static const char *const names[] = {"ring", "ideal", "fat-tree", "leaf-spine", "torus-2d"};
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_fabric_options options = {0};
    assert_true(weft_cluster_build(&cluster, n, 4, 12.5e9, &error));
    cluster.balance = instance % 2 == 0 ? WEFT_BALANCE_EVEN : WEFT_BALANCE_HASH;
    if (!weft_fabric_build_named(
            &network, names[instance % 5], &cluster, &options,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("instance %u: %s", instance, error.message);
    }
}

// Two collectives from the start, of all servers and of some; a device computes twice, sends, and
// its server takes part in a third collective when that has arrived.
static void build_graph(struct weft_taskgraph *graph, uint32_t n, struct weft_rng *rng,
                        struct weft_arena *arena)
{
    static uint32_t members[SERVERS_MAX];
    static uint32_t place = 0;
    struct weft_error error;
    struct weft_task tasks[TASKS];
    for (uint32_t i = 0; i < n; i++) {
        members[i] = i;
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        tasks[i] = (struct weft_task){.device = WEFT_NONE, .from = WEFT_NONE, .to = WEFT_NONE};
    }
    for (uint32_t i = 0; i < 3; i++) {
        struct weft_task *task = &tasks[i];
        bool all = i == 0 || weft_rng_below(rng, 2) == 0;
        task->kind = WEFT_TASK_ALLREDUCE + weft_rng_below(rng, 3);
        task->members = members;
        task->member_count = all ? n : n / 2 + weft_rng_below(rng, n / 2);
        task->size_bytes = 1000000 + weft_rng_below(rng, 400000000);
    }
    if (weft_rng_below(rng, 8) > 0) { // in step with each other, for as long as both last
        tasks[1] = tasks[0];
        tasks[0].kind = WEFT_TASK_REDUCE_SCATTER + weft_rng_below(rng, 2);
        tasks[1].kind = WEFT_TASK_ALLREDUCE;
    }
    for (uint32_t i = 3; i < 5; i++) {
        tasks[i].kind = WEFT_TASK_FORWARD;
        tasks[i].device = 0;
        tasks[i].runtime_ps = 1 + (uint64_t)weft_rng_below(rng, 2000000000) * 4;
    }
    tasks[5].kind = WEFT_TASK_TRANSFER;
    tasks[5].from = 0;
    tasks[5].to = n / 2;
    tasks[5].size_bytes = 1 + weft_rng_below(rng, 100000000);
    tasks[6].kind = WEFT_TASK_BARRIER;
    const uint32_t before[] = {3, 4, 5, 2, 0, 1};
    const uint32_t after[] = {4, 5, 2, 6, 6, 6};
    struct weft_arena scratch = scratch_kept;
    weft_task_connect(tasks, TASKS, before, after, 6, &scratch);
    if (!weft_taskgraph_build(graph,
                              &(struct weft_taskgraph_draft){.server_count = n,
                                                             .device_count = 1,
                                                             .device_server = &place,
                                                             .task_count = TASKS,
                                                             .tasks = tasks},
                              arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static void check_times(const uint64_t *got_ps, const uint64_t *want_ps, uint32_t instance)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        if (fabs((double)got_ps[i] - (double)want_ps[i]) > 1e-9 * (double)want_ps[i] + 1) {
            fail_msg("instance %u: task %u at %llu ps, with all rounds played at %llu ps", instance,
                     i, (unsigned long long)got_ps[i], (unsigned long long)want_ps[i]);
        }
    }
}

static bool compare(uint32_t instance, const struct weft_taskgraph *graph, struct weft_arena arena)
{
    struct weft_error error;
    struct weft_sim_result got, want;
    const struct weft_sim_job job = {.graph = graph};
    struct weft_sim_options options = {.seed = instance, .timeline = true};
    options.packet_bytes = instance % 3 == 0 ? 0 : 4096;
    options.header_bytes = instance % 3 == 0 ? 0 : 66;
    struct weft_sim_options all_rounds = options;
    all_rounds.unfolded = true;
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch_kept, .error = &error};
    if (!weft_sim_run_jobs(&got, &network, &job, 1, &options, &environment) ||
        !weft_sim_run_jobs(&want, &network, &job, 1, &all_rounds, &environment)) {
        fail_msg("instance %u: %s", instance, error.message);
    }
    assert_false(want.folded);
    check_times(got.task_start_ps[0], want.task_start_ps[0], instance);
    check_times(got.task_end_ps[0], want.task_end_ps[0], instance);
    for (uint32_t link = 0; link < network.fabric.link_count; link++) {
        if (fabs(got.link_bytes[link] - want.link_bytes[link]) > 1e-9 * want.link_bytes[link]) {
            fail_msg("instance %u: link %u carries %g bytes, with all rounds played %g", instance,
                     link, got.link_bytes[link], want.link_bytes[link]);
        }
    }
    assert_int_equal(got.flow_count, want.flow_count);
    assert_int_equal(got.event_count, want.event_count);
    return got.folded;
}

static void skipped_rounds_end_as_played_ones(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    print_message("seed %u\n", SEED);
    uint32_t folded = 0;
    for (uint32_t instance = 0; instance < INSTANCES; instance++) {
        struct weft_arena arena = arena_kept;
        uint32_t n = 4 * (225 + weft_rng_below(&rng, SERVERS_MAX / 4 - 225));
        struct weft_taskgraph graph;
        build_network(instance, n, &arena);
        build_graph(&graph, n, &rng, &arena);
        folded += compare(instance, &graph, arena);
    }
    print_message("%u of %u skipped rounds\n", folded, INSTANCES);
    assert_true(folded >= INSTANCES / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipped_rounds_end_as_played_ones),
    };
    return cmocka_run_group_tests_name("steady_rounds", tests, set_up, tear_down);
}
