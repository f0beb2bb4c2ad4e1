// SPDX-License-Identifier: Apache-2.0
// Task graphs: what the builder keeps, what it refuses, and the order it gives.

#include "../fresh_arenas.h"
#include "weft/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t four_servers[] = {0, 1, 2, 3};
static const uint32_t one_twice[] = {0, 1, 1};
static const uint32_t beyond[] = {0, 4};
static const uint32_t to_0[] = {0};
static const uint32_t to_1[] = {1};
static const uint32_t to_2[] = {2};
static const uint32_t to_1_and_2[] = {1, 2};
static const uint32_t to_9[] = {9};

#define NEXT(list) .next = (list), .next_count = sizeof(list) / sizeof(list)[0]
#define GROUP(list) .members = (list), .member_count = sizeof(list) / sizeof(list)[0]

static bool build(struct weft_taskgraph *graph, const struct weft_task *tasks, uint32_t count,
                  struct weft_error *error)
{
    return weft_taskgraph_build(graph,
                                &(struct weft_taskgraph_draft){.server_count = 4,
                                                               .device_count = 4,
                                                               .device_server = four_servers,
                                                               .task_count = count,
                                                               .tasks = tasks},
                                &arena, scratch, error);
}

static void tasks_groups_and_edges_are_kept(void **state)
{
    (void)state;
    static const uint32_t pair[] = {3, 1};
    static const uint32_t swapped[] = {1, 3};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD, .device = 2, .runtime_ps = 7, NEXT(to_1_and_2)},
        {.kind = WEFT_TASK_TRANSFER, .from = 2, .to = 3, .size_bytes = 100, NEXT(to_2)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 50, GROUP(pair)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 60, .runtime_ps = 5, GROUP(swapped)},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 70, GROUP(pair), NEXT(to_0)},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(build(&graph, tasks, 5, &error));
    assert_int_equal(graph.server_count, 4);
    assert_int_equal(graph.task_count, 5);
    assert_int_equal(graph.device[0], 2);
    assert_int_equal(graph.device[1], WEFT_NONE);
    assert_int_equal(graph.runtime_ps[0], 7);
    assert_int_equal(graph.runtime_ps[3], 5);
    assert_int_equal(graph.from[1], 2);
    assert_int_equal(graph.to[1], 3);
    assert_int_equal(graph.from[0], WEFT_NONE);
    assert_int_equal(graph.size_bytes[1], 100);
    assert_int_equal(graph.prev_count[0], 1);
    assert_int_equal(graph.prev_count[2], 2);
    assert_int_equal(graph.next_first[5], 4);
    assert_int_equal(graph.group_count, 2); // two orders of one set are two groups
    assert_int_equal(graph.group[2], 0);
    assert_int_equal(graph.group[3], 1);
    assert_int_equal(graph.group[4], 0);
    assert_int_equal(graph.group_members[graph.group_first[0]], 3);
    assert_int_equal(graph.group_members[graph.group_first[1]], 1);
}

// Over four members: what a ring sends, and what any algorithm must. A buffer of 1000 has shards of
// 250.
static void collectives_move_their_shards(void **state)
{
    (void)state;
    static const struct {
        enum weft_task_kind kind;
        double ring, wire, sends, receives;
    } cases[] = {{WEFT_TASK_ALLREDUCE, 1500, 6000, 1000, 1000},
                 {WEFT_TASK_REDUCE_SCATTER, 750, 3000, 750, 250},
                 {WEFT_TASK_ALL_GATHER, 750, 3000, 250, 750}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const uint32_t alone[] = {2};
        const struct weft_task tasks[] = {
            {.kind = cases[i].kind, .size_bytes = 1000, .runtime_ps = 8, GROUP(four_servers)},
            {.kind = cases[i].kind, .size_bytes = 1000, GROUP(alone)}};
        struct weft_taskgraph graph;
        struct weft_error error;
        assert_true(build(&graph, tasks, 2, &error));
        assert_int_equal(graph.runtime_ps[0], 8);
        assert_true(weft_task_is_collective(&graph, 0));
        assert_true(weft_task_ring_bytes(&graph, 0) == cases[i].ring);
        assert_true(weft_task_wire_bytes(&graph, 0) == cases[i].wire);
        assert_true(weft_task_least_bytes(&graph, 0, false) == cases[i].sends);
        assert_true(weft_task_least_bytes(&graph, 0, true) == cases[i].receives);
        assert_true(weft_task_ring_bytes(&graph, 1) == 0 && weft_task_wire_bytes(&graph, 1) == 0);
        assert_true(weft_task_least_bytes(&graph, 1, true) == 0);
    }
}

