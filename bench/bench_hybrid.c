// SPDX-License-Identifier: Apache-2.0
// The hybrid space: strategies looked at a second, what the best ones are, and how fast task graphs
// are made. One thread. (The estimate beside published runs: oracle_published_runs table.)

#include "weft/strategy.h"

#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct job {
    const char *model;
    uint32_t servers;
    const char *accelerator; // 8 a server, each with a NIC of 400 Gbps
};
static const struct job jobs[] = {
    {"gpt3-13b", 8, "A100"},       {"gpt3-175b", 128, "A100"},   {"llama3-405b", 2048, "H100"},
    {"mixtral-8x22b", 16, "H100"}, {"deepseek-v3", 256, "H100"},
};

static bool run(const struct job *job, struct weft_arena arena, struct weft_arena scratch,
                struct weft_error *error)
{
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting = {.optimizer = WEFT_ADAM};
    struct weft_search_options options = {.keep = 1};
    struct weft_search_result result;
    if (!weft_model_named(&model, job->model, &arena, error) ||
        !weft_cluster_build(&cluster, job->servers, 1, 8 * 50e9, error) ||
        !weft_accelerator_named(&setting.cost.accelerator, job->accelerator, error)) {
        return false;
    }
    cluster.accelerators_per_server = 8;
    setting.memory_limit_bytes = setting.cost.accelerator->memory_bytes;
    double start_s = cpu_seconds();
    if (!weft_hybrid_search(
            &result,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &options, &arena, scratch, error)) {
        return false;
    }
    double search_s = cpu_seconds() - start_s;
    const struct weft_strategy *best = &result.candidates[0].strategy;
    struct weft_hybrid_estimate estimate;
    struct weft_taskgraph graph = {.task_count = 0};
    if (!weft_hybrid_estimate(
            &estimate, &best->hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            scratch, error)) {
        return false;
    }
    start_s = cpu_seconds();
    bool made = weft_strategy_taskgraph(
        &graph, best,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &arena,
        scratch, error);
    double graph_s = cpu_seconds() - start_s;
    printf("%-14s %5u %s  %8llu looked at, %4.0f k/s  MFU %.1f %%", job->model, 8 * job->servers,
           job->accelerator, (unsigned long long)result.evaluations,
           1e-3 * (double)result.evaluations / search_s, 100 * estimate.model_flops_utilization);
    if (made) {
        printf("  graph %u tasks, %.1f M/s", graph.task_count,
               1e-6 * (double)graph.task_count / graph_s);
    }
    printf("\n    %s\n", weft_hybrid_format(&best->hybrid, &arena));
    return true;
}

int main(void)
{
    struct weft_error error;
    struct weft_arena arena;
    struct weft_arena scratch;
    if (!weft_arena_init(&arena, (size_t)1 << 34, &error) ||
        !weft_arena_init(&scratch, (size_t)1 << 34, &error)) {
        fprintf(stderr, "bench_hybrid: %s\n", error.message);
        return 1;
    }
    bool good = true;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]) && good; i++) {
        good = run(&jobs[i], arena, scratch, &error);
    }
    if (!good) {
        fprintf(stderr, "bench_hybrid: %s\n", error.message);
        return 1;
    }
    return 0;
}
