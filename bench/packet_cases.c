// SPDX-License-Identifier: Apache-2.0
// The loads that the benches of the packet engine play: what is known of other simulators' speed.

#include "packet_cases.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LATENCY_PS 500000u

extern char **environ;

const struct packet_case packet_cases[PACKET_CASE_COUNT] = {
    {"permutation-128", false, 128, 50e9, 10000000, false},
    {"permutation-1024", true, 1024, 50e9, 2000000, false},
    {"permutation-8192", true, 8192, 12.5e9, 1000000, false},
    {"allreduce-64", false, 64, 50e9, 100000000, true},
};

bool packet_case_build(struct weft_network *network, const struct packet_case *spec,
                       struct weft_arena *arena, struct weft_error *error)
{
    struct weft_cluster cluster;
    struct weft_fabric_options options = {.port_rate_Bps = spec->rate_Bps,
                                          .radix = spec->tiers ? 0 : 32};
    if (!weft_cluster_build(&cluster, spec->server_count, 1, spec->rate_Bps, error)) {
        return false;
    }
    cluster.latency_ps = LATENCY_PS;
    if (spec->tiers) {
        return weft_fabric_build_fat_tree(network, &cluster, &options, arena, error);
    }
    return weft_fabric_build_leaves(network, "leaf-spine", &cluster, &options, arena, error);
}

static const struct weft_sim_options sim = {.packet_bytes = 4096 + 64,
                                            .header_bytes = 64,
                                            .seed = 1,
                                            .engine = WEFT_ENGINE_PACKET,
                                            .transport = WEFT_TRANSPORT_DCTCP,
                                            .dctcp = {.gain = 1.0 / 16}};

static bool play_permutation(struct weft_sim_result *result, const struct weft_network *network,
                             const struct packet_case *spec, struct packet_case_how how,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    struct weft_sim_options options = sim;
    options.partitions.count = how.parts;
    options.partitions.threads = how.threads;
    uint32_t n = spec->server_count;
    uint32_t *from = WEFT_NEW_RAW(arena, uint32_t, n);
    uint32_t *to = WEFT_NEW_RAW(arena, uint32_t, n);
    uint64_t *size_bytes = WEFT_NEW_RAW(arena, uint64_t, n);
    uint64_t *start_ps = WEFT_NEW(arena, uint64_t, n);
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, n);
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    weft_rng_shuffle(&rng, order, n);
    for (uint32_t i = 0; i < n; i++) {
        from[i] = order[i];
        to[i] = order[(i + 1) % n];
        size_bytes[i] = spec->size_bytes;
    }
    struct weft_flow_list list = {n, from, to, size_bytes, start_ps};
    return weft_sim_run_flows(
        result, NULL, network, &list, &options,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error});
}

static bool play_allreduce(struct weft_sim_result *result, const struct weft_network *network,
                           const struct packet_case *spec, struct weft_arena *arena,
                           struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = spec->server_count;
    uint32_t *members = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        members[i] = i;
    }
    struct weft_task task = {.kind = WEFT_TASK_ALLREDUCE,
                             .members = members,
                             .member_count = n,
                             .size_bytes = spec->size_bytes};
    struct weft_taskgraph graph;
    struct weft_sim_job job = {.graph = &graph};
    return weft_taskgraph_build(
               &graph,
               &(struct weft_taskgraph_draft){.server_count = n, .task_count = 1, .tasks = &task},
               arena, scratch, error) &&
           weft_sim_run_jobs(
               result, network, &job, 1, &sim,
               &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error});
}

bool packet_case_play(struct weft_sim_result *result, const struct weft_network *network,
                      const struct packet_case *spec, struct packet_case_how how,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    return spec->allreduce ? play_allreduce(result, network, spec, arena, scratch, error)
                           : play_permutation(result, network, spec, how, arena, scratch, error);
}

double packet_case_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int packet_cases_each(const char *program)
{
    int failures = 0;
    for (uint32_t i = 0; i < PACKET_CASE_COUNT; i++) {
        char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)packet_cases[i].name,
                             NULL};
        pid_t child;
        int status = 1;
        if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0 ||
            waitpid(child, &status, 0) < 0 || status != 0) {
            failures++;
        }
    }
    return failures;
}
