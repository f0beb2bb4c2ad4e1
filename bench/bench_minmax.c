// SPDX-License-Identifier: Apache-2.0
// What min-max routing costs and how good it is: bench_minmax [SERVERS [DEGREE]]. The fabric is the
// union of DEGREE random directed cycles at 100 Gbps; each kind of demand is routed in few rounds
// and in many.

#include "weft/routing.h"

#include <math.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool build_fabric(struct weft_fabric *fabric, uint32_t n, uint32_t degree,
                         struct weft_rng *rng, struct weft_arena *arena, struct weft_error *error)
{
    struct weft_link *links = WEFT_NEW_RAW(arena, struct weft_link, (size_t)n * degree);
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t d = 0; d < degree; d++) {
        for (uint32_t i = 0; i < n; i++) {
            order[i] = i;
        }
        weft_rng_shuffle(rng, order, n);
        for (uint32_t i = 0; i < n; i++) {
            links[d * n + i] = (struct weft_link){order[i], order[(i + 1) % n], 12.5e9, 0, 1};
        }
    }
    if (!weft_fabric_build(fabric, &(struct weft_fabric_links){"cycles", n, n, links, n * degree},
                           arena, error)) {
        return false;
    }
    fabric->forwards = true;
    return true;
}

enum kind { UNIFORM, SKEWED, SPARSE, KINDS };
static const char *const kind_names[KINDS] = {"uniform", "skewed", "1 pair in 20"};

static double *draw_demand(enum kind kind, uint32_t n, struct weft_rng *rng,
                           struct weft_arena *arena)
{
    double *demand = WEFT_NEW(arena, double, (size_t)n *n);
    for (size_t i = 0; i < (size_t)n * n; i++) {
        if (i % (n + 1) == 0) {
            continue;
        }
        bool some = weft_rng_below(rng, 20) == 0;
        demand[i] = kind == UNIFORM  ? 1e6
                    : kind == SKEWED ? 1e6 * pow(weft_rng_unit(rng), 4)
                    : some           ? weft_rng_exponential(rng, 1e6)
                                     : 0;
    }
    return demand;
}

int main(int argc, char **argv)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_fabric fabric;
    struct weft_rng rng;
    uint64_t servers = 128;
    uint64_t degree = 4;
    weft_rng_init(&rng, 1);
    if ((argc > 1 && !weft_parse_count(&servers, argv[1], 3, 4096, &error)) ||
        (argc > 2 && !weft_parse_count(&degree, argv[2], 1, 64, &error)) ||
        !weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !build_fabric(&fabric, (uint32_t)servers, (uint32_t)degree, &rng, &arena, &error)) {
        fprintf(stderr, "bench_minmax: %s\n", error.message);
        return (int)error.code;
    }
    printf("%-14s %6s %6s %10s %14s %10s %10s\n", "demand", "extra", "rounds", "CPU ms",
           "largest load", "bound", "gap");
    static const uint32_t rounds[] = {4, 20, 200};
    for (enum kind kind = UNIFORM; kind < KINDS; kind++) {
        struct weft_arena local = arena;
        double *demand = draw_demand(kind, (uint32_t)servers, &rng, &local);
        for (uint32_t i = 0; i < 3; i++) {
            struct weft_minmax_options options = {.paths_max = 8,
                                                  .extra_hops = kind == SPARSE ? 2 : 1,
                                                  .epsilon = 0.01,
                                                  .rounds_max = rounds[i]};
            struct weft_arena kept = local;
            struct weft_routes routes;
            struct weft_minmax_result result;
            double start_s = cpu_seconds();
            if (!weft_routing_minmax(&routes, &result, &fabric, demand, &options,
                                     &(struct weft_environment){
                                         .arena = &kept, .scratch = scratch, .error = &error})) {
                fprintf(stderr, "bench_minmax: %s\n", error.message);
                return (int)error.code;
            }
            printf("%-14s %6u %6u %10.1f %11.1f us %7.1f us %8.2f %%\n", kind_names[kind],
                   options.extra_hops, rounds[i], 1e3 * (cpu_seconds() - start_s),
                   1e6 * result.max_link_seconds, 1e6 * result.bound_seconds,
                   100 * (result.max_link_seconds / result.bound_seconds - 1));
        }
    }
    return 0;
}
