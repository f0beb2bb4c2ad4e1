// SPDX-License-Identifier: Apache-2.0
// Snapshots whose sharing was published: bench_sharing FOLDER [STARTS [ITERATIONS]].
// Prints the tables of docs/sharing.md: unfair against fair shares, and time-shifts.
//
// FOLDER has the snapshots (examples/interleave). In packets their rates and capacities are divided
// by 5: phases last as long, with a fifth of the packets.

#include "weft/format.h"
#include "weft/interleave.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define JOBS_MAX 3u
#define SLOWER 5.0
#define CLOSE 0.02 // of an iteration

static struct weft_arena arena_kept, scratch_kept, snapshots_kept;

static const struct {
    const char *file;
    double published[JOBS_MAX]; // unfair against fair
} cases[] = {{"vgg11_vgg11", {1.05, 0.86, 0}},
             {"dlrm_dlrm", {1.3, 1.28, 0}},
             {"bert_vgg19", {1.17, 0.94, 0}},
             {"vgg19_vgg16_resnet50", {1.18, 1.18, 1.01}}};
#define CASE_COUNT (sizeof cases / sizeof cases[0])

enum way { FAIR, UNFAIR, MLTCP, SHIFTED, WAYS };

struct play {
    bool is_packet;
    enum way way;
    uint32_t iterations;
    uint64_t seed;
    double jitter_ratio;
    double stray_ratio;
    double spread_ratio; // of an iteration: where starts lie
};

struct outcome {
    double mean_s[JOBS_MAX];
    double all_s, p99_s; // over the jobs
    double marks;        // an iteration of all jobs
};

static void die(const char *message)
{
    fprintf(stderr, "%s\n", message);
    exit(1);
}

// The snapshot, in packets with links and NICs of a fifth.
static struct weft_snapshot load(const char *folder, size_t which, bool is_packet,
                                 struct weft_arena *arena)
{
    struct weft_job_set set;
    struct weft_error error;
    const char *path = weft_arena_format(arena, "%s/%s.json", folder, cases[which].file);
    if (!weft_snapshot_load(&set, path, arena, scratch_kept, &error)) {
        die(error.message);
    }
    struct weft_snapshot snapshot = set.snapshot;
    double ratio = is_packet ? 1 / SLOWER : 1;
    struct weft_shared_link *links = WEFT_NEW(arena, struct weft_shared_link, snapshot.link_count);
    struct weft_sharing_job *jobs = WEFT_NEW(arena, struct weft_sharing_job, snapshot.job_count);
    for (uint32_t l = 0; l < snapshot.link_count; l++) {
        links[l] = snapshot.links[l];
        links[l].capacity_Bps *= ratio;
    }
    for (uint32_t j = 0; j < snapshot.job_count; j++) {
        jobs[j] = snapshot.jobs[j];
        struct weft_demand *demand = &jobs[j].demand;
        struct weft_demand_phase *phases =
            WEFT_NEW(arena, struct weft_demand_phase, demand->phase_count);
        for (uint32_t p = 0; p < demand->phase_count; p++) {
            phases[p] = demand->phases[p];
            phases[p].rate_Bps *= ratio;
        }
        demand->phases = phases;
    }
    snapshot.links = links;
    snapshot.jobs = jobs;
    return snapshot;
}

static void set_timings(struct weft_job_timing *timings, const struct weft_snapshot *snapshot,
                        const struct play *play, struct weft_arena *arena)
{
    struct weft_interleave_options options = {.seed = 1};
    struct weft_interleaving found;
    struct weft_error error;
    if (play->way == SHIFTED &&
        !weft_interleave(&found, snapshot, &options, arena, scratch_kept, &error)) {
        die(error.message);
    }
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        uint64_t iteration_ps = snapshot->jobs[j].demand.iteration_ps;
        uint64_t spread_ps = (uint64_t)(play->spread_ratio * (double)iteration_ps);
        uint64_t start_ps = weft_hash(play->seed * 64 + j) % spread_ps;
        timings[j] = (struct weft_job_timing){
            .start_ps = play->way == SHIFTED ? found.time_shift_ps[j] : start_ps,
            .jitter_ratio = play->jitter_ratio,
            .stray_ratio = play->stray_ratio,
            .period_ps = iteration_ps,
            .weight_ratio = play->way == UNFAIR ? pow(1.5, 0.5 - j) : 1};
    }
}

static void add_run(struct outcome *out, const struct weft_snapshot *snapshot,
                    const struct play *play, double share)
{
    struct weft_arena arena = arena_kept;
    struct weft_job_timing timings[JOBS_MAX];
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    struct weft_mltcp_options mltcp = WEFT_MLTCP_DEFAULTS;
    struct weft_sim_options sim = {.iterations = play->iterations,
                                   .seed = play->seed,
                                   .timings = timings,
                                   .acknowledged = true};
    struct weft_snapshot_options options = {.latency_ps = 1000000};
    set_timings(timings, snapshot, play, &arena);
    if (play->is_packet) {
        sim.engine = WEFT_ENGINE_PACKET;
        sim.transport = play->way == MLTCP ? WEFT_TRANSPORT_MLTCP_DCQCN : WEFT_TRANSPORT_DCQCN;
        sim.packet_bytes = 9000;
        sim.header_bytes = 64;
        sim.packet = &packet;
        sim.persistent = true;
        options.payload_ratio = 8936.0 / 9000;
    } else if (play->way == MLTCP) {
        sim.fluid = (struct weft_fluid_options){.learns = true, .mltcp = mltcp};
    }
    struct weft_sharing_play result;
    struct weft_error error;
    if (!weft_snapshot_play(&result, snapshot, &options, &sim,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        die(error.message);
    }
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        out->mean_s[j] += share * result.jobs[j].mean_s;
    }
    out->all_s += share * result.all.mean_s;
    out->p99_s += share * result.all.p99_s;
    for (uint32_t l = 0; l < snapshot->link_count && play->is_packet; l++) {
        out->marks += share * (double)result.sim.ports[result.links[l]].marks / play->iterations;
    }
}

