// SPDX-License-Identifier: Apache-2.0
// Traffic: groups joined by their set of members, transfers summed by pair.

#include "../fresh_arenas.h"
#include "weft/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define GROUP(list) .members = (list), .member_count = sizeof(list) / sizeof(list)[0]

static struct weft_traffic traffic_of(const struct weft_task *tasks, uint32_t count)
{
    static const uint32_t devices[] = {0, 1, 2, 3};
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(weft_taskgraph_build(&graph,
                                     &(struct weft_taskgraph_draft){.server_count = 4,
                                                                    .device_count = 4,
                                                                    .device_server = devices,
                                                                    .task_count = count,
                                                                    .tasks = tasks},
                                     &arena, scratch, &error));
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, &graph, &arena, scratch);
    return traffic;
}

static void groups_with_the_same_members_are_one(void **state)
{
    (void)state;
    static const uint32_t alone[] = {2};
    static const uint32_t three[] = {3, 0, 1};
    static const uint32_t sorted[] = {0, 1, 3};
    static const uint32_t pair[] = {1, 2};
    static const uint32_t early[] = {1, 0};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 1000, GROUP(alone)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 10, GROUP(three)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 30, GROUP(pair)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 5, GROUP(sorted)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 30, GROUP(early)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 1, GROUP(three)},
    };
    struct weft_traffic traffic = traffic_of(tasks, 6);
    assert_int_equal(traffic.group_count, 3);
    // 2 * 2 * 16 = 64; 2 * 1 * 30 = 60 twice, the smaller members first
    assert_true(traffic.groups[0].wire_bytes == 64.0);
    assert_true(traffic.groups[0].size_bytes == 16.0);
    assert_int_equal(traffic.groups[0].task_count, 3);
    assert_int_equal(traffic.groups[0].member_count, 3);
    assert_memory_equal(traffic.groups[0].members, sorted, sizeof sorted);
    assert_int_equal(traffic.groups[1].members[0], 0);
    assert_int_equal(traffic.groups[2].members[0], 1);
    static const uint32_t group_of[] = {WEFT_NONE, 0, 2, 0, 1};
    assert_memory_equal(traffic.group_of, group_of, sizeof group_of);
    assert_true(traffic.allreduce_wire_bytes == 184.0);
    assert_true(traffic.allreduce_share_ratio == 1.0);
}

static void transfers_are_summed_by_pair(void **state)
{
    (void)state;
    static const uint32_t pair[] = {1, 3};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_TRANSFER, .from = 0, .to = 1, .size_bytes = 10},
        {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 0, .size_bytes = 7},
        {.kind = WEFT_TASK_TRANSFER, .from = 0, .to = 1, .size_bytes = 5},
        {.kind = WEFT_TASK_TRANSFER, .from = 2, .to = 2, .size_bytes = 999},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 33, GROUP(pair)},
    };
    struct weft_traffic traffic = traffic_of(tasks, 5);
    assert_true(traffic.transfer_bytes[0 * 4 + 1] == 15.0);
    assert_true(traffic.transfer_bytes[1 * 4 + 0] == 7.0);
    assert_true(traffic.transfer_bytes[2 * 4 + 2] == 0.0);
    assert_true(traffic.transfer_total_bytes == 22.0);
    assert_true(fabs(traffic.allreduce_share_ratio - 0.75) < 1e-15); // 66 / (66 + 22)
    double *matrix = weft_traffic_matrix(&traffic, &arena);
    assert_true(matrix[1 * 4 + 3] == 33.0); // 2 (k-1)/k S to the next member
    assert_true(matrix[3 * 4 + 1] == 33.0);
    assert_true(matrix[0 * 4 + 1] == 15.0);
    assert_true(traffic.transfer_bytes[1 * 4 + 3] == 0.0); // the matrix is a copy
}

// A ReduceScatter and an AllGather of S each put half an AllReduce of S on the ring.
static void halves_count_as_half_an_allreduce(void **state)
{
    (void)state;
    static const uint32_t three[] = {3, 0, 1};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_REDUCE_SCATTER, .size_bytes = 11, GROUP(three)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 100, GROUP(three)},
        {.kind = WEFT_TASK_ALL_GATHER, .size_bytes = 30, GROUP(three)},
    };
    struct weft_traffic traffic = traffic_of(tasks, 3);
    assert_int_equal(traffic.group_count, 1);
    assert_int_equal(traffic.groups[0].task_count, 3);
    assert_true(traffic.groups[0].size_bytes == 120.5);
    assert_true(traffic.groups[0].wire_bytes == 2 * 11 + 4 * 100 + 2 * 30);
}

static void no_traffic_has_share_zero(void **state)
{
    (void)state;
    struct weft_traffic traffic = traffic_of(NULL, 0);
    assert_int_equal(traffic.group_count, 0);
    assert_true(traffic.allreduce_share_ratio == 0.0);
    assert_true(traffic.transfer_total_bytes == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_with_the_same_members_are_one),
        cmocka_unit_test(transfers_are_summed_by_pair),
        cmocka_unit_test(halves_count_as_half_an_allreduce),
        cmocka_unit_test(no_traffic_has_share_zero),
    };
    return cmocka_run_group_tests_name("traffic", tests, open_arenas, tear_down);
}
