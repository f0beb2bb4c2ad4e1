// SPDX-License-Identifier: Apache-2.0
// Simulated times that a formula gives: ring AllReduce, all-to-all on a switch, permutations on a
// Fat-tree without collisions.
//
// Mutations that made these tests fail (each was run): one round too few; latency counted twice; a
// ring's hop going to the member after the next; SPLIT shares of 1; a round ending 5 us early.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define RATE_BPS 50e9
#define LATENCY_PS 500000u

static struct weft_network network; // stays where it is: its routes point to its fabric

typedef bool builder(struct weft_network *, const struct weft_cluster *,
                     const struct weft_fabric_options *, struct weft_arena *, struct weft_error *);

static void build(builder *make, uint32_t server_count, uint32_t degree, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_fabric_options options = {.port_rate_Bps = RATE_BPS};
    bool built = weft_cluster_build(&cluster, server_count, degree, RATE_BPS, &error);
    cluster.latency_ps = LATENCY_PS;
    if (!built || !make(&network, &cluster, &options, arena, &error)) {
        fail_msg("%s", error.message);
    }
}

static double collective_us(enum weft_task_kind kind, uint32_t server_count, uint64_t size_bytes,
                            struct weft_arena arena)
{
    uint32_t *members = WEFT_NEW_RAW(&arena, uint32_t, server_count);
    for (uint32_t i = 0; i < server_count; i++) {
        members[i] = i;
    }
    struct weft_task task = {
        .kind = kind, .members = members, .member_count = server_count, .size_bytes = size_bytes};
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_sim_job job = {.graph = &graph};
    if (!weft_taskgraph_build(&graph,
                              &(struct weft_taskgraph_draft){
                                  .server_count = server_count, .task_count = 1, .tasks = &task},
                              &arena, scratch_kept, &error) ||
        !weft_sim_run_jobs(&result, &network, &job, 1, &(struct weft_sim_options){0},
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    uint64_t turns = kind == WEFT_TASK_ALLREDUCE ? 2 : 1;
    assert_int_equal(result.flow_count, turns * (server_count - 1) * server_count);
    return (double)result.iteration_ps[0] / 1e6;
}

// 2 (n-1)/n S/B + 2 (n-1) lat, half of it for its halves, on a ring of links and, with two links a
// hop, on a switch.
static void a_ring_allreduce_takes_its_closed_form(void **state)
{
    (void)state;
    static const struct {
        uint32_t server_count;
        double published_us; // rounded to 0.1 us
    } cases[] = {{2, 0}, {16, 3765}, {64, 4000.5}, {128, 4095.8}, {432, 4421.7}, {1024, 5019.1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weft_arena arena = arena_kept;
        uint32_t n = cases[i].server_count;
        double serial_us = 2.0 * (n - 1) / n * 1e8 / RATE_BPS * 1e6;
        double latency_us = 2.0 * (n - 1) * LATENCY_PS / 1e6;
        if (n > 2) {
            build(weft_fabric_build_ring, n, 2, &arena);
            double ring_us = collective_us(WEFT_TASK_ALLREDUCE, n, 100000000, arena);
            assert_true(fabs(ring_us - (serial_us + latency_us)) < 0.003);
            assert_true(fabs(ring_us - cases[i].published_us) < 0.1);
            double scatter_us = collective_us(WEFT_TASK_REDUCE_SCATTER, n, 100000000, arena);
            double gather_us = collective_us(WEFT_TASK_ALL_GATHER, n, 100000000, arena);
            assert_true(fabs(scatter_us - (serial_us + latency_us) / 2) < 0.003);
            assert_true(fabs(gather_us - (serial_us + latency_us) / 2) < 0.003);
        }
        if (n <= 128) {
            build(weft_fabric_build_ideal, n, 1, &arena);
            double switch_us = collective_us(WEFT_TASK_ALLREDUCE, n, 100000000, arena);
            assert_true(fabs(switch_us - (serial_us + 2 * latency_us)) < 0.003);
        }
    }
}

static double flows_us(uint32_t count, const uint32_t *from, const uint32_t *to,
                       uint64_t size_bytes, struct weft_arena arena)
{
    uint64_t *sizes = WEFT_NEW_RAW(&arena, uint64_t, count);
    uint64_t *starts = WEFT_NEW(&arena, uint64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = size_bytes;
    }
    struct weft_flow_list list = {count, from, to, sizes, starts};
    struct weft_sim_result result;
    struct weft_error error;
    if (!weft_sim_run_flows(&result, NULL, &network, &list, &(struct weft_sim_options){0},
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return (double)result.end_ps / 1e6;
}

// (n-1) S/B + 2 lat.
static void an_all_to_all_on_a_switch_takes_its_closed_form(void **state)
{
    (void)state;
    static const uint32_t server_counts[] = {2, 64, 128, 256};
    for (size_t i = 0; i < 4; i++) {
        struct weft_arena arena = arena_kept;
        uint32_t n = server_counts[i];
        build(weft_fabric_build_ideal, n, 1, &arena);
        uint32_t *from = WEFT_NEW_RAW(&arena, uint32_t, (size_t)n * n);
        uint32_t *to = WEFT_NEW_RAW(&arena, uint32_t, (size_t)n * n);
        uint32_t count = 0;
        for (uint32_t pair = 0; pair < n * n; pair++) {
            if (pair / n != pair % n) {
                from[count] = pair / n;
                to[count++] = pair % n;
            }
        }
        double want_us = (n - 1) * 1e6 / RATE_BPS * 1e6 + 2 * LATENCY_PS / 1e6;
        assert_true(fabs(flows_us(count, from, to, 1000000, arena) - want_us) < 0.001);
    }
}

// Neighbors under one leaf never meet: S/B + 2 lat. Everybody to its twin in the next pod, split
// over all cores: S/B + 6 lat.
static void permutations_of_a_fat_tree_take_their_closed_forms(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    uint32_t n = 1024;
    build(weft_fabric_build_fat_tree, n, 1, &arena);
    uint32_t *from = WEFT_NEW_RAW(&arena, uint32_t, n);
    uint32_t *near = WEFT_NEW_RAW(&arena, uint32_t, n);
    uint32_t *far = WEFT_NEW_RAW(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        from[i] = i;
        near[i] = i ^ 1;
        far[i] = (i + n / 16) % n;
    }
    double serial_us = 1e7 / RATE_BPS * 1e6;
    assert_true(fabs(flows_us(n, from, near, 10000000, arena) - serial_us - 2 * 0.5) < 0.001);
    network.routes.spread = WEFT_SPREAD_SPLIT;
    assert_true(fabs(flows_us(n, from, far, 10000000, arena) - serial_us - 6 * 0.5) < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_ring_allreduce_takes_its_closed_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_all_to_all_on_a_switch_takes_its_closed_form, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(permutations_of_a_fat_tree_take_their_closed_forms, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
