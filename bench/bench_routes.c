// SPDX-License-Identifier: Apache-2.0
// What a route costs: bench_routes [SERVERS [DEGREE]]. For every reference fabric the CPU time to
// build it, and to pick and walk the path of one flow between random servers.

#include "weft/fabric.h"

#include <stdlib.h>
#include <time.h>

#define FLOWS 2000000u
#define PAIRS 65536u // few enough to stay in cache: the routes are measured, not the list

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Seconds a flow; *hops gets the mean number of links.
static double walk(const struct weft_routes *routes, double *hops, struct weft_arena scratch)
{
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    uint32_t n = routes->fabric->server_count;
    uint32_t *from = WEFT_NEW_RAW(&scratch, uint32_t, PAIRS);
    uint32_t *to = WEFT_NEW_RAW(&scratch, uint32_t, PAIRS);
    uint32_t *links = WEFT_NEW_RAW(&scratch, uint32_t, routes->hop_max);
    for (uint32_t i = 0; i < PAIRS; i++) {
        from[i] = weft_rng_below(&rng, n);
        to[i] = (from[i] + 1 + weft_rng_below(&rng, n - 1)) % n;
    }
    uint64_t sum = 0;
    double start_s = cpu_seconds();
    for (uint32_t flow = 0; flow < FLOWS; flow++) {
        uint32_t s = from[flow % PAIRS];
        uint32_t t = to[flow % PAIRS];
        sum += weft_routes_path(routes, s, t, weft_routes_pick(routes, s, t, flow), links, NULL);
    }
    double seconds = (cpu_seconds() - start_s) / FLOWS;
    *hops = (double)sum / FLOWS;
    return seconds;
}

int main(int argc, char **argv)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_cluster cluster;
    uint64_t servers = 1024;
    uint64_t degree = 8;
    if ((argc > 1 && !weft_parse_count(&servers, argv[1], 2, 1u << 20, &error)) ||
        (argc > 2 && !weft_parse_count(&degree, argv[2], 1, 1u << 10, &error)) ||
        !weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !weft_cluster_build(&cluster, (uint32_t)servers, (uint32_t)degree, 12.5e9, &error)) {
        fprintf(stderr, "bench_routes: %s\n", error.message);
        return (int)error.code;
    }
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    printf("%-16s %10s %12s %10s\n", "fabric", "build ms", "ns a flow", "mean hops");
    for (uint32_t i = 0; i < count; i++) {
        struct weft_arena local = arena;
        struct weft_network network;
        double start_s = cpu_seconds();
        if (!weft_fabric_build_named(
                &network, references[i].name, &cluster, NULL,
                &(struct weft_environment){.arena = &local, .scratch = scratch, .error = &error})) {
            printf("%-16s %s\n", references[i].name, error.message);
            continue;
        }
        double built_s = cpu_seconds();
        double hops = 0;
        double flow_s = walk(&network.routes, &hops, scratch);
        printf("%-16s %10.2f %12.1f %10.2f\n", references[i].name, 1e3 * (built_s - start_s),
               1e9 * flow_s, hops);
    }
    return 0;
}
