// SPDX-License-Identifier: Apache-2.0
// Where the time of an iteration goes: cases whose answer is known, and random ones against a
// count that looks at every moment.

#include "../fresh_arenas.h"
#include "weft/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_known_iteration_is_taken_apart(void **state)
{
    (void)state;
    static const uint32_t devices[] = {0, 1};
    static const uint32_t members[] = {0, 1};
    static const uint32_t next[] = {1, 2, 3};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD,
         .device = 0,
         .runtime_ps = 10,
         .next = &next[0],
         .next_count = 1},
        {.kind = WEFT_TASK_TRANSFER,
         .from = 0,
         .to = 1,
         .size_bytes = 1,
         .next = &next[1],
         .next_count = 1},
        {.kind = WEFT_TASK_BACKWARD,
         .device = 1,
         .runtime_ps = 30,
         .next = &next[2],
         .next_count = 1},
        {.kind = WEFT_TASK_ALLREDUCE, .members = members, .member_count = 2, .size_bytes = 8},
        {.kind = WEFT_TASK_UPDATE, .device = 0, .runtime_ps = 5},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    assert_true(weft_taskgraph_build(&graph,
                                     &(struct weft_taskgraph_draft){.server_count = 3,
                                                                    .device_count = 2,
                                                                    .device_server = devices,
                                                                    .task_count = 5,
                                                                    .tasks = tasks},
                                     &arena, scratch, &error));
    // Server 0 computes in 0-10 and 95-100, server 1 in 30-60; server 2 has no device.
    static const uint64_t start_ps[] = {0, 10, 30, 60, 95};
    static const uint64_t end_ps[] = {10, 30, 60, 90, 100};
    struct weft_breakdown breakdown;
    const struct weft_task_times times = {start_ps, end_ps, 100};
    weft_sim_breakdown(&breakdown, &graph, &times, &arena, scratch);
    static const uint64_t expected[] = {15, 0, 30, 55, 30, 20, 30, 20, 0, 0, 0, 100};
    assert_memory_equal(breakdown.use_ps, expected, sizeof expected);
    // The update follows the forward on its device; nothing of that chain runs in 10-95.
    assert_int_equal(breakdown.path_ps[WEFT_TASK_UPDATE], 5);
    assert_int_equal(breakdown.path_ps[WEFT_TASK_FORWARD], 10);
    assert_int_equal(breakdown.path_gap_ps, 85);
    assert_int_equal(breakdown.path_length, 2);
    // Without the update the chain is forward, transfer, backward, AllReduce.
    static const uint64_t early_ps[] = {10, 30, 60, 90, 15};
    static const uint64_t early_start_ps[] = {0, 10, 30, 60, 10};
    const struct weft_task_times early = {early_start_ps, early_ps, 90};
    weft_sim_breakdown(&breakdown, &graph, &early, &arena, scratch);
    static const uint64_t path[WEFT_TASK_KIND_COUNT] = {10, 30, 0, 0, 0, 20, 30};
    assert_memory_equal(breakdown.path_ps, path, sizeof path);
    assert_int_equal(breakdown.path_gap_ps, 0);
    assert_int_equal(breakdown.path_length, 4);
}

// ---- random graphs on a ring of servers ----

#define SERVERS 6u
#define DEVICES 9u // servers 0 to 2 have two
#define TASKS 60u

struct random_job {
    struct weft_network network;
    struct weft_taskgraph graph;
    struct weft_sim_result result;
};

