// SPDX-License-Identifier: Apache-2.0
// The hybrid search, and the task graphs of what it finds.
//
// Mutations it failed with: pruning by 1.1 times the busy time; the memory check left out; buckets
// reduced by their first part; expert gradients of one team only.

#include "hybrid_case.h"

#include <math.h>
#include <stdlib.h>

#define GIB 0x1p30

static bool search(struct weft_search_result *result, uint32_t keep)
{
    struct weft_search_options options = {.keep = keep};
    return weft_hybrid_search(
        result, &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
        &options, &arena, scratch, &error);
}

static void the_best_is_the_best_of_all(void **state)
{
    (void)state;
    set_case("gpt3-13b", 256, 0, 4, "A100");
    setting.memory_limit_bytes = 40 * GIB;
    struct weft_search_result one;
    struct weft_search_result many;
    assert_true(search(&one, 1));
    assert_true(search(&many, 1024));
    assert_int_equal(one.evaluations, many.evaluations);
    assert_int_equal(one.count, 1);
    assert_in_range(many.count, 100, 1024);
    assert_true(
        fabs((double)one.candidates[0].estimate_ps / (double)many.candidates[0].estimate_ps - 1) <
        1e-4);
    for (uint32_t i = 0; i < many.count; i++) {
        const struct weft_candidate *candidate = &many.candidates[i];
        struct weft_hybrid_estimate estimate;
        struct weft_memory memory;
        uint32_t rank;
        assert_true(weft_hybrid_estimate(
            &estimate, &candidate->strategy.hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            scratch, &error));
        assert_int_equal(estimate.iteration_ps, candidate->estimate_ps);
        assert_true(i == 0 || candidate->estimate_ps >= many.candidates[i - 1].estimate_ps);
        assert_true(weft_hybrid_memory(
            &memory, &rank, &candidate->strategy.hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &error));
        assert_true(candidate->strategy.memory_max_bytes <= 40 * GIB);
        assert_true(fabs(memory.total_bytes - candidate->strategy.memory_max_bytes) < 1);
    }
    // And every strategy of some corner of the space: nothing there is better.
    static const char *const corner[] = {"tp=4,pp=2", "tp=8,zero=2", "tp=4,pp=4,chunks=2",
                                         "tp=2,pp=4,zero=3", "tp=8,pp=4,zero=1,recompute=full"};
    for (size_t i = 0; i < sizeof(corner) / sizeof(corner[0]); i++) {
        struct weft_hybrid hybrid = words(corner[i]);
        struct weft_hybrid_estimate estimate;
        struct weft_memory memory;
        uint32_t rank;
        bool fits = weft_hybrid_memory(
            &memory, &rank, &hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &error);
        assert_true(weft_hybrid_estimate(
            &estimate, &hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            scratch, &error));
        double best_ps = (double)one.candidates[0].estimate_ps;
        assert_true(!fits || (double)estimate.iteration_ps >= best_ps * (1 - 1e-4));
    }
}

static void what_cannot_fit_is_infeasible_and_says_by_how_much(void **state)
{
    (void)state;
    struct weft_search_result result;
    set_case("gpt3-175b", 1536, 0, 2, "A100");
    setting.memory_limit_bytes = 40 * GIB;
    assert_false(search(&result, 1));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "gpt3-175b does not fit on 16 accelerators of 42.95 GB"));
    assert_non_null(strstr(error.message, "more, most of it"));
    assert_non_null(strstr(error.message, "accelerators would hold it"));
    // On as many as it names, it does.
    const char *about = strstr(error.message, "about ");
    assert_non_null(about);
    uint32_t accelerators = (uint32_t)strtoul(about + strlen("about "), NULL, 10);
    set_case("gpt3-175b", 1536, 0, (accelerators + 63) / 64 * 8, "A100");
    setting.memory_limit_bytes = 40 * GIB;
    assert_true(search(&result, 1));
}

// Mutation: only stage 3 is tried.
static void data_parallelism_takes_the_lowest_stage_that_fits(void **state)
{
    (void)state;
    struct weft_strategy strategy;
    set_case("gpt3-6.7b", 1024, 0, 8, "A100");
    for (uint32_t gib = 16; gib <= 1024; gib *= 2) {
        setting.memory_limit_bytes = gib * GIB;
        if (!weft_hybrid_data_parallel(
                &strategy,
                &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                &arena, scratch, &error)) {
            assert_int_equal(error.code, WEFT_INFEASIBLE);
            assert_non_null(strstr(error.message, "even with zero="));
            assert_true(gib < 64);
            continue;
        }
        struct weft_hybrid lower = strategy.hybrid;
        assert_int_equal(lower.dp, 64);
        assert_int_equal(lower.tp * lower.pp * lower.cp * lower.ep, 1);
        assert_true(strategy.memory_max_bytes <= setting.memory_limit_bytes);
        assert_true(gib < 1024 || lower.zero_stage == 0);
        if (lower.zero_stage > 0) {
            struct weft_memory memory;
            uint32_t rank;
            lower.zero_stage--;
            lower.recompute = WEFT_RECOMPUTE_FULL;
            lower.micro_batch = 1;
            assert_false(weft_hybrid_memory(
                &memory, &rank, &lower,
                &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                &error));
        }
    }
    set_case("gpt3-6.7b", 100, 0, 8, "A100");
    assert_false(weft_hybrid_data_parallel(
        &strategy, &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
        &arena, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "100 samples to 64 accelerators"));
}

