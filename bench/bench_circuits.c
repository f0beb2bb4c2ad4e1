// SPDX-License-Identifier: Apache-2.0
// Circuits of optical switches: how long max-min circuits and their permutations take for 1,024
// nodes on 20 switches (goal: 0.05 s), and how many wavelengths random rings need over their load
// (goal: 1.10 on average) and over the exact coloring, where it is proved.
// `bench_circuits [rings [seed]]`: 300 rings whose arcs go one way, and so many (10) whose arcs may
// turn, which take seconds each.

#include "weft/circuit.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define NODES 1024u
#define SWITCHES 20u
#define PEERS 8u
#define RUNS 5u
#define GPUS 64u
#define ARCS 200u
#define RINGS 300u

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Eight peers a node, at random, of 1 to 100 each.
static void measure_maxmin(uint64_t seed, struct weft_arena scratch)
{
    struct weft_error error;
    double *demand = WEFT_NEW(&scratch, double, (size_t)NODES *NODES);
    uint32_t *circuits = WEFT_NEW(&scratch, uint32_t, (size_t)NODES * NODES);
    uint32_t *permutations = WEFT_NEW(&scratch, uint32_t, (size_t)SWITCHES * NODES);
    uint32_t *peers = WEFT_NEW(&scratch, uint32_t, NODES);
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t i = 0; i < NODES; i++) {
        peers[i] = i;
    }
    for (uint32_t p = 0; p < PEERS; p++) {
        weft_rng_shuffle(&rng, peers, NODES);
        for (uint32_t i = 0; i < NODES; i++) {
            demand[(size_t)i * NODES + peers[i]] = 1 + weft_rng_below(&rng, 100);
        }
    }
    double least_s[2] = {HUGE_VAL, HUGE_VAL};
    double ratio = 0;
    for (uint32_t run = 0; run < RUNS; run++) {
        double start_s = now_s();
        if (!weft_circuit_maxmin(circuits, &ratio, demand, NODES, SWITCHES, scratch, &error)) {
            printf("max-min: %s\n", error.message);
            return;
        }
        double found_s = now_s();
        weft_circuit_decompose(permutations, circuits, NODES, SWITCHES, scratch);
        least_s[0] = fmin(least_s[0], found_s - start_s);
        least_s[1] = fmin(least_s[1], now_s() - found_s);
    }
    printf("max-min, %u nodes, %u switches, seed %llu: ratio %.4g; circuits %.4f s, permutations "
           "%.4f s, together %.4f s (goal 0.05 s)\n",
           NODES, SWITCHES, (unsigned long long)seed, ratio, least_s[0], least_s[1],
           least_s[0] + least_s[1]);
}

// Arcs of 1 to 32 hops. The load of a ring whose arcs may turn is the bound over all ways.
static void measure_rings(uint32_t count, uint64_t seed, bool both_ways, struct weft_arena arena,
                          struct weft_arena scratch)
{
    const struct weft_ring_options options = {.both_ways = both_ways, .seed = seed};
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    double over_load = 0;
    double worst = 0;
    double over_bound = 0;
    uint32_t proved = 0;
    double over_load_proved = 0;
    double start_s = now_s();
    for (uint32_t k = 0; k < count; k++) {
        struct weft_ring_arc arcs[ARCS];
        for (uint32_t a = 0; a < ARCS; a++) {
            arcs[a].start = weft_rng_below(&rng, GPUS);
            arcs[a].hops = 1 + weft_rng_below(&rng, GPUS / 2);
        }
        struct weft_arena kept = arena;
        struct weft_ring_coloring coloring;
        weft_circuit_color_ring(&coloring, arcs, ARCS, GPUS, &options, &kept, scratch);
        double ratio = (double)coloring.wavelengths / coloring.load;
        bool exact = coloring.wavelengths == coloring.bound;
        over_load += ratio / count;
        worst = fmax(worst, ratio);
        over_bound += (double)coloring.wavelengths / coloring.bound / count;
        proved += exact;
        over_load_proved += exact ? ratio : 0;
    }
    printf("rings, %u of %u GPUs, %u arcs of 1 to %u hops%s, seed %llu: %.4f times the load on "
           "average (goal 1.10), worst %.4f; %u proved exact, these %.4f times their load; "
           "%.4f times the proved bound on average; %.3f s each\n",
           count, GPUS, ARCS, GPUS / 2, both_ways ? ", both ways" : ", one way",
           (unsigned long long)seed, over_load, worst, proved,
           proved > 0 ? over_load_proved / proved : 0, over_bound, (now_s() - start_s) / count);
}

int main(int argc, char **argv)
{
    struct weft_error error;
    struct weft_arena arena;
    struct weft_arena scratch;
    uint64_t rings = 10;
    uint64_t seed = 1;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        (argc > 1 && !weft_parse_count(&rings, argv[1], 1, 100000, &error)) ||
        (argc > 2 && !weft_parse_count(&seed, argv[2], 0, UINT64_MAX, &error))) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    measure_maxmin(seed, scratch);
    measure_rings(RINGS, seed, false, arena, scratch);
    measure_rings((uint32_t)rings, seed, true, arena, scratch);
    return 0;
}
