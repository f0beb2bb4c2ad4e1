// SPDX-License-Identifier: Apache-2.0
// What the packet engine takes: bench_packet [CASE]. One case a process, so that CPU time and
// memory are the case's own; without a case it runs itself once for each and prints the table of
// docs/packet-engine.md.

#include "weft/sim.h"

#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LATENCY_PS 500000u

extern char **environ;

static struct weft_arena arena, scratch;
static struct weft_network network;

struct spec {
    const char *name;
    bool tiers; // three of switches, else two
    uint32_t server_count;
    double rate_Bps;
    uint64_t size_bytes;
    bool allreduce; // else a permutation
};

static const struct spec specs[] = {
    {"permutation-128", false, 128, 50e9, 10000000, false},
    {"permutation-1024", true, 1024, 50e9, 2000000, false},
    {"permutation-8192", true, 8192, 12.5e9, 1000000, false},
    {"allreduce-64", false, 64, 50e9, 100000000, true},
};
#define SPEC_COUNT (sizeof specs / sizeof specs[0])

static bool build(const struct spec *spec, struct weft_error *error)
{
    struct weft_cluster cluster;
    struct weft_fabric_options options = {.port_rate_Bps = spec->rate_Bps,
                                          .radix = spec->tiers ? 0 : 32};
    if (!weft_cluster_build(&cluster, spec->server_count, 1, spec->rate_Bps, error)) {
        return false;
    }
    cluster.latency_ps = LATENCY_PS;
    if (spec->tiers) {
        return weft_fabric_build_fat_tree(&network, &cluster, &options, &arena, error);
    }
    return weft_fabric_build_leaf_spine(&network, &cluster, &options, &arena, error);
}

static const struct weft_sim_options sim = {.packet_bytes = 4096 + 64,
                                            .header_bytes = 64,
                                            .seed = 1,
                                            .engine = WEFT_ENGINE_PACKET,
                                            .transport = WEFT_TRANSPORT_DCTCP,
                                            .dctcp = {.gain = 1.0 / 16}};

static bool play_permutation(struct weft_sim_result *result, const struct spec *spec,
                             struct weft_error *error)
{
    uint32_t n = spec->server_count;
    uint32_t *from = WEFT_NEW_RAW(&arena, uint32_t, n);
    uint32_t *to = WEFT_NEW_RAW(&arena, uint32_t, n);
    uint64_t *size_bytes = WEFT_NEW_RAW(&arena, uint64_t, n);
    uint64_t *start_ps = WEFT_NEW(&arena, uint64_t, n);
    uint32_t *order = WEFT_NEW_RAW(&arena, uint32_t, n);
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
    return weft_sim_run_flows(result, NULL, &network.fabric, &network.routes, &list, &sim, &arena,
                              scratch, error);
}

static bool play_allreduce(struct weft_sim_result *result, const struct spec *spec,
                           struct weft_error *error)
{
    uint32_t n = spec->server_count;
    uint32_t *members = WEFT_NEW_RAW(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        members[i] = i;
    }
    struct weft_task task = {.kind = WEFT_TASK_ALLREDUCE,
                             .members = members,
                             .member_count = n,
                             .size_bytes = spec->size_bytes};
    struct weft_taskgraph graph;
    struct weft_sim_job job = {.graph = &graph};
    return weft_taskgraph_build(&graph, n, 0, NULL, &task, 1, &arena, scratch, error) &&
           weft_sim_run_jobs(result, &network.fabric, &network.routes, &job, 1, &sim, &arena,
                             scratch, error);
}

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int run_case(const struct spec *spec)
{
    struct weft_error error;
    struct weft_sim_result result;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !build(spec, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    double built_s = cpu_s();
    bool played = spec->allreduce ? play_allreduce(&result, spec, &error)
                                  : play_permutation(&result, spec, &error);
    if (!played) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    double took_s = cpu_s() - built_s;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const struct weft_packet_counts *counts = &result.packets;
    printf("%-18s %10.1f us %8.2f s %7.0f k packets/s %6.1f M events/s %6ld MB  %llu packets, "
           "%llu drops, %llu marked\n",
           spec->name, (double)result.end_ps / 1e6, took_s, (double)counts->packets / took_s / 1e3,
           (double)counts->events / took_s / 1e6, usage.ru_maxrss / 1024,
           (unsigned long long)counts->packets, (unsigned long long)counts->drops,
           (unsigned long long)counts->ecn_marks);
    return 0;
}

int main(int argc, char **argv)
{
    int failures = 0;
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        if (argc > 1 && strcmp(argv[1], specs[i].name) == 0) {
            return run_case(&specs[i]);
        }
    }
    for (size_t i = 0; argc == 1 && i < SPEC_COUNT; i++) {
        char *arguments[] = {argv[0], (char *)(uintptr_t)specs[i].name, NULL};
        pid_t child;
        int status = 1;
        if (posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) != 0 ||
            waitpid(child, &status, 0) < 0 || status != 0) {
            failures++;
        }
    }
    return argc > 1 || failures > 0;
}
