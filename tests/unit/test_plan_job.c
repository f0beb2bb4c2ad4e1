// SPDX-License-Identifier: Apache-2.0
// What a plan was made for, through its file: strategy, memory and task graph come back the same,
// the check sees what does not hold, and each bad file is told what is wrong with it.

#include "check_plan.h"
#include "sample_plan.h"
#include "weft/format.h"

#include "../fresh_arenas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 8 };

static struct weft_plan sample;
static struct weft_plan_job job;
static struct weft_memory memory[N];
static const char *sample_text;
static const uint32_t sample_jumps[] = {1, 3};

static const uint32_t servers[N] = {0, 1, 2, 3, 4, 5, 6, 7};
static const char *const names[] = {"dense", "a \"table\" \xc3\xa9"};
static const struct weft_placement placements[] = {{4, 2, servers}, {1, 1, servers + 5}};
static const double rounds[] = {0.02, 0.0131};
static const uint32_t starts[] = {0, 1};

// One task of each kind: F0 -> T0>1 -> B1 -> A, and an update, a barrier and a copy beside them.
static bool build_graph(struct weft_error *error)
{
    static const uint32_t next[] = {1, 2, 3, 5, 6};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD, .device = 0, .runtime_ps = 5000, .next = next, .next_count = 1},
        {.kind = WEFT_TASK_TRANSFER,
         .from = 0,
         .to = 1,
         .size_bytes = 1000,
         .next = next + 1,
         .next_count = 1},
        {.kind = WEFT_TASK_BACKWARD,
         .device = 1,
         .runtime_ps = ((uint64_t)1 << 53) + 1,
         .next = next + 2,
         .next_count = 1},
        {.kind = WEFT_TASK_ALLREDUCE,
         .members = servers,
         .member_count = N,
         .size_bytes = 4096,
         .runtime_ps = 77},
        {.kind = WEFT_TASK_UPDATE, .device = 2, .runtime_ps = 9, .next = next + 3, .next_count = 2},
        {.kind = WEFT_TASK_BARRIER},
        {.kind = WEFT_TASK_LOCAL, .device = 3, .runtime_ps = 11},
        {.kind = WEFT_TASK_REDUCE_SCATTER,
         .members = servers,
         .member_count = N,
         .size_bytes = 4097},
        {.kind = WEFT_TASK_ALL_GATHER,
         .members = servers,
         .member_count = N,
         .size_bytes = 4098,
         .runtime_ps = 78},
    };
    return weft_taskgraph_build(
        &job.graph,
        &(struct weft_taskgraph_draft){.server_count = N,
                                       .device_count = N,
                                       .device_server = servers,
                                       .task_count = sizeof tasks / sizeof tasks[0],
                                       .tasks = tasks},
        &arena, scratch, error);
}

static int begin(void **state)
{
    struct weft_error error;
    assert_int_equal(open_arenas(state), 0);
    for (uint32_t s = 0; s < N; s++) {
        memory[s] = (struct weft_memory){1e9 + s, 1e9, 2e9, 0.5, 3e8, 4.3e9 + s + 0.5};
    }
    job = (struct weft_plan_job){
        .model = "a model",
        .batch = 4096,
        .costs = "roofline A100",
        .optimizer = WEFT_ADAM,
        .tables = WEFT_TABLES_REPLICATED,
        .memory_limit_bytes = 40e9,
        .operator_count = 2,
        .operator_names = names,
        .strategy = {.kind = WEFT_STRATEGY_OPERATORS,
                     .server_count = N,
                     .placements = placements,
                     .memory = memory,
                     .memory_max_bytes = 4.3e9 + N - 0.5},
        .variant = WEFT_COPLAN_STRATEGY,
        .evaluations = 12345,
        .round_count = 2,
        .round_start = starts,
        .round_s = rounds,
        .fixed_point = true,
        .variant_s = {0.0131, 0, 0.02, 0},
    };
    if (!sample_plan(&sample, N, sample_jumps, 2, &arena, &error) || !build_graph(&error)) {
        fail_msg("%s", error.message);
    }
    sample.job = &job;
    sample_text = weft_plan_write(&sample, &arena);
    return 0;
}

