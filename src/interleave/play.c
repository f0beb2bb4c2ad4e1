// SPDX-License-Identifier: Apache-2.0
// Playing a snapshot: what sharing makes of its jobs' iterations. The snapshot is lowered
// (lower.c), each job is played alone for its ideal iteration, then all of them together in the
// chosen engine; statistics are of the later half, when windows and rates have converged
// (docs/sharing.md). The cost is that of the engine, once for each job and once for all.

#include "weft/base/sets.h"
#include "weft/interleave.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Iterations of a job alone, the later half of which is its ideal: enough for a window to open. Not
// measured. Within NEAR_RATIO of their later mean, iterations count as steady (docs/sharing.md).
#define ALONE_ITERATIONS 6u
#define NEAR_RATIO 1.05

struct playing {
    const struct weft_snapshot *snapshot;
    const struct weft_sim_options *sim;
    struct weft_snapshot_jobs lowered;
    struct weft_job_timing *timings;
    double *ideal_s;
};

static double iteration_s(const uint64_t *ends_ps, uint64_t start_ps, uint32_t i)
{
    return weft_seconds(ends_ps[i] - (i == 0 ? start_ps : ends_ps[i - 1]));
}

// An iteration of a job alone: the mean of the later half of a few.
static bool play_alone(struct playing *playing, uint32_t job, struct weft_arena arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    struct weft_job_timing timing = playing->timings[job];
    timing.start_ps = 0;
    timing.jitter_ratio = 0;
    timing.stray_ratio = 0;
    struct weft_sim_options sim = *playing->sim;
    sim.timings = &timing;
    sim.timeline = false;
    sim.records = (struct weft_record_options){0};
    sim.progress = NULL;
    sim.iterations = sim.iterations < ALONE_ITERATIONS ? sim.iterations : ALONE_ITERATIONS;
    struct weft_sim_result result;
    const struct weft_network *network = &playing->lowered.network;
    if (!weft_sim_run_jobs(
            &result, network, &playing->lowered.jobs[job], 1, &sim,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = error})) {
        return weft_wrap(error, "job %s, alone", playing->snapshot->jobs[job].name);
    }
    const uint64_t *ends_ps = result.iteration_end_ps[0];
    uint32_t first = sim.iterations / 2;
    playing->ideal_s[job] =
        weft_seconds(ends_ps[sim.iterations - 1] - ends_ps[first - 1]) / (sim.iterations - first);
    return true;
}

// ---- who keeps in step with whom ----

static void group_jobs(struct playing *playing, struct weft_arena scratch)
{
    const struct weft_snapshot *snapshot = playing->snapshot;
    struct weft_sets groups = weft_sets_build(snapshot->job_count, &scratch);
    uint32_t *last = WEFT_NEW_RAW(&scratch, uint32_t, snapshot->link_count);
    memset(last, 0xff, snapshot->link_count * sizeof *last); // WEFT_NONE
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        for (uint32_t i = 0; i < snapshot->jobs[job].link_count; i++) {
            uint32_t link = snapshot->jobs[job].links[i];
            if (last[link] != WEFT_NONE) {
                weft_sets_join(&groups, job, last[link]);
            }
            last[link] = job;
        }
    }
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        playing->timings[job].step_group = weft_sets_find(&groups, job);
        playing->timings[job].period_ps = weft_picoseconds(playing->ideal_s[job]);
    }
}

