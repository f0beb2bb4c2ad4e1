// SPDX-License-Identifier: Apache-2.0
// Random task graphs: what every run must fulfil, whatever the graph.
//
// Mutations that made these tests fail (each was run): devices never busy; a predecessor less to
// wait for; a round too many; a round that ends before its last message.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SERVERS 12u
#define DEVICES 24u
#define TASKS_MAX 120u
#define EDGES_MAX 4u
#define SEEDS 150u
#define RATE_BPS 12.5e9

static struct weft_network network; // stays where it is: its routes point to its fabric

struct draft {
    struct weft_task tasks[TASKS_MAX];
    uint32_t task_count;
    uint32_t next[TASKS_MAX][EDGES_MAX];
    uint32_t members[TASKS_MAX][SERVERS];
    uint32_t device_server[DEVICES];
};

static void random_task(struct draft *draft, uint32_t i, struct weft_rng *rng)
{
    struct weft_task *task = &draft->tasks[i];
    *task = (struct weft_task){.device = WEFT_NONE, .next = draft->next[i]};
    uint32_t kind = weft_rng_below(rng, 8);
    if (kind < 4) {
        task->kind = kind == 0 ? WEFT_TASK_LOCAL : WEFT_TASK_FORWARD;
        task->device = weft_rng_below(rng, DEVICES);
        task->runtime_ps = weft_rng_below(rng, 20) * 1000000ull;
    } else if (kind == 4) {
        task->kind = WEFT_TASK_BARRIER;
    } else if (kind < 7) {
        task->kind = WEFT_TASK_TRANSFER;
        task->from = weft_rng_below(rng, SERVERS);
        task->to = weft_rng_below(rng, SERVERS);
        task->size_bytes = weft_rng_below(rng, 5) * 40000ull;
    } else {
        task->kind = WEFT_TASK_ALLREDUCE + weft_rng_below(rng, 3);
        for (uint32_t k = 0; k < SERVERS; k++) {
            draft->members[i][k] = k;
        }
        weft_rng_shuffle(rng, draft->members[i], SERVERS);
        task->members = draft->members[i];
        task->member_count = 1 + weft_rng_below(rng, SERVERS);
        task->size_bytes = 1 + weft_rng_below(rng, 400000);
        task->runtime_ps = weft_rng_below(rng, 2) * 5000000ull;
    }
    uint32_t wanted = weft_rng_below(rng, EDGES_MAX + 1);
    for (uint32_t k = 0; k < wanted && i + 1 + k < draft->task_count; k++) {
        uint32_t later = i + 1 + weft_rng_below(rng, draft->task_count - i - 1);
        bool seen = false;
        for (uint32_t e = 0; e < task->next_count; e++) {
            seen = seen || draft->next[i][e] == later;
        }
        if (!seen) {
            draft->next[i][task->next_count++] = later;
        }
    }
}