static void read_back(struct weft_plan *plan, const char *text)
{
    struct weft_error error;
    if (!weft_plan_read(plan, text, strlen(text), &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static void a_job_comes_back(void **state)
{
    (void)state;
    struct weft_plan plan;
    read_back(&plan, sample_text);
    assert_non_null(plan.job);
    assert_string_equal(plan.job->operator_names[1], names[1]);
    assert_int_equal(plan.job->strategy.placements[0].servers[7], 7);
    assert_int_equal(plan.job->strategy.placements[1].servers[0], 5);
    assert_int_equal(plan.job->optimizer, WEFT_ADAM);
    assert_int_equal(plan.job->tables, WEFT_TABLES_REPLICATED);
    assert_int_equal(plan.job->variant, WEFT_COPLAN_STRATEGY);
    assert_true(plan.job->strategy.memory[3].total_bytes == memory[3].total_bytes);
    assert_true(plan.job->variant_s[WEFT_COPLAN_TOPOLOGY] == 0.02);
    assert_true(plan.job->round_s[1] == rounds[1]);
    assert_int_equal(plan.job->round_start[1], 1);
    const struct weft_taskgraph *graph = &plan.job->graph;
    assert_int_equal(graph->task_count, job.graph.task_count);
    assert_memory_equal(graph->kind, job.graph.kind, graph->task_count);
    assert_memory_equal(graph->runtime_ps, job.graph.runtime_ps,
                        graph->task_count * sizeof(uint64_t));
    assert_memory_equal(graph->next_first, job.graph.next_first,
                        (graph->task_count + 1) * sizeof(uint32_t));
    assert_int_equal(graph->group_count, 1);
    assert_int_equal(graph->group_members[7], 7);
    assert_string_equal(weft_plan_write(&plan, &arena), sample_text);
}

static void a_hybrid_strategy_comes_back(void **state)
{
    (void)state;
    struct weft_plan_job hybrid_job = job;
    hybrid_job.flops_utilization = 0.51;
    hybrid_job.strategy.kind = WEFT_STRATEGY_HYBRID;
    hybrid_job.strategy.hybrid = (struct weft_hybrid){.dp = 2,
                                                      .tp = 8,
                                                      .pp = 2,
                                                      .ep = 1,
                                                      .cp = 1,
                                                      .chunks = 3,
                                                      .micro_batch = 4,
                                                      .zero_stage = 1,
                                                      .sequence_parallel = true,
                                                      .overlap_tensor = true,
                                                      .blocking_sends = true,
                                                      .fp8 = true,
                                                      .whole_experts = true,
                                                      .schedule = WEFT_SCHEDULE_DUALPIPE,
                                                      .recompute = WEFT_RECOMPUTE_SELECTIVE,
                                                      .order = "tcdp"};
    struct weft_plan plan = sample;
    plan.job = &hybrid_job;
    plan.cluster.stack = "megascale";
    const char *text = weft_plan_write(&plan, &arena);
    struct weft_plan back;
    read_back(&back, text);
    assert_string_equal(weft_plan_write(&back, &arena), text);
    assert_string_equal(back.cluster.stack, "megascale");
    assert_true(back.job->strategy.memory[3].library_bytes == 3e8);
    assert_int_equal(weft_hybrid_overlap(&back.job->strategy.hybrid), WEFT_OVERLAP_TENSOR);
    assert_true(back.job->strategy.hybrid.fp8);
    assert_true(back.job->strategy.hybrid.whole_experts);
    assert_int_equal(back.job->strategy.hybrid.schedule, WEFT_SCHEDULE_DUALPIPE);
    assert_int_equal(back.job->strategy.hybrid.chunks, 3);
    assert_int_equal(back.job->strategy.hybrid.recompute, WEFT_RECOMPUTE_SELECTIVE);
    assert_string_equal(back.job->strategy.hybrid.order, "tcdp");
    assert_true(back.job->flops_utilization == 0.51);
}

// The sample with one piece of its text replaced.
static const char *replace(const char *find, const char *with)
{
    const char *at = strstr(sample_text, find);
    if (at == NULL) {
        fail_msg("the sample has no %s", find);
    }
    return weft_arena_format(&arena, "%.*s%s%s", (int)(at - sample_text), sample_text, with,
                             at + strlen(find));
}

static const struct {
    const char *find;
    const char *with;
    const char *message;
} bad_jobs[] = {
    {"\"kind\": \"operators\"", "\"kind\": \"odd\"",
     "strategy: kind: 'odd' is not a word for it; write for example operators"},
    {"\"sample_parts\": 4", "\"sample_parts\": 0",
     "strategy: operators[0]: sample_parts: 0 is not from 1 to 1048576"},
    {"\"sample_parts\": 4", "\"sample_parts\": 2",
     "strategy: operators[0]: servers: 8 of them for 4 parts; write one a part"},
    {"\"servers\": [5]", "\"servers\": [8]",
     "strategy: operators[1]: servers: [0]: not a whole number below 8"},
    {"\"optimizer\": \"adam\"", "\"optimizer\": \"lion\"",
     "job: optimizer: 'lion' is not a word for it; write for example sgd"},
    {"\"variant\": \"strategy\"", "\"variant\": 3",
     "job: variant: '' is not a word for it; write for example both"},
    {"[\"F\",0,5000,1]", "[\"F\",0,-1,1]", "job: graph: tasks[0]: [2]: not a whole number"},
    {"[\"F\",0,5000,1]", "[\"X\",0,5000,1]",
     "job: graph: tasks[0]: not a task; its first entry is none of the letters FBUJLTARG"},
    {"[\"F\",0,5000,1]", "[\"F\",8,5000,1]",
     "job: graph: task 0: device 8 is not one of the 8 devices"},
    {"[\"A\",0,4096,77]", "[\"A\",1,4096,77]",
     "job: graph: tasks[3]: [1]: there are 1 groups, not 1"},
    {"[\"T\",0,1,1000,2]", "[\"T\",0,1]", "job: graph: tasks[1]: [3]: not a whole number"},
    {"\"limit_bytes\": 40000000000", "\"limit_bytes\": -1",
     "memory: limit_bytes: -1 is not from 0 to 1e+30"},
};

static void each_bad_job_is_told_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_jobs / sizeof bad_jobs[0]; i++) {
        const char *text = replace(bad_jobs[i].find, bad_jobs[i].with);
        struct weft_plan plan;
        struct weft_error error = {.code = WEFT_OK};
        assert_false(weft_plan_read(&plan, text, strlen(text), &arena, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_string_equal(error.message, bad_jobs[i].message);
    }
}

// What the check finds when one thing in the file is changed.
static const struct {
    const char *find;
    const char *with;
    const char *violation;
} untrue_jobs[] = {
    {"\"max_bytes\": 4300000007.5", "\"max_bytes\": 5000000007.5",
     "memory: max_bytes is stated as 5.00000001e+09"},
    {"\"limit_bytes\": 40000000000", "\"limit_bytes\": 4000000000", "memory: an accelerator holds"},
    {"\"optimizer_bytes\": 2000000000", "\"optimizer_bytes\": 3000000000",
     "memory of server 0: 4.3e+09 bytes in all, but its kinds make 5.3e+09"},
    {"\"batch\": 4096", "\"batch\": 4097",
     "operator dense: 4097 samples do not divide into 4 parts"},
    {"\"batch\": 4096", "\"batch\": 0", "batch: an iteration without samples"},
};

static bool is_listed(const struct weft_violation *violations, uint32_t count, const char *text)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(violations[i].text, text, strlen(text)) == 0) {
            return true;
        }
    }
    return false;
}

