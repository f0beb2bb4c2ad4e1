// SPDX-License-Identifier: Apache-2.0
// Traffic matrices, topologies, schedules and traces that others made: all of them run on both
// engines, those with a closed form at its time.

#include "weft/format.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_BPS 50e9 // 20 ps a byte
#define LATENCY_PS 500000ull

static struct weft_network network; // stays where it is: its routes point to its fabric
static struct weft_arena arena, scratch;
static bool fine = true;

static void expect(bool good, const char *name, const char *what)
{
    if (!good) {
        printf("%s: %s\n", name, what);
        fine = false;
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    return length > strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static bool load(struct weft_taskgraph *graph, const char *path)
{
    struct weft_error error;
    struct weft_matrix matrix;
    struct weft_goal schedule;
    struct weft_goal_job job;
    struct weft_chakra_trace trace;
    struct weft_chakra_job chakra;
    const struct weft_chakra_roofline roofline = {.flops_per_s = 1e14, .memory_Bps = 1e12};
    struct weft_arena room = scratch;
    bool good = false;
    if (ends_with(path, ".cm")) {
        good = weft_matrix_load(&matrix, path, &arena, scratch, &error) &&
               weft_matrix_lower(graph, &matrix, &arena, scratch, &error);
    } else if (ends_with(path, ".goal") || ends_with(path, ".bin")) {
        good = weft_goal_load(&schedule, path, &arena, scratch, &error) &&
               weft_goal_lower(&job, &schedule, &arena, scratch, &error);
        *graph = good ? job.graph : *graph;
    } else {
        good = weft_chakra_load(&trace, path, NULL, false, &room, &error) &&
               weft_chakra_lower(&chakra, &trace, &roofline, &arena, room, &error);
        *graph = good ? chakra.graph : *graph;
    }
    expect(good, path, good ? "" : error.message);
    return good;
}

static bool play(struct weft_sim_result *result, const struct weft_taskgraph *graph, bool packets,
                 const char *name)
{
    struct weft_error error;
    const struct weft_sim_job job = {.graph = graph};
    const struct weft_sim_options options = {
        .packet_bytes = packets ? 4096 : 0,
        .header_bytes = packets ? 64 : 0,
        .seed = 1,
        .engine = packets ? WEFT_ENGINE_PACKET : WEFT_ENGINE_FLOW,
        .transport = packets ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_IDEAL,
        .dctcp = WEFT_DCTCP_DEFAULTS,
    };
    bool good = weft_sim_run_jobs(
        result, &network, &job, 1, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error});
    expect(good, name, good ? "" : error.message);
    return good;
}

static void build_star(uint32_t server_count)
{
    struct weft_cluster cluster;
    struct weft_error error;
    if (!weft_cluster_build(&cluster, server_count, 1, RATE_BPS, &error)) {
        abort();
    }
    cluster.latency_ps = LATENCY_PS;
    if (!weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error)) {
        abort();
    }
}

// Time on a star of a message of the bytes that pass the fullest port.
static double star_ps(double bytes)
{
    return bytes * 20 + 2.0 * LATENCY_PS;
}

static const struct {
    const char *name;
    double bytes; // through the fullest port, one after another or side by side
    uint32_t turns;
    uint32_t tasks;
} known[] = {
    {"htsim/bidir.cm", 2e6, 1, 2},
    {"htsim/foo2.cm", 2e6, 3, 20},
    {"htsim/incast.cm", 15 * 2e6, 1, 15},
    {"htsim/incast_128.cm", 127 * 2e6, 1, 127},
    {"htsim/one.cm", 2e6, 1, 1},
    {"htsim/outcast_incast.cm", 0, 0, 21},
    {"htsim/perm_1024n_1024c_0u_2000000b.cm", 2e6, 1, 1024},
    {"htsim/perm_1024n_1024c_0u_20000b.cm", 2e4, 1, 1024},
    {"htsim/perm_16n_16c_2MB.cm", 2e6, 1, 16},
    {"htsim/perm_32n_32c_2MB.cm", 2e6, 1, 32},
    {"goal/binary_tree_32.goal", 0, 0, 62},
    {"goal/chained_1.goal", 0, 0, 352},
    {"goal/incast128.bin", 127 * 5e5, 1, 254},
    {"goal/perm128.bin", 5e5, 1, 256},
    {"goal/perm64.goal", 5e5, 1, 128},
};

