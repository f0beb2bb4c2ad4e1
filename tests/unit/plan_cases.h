// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_PLAN_CASES_H
#define WEFT_TESTS_PLAN_CASES_H

// Task graphs and clusters made by hand or at random, for the tests of the plan room.

#include "weft/plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CASE_TASKS_MAX 512

static struct weft_arena case_whole;
static struct weft_arena case_whole_scratch;
static struct weft_arena case_arena;
#define case_scratch case_whole_scratch

static int case_open(void **state)
{
    (void)state;
    struct weft_error error;
    if (!weft_arena_init(&case_whole, 0, &error) ||
        !weft_arena_init(&case_whole_scratch, 0, &error)) {
        return 1;
    }
    case_arena = case_whole;
    return 0;
}

static int case_close(void **state)
{
    (void)state;
    weft_arena_release(&case_whole);
    weft_arena_release(&case_whole_scratch);
    return 0;
}

// A list of tasks in the making.
struct case_tasks {
    struct weft_task tasks[CASE_TASKS_MAX];
    uint32_t next[CASE_TASKS_MAX][64];
    uint32_t count;
};

static inline uint32_t case_add(struct case_tasks *list, struct weft_task task)
{
    assert_true(list->count < CASE_TASKS_MAX);
    list->tasks[list->count] = task;
    return list->count++;
}

static inline uint32_t case_compute(struct case_tasks *list, uint32_t device, uint64_t runtime_ps)
{
    return case_add(
        list,
        (struct weft_task){.kind = WEFT_TASK_FORWARD, .device = device, .runtime_ps = runtime_ps});
}

static inline uint32_t case_transfer(struct case_tasks *list, uint32_t from, uint32_t to,
                                     uint64_t size_bytes)
{
    return case_add(list, (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                             .device = WEFT_NONE,
                                             .from = from,
                                             .to = to,
                                             .size_bytes = size_bytes});
}

static inline uint32_t case_allreduce(struct case_tasks *list, const uint32_t *members,
                                      uint32_t member_count, uint64_t size_bytes)
{
    return case_add(list, (struct weft_task){.kind = WEFT_TASK_ALLREDUCE,
                                             .device = WEFT_NONE,
                                             .members = members,
                                             .member_count = member_count,
                                             .size_bytes = size_bytes});
}

static inline void case_after(struct case_tasks *list, uint32_t before, uint32_t after)
{
    struct weft_task *task = &list->tasks[before];
    assert_true(task->next_count < 64);
    list->next[before][task->next_count++] = after;
    task->next = list->next[before];
}

// A graph of one device a server.
static inline struct weft_taskgraph case_graph(struct case_tasks *list, uint32_t server_count)
{
    uint32_t *device_server = WEFT_NEW(&case_arena, uint32_t, server_count);
    for (uint32_t s = 0; s < server_count; s++) {
        device_server[s] = s;
    }
    struct weft_taskgraph graph;
    struct weft_error error;
    if (!weft_taskgraph_build(&graph,
                              &(struct weft_taskgraph_draft){.server_count = server_count,
                                                             .device_count = server_count,
                                                             .device_server = device_server,
                                                             .task_count = list->count,
                                                             .tasks = list->tasks},
                              &case_arena, case_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    return graph;
}

static inline struct weft_cluster case_cluster(uint32_t server_count, uint32_t degree)
{
    struct weft_cluster cluster;
    struct weft_error error;
    if (!weft_cluster_build(&cluster, server_count, degree, 12.5e9, &error)) {
        fail_msg("%s", error.message);
    }
    return cluster;
}

#endif
