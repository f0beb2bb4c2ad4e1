// SPDX-License-Identifier: Apache-2.0
// Schedules of many jobs: what the model of shared links is off by against the flow engine, and
// what a day of 500 jobs on 1024 GPUs takes on one core, with each policy.
// Usage: bench_schedule [TRACE.yaml]    (default: examples/traces/day.yaml)

#include "weft/format.h"
#include "weft/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define MS (WEFT_PS_PER_S / 1000)
#define GBPS 125e6

struct bench {
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- the model against the flow engine ----

enum { TRIALS = 100, CLASSES = 4, JOBS = 6 };

struct sums {
    uint32_t count;
    double signed_error;
    double error;
    double worst;
    double slowdown;
};

// Six jobs at once on 24 servers in racks of four with uplinks 2:1.
static void draw(struct weft_job_trace *trace, struct weft_job_class *classes,
                 struct weft_demand_phase *phases, struct weft_trace_job *jobs, uint64_t seed)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t iteration_ps = (uint64_t)(100 + weft_rng_below(&rng, 300)) * MS;
        uint32_t quiet = 20 + weft_rng_below(&rng, 60);
        uint32_t servers = 2 + weft_rng_below(&rng, 3);
        phases[c] = (struct weft_demand_phase){iteration_ps * quiet / 100,
                                               iteration_ps * (100 - quiet) / 100, 50 * GBPS};
        classes[c] = (struct weft_job_class){
            .name = "class",
            .server_count = servers,
            .servers_min = servers,
            .servers_max = servers,
            .demand = {iteration_ps, &phases[c], 1},
            .pattern = c % 2 == 0 ? WEFT_JOB_RING : WEFT_JOB_ALL_TO_ALL,
            .duration_ps = 1000 * WEFT_PS_PER_S,
        };
    }
    for (uint32_t j = 0; j < JOBS; j++) {
        jobs[j] = (struct weft_trace_job){"job", weft_rng_below(&rng, CLASSES), 0, 0, 0};
    }
    trace->classes = classes;
    trace->class_count = CLASSES;
    trace->jobs = jobs;
    trace->job_count = JOBS;
}

static bool compare(struct sums *sums, uint64_t seed, enum weft_spread spread, struct bench *bench)
{
    struct weft_arena arena = bench->arena;
    struct weft_job_trace trace = {
        .name = "bench", .fabric = "leaf-spine", .shape = {.radix = 6, .oversubscription = 2}};
    struct weft_job_class classes[CLASSES];
    struct weft_demand_phase phases[CLASSES];
    struct weft_trace_job jobs[JOBS];
    struct weft_network network;
    struct weft_timetable tables[2];
    draw(&trace, classes, phases, jobs, seed);
    if (!weft_cluster_build(&trace.cluster, 24, 1, 50 * GBPS, &bench->error) ||
        !weft_fabric_build_named(&network, trace.fabric, &trace.cluster, &trace.shape, &arena,
                                 bench->scratch, &bench->error)) {
        return false;
    }
    network.routes.spread = spread;
    for (int engine = 0; engine < 2; engine++) {
        struct weft_scheduler_options options = {
            .policy = WEFT_POLICY_RANDOM,
            .engine = engine == 0 ? WEFT_STEADY_MODEL : WEFT_STEADY_FLOW,
            .until_ps = WEFT_PS_PER_S,
            .seed = seed,
        };
        if (!weft_scheduler_run(&tables[engine], &trace, &network, &options, &arena, bench->scratch,
                                &bench->error)) {
            return false;
        }
    }
    for (uint32_t j = 0; j < JOBS; j++) {
        double flow_s = tables[1].jobs[j].iteration_mean_s;
        double error = tables[0].jobs[j].iteration_mean_s / flow_s - 1;
        if (flow_s > 0 && tables[0].jobs[j].iteration_mean_s > 0) {
            sums->count++;
            sums->signed_error += error;
            sums->error += fabs(error);
            sums->worst = fmax(sums->worst, fabs(error));
            sums->slowdown += flow_s / tables[1].jobs[j].alone_s;
        }
    }
    return true;
}

static bool tell_accuracy(struct bench *bench)
{
    printf("| paths of a pair | jobs | slowdown, flow engine | model: mean error | mean of errors' "
           "sizes | worst |\n|---|---|---|---|---|---|\n");
    for (int split = 1; split >= 0; split--) {
        struct sums sums = {.count = 0};
        for (uint64_t seed = 1; seed <= TRIALS; seed++) {
            if (!compare(&sums, seed, split ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK, bench)) {
                return false;
            }
        }
        printf("| %s | %u | %.3f | %+.2f %% | %.2f %% | %.1f %% |\n", split ? "all" : "one",
               sums.count, sums.slowdown / sums.count, 100 * sums.signed_error / sums.count,
               100 * sums.error / sums.count, 100 * sums.worst);
    }
    return true;
}

// ---- a day ----

static bool tell_day(struct bench *bench, const char *path)
{
    struct weft_job_trace trace;
    struct weft_network network;
    if (!weft_job_trace_load(&trace, path, &bench->arena, &bench->error) ||
        !weft_fabric_build_named(&network, trace.fabric, &trace.cluster, &trace.shape,
                                 &bench->arena, bench->scratch, &bench->error)) {
        return false;
    }
    printf("\n| policy | interleaving | slowdown mean | p99 | completion mean | queueing mean | "
           "held | ECN marks | CPU s |\n|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t run = 0; run < 2 * WEFT_POLICY_COUNT; run++) {
        struct weft_scheduler_options options = {
            .policy = (enum weft_policy)(run / 2), .interleave = run % 2 == 1, .seed = 1};
        struct weft_arena arena = bench->arena;
        struct weft_timetable table;
        double start_s = cpu_seconds();
        if (!weft_scheduler_run(&table, &trace, &network, &options, &arena, bench->scratch,
                                &bench->error)) {
            return false;
        }
        printf("| %s | %s | %.3f | %.3f | %.1f min | %.1f min | %.1f %% | %.2g | %.1f |\n",
               weft_policies[options.policy].name, options.interleave ? "yes" : "no",
               table.slowdown_mean, table.slowdown_p99, table.completion_mean_s / 60,
               table.queueing_mean_s / 60, 100 * table.utilization, table.ecn_marks,
               cpu_seconds() - start_s);
        fflush(stdout);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench;
    if (!weft_arena_init(&bench.arena, (size_t)1 << 34, &bench.error) ||
        !weft_arena_init(&bench.scratch, (size_t)1 << 34, &bench.error) || !tell_accuracy(&bench) ||
        !tell_day(&bench, argc > 1 ? argv[1] : "examples/traces/day.yaml")) {
        fprintf(stderr, "bench_schedule: %s\n", bench.error.message);
        return 1;
    }
    return 0;
}