static void transfers_that_move_nothing_become_barriers(void **state)
{
    (void)state;
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_TRANSFER, .from = 2, .to = 2, .size_bytes = 100, NEXT(to_2)},
        {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 2, .size_bytes = 0, NEXT(to_2)},
        {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 2, .size_bytes = 1},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(build(&graph, tasks, 3, &error));
    assert_int_equal(graph.kind[0], WEFT_TASK_BARRIER);
    assert_int_equal(graph.size_bytes[0], 0);
    assert_int_equal(graph.from[0], WEFT_NONE);
    assert_int_equal(graph.kind[1], WEFT_TASK_BARRIER);
    assert_int_equal(graph.kind[2], WEFT_TASK_TRANSFER);
    assert_int_equal(graph.prev_count[2], 2);
}

static void an_empty_graph_is_a_graph(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(build(&graph, NULL, 0, &error));
    assert_int_equal(graph.task_count, 0);
    assert_int_equal(graph.group_count, 0);
    weft_taskgraph_order(&graph, NULL, scratch);
}

static void bad_tasks_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        struct weft_task task;
        const char *message;
    } cases[] = {
        {{.kind = WEFT_TASK_KIND_COUNT}, "task 1: there is no task kind 9"},
        {{.kind = WEFT_TASK_FORWARD, .device = 4}, "task 1: device 4 is not one of the 4 devices"},
        {{.kind = WEFT_TASK_LOCAL, .device = WEFT_NONE}, "is not one of the 4 devices"},
        {{.kind = WEFT_TASK_BARRIER, .runtime_ps = 3},
         "task 1: a barrier or transfer has no runtime of its own, but 3 ps are given; make it a "
         "local task"},
        {{.kind = WEFT_TASK_TRANSFER, .from = 4, .to = 0, .size_bytes = 1},
         "task 1: the transfer goes from server 4 to 0, but servers are 0 to 3"},
        {{.kind = WEFT_TASK_TRANSFER, .from = 0, .to = 4, .size_bytes = 1}, "from server 0 to 4"},
        {{.kind = WEFT_TASK_ALLREDUCE}, "task 1: the AllReduce has no members"},
        {{.kind = WEFT_TASK_ALLREDUCE, GROUP(one_twice)},
         "task 1: the AllReduce names server 1 twice; name it once"},
        {{.kind = WEFT_TASK_ALLREDUCE, GROUP(beyond)},
         "task 1: the AllReduce names server 4, but servers are 0 to 3"},
        {{.kind = WEFT_TASK_REDUCE_SCATTER}, "task 1: the ReduceScatter has no members"},
        {{.kind = WEFT_TASK_ALL_GATHER, GROUP(beyond)},
         "task 1: the AllGather names server 4, but servers are 0 to 3"},
        {{.kind = WEFT_TASK_BARRIER, NEXT(to_9)}, "task 1: its successor 9 is not one of the 2"},
        {{.kind = WEFT_TASK_BARRIER, NEXT(to_1)}, "task 1: waits for itself"},
        {{.kind = WEFT_TASK_BARRIER, NEXT(to_0)},
         "task 0: is on a cycle of 2 tasks (it waits for task 1"},
        {{.kind = WEFT_TASK_TRANSFER, .to = 1, .size_bytes = (uint64_t)1 << 63},
         "task 1: up to here the tasks send more than 8 EiB"},
        {{.kind = WEFT_TASK_ALLREDUCE, .size_bytes = (uint64_t)1 << 61, GROUP(four_servers)},
         "task 1: up to here the tasks send more than 8 EiB"},
        {{.kind = WEFT_TASK_FORWARD, .runtime_ps = UINT64_MAX}, "run for more than 106 days"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_task tasks[] = {{.kind = WEFT_TASK_BARRIER, NEXT(to_1)}, cases[i].task};
        struct weft_taskgraph graph = {.server_count = 77};
        struct weft_error error = {.code = WEFT_OK};
        assert_false(build(&graph, tasks, 2, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("case %zu: '%s' lacks '%s'", i, error.message, cases[i].message);
        }
        assert_int_equal(graph.server_count, 77); // set only on success
    }
}

static void sums_just_below_the_limit_are_taken(void **state)
{
    (void)state;
    const uint64_t half = (uint64_t)1 << 62;
    struct weft_task tasks[] = {
        {.kind = WEFT_TASK_TRANSFER, .to = 1, .size_bytes = half},
        {.kind = WEFT_TASK_TRANSFER, .to = 1, .size_bytes = half - 1},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(build(&graph, tasks, 2, &error));
    tasks[1].size_bytes = half;
    assert_false(build(&graph, tasks, 2, &error));
    // Over four members 3 S on the wire, an AllReduce 6 S.
    struct weft_task gather = {.kind = WEFT_TASK_ALL_GATHER, GROUP(four_servers)};
    gather.size_bytes = UINT64_MAX / 2 / 3;
    assert_true(build(&graph, &gather, 1, &error));
    gather.size_bytes++;
    assert_false(build(&graph, &gather, 1, &error));
}

static void bad_devices_are_refused_by_name(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_false(weft_taskgraph_build(&graph, &(struct weft_taskgraph_draft){.server_count = 0},
                                      &arena, scratch, &error));
    assert_non_null(strstr(error.message, "at least one server"));
    assert_false(weft_taskgraph_build(&graph,
                                      &(struct weft_taskgraph_draft){.server_count = 4,
                                                                     .device_count = 2,
                                                                     .device_server = beyond},
                                      &arena, scratch, &error));
    assert_string_equal(error.message, "device 1: is in server 4, but servers are 0 to 3");
}

static void a_cycle_is_named_by_a_task_that_is_on_it(void **state)
{
    (void)state;
    // 0 -> 1 -> {2 <-> 3} -> 4: 4 waits too, but only 2 and 3 go round.
    static const uint32_t to_3[] = {3};
    static const uint32_t to_2_and_4[] = {4, 2};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_BARRIER, NEXT(to_1)},
        {.kind = WEFT_TASK_BARRIER, NEXT(to_2)},
        {.kind = WEFT_TASK_BARRIER, NEXT(to_3)},
        {.kind = WEFT_TASK_BARRIER, NEXT(to_2_and_4)},
        {.kind = WEFT_TASK_BARRIER},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_false(build(&graph, tasks, 5, &error));
    assert_non_null(strstr(error.message, "task 2: is on a cycle of 2 tasks (it waits for task 3"));
}

// Pairs of servers whose hashes (as build.c mixes them) agree in the 12 bits that choose a place
// among 4096 = the table of 600 groups.
static void groups_chosen_to_collide_are_refused(void **state)
{
    (void)state;
    enum { SERVERS = 2000, GROUPS = 600 };
    static uint32_t members[GROUPS][2];
    static struct weft_task tasks[GROUPS];
    uint32_t count = 0;
    for (uint32_t a = 0; a < SERVERS; a++) {
        uint64_t half = weft_hash(2 ^ a);
        for (uint32_t b = 0; b < SERVERS && count < GROUPS; b++) {
            if (a != b && (weft_hash(half ^ b) & 4095) == 0) {
                members[count][0] = a;
                members[count][1] = b;
                tasks[count] = (struct weft_task){
                    .kind = WEFT_TASK_ALLREDUCE, .size_bytes = 1, GROUP(members[count])};
                count++;
            }
        }
    }
    assert_int_equal(count, GROUPS);
    struct weft_taskgraph graph;
    struct weft_error error = {.code = WEFT_OK};
    assert_false(weft_taskgraph_build(&graph,
                                      &(struct weft_taskgraph_draft){.server_count = SERVERS,
                                                                     .task_count = GROUPS,
                                                                     .tasks = tasks},
                                      &arena, scratch, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "its group collides with too many others"));
    for (uint32_t i = 0; i < GROUPS; i++) { // others, as many, are taken
        members[i][0] = i;
        members[i][1] = i + 1;
    }
    assert_true(weft_taskgraph_build(&graph,
                                     &(struct weft_taskgraph_draft){.server_count = SERVERS,
                                                                    .task_count = GROUPS,
                                                                    .tasks = tasks},
                                     &arena, scratch, &error));
    assert_int_equal(graph.group_count, GROUPS);
}

static void the_order_is_first_in_first_out(void **state)
{
    (void)state;
    static const uint32_t to_4[] = {4};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_BARRIER, NEXT(to_4)},
        {.kind = WEFT_TASK_BARRIER},
        {.kind = WEFT_TASK_BARRIER, NEXT(to_1)},
        {.kind = WEFT_TASK_BARRIER, NEXT(to_1_and_2)},
        {.kind = WEFT_TASK_BARRIER},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    uint32_t order[5];
    assert_true(build(&graph, tasks, 5, &error));
    weft_taskgraph_order(&graph, order, scratch);
    static const uint32_t expected[] = {0, 3, 4, 2, 1};
    assert_memory_equal(order, expected, sizeof expected);
}