static void check_known(const char *shared)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char path[2048];
        struct weft_arena mark = arena;
        struct weft_taskgraph graph;
        struct weft_sim_result flow;
        struct weft_sim_result packet;
        snprintf(path, sizeof path, "%s/inputs/%s", shared, known[i].name);
        if (load(&graph, path)) {
            build_star(graph.server_count);
            expect(graph.task_count == known[i].tasks, path, "has another number of tasks");
            if (play(&flow, &graph, false, path) && play(&packet, &graph, true, path)) {
                double bound_ps = known[i].turns * star_ps(known[i].bytes);
                bool exact = (double)flow.end_ps >= bound_ps - 1e3 &&
                             (double)flow.end_ps <= bound_ps + known[i].turns * 1e3;
                printf("%s: %.3f us, %.3f us in packets\n", path, (double)flow.end_ps * 1e-6,
                       (double)packet.end_ps * 1e-6);
                expect(exact || known[i].turns == 0, path, "misses its closed form");
                expect((double)packet.end_ps > (double)flow.end_ps * 0.999, path,
                       "is faster in packets than a fluid");
                expect(packet.flow_count == flow.flow_count, path, "plays other flows in packets");
            }
        }
        arena = mark;
    }
}

// Leaves of 8 servers with two ports up: what leaves them takes four times as long at least.
static void check_topology(const char *shared)
{
    char path[2048];
    struct weft_error error;
    struct weft_tiers tiers;
    struct weft_taskgraph graph;
    struct weft_sim_result results[2];
    snprintf(path, sizeof path, "%s/inputs/htsim/leaf_spine_tiny.topo", shared);
    bool good =
        weft_topo_load(&tiers, path, scratch, &error) &&
        weft_fabric_build_tiers(
            &network, &tiers, NULL, 0,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}) &&
        weft_routes_check(&network.routes, scratch, &error);
    expect(good, path, good ? "" : error.message);
    expect(good && network.fabric.node_count == 38, path, "has other nodes");
    snprintf(path, sizeof path, "%s/inputs/htsim/perm_32n_32c_2MB.cm", shared);
    if (!good || !load(&graph, path)) {
        return;
    }
    for (int packets = 0; packets < 2; packets++) {
        if (!play(&results[packets], &graph, packets == 1, path)) {
            return;
        }
        double most = 0;
        for (uint32_t link = 0; link < network.fabric.link_count; link++) {
            const struct weft_link *about = &network.fabric.links[link];
            double s = results[packets].link_bytes[link] / about->rate_Bps;
            most = s > most ? s : most;
        }
        expect((double)results[packets].end_ps > most * 1e12, path, "beats its fullest link");
        expect((double)results[packets].end_ps < 2 * most * 1e12, path, "is idle half the time");
    }
}

static void check_traces(const char *shared)
{
    static const char *const names[] = {
        "astra_custom_ring_ar_8/custom_allreduce.%r.et", "astra_micro_all_gather_16",
        "astra_micro_all_reduce_16/all_reduce.0.et",     "astra_micro_all_to_all_16",
        "astra_micro_reduce_scatter_16/reduce_scatter",  "stage_llama8/w.%r.et"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[2048];
        struct weft_arena mark = arena;
        struct weft_taskgraph graph;
        struct weft_sim_result flow;
        struct weft_sim_result packet;
        snprintf(path, sizeof path, "%s/inputs/chakra/%s", shared, names[i]);
        if (load(&graph, path)) {
            build_star(graph.server_count);
            if (play(&flow, &graph, false, path) && play(&packet, &graph, true, path)) {
                printf("%s: %.3f us, %.3f us in packets\n", path, (double)flow.end_ps * 1e-6,
                       (double)packet.end_ps * 1e-6);
                expect(flow.end_ps > 0 && packet.end_ps > 0, path, "takes no time");
            }
        }
        arena = mark;
    }
}

int main(void)
{
    struct weft_error error;
    const char *shared = getenv("WEFT_SHARED");
    char folder[2048];
    shared = shared != NULL ? shared : SOURCE_ROOT "/../shared";
    snprintf(folder, sizeof folder, "%s/inputs/goal", shared);
    DIR *there = opendir(folder);
    if (there == NULL) {
        printf("skipped: no %s\n", folder);
        return 77;
    }
    closedir(there);
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    check_known(shared);
    check_topology(shared);
    check_traces(shared);
    return fine ? 0 : 1;
}