static void build_graph(struct weft_taskgraph *graph, const struct draft *draft,
                        struct weft_arena *arena)
{
    struct weft_error error;
    if (!weft_taskgraph_build(graph,
                              &(struct weft_taskgraph_draft){.server_count = SERVERS,
                                                             .device_count = DEVICES,
                                                             .device_server = draft->device_server,
                                                             .task_count = draft->task_count,
                                                             .tasks = draft->tasks},
                              arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
}

static void build_network(uint32_t kind, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_fabric_options options = {0};
    bool built = weft_cluster_build(&cluster, SERVERS, kind == 2 ? 2 : 1, RATE_BPS, &error);
    if (kind == 0) {
        built = built && weft_fabric_build_ideal(&network, &cluster, &options, arena, &error);
    } else if (kind == 1) {
        built = built && weft_fabric_build_fat_tree(&network, &cluster, &options, arena, &error);
    } else {
        built = built && weft_fabric_build_ring(&network, &cluster, &options, arena, &error);
    }
    if (!built) {
        fail_msg("%s", error.message);
    }
}

static struct weft_sim_result run(const struct weft_taskgraph *graph, const uint32_t *servers,
                                  bool small, struct weft_arena *arena)
{
    struct weft_sim_job job = {.graph = graph, .servers = servers};
    struct weft_sim_options options = {
        .packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = small, .timeline = true};
    struct weft_sim_result result;
    struct weft_error error;
    if (!weft_sim_run_jobs(
            &result, &network, &job, 1, &options,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return result;
}

// No task starts before its predecessors have ended, none takes less than its runtime, the last end
// is the iteration's.
static void check_order(const struct weft_taskgraph *graph, const struct weft_sim_result *result,
                        uint64_t seed)
{
    const uint64_t *start = result->task_start_ps[0];
    const uint64_t *end = result->task_end_ps[0];
    uint64_t last = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        last = end[t] > last ? end[t] : last;
        // Two roundings to whole picoseconds may differ by one.
        if (end[t] + 1 < start[t] + graph->runtime_ps[t]) {
            fail_msg("seed %llu: task %u takes less than its runtime", (unsigned long long)seed, t);
        }
        for (uint32_t i = graph->next_first[t]; i < graph->next_first[t + 1]; i++) {
            if (start[graph->next[i]] < end[t]) {
                fail_msg("seed %llu: task %u starts before %u ends", (unsigned long long)seed,
                         graph->next[i], t);
            }
        }
    }
    assert_int_equal(result->iteration_ps[0], last);
}

static void check_devices(const struct weft_taskgraph *graph, const struct weft_sim_result *result,
                          uint64_t seed)
{
    const uint64_t *start = result->task_start_ps[0];
    const uint64_t *end = result->task_end_ps[0];
    for (uint32_t a = 0; a < graph->task_count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            bool apart = start[a] >= end[b] || start[b] >= end[a];
            if (graph->device[a] != WEFT_NONE && graph->device[a] == graph->device[b] && !apart) {
                fail_msg("seed %llu: device %u does %u and %u at once", (unsigned long long)seed,
                         graph->device[a], a, b);
            }
        }
    }
}

static double with_headers(double size_bytes)
{
    return size_bytes + 64 * ceil(size_bytes / (9000 - 64));
}

// On a switch every message crosses two links, whatever the paths.
static void check_bytes(const struct weft_taskgraph *graph, const struct weft_sim_result *result,
                        uint64_t seed)
{
    double want = 0;
    double got = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        double size = (double)graph->size_bytes[t];
        if (graph->kind[t] == WEFT_TASK_TRANSFER && graph->from[t] != graph->to[t]) {
            want += 2 * with_headers(size);
        } else if (weft_task_is_collective(graph, t)) {
            double turns = graph->kind[t] == WEFT_TASK_ALLREDUCE ? 2 : 1;
            double k = weft_task_member_count(graph, t);
            want += k > 1 ? 2 * k * turns * (k - 1) * with_headers(size / k) : 0;
        }
    }
    for (uint32_t link = 0; link < network.fabric.link_count; link++) {
        got += result->link_bytes[link];
    }
    if (fabs(got - want) > 1e-9 * want) {
        fail_msg("seed %llu: links carried %.17g bytes instead of %.17g", (unsigned long long)seed,
                 got, want);
    }
}

static void every_run_keeps_order_devices_and_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct weft_arena arena = arena_kept;
        struct draft *draft = WEFT_NEW(&arena, struct draft, 1);
        draft->task_count = 1 + weft_rng_below(&rng, TASKS_MAX);
        for (uint32_t device = 0; device < DEVICES; device++) {
            draft->device_server[device] = device % SERVERS;
        }
        for (uint32_t i = 0; i < draft->task_count; i++) {
            random_task(draft, i, &rng);
        }
        struct weft_taskgraph graph;
        build_graph(&graph, draft, &arena);
        uint32_t kind = (uint32_t)seed % 3;
        build_network(kind, &arena);
        struct weft_sim_result result = run(&graph, NULL, false, &arena);
        check_order(&graph, &result, seed);
        check_devices(&graph, &result, seed);
        if (kind > 0) {
            continue;
        }
        check_bytes(&graph, &result, seed);
        // On a switch it does not matter which server is which.
        uint32_t servers[SERVERS];
        for (uint32_t i = 0; i < SERVERS; i++) {
            servers[i] = i;
        }
        weft_rng_shuffle(&rng, servers, SERVERS);
        struct weft_sim_result renamed = run(&graph, servers, false, &arena);
        assert_int_equal(renamed.iteration_ps[0], result.iteration_ps[0]);
        struct weft_sim_result small = run(&graph, NULL, true, &arena);
        check_order(&graph, &small, seed);
        assert_true(small.flow_count <= result.flow_count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_run_keeps_order_devices_and_bytes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
