// SPDX-License-Identifier: Apache-2.0
// Task graphs of strategies against those that the TopoOpt artifact recorded: rebuilt from the zoo
// and the measured profiles, they must be the same graph up to the order of tasks, and take the
// same time. Pure data parallelism for VGG-16 and BERT-16; for DLRM-16 and CANDLE-16 the placements
// are read off the recorded FORWARD tasks. Needs WEFT_SHARED (or ../shared), skips (77) without.
//
// The artifact sends the outputs of tables with twice their bytes; here the recorded ones count
// half. It joins attention to its inputs once each for queries, keys and values; repeated edges
// count once.
//
// Mutations that made this test fail (each was run): backward transfers left out; one AllReduce for
// all tensors of an operator; no edge from FORWARD to BACKWARD; inside time of one accelerator too
// many.

#include "weft/format.h"
#include "weft/strategy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 64u

static struct weft_arena arena_kept, scratch_kept;
static char inputs[2048];

struct job {
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_profile profile;
    struct weft_strategy_setting setting;
    struct weft_fbuf recorded;
};

static void open_job(struct job *job, const char *model, const char *profile, const char *graph,
                     struct weft_arena *arena)
{
    struct weft_error error = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/profiles/%s.json", inputs, profile);
    bool good = weft_model_named(&job->model, model, arena, &error) &&
                weft_profile_load(&job->profile, path, arena, &error);
    snprintf(path, sizeof path, "%s/taskgraphs/%s.fbuf", inputs, graph);
    good = good && weft_fbuf_load(&job->recorded, path, arena, scratch_kept, &error) &&
           weft_cluster_build(&job->cluster, job->recorded.graph.server_count, 4, 12.5e9, &error);
    job->setting = (struct weft_strategy_setting){
        .cost = {.profile = &job->profile, .accelerators_per_server = 4}, .inside_Bps = 25e9};
    good = good && weft_accelerator_named(&job->setting.cost.accelerator, "A100", &error);
    if (!good) {
        fail_msg("%s: %s", graph, error.message);
    }
}

// ---- graphs up to the order of tasks ----

static uint64_t mix(uint64_t a, uint64_t b)
{
    return weft_hash(weft_hash(a + 0x9e37) ^ (b + 0x79b9));
}

// Times as the files keep them: floats of milliseconds.
static uint64_t rounded(uint64_t time_ps)
{
    float time_ms = (float)((double)time_ps / 1e9);
    uint32_t bits;
    memcpy(&bits, &time_ms, sizeof bits);
    return bits;
}

static uint64_t group_hash(const struct weft_taskgraph *graph, uint32_t group)
{
    uint64_t hash = 0;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        hash = mix(hash, graph->group_members[i]); // the order counts
    }
    return hash;
}

static bool table_task(const struct weft_taskgraph *graph, uint32_t task, uint64_t table_ps)
{
    return graph->device[task] != WEFT_NONE && table_ps > 0 &&
           (rounded(graph->runtime_ps[task]) == rounded(table_ps) ||
            rounded(graph->runtime_ps[task]) == rounded(2 * table_ps));
}

// Tasks by kind, place and size. Transfers from and to tables have their bytes / divisor.
static uint64_t *task_hashes(const struct weft_taskgraph *graph, uint64_t table_ps,
                             uint64_t divisor, struct weft_arena *arena)
{
    uint64_t *hash = WEFT_NEW(arena, uint64_t, graph->task_count);
    uint8_t *table = WEFT_NEW(arena, uint8_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t next = graph->next[e];
            table[next] |= (uint8_t)table_task(graph, t, table_ps);
            table[t] |= (uint8_t)table_task(graph, next, table_ps);
        }
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool reduce = graph->kind[t] == WEFT_TASK_ALLREDUCE;
        bool transfer = graph->kind[t] == WEFT_TASK_TRANSFER;
        uint64_t server =
            graph->device[t] == WEFT_NONE ? WEFT_NONE : graph->device_server[graph->device[t]];
        uint64_t size_bytes = graph->size_bytes[t] / (transfer && table[t] ? divisor : 1);
        hash[t] = mix(mix(graph->kind[t], server), size_bytes);
        hash[t] = mix(hash[t], transfer ? mix(graph->from[t], graph->to[t]) : 0);
        hash[t] = mix(hash[t], reduce ? group_hash(graph, graph->group[t]) : 0);
        hash[t] = mix(hash[t], rounded(graph->runtime_ps[t]));
    }
    return hash;
}