// ---- what came of it ----

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// What one job got: mean and 99th percentile of its iterations' times, its slowdown against an
// iteration alone, and after how many iterations it stayed near that. Mean and percentile are of
// the later half of the iterations, since shares that adapt (MLTCP) need the first ones to
// converge. Adds each iteration's slowdown to ratio_sums.
static struct weft_sharing_outcome summarize_job(const struct playing *playing,
                                                 const struct weft_sim_result *result, uint32_t job,
                                                 double *ratio_sums, struct weft_arena scratch)
{
    uint32_t count = playing->sim->iterations;
    uint32_t first = count / 2;
    uint32_t late = count - first;
    double *times_s = WEFT_NEW_RAW(&scratch, double, late);
    struct weft_sharing_outcome out = {.ideal_s = playing->ideal_s[job]};
    for (uint32_t i = 0; i < count; i++) {
        double time_s =
            iteration_s(result->iteration_end_ps[job], playing->timings[job].start_ps, i);
        double ratio = time_s / out.ideal_s;
        ratio_sums[i] += ratio;
        out.converged_after = ratio > NEAR_RATIO ? i + 1 : out.converged_after;
        if (i >= first) {
            times_s[i - first] = time_s;
            out.mean_s += time_s / late;
        }
    }
    qsort(times_s, late, sizeof *times_s, compare_reals);
    out.p99_s = times_s[(uint32_t)ceil(0.99 * late) - 1];
    out.slowdown = out.mean_s / out.ideal_s;
    out.converged_after = out.converged_after == count ? WEFT_NONE : out.converged_after;
    return out;
}

static void evaluate(struct weft_sharing_play *play, const struct playing *playing,
                     struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t count = playing->snapshot->job_count;
    uint32_t iterations = playing->sim->iterations;
    struct weft_sharing_outcome *jobs = WEFT_NEW(arena, struct weft_sharing_outcome, count);
    double *ratio_sums = WEFT_NEW(&scratch, double, iterations);
    struct weft_sharing_outcome *all = &play->all;
    for (uint32_t job = 0; job < count; job++) {
        jobs[job] = summarize_job(playing, &play->sim, job, ratio_sums, scratch);
        all->ideal_s += jobs[job].ideal_s / count;
        all->mean_s += jobs[job].mean_s / count;
        all->p99_s += jobs[job].p99_s / count;
        all->slowdown += jobs[job].slowdown / count;
    }
    for (uint32_t i = 0; i < iterations; i++) {
        all->converged_after = ratio_sums[i] > NEAR_RATIO * count ? i + 1 : all->converged_after;
    }
    all->converged_after = all->converged_after == iterations ? WEFT_NONE : all->converged_after;
    play->jobs = jobs;
}

bool weft_snapshot_play(struct weft_sharing_play *play, const struct weft_snapshot *snapshot,
                        const struct weft_snapshot_options *options,
                        const struct weft_sim_options *sim,
                        const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    if (sim->iterations < 2) {
        return weft_fail(error, WEFT_INPUT, "%u iterations show no sharing; play 2 or more",
                         sim->iterations);
    }
    // Its network is pointed at from within.
    struct playing *playing = WEFT_NEW(&scratch, struct playing, 1);
    *playing = (struct playing){.snapshot = snapshot, .sim = sim};
    uint32_t count = snapshot->job_count;
    struct weft_arena lasting = weft_arena_split(&scratch);
    if (!weft_snapshot_lower(&playing->lowered, snapshot, options, arena, scratch, error)) {
        return false;
    }
    playing->ideal_s = WEFT_NEW(&lasting, double, count);
    playing->timings = WEFT_NEW(&lasting, struct weft_job_timing, count);
    bool in_step = false;
    for (uint32_t job = 0; job < count; job++) {
        playing->timings[job] =
            sim->timings == NULL ? (struct weft_job_timing){0} : sim->timings[job];
        in_step = in_step || playing->timings[job].stray_ratio > 0;
        struct weft_arena inner = scratch;
        struct weft_arena own = weft_arena_split(&inner);
        if (!play_alone(playing, job, own, inner, error)) {
            return false;
        }
    }
    if (in_step) {
        group_jobs(playing, scratch);
    }
    struct weft_sim_options together = *sim;
    together.timings = playing->timings;
    struct weft_sharing_play out = {.links = playing->lowered.links};
    const struct weft_network *network = &playing->lowered.network;
    if (!weft_sim_run_jobs(
            &out.sim, network, playing->lowered.jobs, count, &together,
            &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error})) {
        return false;
    }
    evaluate(&out, playing, arena, scratch);
    *play = out;
    return true;
}
