// SPDX-License-Identifier: Apache-2.0
// Schedules of many jobs: what the model of shared links is off by against the flow engine, its
// marks against the packet engine's, what a day of 500 jobs on 1024 GPUs takes on one core with
// each policy, and what interleaving is worth on 24 servers.
// Usage: bench_schedule [accuracy | marks | day [TRACE.yaml] | testbed [TRACE.yaml]]
// (default: all, with examples/traces/day.yaml and testbed24.yaml)

#include "weft/format.h"
#include "weft/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS (WEFT_PS_PER_S / 1000)
#define GBPS 125e6
#define MARK_RATE_BPS (25 * GBPS)

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
        !weft_fabric_build_named(&network, trace.fabric, &trace.cluster, &trace.shape,
                                 &(struct weft_environment){.arena = &arena,
                                                            .scratch = bench->scratch,
                                                            .error = &bench->error})) {
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
        if (!weft_scheduler_run(&tables[engine], &trace, &network, &options,
                                &(struct weft_environment){.arena = &arena,
                                                           .scratch = bench->scratch,
                                                           .error = &bench->error})) {
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

// ---- marks against the packet engine ----

enum { INSTANTS = 12, SHARERS = 3 };

// Three jobs at once as above, with iterations short enough for packets.
static void draw_instant(struct weft_job_trace *trace, struct weft_job_class *classes,
                         struct weft_demand_phase *phases, struct weft_trace_job *jobs,
                         uint64_t seed)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t c = 0; c < SHARERS; c++) {
        uint64_t iteration_ps = (uint64_t)(16 + weft_rng_below(&rng, 33)) * MS;
        uint32_t quiet = 20 + weft_rng_below(&rng, 60);
        uint32_t servers = 3 + weft_rng_below(&rng, 4);
        phases[c] = (struct weft_demand_phase){iteration_ps * quiet / 100,
                                               iteration_ps * (100 - quiet) / 100, MARK_RATE_BPS};
        classes[c] = (struct weft_job_class){
            .name = "class",
            .server_count = servers,
            .servers_min = servers,
            .servers_max = servers,
            .demand = {iteration_ps, &phases[c], 1},
            .pattern = weft_rng_below(&rng, 3) > 0 ? WEFT_JOB_RING : WEFT_JOB_ALL_TO_ALL,
            .duration_ps = 1000 * WEFT_PS_PER_S,
        };
        jobs[c] = (struct weft_trace_job){"job", c, 0, 0, 0};
    }
    trace->classes = classes;
    trace->class_count = SHARERS;
    trace->jobs = jobs;
    trace->job_count = SHARERS;
}

// Marks a second of all jobs; `only` (WEFT_NONE = all) sends, the others next to nothing.
static bool count_marks(double *marks, double *iteration_s, struct weft_job_trace trace,
                        const struct weft_network *network, enum weft_steady_engine engine,
                        uint32_t only, uint64_t seed, struct bench bench, struct weft_error *error)
{
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.mark_bytes = 1 << 16;
    packet.ack_at_once = true;
    struct weft_job_class classes[SHARERS];
    struct weft_demand_phase phases[SHARERS];
    for (uint32_t c = 0; c < SHARERS; c++) {
        classes[c] = trace.classes[c];
        phases[c] = trace.classes[c].demand.phases[0];
        phases[c].rate_Bps = only == WEFT_NONE || only == c ? phases[c].rate_Bps : 1e5;
        classes[c].demand.phases = &phases[c];
    }
    trace.classes = classes;
    struct weft_scheduler_options options = {
        .policy = WEFT_POLICY_RANDOM,
        .engine = engine,
        .window = 4,
        .warm_up = 2,
        .until_ps = WEFT_PS_PER_S,
        .seed = seed,
        .sim = {.packet_bytes = 4096, .header_bytes = 64, .packet = &packet, .seed = seed},
    };
    struct weft_timetable table;
    if (!weft_scheduler_run(&table, &trace, network, &options,
                            &(struct weft_environment){
                                .arena = &bench.arena, .scratch = bench.scratch, .error = error})) {
        return false;
    }
    *marks = only == WEFT_NONE ? table.ecn_marks : table.jobs[only].ecn_marks;
    *iteration_s = table.slowdown_mean;
    return true;
}

