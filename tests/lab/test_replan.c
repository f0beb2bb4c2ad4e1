// SPDX-License-Identifier: Apache-2.0
// What a fault leaves: jobs without a server, rings over fewer circuits. Needs no namespaces.

#include "lab_test.h"

#include "runtime/job/replan.h"

#include "weft/routing.h"

#include <string.h>

enum { N = 6 };

static struct weft_arena arena;
static struct weft_arena scratch;

// Each of four servers computes; all sum; 0 and 1 sum as well; `kind` of task 6 is the caller's.
static void build_job(struct weft_taskgraph *graph, enum weft_task_kind kind)
{
    static const uint32_t device_server[4] = {0, 1, 2, 3};
    static const uint32_t all[4] = {3, 1, 0, 2};
    static const uint32_t two[2] = {0, 1};
    static const uint32_t last[1] = {5};
    static const uint32_t pair[1] = {6};
    struct weft_task tasks[7];
    struct weft_error error;
    for (uint32_t i = 0; i < 4; i++) {
        tasks[i] = (struct weft_task){.kind = WEFT_TASK_FORWARD,
                                      .device = i,
                                      .runtime_ps = 1000 + i,
                                      .next = last,
                                      .next_count = 1};
    }
    tasks[4] = tasks[3];
    tasks[4].runtime_ps = 77;
    tasks[5] = (struct weft_task){.kind = WEFT_TASK_ALLREDUCE,
                                  .size_bytes = 4000,
                                  .members = all,
                                  .member_count = 4,
                                  .next = pair,
                                  .next_count = 1};
    tasks[6] = (struct weft_task){
        .kind = kind, .size_bytes = 400, .from = 0, .to = 1, .members = two, .member_count = 2};
    must(weft_taskgraph_build(graph,
                              &(struct weft_taskgraph_draft){.server_count = 4,
                                                             .device_count = 4,
                                                             .device_server = device_server,
                                                             .task_count = 7,
                                                             .tasks = tasks},
                              &arena, scratch, &error),
         &error);
}

// Mutation that fails: groups that keep the server's number.
static void a_job_goes_on_without_a_server_that_others_double(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    struct lab_smaller_graph smaller;
    struct weft_error error;
    build_job(&graph, WEFT_TASK_ALLREDUCE);
    must(lab_graph_without(&smaller, &graph, 1, &arena, scratch, &error), &error);
    const struct weft_taskgraph remaining = smaller.graph;
    assert_int_equal(remaining.server_count, 3);
    assert_int_equal(remaining.device_count, 3);
    assert_int_equal(remaining.task_count, 6); // without its compute
    uint32_t sum = smaller.group_of[graph.group[5]];
    const uint32_t *members = remaining.group_members + remaining.group_first[sum];
    assert_int_equal(remaining.group_first[sum + 1] - remaining.group_first[sum], 3);
    const uint32_t expected[3] = {2, 0, 1};
    assert_memory_equal(members, expected, sizeof expected);
    uint32_t pair = smaller.group_of[graph.group[6]];
    assert_int_equal(remaining.group_first[pair + 1] - remaining.group_first[pair], 1);
    assert_int_equal(remaining.device_server[remaining.device[2]], 2); // task 3, of server 3 once
    assert_int_equal(remaining.runtime_ps[2], 1003);
    assert_int_equal(remaining.prev_count[4], 4);
    assert_true(lab_graph_uses(&graph, 3));
}

// Mutation that fails: a transfer that is dropped with its server.
static void a_server_with_something_of_its_own_is_missed(void **state)
{
    (void)state;
    static const enum weft_task_kind kinds[] = {WEFT_TASK_TRANSFER, WEFT_TASK_REDUCE_SCATTER,
                                                WEFT_TASK_ALL_GATHER};
    struct weft_taskgraph graph;
    struct lab_smaller_graph smaller;
    struct weft_error error;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        build_job(&graph, kinds[i]);
        assert_false(lab_graph_without(&smaller, &graph, 1, &arena, scratch, &error));
        assert_int_equal(error.code, WEFT_INFEASIBLE);
        must(lab_graph_without(&smaller, &graph, 2, &arena, scratch, &error), &error);
    }
}

// ---- rings ----

// All links of N servers, or all but that from 1 to 2.
static void build_fabric(struct weft_fabric *fabric, bool cut)
{
    struct weft_link links[N * N];
    struct weft_error error;
    uint32_t count = 0;
    for (uint32_t a = 0; a < N; a++) {
        for (uint32_t b = 0; b < N; b++) {
            if (a != b && !(cut && a == 1 && b == 2)) {
                links[count++] = (struct weft_link){a, b, 1e9, 1000, 1};
            }
        }
    }
    must(weft_fabric_build(fabric, &(struct weft_fabric_links){"mesh", N, N, links, count}, &arena,
                           &error),
         &error);
}