// Mutations seen to fail: same_work without its bytes, same_next without either
// look at the marks,
// same_group without its members, timed_kinds taken for all.
static void graphs_that_differ_in_one_thing_are_told_apart(void **state)
{
    (void)state;
    static const uint32_t pair[] = {3, 1};
    static const uint32_t swapped[] = {1, 3};
    static const uint32_t to_2_and_1[] = {2, 1};
    static const uint32_t to_2_twice[] = {2, 2};
    const struct weft_task base[] = {
        {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 1000, NEXT(to_1_and_2)},
        {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 2, .size_bytes = 7},
        {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 9, .runtime_ps = 50, GROUP(pair)},
    };
    const struct {
        uint32_t at;
        struct weft_task task;
        const char *told; // NULL = the same
    } cases[] = {
        {0, {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 1000, NEXT(to_2_and_1)}, NULL},
        {0, {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 1000, NEXT(to_1)}, "wait"},
        {0, {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 1000, NEXT(to_2_twice)}, "wait"},
        {0, {.kind = WEFT_TASK_FORWARD, .device = 2, .runtime_ps = 1000, NEXT(to_1_and_2)}, "dev"},
        {0, {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 1002, NEXT(to_1_and_2)}, "ps"},
        {0, {.kind = WEFT_TASK_UPDATE, .device = 1, .runtime_ps = 1000, NEXT(to_1_and_2)}, "kind"},
        {1, {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 2, .size_bytes = 8}, "bytes"},
        {1, {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 2, .size_bytes = 7, NEXT(to_2)}, "wait"},
        {1, {.kind = WEFT_TASK_TRANSFER, .from = 1, .to = 3, .size_bytes = 7}, "from server"},
        {2, {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 9, .runtime_ps = 90, GROUP(pair)}, NULL},
        {2, {.kind = WEFT_TASK_ALLREDUCE, .size_bytes = 9, GROUP(swapped)}, "other servers"},
        {2, {.kind = WEFT_TASK_ALL_GATHER, .size_bytes = 9, GROUP(pair)}, "of kind AllReduce, not"},
    };
    struct weft_taskgraph one;
    struct weft_error error;
    assert_true(build(&one, base, 3, &error));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_task tasks[3];
        struct weft_taskgraph other;
        memcpy(tasks, base, sizeof base);
        tasks[cases[i].at] = cases[i].task;
        assert_true(build(&other, tasks, 3, &error));
        bool same = weft_taskgraph_same(&one, &other, 1u << WEFT_TASK_FORWARD, scratch, &error);
        assert_int_equal(same, cases[i].told == NULL);
        assert_true(same || strstr(error.message, cases[i].told) != NULL);
    }
    struct weft_taskgraph shorter;
    assert_true(build(&shorter, base + 1, 2, &error));
    assert_false(weft_taskgraph_same(&one, &shorter, 0, scratch, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_groups_and_edges_are_kept),
        cmocka_unit_test(collectives_move_their_shards),
        cmocka_unit_test(transfers_that_move_nothing_become_barriers),
        cmocka_unit_test(an_empty_graph_is_a_graph),
        cmocka_unit_test(bad_tasks_are_refused_by_name),
        cmocka_unit_test(sums_just_below_the_limit_are_taken),
        cmocka_unit_test(bad_devices_are_refused_by_name),
        cmocka_unit_test(a_cycle_is_named_by_a_task_that_is_on_it),
        cmocka_unit_test(groups_chosen_to_collide_are_refused),
        cmocka_unit_test(the_order_is_first_in_first_out),
        cmocka_unit_test(graphs_that_differ_in_one_thing_are_told_apart),
    };
    return cmocka_run_group_tests_name("taskgraph", tests, open_arenas, tear_down);
}
