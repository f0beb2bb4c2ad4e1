// SPDX-License-Identifier: Apache-2.0
// What graph algorithms cost: bench_graph. Distances of all pairs in unions of 8 random
// permutations, maximum-weight matchings of complete and sparse random graphs.

#include "weft/graph.h"

#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void show_distances(struct weft_arena arena)
{
    printf("%8s %16s %16s\n", "nodes", "hops ms", "with matrix ms");
    for (uint32_t n = 128; n <= 4096; n *= 2) {
        struct weft_arena scratch = arena;
        struct weft_rng rng;
        weft_rng_init(&rng, n);
        uint32_t *tails = WEFT_NEW(&scratch, uint32_t, (size_t)n * 8);
        uint32_t *heads = WEFT_NEW(&scratch, uint32_t, (size_t)n * 8);
        for (uint32_t d = 0; d < 8; d++) {
            for (uint32_t i = 0; i < n; i++) {
                tails[d * n + i] = i;
                heads[d * n + i] = i;
            }
            weft_rng_shuffle(&rng, heads + d * n, n);
        }
        struct weft_graph graph;
        weft_graph_build(&graph, n, tails, heads, n * 8, &scratch);
        uint16_t *distance = WEFT_NEW(&scratch, uint16_t, (size_t)n * n);
        double start_s = cpu_seconds();
        struct weft_graph_hops one = weft_graph_all_hops(NULL, &graph, scratch);
        double middle_s = cpu_seconds();
        struct weft_graph_hops two = weft_graph_all_hops(distance, &graph, scratch);
        double end_s = cpu_seconds();
        WEFT_ASSERT(one.sum == two.sum);
        printf("%8u %16.2f %16.2f\n", n, 1e3 * (middle_s - start_s), 1e3 * (end_s - middle_s));
    }
}

static void show_matchings(struct weft_arena arena)
{
    printf("%8s %16s %16s\n", "nodes", "complete ms", "1 edge in 10 ms");
    for (uint32_t n = 16; n <= 1024; n *= 2) {
        double spent_s[2];
        for (uint32_t sparse = 0; sparse < 2; sparse++) {
            struct weft_arena scratch = arena;
            struct weft_rng rng;
            weft_rng_init(&rng, n);
            int64_t *weights = WEFT_NEW(&scratch, int64_t, (size_t)n * n);
            uint32_t *mate = WEFT_NEW(&scratch, uint32_t, n);
            for (uint32_t v = 0; v < n; v++) {
                for (uint32_t u = 0; u < v; u++) {
                    bool edge = sparse == 0 || weft_rng_below(&rng, 10) == 0;
                    int64_t weight = edge ? 1 + (int64_t)weft_rng_below(&rng, 1000000000) : 0;
                    weights[(size_t)v * n + u] = weight;
                    weights[(size_t)u * n + v] = weight;
                }
            }
            double start_s = cpu_seconds();
            weft_graph_match(mate, n, weights, scratch);
            spent_s[sparse] = cpu_seconds() - start_s;
        }
        printf("%8u %16.2f %16.2f\n", n, 1e3 * spent_s[0], 1e3 * spent_s[1]);
    }
}

int main(void)
{
    struct weft_error error;
    struct weft_arena arena;
    if (!weft_arena_init(&arena, 0, &error)) {
        fprintf(stderr, "bench_graph: %s\n", error.message);
        return (int)error.code;
    }
    show_distances(arena);
    show_matchings(arena);
    return 0;
}
