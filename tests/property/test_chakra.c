// SPDX-License-Identifier: Apache-2.0
// Random task graphs, and the example jobs, written as Chakra traces and read again, are the same:
// tasks with their numbers, runtimes, bytes, groups and dependencies; and take the same time on an
// ideal switch.
//
// A trace keeps no order of successors, so they are compared in ascending order and each once.
//
// Mutations that made these fail: edges between ranks that do not meet not written as signals; a
// transfer that ends at its receiver alone; the time inside servers written as the duration only;
// group members written in falling order; all edges to a rank on one signal; an all-gather of
// bytes that its members do not divide without its exact bytes.

#include "../arenas.h"
#include "../unit/fbuf_same.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define INSTANCES 2000u
#define SIMULATED_EACH 20u

static uint64_t current_seed;

// ---- random task graphs ----

static void random_task(struct weft_task *task, uint32_t servers, uint32_t devices,
                        struct weft_rng *rng, struct weft_arena *arena)
{
    task->kind = (enum weft_task_kind)weft_rng_below(rng, WEFT_TASK_KIND_COUNT);
    uint64_t runtime_ps = weft_rng_next(rng) >> (24 + weft_rng_below(rng, 40));
    if (task->kind == WEFT_TASK_TRANSFER) {
        task->from = weft_rng_below(rng, servers);
        task->to = weft_rng_below(rng, servers);
        task->size_bytes = weft_rng_next(rng) >> (30 + weft_rng_below(rng, 34));
    } else if (weft_task_facts[task->kind].is_collective) {
        uint32_t *members = WEFT_NEW(arena, uint32_t, servers);
        for (uint32_t s = 0; s < servers; s++) {
            members[s] = s;
        }
        if (weft_rng_below(rng, 2) == 0) {
            weft_rng_shuffle(rng, members, servers);
        }
        task->members = members;
        task->member_count = 1 + weft_rng_below(rng, servers);
        task->size_bytes = weft_rng_next(rng) >> (30 + weft_rng_below(rng, 34));
        task->runtime_ps = weft_rng_below(rng, 2) == 0 ? 0 : runtime_ps;
    } else if (task->kind != WEFT_TASK_BARRIER) {
        task->device = weft_rng_below(rng, devices);
        task->runtime_ps = runtime_ps;
    }
}

static int compare_tasks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t sort_unique(uint32_t *values, uint32_t count)
{
    uint32_t kept = 0;
    qsort(values, count, sizeof *values, compare_tasks);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || values[kept - 1] != values[i]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

static void random_edges(struct weft_task *tasks, uint32_t count, struct weft_rng *rng,
                         struct weft_arena *arena)
{
    uint32_t *order = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t t = 0; t < count; t++) {
        order[t] = t;
    }
    weft_rng_shuffle(rng, order, count);
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint32_t wanted = weft_rng_below(rng, 5);
        uint32_t *next = WEFT_NEW(arena, uint32_t, wanted);
        for (uint32_t e = 0; e < wanted; e++) {
            next[e] = order[i + 1 + weft_rng_below(rng, count - i - 1)];
        }
        tasks[order[i]].next = next;
        tasks[order[i]].next_count = sort_unique(next, wanted);
    }
}

static void random_graph(struct weft_taskgraph *graph, struct weft_rng *rng,
                         struct weft_arena *arena)
{
    uint32_t servers = 1 + weft_rng_below(rng, 9);
    uint32_t devices = servers + weft_rng_below(rng, 5);
    uint32_t count = weft_rng_below(rng, 60);
    uint32_t *device_server = WEFT_NEW(arena, uint32_t, devices);
    for (uint32_t d = 0; d < devices; d++) {
        device_server[d] = weft_rng_below(rng, servers);
    }
    struct weft_task *tasks = WEFT_NEW(arena, struct weft_task, count);
    for (uint32_t t = 0; t < count; t++) {
        random_task(&tasks[t], servers, devices, rng, arena);
    }
    random_edges(tasks, count, rng, arena);
    struct weft_error error = {.message = ""};
    if (!weft_taskgraph_build(graph,
                              &(struct weft_taskgraph_draft){.server_count = servers,
                                                             .device_count = devices,
                                                             .device_server = device_server,
                                                             .task_count = count,
                                                             .tasks = tasks},
                              arena, scratch_kept, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.message);
    }
}

// ---- there and back ----

static struct weft_chakra_job there_and_back(const struct weft_taskgraph *graph,
                                             struct weft_arena *arena)
{
    struct weft_chakra_files written;
    struct weft_chakra_job chakra = {0};
    struct weft_error error = {.message = ""};
    if (!weft_chakra_write(&written, graph, arena, scratch_kept, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.message);
    }
    void **exact =
        calloc(written.rank_count, sizeof *exact); // so that a sanitizer sees a byte too far
    assert_non_null(exact);
    for (uint32_t r = 0; r < written.rank_count; r++) {
        exact[r] = malloc(written.lengths[r]);
        assert_non_null(exact[r]);
        memcpy(exact[r], written.data[r], written.lengths[r]);
    }
    struct weft_chakra_files files = written;
    files.data = (const void *const *)exact;
    const struct weft_chakra_roofline roofline = {0};
    struct weft_chakra_trace trace;
    struct weft_arena scratch = scratch_kept;
    bool read = weft_chakra_read(&trace, &files, &scratch, &error) &&
                weft_chakra_lower(&chakra, &trace, &roofline, arena, scratch, &error);
    for (uint32_t r = 0; r < written.rank_count; r++) {
        free(exact[r]);
    }
    free(exact);
    if (!read) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.message);
    }
    return chakra;
}