static bool tell_marks(struct bench *bench)
{
    printf("\n| instant | packet engine: marks a second | of them alone | estimate | slowdown, "
           "packets | model | flow |\n|---|---|---|---|---|---|---|\n");
    for (uint64_t seed = 1; seed <= INSTANTS; seed++) {
        struct weft_arena arena = bench->arena;
        struct weft_job_trace trace = {
            .name = "bench", .fabric = "leaf-spine", .shape = {.radix = 5, .oversubscription = 4}};
        struct weft_job_class classes[SHARERS];
        struct weft_demand_phase phases[SHARERS];
        struct weft_trace_job jobs[SHARERS];
        struct weft_network network;
        draw_instant(&trace, classes, phases, jobs, seed);
        if (!weft_cluster_build(&trace.cluster, 20, 1, MARK_RATE_BPS, &bench->error) ||
            !weft_fabric_build_named(&network, trace.fabric, &trace.cluster, &trace.shape,
                                     &(struct weft_environment){.arena = &arena,
                                                                .scratch = bench->scratch,
                                                                .error = &bench->error})) {
            return false;
        }
        double marks[3];
        double slowdown[3];
        double alone = 0;
        static const enum weft_steady_engine engines[] = {WEFT_STEADY_PACKET, WEFT_STEADY_MODEL,
                                                          WEFT_STEADY_FLOW};
        for (uint32_t only = 0; only < SHARERS; only++) {
            double own;
            double ignored;
            if (!count_marks(&own, &ignored, trace, &network, WEFT_STEADY_PACKET, only, seed,
                             (struct bench){arena, bench->scratch, {0}}, &bench->error)) {
                return false;
            }
            alone += own;
        }
        for (int e = 0; e < 3; e++) {
            if (!count_marks(&marks[e], &slowdown[e], trace, &network, engines[e], WEFT_NONE, seed,
                             (struct bench){arena, bench->scratch, {0}}, &bench->error)) {
                return false;
            }
        }
        printf("| %u | %.3g | %.3g | %.3g | %.3f | %.3f | %.3f |\n", (unsigned)seed, marks[0],
               alone, marks[1], slowdown[0], slowdown[1], slowdown[2]);
        fflush(stdout);
    }
    return true;
}

// ---- a day ----

static bool load(struct weft_job_trace *trace, struct weft_network *network, const char *path,
                 struct bench *bench)
{
    return weft_job_trace_load(trace, path, &bench->arena, &bench->error) &&
           weft_fabric_build_named(network, trace->fabric, &trace->cluster, &trace->shape,
                                   &(struct weft_environment){.arena = &bench->arena,
                                                              .scratch = bench->scratch,
                                                              .error = &bench->error});
}

static bool tell_day(struct bench *bench, const char *path)
{
    struct weft_job_trace trace;
    struct weft_network network;
    if (!load(&trace, &network, path, bench)) {
        return false;
    }
    printf("\n| policy | interleaving | iteration over alone: mean | p99 | completion mean | "
           "queueing mean | held | useful | ECN marks | CPU s |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t run = 0; run < 2 * WEFT_POLICY_COUNT; run++) {
        struct weft_scheduler_options options = {
            .policy = (enum weft_policy)(run / 2), .interleave = run % 2 == 1, .seed = 1};
        struct weft_arena arena = bench->arena;
        struct weft_timetable table;
        double start_s = cpu_seconds();
        if (!weft_scheduler_run(&table, &trace, &network, &options,
                                &(struct weft_environment){.arena = &arena,
                                                           .scratch = bench->scratch,
                                                           .error = &bench->error})) {
            return false;
        }
        printf("| %s | %s | %.3f | %.3f | %.1f min | %.1f min | %.1f %% | %.1f %% | %.2g | %.1f "
               "|\n",
               weft_policies[options.policy].name, options.interleave ? "yes" : "no",
               table.slowdown_mean, table.slowdown_p99, table.completion_mean_s / 60,
               table.queueing_mean_s / 60, 100 * table.utilization, 100 * table.useful_utilization,
               table.ecn_marks, cpu_seconds() - start_s);
        fflush(stdout);
    }
    return true;
}