static void what_does_not_divide_is_refused(void **state)
{
    (void)state;
    struct weft_search_result result;
    set_case("gpt3-125m", 7, 0, 17, "A100");
    assert_false(search(&result, 1));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "batch: no split of 7 samples"));
    set_case("vgg16-16", 4096, 0, 4, "A100");
    assert_false(search(&result, 1));
    assert_non_null(strstr(error.message, "no stack of equal layers"));
    set_case("gpt3-125m", 256, 0, 4, "A100");
    setting.cost.accelerator = NULL;
    assert_false(search(&result, 1));
    assert_non_null(strstr(error.message, "accelerator: "));
}

// ---- task graphs ----

static struct weft_taskgraph graph_of(const char *text)
{
    struct weft_strategy strategy = {
        .kind = WEFT_STRATEGY_HYBRID, .server_count = cluster.server_count, .hybrid = words(text)};
    struct weft_taskgraph graph;
    if (!weft_strategy_taskgraph(
            &graph, &strategy,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &arena,
            scratch, &error)) {
        fail_msg("%s: %s", text, error.message);
    }
    return graph;
}

static double bytes_of(const struct weft_taskgraph *graph, enum weft_task_kind kind)
{
    double bytes = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bytes += graph->kind[t] == kind ? (double)graph->size_bytes[t] : 0;
    }
    return bytes;
}

// All gradients are reduced once: 4 bytes a parameter (norms, positions and router on every
// tensor rank: up to 3 % more), from ZeRO stage 1 scattered; parameters of 2 bytes are gathered
// once, at stage 3 before the passes both ways. Stages 2 and 3 with one micro-batch.
// Mutation: AllReduces at stage 2.
static void all_gradients_are_reduced_once(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        double bytes[3]; // a parameter: in AllReduces, ReduceScatters, AllGathers
        double tied;     // times the output matrix, which tied stages hold twice and add up
    } cases[] = {
        {"gpt3-1.3b", "tp=8,zero=0", {4, 0, 0}, 0},
        {"gpt3-1.3b", "tp=8,zero=0,overlap=no", {4, 0, 0}, 0},
        {"gpt3-1.3b", "tp=8,zero=1", {0, 4, 2}, 0},
        {"gpt3-1.3b", "tp=8,zero=2,micro=32", {0, 4, 2}, 0},
        {"gpt3-1.3b", "tp=8,zero=3,micro=32", {0, 4, 4}, 0},
        {"gpt3-1.3b", "tp=8,zero=1,overlap=no", {0, 4, 2}, 0},
        {"gpt3-1.3b", "tp=8,pp=4,zero=0", {4, 0, 0}, 4 + 4 * 2},
        {"gpt3-1.3b", "tp=1,pp=2,chunks=2,micro=1,zero=0", {4, 0, 0}, 4 + 4 * 32},
        {"mixtral-8x7b", "tp=8,ep=4,zero=0", {4, 0, 0}, 0},
        {"mixtral-8x7b", "tp=2,ep=8,pp=2,zero=1", {0, 4, 2}, 0},
        {"llama3-8b", "tp=4,cp=4,pp=4,chunks=2,zero=1", {0, 4, 2}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_case(cases[i].name, 256, 0, 64 / 8, "H100");
        struct weft_taskgraph graph = graph_of(cases[i].text);
        double output = (double)model.transformer->vocabulary * (double)model.transformer->hidden;
        for (uint32_t k = 0; k < 3; k++) {
            double expected = cases[i].bytes[k] * (double)model.parameters;
            expected += k == 0 ? cases[i].tied * output : 0;
            double bytes = bytes_of(&graph, WEFT_TASK_ALLREDUCE + k);
            if (fabs(bytes - expected) > 0.03 * expected) {
                fail_msg("%s %s: %ss of %.4g bytes, expected %.4g", cases[i].name, cases[i].text,
                         weft_task_facts[WEFT_TASK_ALLREDUCE + k].name, bytes, expected);
            }
        }
    }
}