static void the_check_sees_what_does_not_hold(void **state)
{
    (void)state;
    const struct weft_violation *violations = NULL;
    uint32_t count = check_plan(&sample, NULL, &violations, &arena, scratch);
    for (size_t i = 0; i < sizeof untrue_jobs / sizeof untrue_jobs[0]; i++) {
        assert_false(is_listed(violations, count, untrue_jobs[i].violation));
    }
    for (size_t i = 0; i < sizeof untrue_jobs / sizeof untrue_jobs[0]; i++) {
        struct weft_plan plan;
        read_back(&plan, replace(untrue_jobs[i].find, untrue_jobs[i].with));
        count = check_plan(&plan, NULL, &violations, &arena, scratch);
        if (!is_listed(violations, count, untrue_jobs[i].violation)) {
            fail_msg("no violation '%s'", untrue_jobs[i].violation);
        }
    }
}

// Fails with any one condition of check_hybrid dropped.
static void the_check_sees_degrees_that_are_not_the_jobs(void **state)
{
    (void)state;
    const struct weft_hybrid right = {
        .dp = 2, .tp = 2, .pp = 2, .ep = 4, .cp = 2, .chunks = 1, .micro_batch = 4};
    const struct {
        uint32_t dp, pp, ep;
        uint64_t micro_batch;
        double utilization;
        const char *violation;
    } cases[] = {
        {4, 2, 4, 4, 0.5, "strategy: dp 4 x pp 2 x cp 2 are not the job's 8 devices"},
        {2, 1, 4, 4, 0.5, "strategy: dp 2 x pp 1 x cp 2 are not the job's 8 devices"},
        {2, 2, 3, 4, 0.5, "strategy: ep 3 does not divide dp x cp, 4"},
        {2, 2, 4, 3, 0.5, "strategy: 4096 samples do not divide into dp 2 micro-batches of 3"},
        {2, 2, 4, 0, 0.5, "strategy: 4096 samples do not divide into dp 2 micro-batches of 0"},
        {2, 2, 4, 4, 1.5, "flops_utilization: 1.5 is more than the peak"},
    };
    struct weft_plan_job hybrid_job = job;
    struct weft_plan plan = sample;
    const struct weft_violation *violations = NULL;
    hybrid_job.strategy.kind = WEFT_STRATEGY_HYBRID;
    hybrid_job.strategy.hybrid = right;
    hybrid_job.flops_utilization = 0.5;
    plan.job = &hybrid_job;
    uint32_t count = check_plan(&plan, NULL, &violations, &arena, scratch);
    assert_false(is_listed(violations, count, "strategy"));
    assert_false(is_listed(violations, count, "flops_utilization"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hybrid_job.strategy.hybrid = right;
        hybrid_job.strategy.hybrid.dp = cases[i].dp;
        hybrid_job.strategy.hybrid.pp = cases[i].pp;
        hybrid_job.strategy.hybrid.ep = cases[i].ep;
        hybrid_job.strategy.hybrid.micro_batch = cases[i].micro_batch;
        hybrid_job.flops_utilization = cases[i].utilization;
        count = check_plan(&plan, NULL, &violations, &arena, scratch);
        if (!is_listed(violations, count, cases[i].violation)) {
            fail_msg("no violation '%s'", cases[i].violation);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_comes_back, begin, tear_down),
        cmocka_unit_test_setup_teardown(a_hybrid_strategy_comes_back, begin, tear_down),
        cmocka_unit_test_setup_teardown(each_bad_job_is_told_what_is_wrong, begin, tear_down),
        cmocka_unit_test_setup_teardown(the_check_sees_what_does_not_hold, begin, tear_down),
        cmocka_unit_test_setup_teardown(the_check_sees_degrees_that_are_not_the_jobs, begin,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
