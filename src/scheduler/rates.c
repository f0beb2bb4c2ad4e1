// SPDX-License-Identifier: Apache-2.0
// How fast each running job goes: the iteration times of jobs that share links, found anew where
// the company of a job has changed, which the hash of its component tells.
//
// A component is played free, from its time-shifts, and kept in step with them; the fastest is kept
// (docs/scheduler.md, "Policies"). That departs from Cassini, which trusts the score of the shifts:
// drift and stretched periods can take back what a score promises. One to three steady states for
// each changed component.

#include "state.h"

#include <math.h>
#include <string.h>

// A packet, for estimates of marks, where the options name none: 4 KiB, the largest MTU of RoCE.
// The request of weft schedule names 9000 bytes, those of every task graph.
#define PACKET_BYTES 4096.0

static void set_rate(struct sched_job *job)
{
    job->rate = job->step / job->steady.mean_ps;
}

static void go_alone(struct sched_job *job, double mean_ps)
{
    struct steady_job *steady = &job->steady;
    steady->mean_ps = mean_ps;
    steady->marks = 0;
    steady->period_ps = 0;
    memset(steady->bins, 0, SCHED_BINS * sizeof(float));
    steady->bins[sched_bin(mean_ps / steady->compared_ps)] = 1;
    set_rate(job);
}

// ---- three ways to run a component ----

enum mode {
    MODE_FREE,    // from where the jobs stand
    MODE_SHIFTED, // from the time-shifts, then free
    MODE_IN_STEP, // from the time-shifts, and kept in step with them
    MODE_COUNT,
};

struct outcome {
    struct steady steady;
    double speed; // of all jobs together, each 1 alone
};

// Plays the component once on copies of its jobs, so that only the run that is kept moves the jobs
// themselves.
static struct outcome play_mode(const struct sched *sched, const struct sched_component *component,
                                const struct sched_shifts *shifts, enum mode mode,
                                struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_scheduler_options *options = sched->options;
    const struct weft_packet_options defaults = WEFT_PACKET_DEFAULTS;
    const struct weft_packet_options *packet =
        options->sim.packet != NULL ? options->sim.packet : &defaults;
    struct outcome outcome = {
        .steady =
            {
                .job_count = component->job_count,
                .jobs = WEFT_NEW(arena, struct steady_job, component->job_count),
                .link_count = component->link_count,
                .links = component->links,
                .warm_up = options->warm_up,
                .window = options->window,
                .packet_bytes =
                    options->sim.packet_bytes > 0 ? options->sim.packet_bytes : PACKET_BYTES,
                .mark_bytes = (double)packet->mark_bytes,
                .round_trip_ps =
                    2.0 * sched->network->routes.hop_max * (double)sched->trace->cluster.latency_ps,
            },
    };
    for (uint32_t i = 0; i < component->job_count; i++) {
        struct steady_job *job = &outcome.steady.jobs[i];
        *job = sched->jobs[component->jobs[i]].steady;
        job->bins = WEFT_NEW(arena, float, SCHED_BINS);
        job->period_ps = 0;
        if (mode != MODE_FREE) {
            steady_begin(job, shifts->shift_ps[i]);
        }
        if (mode == MODE_IN_STEP) {
            job->anchor_ps = shifts->shift_ps[i];
            job->period_ps = shifts->period_ps[i];
        }
    }
    steady_play(&outcome.steady, scratch);
    for (uint32_t i = 0; i < component->job_count; i++) {
        outcome.speed += outcome.steady.jobs[i].alone_ps / outcome.steady.jobs[i].mean_ps;
    }
    return outcome;
}

static void keep(struct sched *sched, const struct sched_component *component,
                 const struct outcome *outcome)
{
    for (uint32_t i = 0; i < component->job_count; i++) {
        struct sched_job *job = &sched->jobs[component->jobs[i]];
        float *bins = job->steady.bins;
        memcpy(bins, outcome->steady.jobs[i].bins, SCHED_BINS * sizeof(float));
        job->steady = outcome->steady.jobs[i];
        job->steady.bins = bins;
        set_rate(job);
    }
}

// Time-shifts are kept where the jobs get on faster with them: what a score promises, drift and
// stretched periods may take back.
static bool play_component(struct sched *sched, const struct sched_component *component,
                           struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct outcome best = play_mode(sched, component, NULL, MODE_FREE, &results, scratch);
    sched->totals.steady_count++;
    sched->totals.shared_count++;
    if (!sched->options->interleave) {
        keep(sched, component, &best);
        return true;
    }
    struct sched_shifts shifts;
    if (!sched_shift(&shifts, sched, component, SCHED_SHIFT, &results, scratch)) {
        return false;
    }
    bool shifted = false;
    for (enum mode mode = MODE_SHIFTED; mode < MODE_COUNT; mode++) {
        struct outcome outcome = play_mode(sched, component, &shifts, mode, &results, scratch);
        if (outcome.speed > best.speed * (1 + 1e-6)) {
            best = outcome;
            shifted = true;
        }
    }
    sched->totals.interleaved_count += shifted;
    for (uint32_t i = 0; i < component->job_count; i++) {
        double *score = &sched->jobs[component->jobs[i]].place.score;
        *score = fmin(*score, shifts.score);
    }
    keep(sched, component, &best);
    return true;
}

static bool is_new(const struct sched *sched, const struct sched_component *component)
{
    for (uint32_t i = 0; i < component->job_count; i++) {
        if (sched->jobs[component->jobs[i]].signature != component->signature) {
            return true;
        }
    }
    return false;
}

// Steady states of all components whose jobs, places or links have changed since their last; jobs
// without a contended link run as alone.
static bool update_shared(struct sched *sched, struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct sched_affinity affinity;
    sched_affinity_build(&affinity, sched, 0, NULL, &results);
    bool *visited = WEFT_NEW(&results, bool, sched->running.count);
    for (uint32_t i = 0; i < sched->running.count; i++) {
        struct sched_component component;
        if (visited[i]) {
            continue;
        }
        sched_component_build(&component, sched, &affinity, i, visited,
                              &(struct weft_environment){.arena = &results, .scratch = scratch});
        if (!is_new(sched, &component)) {
            continue;
        }
        for (uint32_t m = 0; m < component.job_count; m++) {
            sched->jobs[component.jobs[m]].signature = component.signature;
        }
        if (component.link_count == 0) {
            struct sched_job *job = &sched->jobs[component.jobs[0]];
            go_alone(job, job->place.alone_ps);
        } else if (!play_component(sched, &component, scratch)) {
            return false;
        }
    }
    return true;
}

bool sched_update_rates(struct sched *sched, struct weft_arena scratch)
{
    if (sched->network != NULL) {
        return sched->options->engine == WEFT_STEADY_MODEL ? update_shared(sched, scratch)
                                                           : sched_flow_rates(sched, scratch);
    }
    for (uint32_t i = 0; i < sched->running.count; i++) {
        struct sched_job *job = &sched->jobs[sched->running.jobs[i]];
        go_alone(job, job->place.alone_ps * job->shard.degradation);
    }
    return true;
}