static struct outcome run(const struct weft_snapshot *snapshot, struct play play, uint32_t starts)
{
    struct outcome out = {0};
    // Shifts are where they are; without jitter there is nothing to repeat.
    starts = play.way == SHIFTED && play.jitter_ratio == 0 ? 1 : starts;
    for (play.seed = 1; play.seed <= starts; play.seed++) {
        add_run(&out, snapshot, &play, 1.0 / starts);
    }
    return out;
}

static void print_ratios(const struct outcome *fair, const struct outcome *other, uint32_t jobs)
{
    char text[64];
    int length = 0;
    for (uint32_t j = 0; j < jobs; j++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%.2f",
                           j > 0 ? " / " : "", fair->mean_s[j] / other->mean_s[j]);
    }
    printf(" %-20s", text);
}

static void print_unfairness(const char *folder, uint32_t starts, uint32_t iterations,
                             double spread_ratio)
{
    printf("iterations under fair shares over those under 60/40 (MLTCP), later half of %u, means "
           "of %u starts within %g of an iteration\n%-22s %-20s %-20s %-20s %-20s %-20s\n",
           iterations, starts, spread_ratio, "", "published 60/40", "fluid 60/40", "DCQCN 60/40",
           "fluid MLTCP", "MLTCP-DCQCN");
    for (size_t c = 0; c < CASE_COUNT; c++) {
        struct weft_arena snapshots = snapshots_kept;
        struct weft_snapshot flow = load(folder, c, false, &snapshots);
        struct weft_snapshot slow = load(folder, c, true, &snapshots);
        struct outcome fluid[WAYS], packet[WAYS];
        uint32_t jobs = flow.job_count;
        for (int way = FAIR; way <= MLTCP; way++) {
            fluid[way] =
                run(&flow, (struct play){false, (enum way)way, iterations, 0, 0, 0, spread_ratio},
                    starts);
            packet[way] =
                run(&slow, (struct play){true, (enum way)way, iterations, 0, 0, 0, spread_ratio},
                    starts);
        }
        char text[64];
        int length = 0;
        for (uint32_t j = 0; j < jobs; j++) {
            length += snprintf(text + length, sizeof text - (size_t)length, "%s%.2f",
                               j > 0 ? " / " : "", cases[c].published[j]);
        }
        printf("%-22s %-20s", cases[c].file, text);
        print_ratios(&fluid[FAIR], &fluid[UNFAIR], jobs);
        print_ratios(&packet[FAIR], &packet[UNFAIR], jobs);
        print_ratios(&fluid[FAIR], &fluid[MLTCP], jobs);
        print_ratios(&packet[FAIR], &packet[MLTCP], jobs);
        printf("\n");
        fflush(stdout);
    }
    printf("\n");
}

static void print_gain(const struct outcome *fair, const struct outcome *other)
{
    char marks[32];
    if (other->marks > 0) {
        snprintf(marks, sizeof marks, "%.1f", fair->marks / other->marks);
    } else {
        snprintf(marks, sizeof marks, "%s", fair->marks > 0 ? "none left" : "-");
    }
    printf("  %5.2f %5.2f %-10s", fair->all_s / other->all_s, fair->p99_s / other->p99_s, marks);
}

static void print_shifts(const char *folder, uint32_t starts, uint32_t iterations,
                         double spread_ratio)
{
    printf("DCQCN at starts within %g of an iteration over DCQCN at time-shifts: mean, 99th "
           "percentile, ECN marks\n"
           "%-22s  %-22s  %-22s  %-22s\n",
           spread_ratio, "", "without jitter", "1 % jitter", "1 % jitter, realigned");
    for (size_t c = 0; c < CASE_COUNT; c++) {
        struct weft_arena snapshots = snapshots_kept;
        struct weft_snapshot slow = load(folder, c, true, &snapshots);
        printf("%-22s", cases[c].file);
        for (int jitter = 0; jitter < 3; jitter++) {
            double ratio = jitter > 0 ? 0.01 : 0;
            struct play play = {true, FAIR, iterations, 0, ratio, 0, spread_ratio};
            struct outcome fair = run(&slow, play, starts);
            play.way = SHIFTED;
            play.stray_ratio = jitter == 2 ? 0.05 : 0;
            struct outcome shifted = run(&slow, play, starts);
            print_gain(&fair, &shifted);
        }
        printf("\n");
        fflush(stdout);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error) ||
        !weft_arena_init(&snapshots_kept, 0, &error)) {
        die(error.message);
    }
    if (argc < 2) {
        die("bench_sharing FOLDER [STARTS [ITERATIONS]]; write for example examples/interleave");
    }
    uint32_t starts = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 6;
    uint32_t iterations = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 30;
    print_unfairness(argv[1], starts, iterations, CLOSE);
    print_unfairness(argv[1], starts, iterations, 1);
    print_shifts(argv[1], starts, iterations, CLOSE);
    print_shifts(argv[1], starts, iterations, 1);
    return 0;
}