static void make_job(struct random_job *job, struct weft_rng *rng)
{
    static uint32_t devices[DEVICES];
    struct weft_task tasks[TASKS];
    uint32_t *lists = WEFT_NEW(&arena, uint32_t, TASKS * 8);
    for (uint32_t d = 0; d < DEVICES; d++) {
        devices[d] = d % SERVERS;
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        uint32_t *members = lists + (size_t)t * 8;
        uint32_t *next = members + SERVERS;
        uint32_t kind = weft_rng_below(rng, 6);
        uint32_t next_count = 0;
        for (uint32_t i = 0; i < 2 && t + 1 < TASKS; i++) {
            next[next_count++] = t + 1 + weft_rng_below(rng, TASKS - t - 1);
        }
        next_count -= next_count == 2 && next[0] == next[1];
        for (uint32_t i = 0; i < SERVERS; i++) {
            members[i] = i;
        }
        weft_rng_shuffle(rng, members, SERVERS);
        tasks[t] = (struct weft_task){
            .kind = kind < 3 ? WEFT_TASK_FORWARD : WEFT_TASK_TRANSFER,
            .device = weft_rng_below(rng, DEVICES),
            .runtime_ps = weft_rng_below(rng, 3) == 0 ? 0 : weft_rng_below(rng, 2000000),
            .from = members[0],
            .to = members[1],
            .size_bytes = weft_rng_below(rng, 100000),
            .members = members,
            .member_count = 2 + weft_rng_below(rng, SERVERS - 1),
            .next = next,
            .next_count = next_count,
        };
        tasks[t].kind = kind == 5 ? WEFT_TASK_ALLREDUCE : tasks[t].kind;
        tasks[t].runtime_ps = kind >= 3 ? 0 : tasks[t].runtime_ps;
    }
    struct weft_error error;
    struct weft_cluster cluster;
    assert_true(weft_cluster_build(&cluster, SERVERS, 2, 12.5e9, &error));
    assert_true(weft_fabric_build_ring(&job->network, &cluster, NULL, &arena, &error));
    if (!weft_taskgraph_build(&job->graph,
                              &(struct weft_taskgraph_draft){.server_count = SERVERS,
                                                             .device_count = DEVICES,
                                                             .device_server = devices,
                                                             .task_count = TASKS,
                                                             .tasks = tasks},
                              &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
    const struct weft_sim_options options = {.timeline = true};
    const struct weft_sim_job sim_job = {.graph = &job->graph, .rings = job->network.rings};
    assert_true(weft_sim_run_jobs(
        &job->result, &job->network, &sim_job, 1, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
}

// What a device does just after a moment.
static enum weft_time_use use_at(const struct random_job *job, uint32_t device, uint64_t at_ps)
{
    const struct weft_taskgraph *graph = &job->graph;
    uint32_t server = graph->device_server[device];
    enum weft_time_use use = WEFT_TIME_IDLE;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (job->result.task_start_ps[0][t] > at_ps || job->result.task_end_ps[0][t] <= at_ps) {
            continue;
        }
        enum weft_time_use found = WEFT_TIME_IDLE;
        if (graph->device[t] == device) {
            found = WEFT_TIME_COMPUTE;
        } else if (graph->kind[t] == WEFT_TASK_TRANSFER && graph->to[t] == server) {
            found = WEFT_TIME_TRANSFER;
        } else if (graph->kind[t] == WEFT_TASK_ALLREDUCE) {
            uint32_t group = graph->group[t];
            for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
                found = graph->group_members[i] == server ? WEFT_TIME_COLLECTIVE : found;
            }
        }
        use = found < use ? found : use;
    }
    return use;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Fails when add_device keeps the whole iteration as what is left, when transfers that
// leave count as waited for, and when causes take the predecessor that ended first.
static void random_iterations_match_a_count_of_every_moment(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        arena = arena_kept;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct random_job *job = WEFT_NEW(&arena, struct random_job, 1);
        make_job(job, &rng);
        uint64_t iteration_ps = job->result.iteration_ps[0];
        struct weft_breakdown breakdown;
        const struct weft_task_times times = {job->result.task_start_ps[0],
                                              job->result.task_end_ps[0], iteration_ps};
        weft_sim_breakdown(&breakdown, &job->graph, &times, &arena, scratch);
        uint64_t moments[2 * TASKS + 2] = {0, iteration_ps};
        for (uint32_t t = 0; t < TASKS; t++) {
            moments[2 * t + 2] = job->result.task_start_ps[0][t];
            moments[2 * t + 3] = job->result.task_end_ps[0][t];
        }
        qsort(moments, 2 * TASKS + 2, sizeof moments[0], by_value);
        uint64_t uses[SERVERS * WEFT_TIME_USE_COUNT] = {0};
        for (uint32_t d = 0; d < DEVICES; d++) {
            for (uint32_t i = 0; i + 1 < 2 * TASKS + 2; i++) {
                uses[d % SERVERS * WEFT_TIME_USE_COUNT + use_at(job, d, moments[i])] +=
                    moments[i + 1] - moments[i];
            }
        }
        for (uint32_t i = 0; i < SERVERS * WEFT_TIME_USE_COUNT; i++) {
            uint64_t devices = i / WEFT_TIME_USE_COUNT < DEVICES - SERVERS ? 2 : 1;
            if (breakdown.use_ps[i] != uses[i] / devices) {
                fail_msg("seed %llu: server %u, %s", (unsigned long long)seed,
                         i / WEFT_TIME_USE_COUNT, weft_time_use_name(i % WEFT_TIME_USE_COUNT));
            }
        }
        // A simulation starts a task when what it waited for has ended: no gaps in the chain.
        uint64_t sum_ps = 0;
        for (uint32_t k = 0; k < WEFT_TASK_KIND_COUNT; k++) {
            sum_ps += breakdown.path_ps[k];
        }
        if (sum_ps != iteration_ps || breakdown.path_gap_ps != 0) {
            fail_msg("seed %llu: the chain is not the iteration", (unsigned long long)seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_iteration_is_taken_apart),
        cmocka_unit_test(random_iterations_match_a_count_of_every_moment),
    };
    return cmocka_run_group_tests_name("breakdown", tests, open_arenas, tear_down);
}