static uint64_t ideal_time_ps(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_network network;
    struct weft_sim_result result = {0};
    struct weft_error error = {.message = ""};
    const struct weft_fabric_options shape = {.seed = 1};
    const struct weft_sim_job job = {.graph = graph};
    const struct weft_sim_options options = {.packet_bytes = 9000, .header_bytes = 64, .seed = 1};
    uint32_t servers = graph->server_count > 2 ? graph->server_count : 2;
    bool good =
        weft_cluster_build(&cluster, servers, 1, 12.5e9, &error) &&
        weft_fabric_build_named(
            &network, "ideal", &cluster, &shape,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error}) &&
        weft_sim_run_jobs(
            &result, &network, &job, 1, &options,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error});
    if (!good) {
        fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.message);
    }
    return result.end_ps;
}

static void random_graphs_come_back(void **state)
{
    (void)state;
    for (current_seed = 1; current_seed <= INSTANCES; current_seed++) {
        struct weft_arena arena = arena_kept;
        struct weft_rng rng;
        struct weft_taskgraph graph;
        weft_rng_init(&rng, current_seed);
        random_graph(&graph, &rng, &arena);
        struct weft_chakra_job chakra = there_and_back(&graph, &arena);
        const char *difference = graph_difference(&graph, &chakra.graph);
        if (difference != NULL) {
            fail_msg("seed %llu: %s differ", (unsigned long long)current_seed, difference);
        }
        assert_int_equal(chakra.skipped_count + chakra.untimed_count + chakra.approximated_count,
                         0);
        if (current_seed % SIMULATED_EACH == 0 && graph.server_count > 1) {
            uint64_t before_ps = ideal_time_ps(&graph, &arena);
            assert_int_equal(before_ps, ideal_time_ps(&chakra.graph, &arena));
        }
    }
}

// ---- the example jobs ----

static const char *const jobs[] = {"dlrm_16",  "gpt_16",      "gpt_128",     "moe_16",
                                   "vgg16_16", "resnet50_16", "resnet50_128"};

// The same graph with successors in ascending order, each once.
static void in_order(struct weft_taskgraph *ordered, const struct weft_taskgraph *graph,
                     struct weft_arena *arena)
{
    struct weft_task *tasks = WEFT_NEW(arena, struct weft_task, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t first = graph->next_first[t];
        uint32_t count = graph->next_first[t + 1] - first;
        uint32_t *next = WEFT_NEW(arena, uint32_t, count);
        memcpy(next, graph->next + first, sizeof *next * count);
        tasks[t] = (struct weft_task){
            .kind = (enum weft_task_kind)graph->kind[t],
            .device = graph->device[t],
            .runtime_ps = graph->runtime_ps[t],
            .size_bytes = graph->size_bytes[t],
            .from = graph->from[t],
            .to = graph->to[t],
            .next = next,
        };
        tasks[t].next_count = sort_unique(next, count);
        if (weft_task_is_collective(graph, t)) {
            uint32_t group = graph->group[t];
            tasks[t].members = graph->group_members + graph->group_first[group];
            tasks[t].member_count = graph->group_first[group + 1] - graph->group_first[group];
        }
    }
    struct weft_error error = {.message = ""};
    if (!weft_taskgraph_build(ordered,
                              &(struct weft_taskgraph_draft){.server_count = graph->server_count,
                                                             .device_count = graph->device_count,
                                                             .device_server = graph->device_server,
                                                             .task_count = graph->task_count,
                                                             .tasks = tasks},
                              arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
}

static void example_jobs_come_back(void **state)
{
    (void)state;
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        struct weft_arena arena = arena_kept;
        struct weft_fbuf job;
        struct weft_taskgraph ordered;
        struct weft_error error = {.message = ""};
        const char *path = weft_arena_format(&arena, SOURCE_ROOT "/examples/jobs/%s.fbuf", jobs[j]);
        if (!weft_fbuf_load(&job, path, &arena, scratch_kept, &error)) {
            fail_msg("%s", error.message);
        }
        in_order(&ordered, &job.graph, &arena);
        struct weft_chakra_job chakra = there_and_back(&job.graph, &arena);
        const char *difference = graph_difference(&ordered, &chakra.graph);
        if (difference != NULL) {
            fail_msg("%s: %s differ", path, difference);
        }
        uint64_t before_ps = ideal_time_ps(&job.graph, &arena);
        uint64_t after_ps = ideal_time_ps(&chakra.graph, &arena);
        if (before_ps != after_ps) {
            fail_msg("%s: %llu ps, but %llu after reading it again", path,
                     (unsigned long long)before_ps, (unsigned long long)after_ps);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_come_back),
        cmocka_unit_test(example_jobs_come_back),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