static void bind_ring(struct weft_ring *ring, const struct weft_fabric *fabric, uint32_t step,
                      double share)
{
    uint32_t *members = WEFT_NEW(&arena, uint32_t, N);
    uint32_t *first = WEFT_NEW(&arena, uint32_t, N + 1);
    uint32_t *links = WEFT_NEW(&arena, uint32_t, N);
    for (uint32_t i = 0; i < N; i++) {
        members[i] = i * step % N;
        links[i] = weft_fabric_find_link(fabric, members[i], (i + 1) * step % N);
        first[i + 1] = i + 1;
    }
    *ring = (struct weft_ring){.member_count = N,
                               .members = members,
                               .share_ratio = share,
                               .hop_first = first,
                               .hop_links = links};
}

// Every ring visits all, hops over links that chain, no link is in two, shares add to 1.
static void check_rings(const struct weft_ring_set *set, const struct weft_fabric *fabric,
                        bool alone)
{
    uint32_t used[N * N] = {0};
    double sum = 0;
    for (uint32_t r = 0; r < set->ring_count; r++) {
        const struct weft_ring *ring = &set->rings[r];
        uint32_t seen = 0;
        sum += ring->share_ratio;
        for (uint32_t i = 0; i < ring->member_count; i++) {
            uint32_t at = ring->members[i];
            seen |= 1u << at;
            for (uint32_t l = ring->hop_first[i]; l < ring->hop_first[i + 1]; l++) {
                assert_int_equal(fabric->links[ring->hop_links[l]].from, at);
                at = fabric->links[ring->hop_links[l]].to;
                assert_true(!alone || used[ring->hop_links[l]]++ == 0);
            }
            assert_int_equal(at, ring->members[(i + 1) % ring->member_count]);
        }
        assert_int_equal(seen, (1u << fabric->node_count) - 1);
    }
    assert_true(sum > 0.999999 && sum < 1.000001);
}

// Mutation that fails: a search that takes links which other rings have.
static void broken_rings_go_round_end_or_are_found_anew(void **state)
{
    (void)state;
    struct weft_network old = {0};
    struct weft_fabric remaining;
    struct weft_routes shortest;
    struct weft_ring rings[2];
    struct weft_error error;
    build_fabric(&old.fabric, false);
    build_fabric(&remaining, true);
    bind_ring(&rings[0], &old.fabric, 1, 0.75);
    bind_ring(&rings[1], &old.fabric, 5, 0.25);
    old.rings = (struct weft_ring_set){2, rings};
    must(
        weft_routing_shortest(&shortest, &remaining,
                              &(struct weft_environment){
                                  .arena = &arena, .scratch = scratch, .seed = 1, .error = &error}),
        &error);
    static const uint32_t ring_counts[] = {2, 1, 2};
    for (int choice = 0; choice < LAB_RING_CHOICES; choice++) {
        struct weft_ring_set made;
        struct lab_ring_counts counts;
        const struct lab_ring_change change = {.old = &old,
                                               .fabric = &remaining,
                                               .shortest = &shortest,
                                               .gone = WEFT_NONE,
                                               .choice = (enum lab_ring_choice)choice};
        lab_change_rings(&made, &counts, &change, &arena, scratch);
        assert_int_equal(made.ring_count, ring_counts[choice]);
        assert_int_equal(counts.broken, 1);
        assert_int_equal(counts.detours, choice == LAB_RINGS_AROUND);
        assert_int_equal(counts.found, choice == LAB_RINGS_NEW);
        check_rings(&made, &remaining, choice != LAB_RINGS_AROUND);
    }
}

static void servers_of_places_are_told_in_order(void **state)
{
    (void)state;
    static const uint32_t planes[3] = {1, 2, 0};
    static const uint32_t place[3] = {4, 0, 2};
    static const struct weft_pair_hop hops[2] = {{0, 0, 1, 0, 1, 1}, {1, 1, 2, 0, 2, 1}};
    const struct weft_lab_wiring wiring = {
        .server_count = 3, .port_count = 1, .planes = planes, .next_hops = {2, hops}};
    struct weft_lab_wiring servers;
    lab_spread_wiring(&servers, &wiring, place, 5, &arena);
    const uint32_t expected[5] = {2, 1, 4, 3, 0};
    assert_memory_equal(servers.planes, expected, sizeof expected);
    assert_int_equal(servers.next_hops.hops[0].node, 0);
    assert_int_equal(servers.next_hops.hops[0].target, 2);
    assert_int_equal(servers.next_hops.hops[1].node, 4);
    assert_int_equal(servers.next_hops.hops[1].next, 0);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_on_without_a_server_that_others_double),
        cmocka_unit_test(a_server_with_something_of_its_own_is_missed),
        cmocka_unit_test(broken_rings_go_round_end_or_are_found_anew),
        cmocka_unit_test(servers_of_places_are_told_in_order),
    };
    return cmocka_run_group_tests_name("replan", tests, NULL, NULL);
}