// ---- 24 servers ----

enum { DAYS = 20 };

struct gains {
    double mean;
    double tail;
    double completion;
    double completion_tail;
    double marks[2];
    double best_tail;
};

// Adds what one drawing of arrivals takes without interleaving over what it takes with it.
static bool add_gains(struct gains *gains, struct weft_job_trace trace,
                      const struct weft_network *network, enum weft_policy policy, uint64_t seed,
                      struct bench *bench)
{
    struct weft_arena arena = bench->arena;
    struct weft_timetable tables[2];
    trace.poisson.seed = seed;
    for (int interleave = 0; interleave < 2; interleave++) {
        struct weft_scheduler_options options = {
            .policy = policy, .interleave = interleave == 1, .seed = seed};
        if (!weft_scheduler_run(&tables[interleave], &trace, network, &options,
                                &(struct weft_environment){.arena = &arena,
                                                           .scratch = bench->scratch,
                                                           .error = &bench->error})) {
            return false;
        }
        gains->marks[interleave] += tables[interleave].ecn_marks;
    }
    double tail = tables[0].slowdown_p99 / tables[1].slowdown_p99;
    gains->mean += tables[0].slowdown_mean / tables[1].slowdown_mean / DAYS;
    gains->tail += tail / DAYS;
    gains->completion += tables[0].completion_mean_s / tables[1].completion_mean_s / DAYS;
    gains->completion_tail += tables[0].completion_p99_s / tables[1].completion_p99_s / DAYS;
    gains->best_tail = fmax(gains->best_tail, tail);
    return true;
}

static bool tell_testbed(struct bench *bench, const char *path)
{
    static const enum weft_policy policies[] = {WEFT_POLICY_THEMIS, WEFT_POLICY_POLLUX,
                                                WEFT_POLICY_CONSOLIDATED, WEFT_POLICY_RANDOM};
    struct weft_job_trace trace;
    struct weft_network network;
    if (!load(&trace, &network, path, bench)) {
        return false;
    }
    printf("\n| without over with interleaving | iteration mean | p99 | best p99 | completion "
           "mean | p99 | ECN marks |\n|---|---|---|---|---|---|---|\n");
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        struct gains gains = {.mean = 0};
        for (uint64_t seed = 1; seed <= DAYS; seed++) {
            if (!add_gains(&gains, trace, &network, policies[p], seed, bench)) {
                return false;
            }
        }
        printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f |\n",
               weft_policies[policies[p]].name, gains.mean, gains.tail, gains.best_tail,
               gains.completion, gains.completion_tail, gains.marks[0] / gains.marks[1]);
        fflush(stdout);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench;
    const char *part = argc > 1 ? argv[1] : "";
    bool all = argc < 2;
    if (!weft_arena_init(&bench.arena, (size_t)1 << 34, &bench.error) ||
        !weft_arena_init(&bench.scratch, (size_t)1 << 34, &bench.error) ||
        ((all || strcmp(part, "accuracy") == 0) && !tell_accuracy(&bench)) ||
        ((all || strcmp(part, "marks") == 0) && !tell_marks(&bench)) ||
        ((all || strcmp(part, "day") == 0) &&
         !tell_day(&bench, argc > 2 ? argv[2] : "examples/traces/day.yaml")) ||
        ((all || strcmp(part, "testbed") == 0) &&
         !tell_testbed(&bench, argc > 2 ? argv[2] : "examples/traces/testbed24.yaml"))) {
        fprintf(stderr, "bench_schedule: %s\n", bench.error.message);
        return 1;
    }
    return 0;
}
