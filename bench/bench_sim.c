// SPDX-License-Identifier: Apache-2.0
// What the flow engine takes: bench_sim [CASE]. One case a process, so that user time and memory
// are the case's own; without a case it runs itself once for each and prints the table of
// docs/flow-engine.md.

#include "weft/sim.h"

#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define RATE_BPS 50e9 // 400 Gbps
#define LATENCY_PS 500000u
#define PS_PER_US 1e6

extern char **environ;

static struct weft_arena arena, scratch;
static struct weft_network network;

enum shape { RING, STAR, FAT_TREE, EVEN_FAT_TREE };

static bool build(enum shape shape, uint32_t server_count, struct weft_error *error)
{
    struct weft_cluster cluster;
    struct weft_fabric_options options = {.port_rate_Bps = RATE_BPS};
    if (!weft_cluster_build(&cluster, server_count, shape == RING ? 2 : 1, RATE_BPS, error)) {
        return false;
    }
    cluster.latency_ps = LATENCY_PS;
    cluster.balance = shape == EVEN_FAT_TREE ? WEFT_BALANCE_EVEN : WEFT_BALANCE_HASH;
    if (shape == RING) {
        return weft_fabric_build_ring(&network, &cluster, &options, &arena, error);
    }
    return shape == STAR ? weft_fabric_build_ideal(&network, &cluster, &options, &arena, error)
                         : weft_fabric_build_fat_tree(&network, &cluster, &options, &arena, error);
}

static bool play_allreduce(struct weft_sim_result *result, uint32_t n, struct weft_error *error)
{
    uint32_t *members = WEFT_NEW_RAW(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        members[i] = i;
    }
    struct weft_task task = {.kind = WEFT_TASK_ALLREDUCE,
                             .members = members,
                             .member_count = n,
                             .size_bytes = 100000000};
    struct weft_taskgraph graph;
    struct weft_sim_job job = {.graph = &graph};
    return build(RING, n, error) &&
           weft_taskgraph_build(
               &graph,
               &(struct weft_taskgraph_draft){.server_count = n, .task_count = 1, .tasks = &task},
               &arena, scratch, error) &&
           weft_sim_run_jobs(
               result, &network, &job, 1, &(struct weft_sim_options){0},
               &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = error});
}

struct flows {
    uint32_t *from;
    uint32_t *to;
    uint64_t *size_bytes;
    uint64_t *start_ps;
};

static struct flows room_for(uint32_t count)
{
    return (struct flows){WEFT_NEW_RAW(&arena, uint32_t, count),
                          WEFT_NEW_RAW(&arena, uint32_t, count),
                          WEFT_NEW_RAW(&arena, uint64_t, count), WEFT_NEW(&arena, uint64_t, count)};
}

static bool play_list(struct weft_sim_result *result, const struct flows *flows, uint32_t count,
                      struct weft_error *error)
{
    struct weft_flow_list list = {count, flows->from, flows->to, flows->size_bytes,
                                  flows->start_ps};
    return weft_sim_run_flows(
        result, NULL, &network, &list, &(struct weft_sim_options){.seed = 1},
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = error});
}

static bool play_all_to_all(struct weft_sim_result *result, enum shape shape, uint32_t n,
                            struct weft_error *error)
{
    struct flows flows = room_for(n * (n - 1));
    uint32_t count = 0;
    for (uint32_t pair = 0; pair < n * n; pair++) {
        if (pair / n != pair % n) {
            flows.from[count] = pair / n;
            flows.to[count] = pair % n;
            flows.size_bytes[count++] = 1000000;
        }
    }
    return build(shape, n, error) && play_list(result, &flows, count, error);
}

static bool play_permutation(struct weft_sim_result *result, uint32_t n, struct weft_error *error)
{
    struct flows flows = room_for(n);
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    for (uint32_t i = 0; i < n; i++) {
        flows.to[i] = i;
        flows.size_bytes[i] = 10000000;
    }
    weft_rng_shuffle(&rng, flows.to, n);
    for (uint32_t i = 0; i < n; i++) {
        flows.from[i] = i;
    }
    return build(FAT_TREE, n, error) && play_list(result, &flows, n, error);
}