static bool repeated(const struct weft_taskgraph *graph, uint32_t task, uint32_t edge)
{
    for (uint32_t e = graph->next_first[task]; e < edge; e++) {
        if (graph->next[e] == graph->next[edge]) {
            return true;
        }
    }
    return false;
}

static uint32_t edge_count(const struct weft_taskgraph *graph)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            count += !repeated(graph, t, e);
        }
    }
    return count;
}

// Each round a task also hears from its neighbors, before and behind it (Weisfeiler and Leman).
static void refine(const struct weft_taskgraph *graph, uint64_t *hash, struct weft_arena scratch)
{
    uint64_t *heard = WEFT_NEW(&scratch, uint64_t, graph->task_count);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        memset(heard, 0, sizeof *heard * graph->task_count);
        for (uint32_t t = 0; t < graph->task_count; t++) {
            for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
                if (!repeated(graph, t, e)) {
                    heard[t] += mix(hash[graph->next[e]], 1);
                    heard[graph->next[e]] += mix(hash[t], 2);
                }
            }
        }
        for (uint32_t t = 0; t < graph->task_count; t++) {
            hash[t] = mix(hash[t], heard[t]);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void assert_same_graph(const struct weft_taskgraph *ours, const struct weft_taskgraph *file,
                              uint64_t table_ps)
{
    struct weft_arena arena = scratch_kept;
    assert_int_equal(ours->task_count, file->task_count);
    assert_int_equal(edge_count(ours), edge_count(file));
    uint64_t *a = task_hashes(ours, table_ps, 1, &arena);
    uint64_t *b = task_hashes(file, table_ps, 2, &arena);
    refine(ours, a, arena);
    refine(file, b, arena);
    qsort(a, ours->task_count, sizeof *a, by_value);
    qsort(b, file->task_count, sizeof *b, by_value);
    assert_memory_equal(a, b, sizeof *a * ours->task_count);
}

static double simulate_s(const struct weft_taskgraph *graph, const struct weft_cluster *cluster)
{
    struct weft_arena arena = arena_kept;
    struct weft_network network;
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_sim_options options = {.packet_bytes = 9000, .header_bytes = 64, .seed = 1};
    struct weft_sim_job job = {.graph = graph};
    if (!weft_fabric_build_ideal(&network, cluster, NULL, &arena, &error) ||
        !weft_sim_run_jobs(&result, &network, &job, 1, &options,
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

static void assert_same_time(const struct weft_taskgraph *ours, const struct weft_taskgraph *file,
                             const struct weft_cluster *cluster)
{
    // The arenas' free ends lie behind both graphs.
    double got_s = simulate_s(ours, cluster);
    double recorded_s = simulate_s(file, cluster);
    print_message("%.6f ms, recorded graph %.6f ms\n", got_s * 1e3, recorded_s * 1e3);
    assert_true(fabs(got_s / recorded_s - 1) < 1e-6);
}

// ---- data parallel ----

static void check_data_parallel(const char *model, const char *profile, const char *graph)
{
    struct weft_arena arena = arena_kept;
    struct weft_arena kept = arena_kept;
    struct job job;
    struct weft_strategy strategy;
    struct weft_taskgraph ours;
    struct weft_error error;
    open_job(&job, model, profile, graph, &arena);
    if (!weft_strategy_data_parallel(&strategy,
                                     &(struct weft_study){.model = &job.model,
                                                          .cluster = &job.cluster,
                                                          .setting = &job.setting},
                                     &arena, &error) ||
        !weft_strategy_taskgraph(&ours, &strategy,
                                 &(struct weft_study){.model = &job.model,
                                                      .cluster = &job.cluster,
                                                      .setting = &job.setting},
                                 &arena, scratch_kept, &error)) {
        fail_msg("%s: %s", model, error.message);
    }
    arena_kept = arena;
    assert_same_graph(&ours, &job.recorded.graph, 0);
    assert_same_time(&ours, &job.recorded.graph, &job.cluster);
    arena_kept = kept;
}

static void data_parallel_graphs_are_the_recorded_ones(void **state)
{
    (void)state;
    check_data_parallel("vgg16-16", "vgg16", "400vgg_16");
    check_data_parallel("bert-16", "transformer16", "100transformer_16");
}

// ---- recorded placements ----

// Reads placements off the FORWARD tasks, which stand in the order of operators and parts.
static void read_placements(struct weft_strategy *strategy, const struct job *job,
                            struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = &job->recorded.graph;
    struct weft_placement *places =
        WEFT_NEW(arena, struct weft_placement, job->model.operator_count);
    struct weft_error error;
    uint32_t task = 0;
    for (uint32_t op = 0; op < job->model.operator_count; op++) {
        if (job->model.operators[op].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        while (graph->kind[task] != WEFT_TASK_FORWARD) {
            task++;
        }
        struct weft_split_list list;
        struct weft_operator_cost cost = {0};
        assert_true(
            weft_operator_splits(&list, &job->model, op, graph->server_count, &job->setting.cost,
                                 &(struct weft_environment){.arena = arena, .error = &error}));
        uint32_t s = list.count; // some take one time in any split: the most parts
        while (s-- > 0) {
            assert_true(weft_operator_time(&cost, &job->model, op,
                                           (struct weft_split){list.splits[s].sample_parts, 1},
                                           &job->setting.cost, &error));
            if (rounded(cost.forward_ps) == rounded(graph->runtime_ps[task])) {
                break;
            }
        }
        if (s == WEFT_NONE) {
            fail_msg("operator %s has no split of %llu ps", job->model.operators[op].spec.name,
                     (unsigned long long)graph->runtime_ps[task]);
        }
        uint32_t *servers = WEFT_NEW(arena, uint32_t, list.splits[s].sample_parts);
        for (uint32_t i = 0; i < list.splits[s].sample_parts; task++) {
            if (graph->kind[task] == WEFT_TASK_FORWARD) {
                servers[i++] = graph->device_server[graph->device[task]];
            }
        }
        places[op] = (struct weft_placement){list.splits[s].sample_parts, 1, servers};
    }
    *strategy = (struct weft_strategy){
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = graph->server_count, .placements = places};
}

static void check_recorded(const char *model, const char *profile, const char *graph,
                           uint64_t table_ps)
{
    struct weft_arena arena = arena_kept;
    struct weft_arena kept = arena_kept;
    struct job job;
    struct weft_strategy strategy;
    struct weft_taskgraph ours;
    struct weft_error error;
    open_job(&job, model, profile, graph, &arena);
    read_placements(&strategy, &job, &arena);
    if (!weft_strategy_taskgraph(&ours, &strategy,
                                 &(struct weft_study){.model = &job.model,
                                                      .cluster = &job.cluster,
                                                      .setting = &job.setting},
                                 &arena, scratch_kept, &error)) {
        fail_msg("%s: %s", model, error.message);
    }
    arena_kept = arena;
    assert_same_graph(&ours, &job.recorded.graph, table_ps);
    if (table_ps == 0) {
        assert_same_time(&ours, &job.recorded.graph, &job.cluster);
    }
    arena_kept = kept;
}

static void searched_strategies_give_the_recorded_graphs(void **state)
{
    (void)state;
    check_recorded("dlrm-16", "dlrm16", "400dlrm_16", 1613000000);
    check_recorded("dlrm-16", "dlrm16", "100dlrm_16", 1613000000);
    check_recorded("candle-16", "candle16", "400candle_16", 0);
    check_recorded("candle-16", "candle16", "100candle_16", 0);
}

int main(void)
{
    const char *shared = getenv("WEFT_SHARED");
    snprintf(inputs, sizeof inputs, "%s/inputs",
             shared != NULL ? shared : SOURCE_ROOT "/../shared");
    if (access(inputs, R_OK) != 0) {
        print_message("skipped: no %s; set WEFT_SHARED\n", inputs);
        return 77;
    }
    struct weft_error error;
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_parallel_graphs_are_the_recorded_ones),
        cmocka_unit_test(searched_strategies_give_the_recorded_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