// Experts with no copy are gathered from nobody, with overlap or without.
// Mutation: teams of one gather at the end.
static void a_team_of_one_gathers_nothing(void **state)
{
    (void)state;
    set_case("mixtral-8x7b", 256, 0, 8, "H100");
    struct weft_taskgraph early = graph_of("tp=8,ep=8,zero=1");
    double early_bytes = bytes_of(&early, WEFT_TASK_ALL_GATHER);
    struct weft_taskgraph late = graph_of("tp=8,ep=8,zero=1,overlap=no");
    double late_bytes = bytes_of(&late, WEFT_TASK_ALL_GATHER);
    if (!(fabs(late_bytes - early_bytes) <= 0.01 * early_bytes)) {
        fail_msg("%.4g bytes without overlap, %.4g with it", late_bytes, early_bytes);
    }
}

static void every_pass_is_there_and_devices_lie_on_their_servers(void **state)
{
    (void)state;
    set_case("gpt3-1.3b", 64, 0, 8, "A100");
    struct weft_taskgraph graph = graph_of("tp=4,pp=4,chunks=2,zero=0,overlap=no,micro=2");
    uint32_t kinds[WEFT_TASK_KIND_COUNT] = {0};
    uint64_t busy_ps = 0;
    for (uint32_t t = 0; t < graph.task_count; t++) {
        kinds[graph.kind[t]]++;
        busy_ps += graph.kind[t] == WEFT_TASK_FORWARD || graph.kind[t] == WEFT_TASK_BACKWARD
                       ? graph.runtime_ps[t]
                       : 0;
    }
    // 8 micro-batches x 8 stages x 4 replicas; 7 of 8 boundaries cross servers both ways.
    assert_int_equal(graph.device_count, 16);
    assert_int_equal(kinds[WEFT_TASK_FORWARD], 8 * 8 * 4);
    assert_int_equal(kinds[WEFT_TASK_BACKWARD], 8 * 8 * 4);
    assert_int_equal(kinds[WEFT_TASK_TRANSFER], 2 * 8 * 7 * 4);
    assert_int_equal(kinds[WEFT_TASK_UPDATE], 16);
    for (uint32_t d = 0; d < graph.device_count; d++) {
        assert_int_equal(graph.device_server[d], d / 2);
    }
    struct weft_hybrid hybrid = words("tp=4,pp=4,chunks=2,zero=0,overlap=no,micro=2");
    struct weft_hybrid_estimate e;
    assert_true(weft_hybrid_estimate(
        &e, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, scratch,
        &error));
    assert_true(weft_seconds(busy_ps) <= 16 * weft_seconds(e.compute_ps + e.tensor_ps));
}

// The buckets of a stage leave behind the part of the last backward pass that made them: no task
// has two buckets' AllReduces behind it.
static void buckets_leave_one_by_one(void **state)
{
    (void)state;
    set_case("gpt3-1.3b", 64, 0, 8, "A100");
    struct weft_taskgraph graph = graph_of("tp=8,zero=0,micro=2");
    uint32_t buckets = 0;
    for (uint32_t t = 0; t < graph.task_count; t++) {
        uint32_t reductions = 0;
        for (uint32_t e = graph.next_first[t]; e < graph.next_first[t + 1]; e++) {
            bool reduces = weft_task_is_collective(&graph, graph.next[e]);
            reductions += reduces && graph.kind[t] == WEFT_TASK_BACKWARD ? 1 : 0;
        }
        assert_true(reductions <= 1);
        buckets += reductions;
    }
    assert_int_equal(buckets, 4 * 8); // of each replica
}

static void graphs_too_large_are_refused(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    set_case("gpt3-175b", 1 << 20, 0, 128, "A100");
    struct weft_strategy strategy = {
        .kind = WEFT_STRATEGY_HYBRID, .server_count = 128, .hybrid = words("tp=8,pp=8,chunks=12")};
    assert_false(weft_strategy_taskgraph(
        &graph, &strategy,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &arena,
        scratch, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "more than 2^24 tasks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_the_best_of_all),
        cmocka_unit_test(what_cannot_fit_is_infeasible_and_says_by_how_much),
        cmocka_unit_test(data_parallelism_takes_the_lowest_stage_that_fits),
        cmocka_unit_test(what_does_not_divide_is_refused),
        cmocka_unit_test(all_gradients_are_reduced_once),
        cmocka_unit_test(a_team_of_one_gathers_nothing),
        cmocka_unit_test(every_pass_is_there_and_devices_lie_on_their_servers),
        cmocka_unit_test(buckets_leave_one_by_one),
        cmocka_unit_test(graphs_too_large_are_refused),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