static bool play_poisson(struct weft_sim_result *result, double load_ratio,
                         struct weft_error *error)
{
    const uint32_t n = 1024;
    const uint32_t count = 100000;
    const double mean_bytes = 1e6;
    struct flows flows = room_for(count);
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    double gap_ps = mean_bytes / (load_ratio * n * RATE_BPS) * (double)WEFT_PS_PER_S;
    double now_ps = 0;
    for (uint32_t i = 0; i < count; i++) {
        now_ps += weft_rng_exponential(&rng, gap_ps);
        flows.from[i] = weft_rng_below(&rng, n);
        flows.to[i] = (flows.from[i] + 1 + weft_rng_below(&rng, n - 1)) % n;
        flows.size_bytes[i] = 1 + (uint64_t)weft_rng_exponential(&rng, mean_bytes);
        flows.start_ps[i] = (uint64_t)now_ps;
    }
    return build(FAT_TREE, n, error) && play_list(result, &flows, count, error);
}

static const struct {
    const char *name;
    const char *goal;
    const char *peer;
} cases[] = {
    {"allreduce-ring-1024", "<= 0.7 s, 60 MB", "SimGrid 4.0 s, 45 MB"},
    {"allreduce-ring-4096", "<= 12 s", "none within 60 s"},
    {"alltoall-switch-512", "<= 2 s, 150 MB", "SimGrid 18.6 s, 672 MB"},
    {"alltoall-even-fat-tree-4096", "<= 10 s", ""},
    {"permutation-fat-tree-1024", "", "SimGrid 0.06 s"},
    {"poisson-30-fat-tree-1024", ">= 100 k flows/s", "SimGrid 3.9 k flows/s"},
    {"poisson-60-fat-tree-1024", ">= 30 k flows/s", "SimGrid < 1.1 k flows/s"},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static bool play(struct weft_sim_result *result, size_t index, struct weft_error *error)
{
    switch (index) {
    case 0:
        return play_allreduce(result, 1024, error);
    case 1:
        return play_allreduce(result, 4096, error);
    case 2:
        return play_all_to_all(result, STAR, 512, error);
    case 3:
        return play_all_to_all(result, EVEN_FAT_TREE, 4096, error);
    case 4:
        return play_permutation(result, 1024, error);
    case 5:
        return play_poisson(result, 0.3, error);
    default:
        return play_poisson(result, 0.6, error);
    }
}

static int run_case(size_t index)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_sim_result result;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !play(&result, index, &error)) {
        fprintf(stderr, "bench_sim: %s\n", error.message);
        return (int)error.code;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double user_s = (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
    printf("%-27s %12.3f us %9llu flows %7.3f s %10.0f flows/s %4ld MB  goal %-17s peer %s\n",
           cases[index].name, (double)result.end_ps / PS_PER_US,
           (unsigned long long)result.flow_count, user_s,
           (double)result.flow_count / fmax(user_s, 1e-3), usage.ru_maxrss / 1024,
           cases[index].goal, cases[index].peer);
    return 0;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            return run_case(i);
        }
        char name[64];
        snprintf(name, sizeof(name), "%s", cases[i].name);
        char *arguments[] = {argv[0], name, NULL};
        pid_t child;
        int status = 1;
        if (argc == 1 &&
            (posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) != 0 ||
             waitpid(child, &status, 0) != child || status != 0)) {
            return 1;
        }
    }
    if (argc > 1) {
        fprintf(stderr, "bench_sim: no case '%s'; write one of\n", argv[1]);
        for (size_t i = 0; i < CASE_COUNT; i++) {
            fprintf(stderr, "  %s\n", cases[i].name);
        }
        return 2;
    }
    return 0;
}
