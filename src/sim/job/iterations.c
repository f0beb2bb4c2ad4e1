// SPDX-License-Identifier: Apache-2.0
// Iterations of jobs: a job begins anew when its last task has ended, with compute times that vary
// from one iteration to the next, and may first wait for the others of its group (weft_job_timing).
// Its times are the ends of its iterations.

#include "executor.h"

#include <math.h>
#include <string.h>

#define ITERATIONS_MAX ((uint32_t)1 << 24)

uint32_t executor_own_iterations(const struct executor *executor, uint32_t job)
{
    const struct weft_job_timing *timings = executor->net.options->timings;
    uint32_t own = timings == NULL ? 0 : timings[job].iterations;
    return own > 0 && own < executor->iterations.count ? own : executor->iterations.count;
}

static bool check_timings(const struct weft_sim_options *options, uint32_t job_count,
                          struct weft_error *error)
{
    for (uint32_t job = 0; options->timings != NULL && job < job_count; job++) {
        const struct weft_job_timing *timing = &options->timings[job];
        if (!(timing->jitter_ratio >= 0 && timing->jitter_ratio < 0.3)) {
            return weft_fail(error, WEFT_INPUT,
                             "job %u: a jitter of %g of its compute time; write one in [0, 0.3)",
                             job, timing->jitter_ratio);
        }
        if (!(timing->weight_ratio >= 0) || isinf(timing->weight_ratio)) {
            return weft_fail(error, WEFT_INPUT, "job %u: a weight of %g; write one above 0", job,
                             timing->weight_ratio);
        }
        if (!(timing->stray_ratio >= 0) || (timing->stray_ratio > 0 && timing->period_ps == 0)) {
            return weft_fail(error, WEFT_INPUT,
                             "job %u: keeping in step takes a ratio of 0 or more, and a period",
                             job);
        }
    }
    return true;
}

bool executor_lay_out_iterations(struct executor *executor, const struct weft_sim_options *options,
                                 struct weft_arena *arena, struct weft_error *error)
{
    uint32_t job_count = executor->job_count;
    executor->iterations.count = options->iterations == 0 ? 1 : options->iterations;
    if ((uint64_t)executor->iterations.count * job_count > ITERATIONS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u iterations of %u jobs; play at most %u in all",
                         executor->iterations.count, job_count, ITERATIONS_MAX);
    }
    if (!check_timings(options, job_count, error) || !sim_shares_check(options, error)) {
        return false;
    }
    if (sim_shares_wanted(options, job_count)) {
        sim_shares_init(&executor->net.shares, &executor->net.active, options, job_count, arena);
    }
    executor->iterations.late_ps = WEFT_NEW(arena, double, job_count);
    executor->iterations.current = WEFT_NEW(arena, uint32_t, job_count);
    executor->iterations.tasks_left = WEFT_NEW(arena, uint32_t, job_count);
    executor->iterations.compute_ratio = WEFT_NEW_RAW(arena, double, job_count);
    executor->iterations.rng = WEFT_NEW_RAW(arena, struct weft_rng, job_count);
    executor->iterations.end_ps =
        WEFT_NEW(arena, double, (size_t)executor->iterations.count *job_count);
    struct weft_rng rng;
    weft_rng_init(&rng, options->seed);
    for (uint32_t job = 0; job < job_count; job++) {
        executor->iterations.rng[job] = weft_rng_split(&rng, job);
    }
    if (options->engine == WEFT_ENGINE_PACKET) {
        if (!packet_ports_check_priorities(options, job_count, error)) {
            return weft_wrap(error, "jobs");
        }
        packet_engine_jobs(&executor->net.packets, options->timings, job_count);
    }
    for (uint32_t job = 0; job < job_count; job++) {
        uint64_t start_ps = options->timings == NULL ? 0 : options->timings[job].start_ps;
        if (start_ps == 0) {
            executor_begin_iteration(executor, job, 0);
        } else {
            executor_push(executor, (double)start_ps, EXECUTOR_JOB_START, job);
        }
    }
    return true;
}

// An iteration's compute times relative to the graph's: 1 plus jitter_ratio times a standard normal
// number (Box and Muller, 1958), which is clamped to three deviations.
static double draw_ratio(struct executor *executor, uint32_t job)
{
    const struct weft_job_timing *timings = executor->net.options->timings;
    if (timings == NULL || timings[job].jitter_ratio == 0) {
        return 1;
    }
    double radius = sqrt(-2 * log(1 - weft_rng_unit(&executor->iterations.rng[job])));
    double normal = radius * cos(2 * M_PI * weft_rng_unit(&executor->iterations.rng[job]));
    return 1 + timings[job].jitter_ratio * fmax(-3, fmin(normal, 3));
}

static void end_iteration(struct executor *executor, uint32_t job, double now_ps)
{
    uint32_t index = executor->iterations.current[job]++;
    executor->iterations.end_ps[(size_t)job * executor->iterations.count + index] = now_ps;
}

void executor_begin_iteration(struct executor *executor, uint32_t job, double now_ps)
{
    const struct weft_taskgraph *graph = executor->jobs[job].graph;
    uint32_t first = executor->first_task[job];
    executor->iterations.compute_ratio[job] = draw_ratio(executor, job);
    executor->iterations.tasks_left[job] = graph->task_count;
    if (executor->net.options->engine == WEFT_ENGINE_PACKET) {
        packet_engine_iteration(&executor->net.packets, job);
    } else {
        sim_shares_iteration(&executor->net.shares, &executor->net.active, job);
    }
    memcpy(&executor->tasks.waits_for[first], graph->need != NULL ? graph->need : graph->prev_count,
           graph->task_count * sizeof(uint32_t));
    const struct weft_sim_options *options = executor->net.options;
    bool in_list = options->engine == WEFT_ENGINE_PACKET && options->packet->starts_listed;
    const uint32_t *listed = in_list ? executor->jobs[job].listed : NULL;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t task = listed != NULL ? listed[i] : i;
        if (graph->prev_count[task] == 0) {
            executor_make_ready(executor, first + task);
        }
    }
    while (graph->task_count == 0 &&
           executor->iterations.current[job] < executor_own_iterations(executor, job)) {
        end_iteration(executor, job, now_ps);
    }
}

// How long a job waits so as to be in step with the latest of its group; 0: it need not wait. A job
// in its last iteration has no next one to delay; it counts as late as it was at the end of the one
// before.
static double time_ahead_ps(struct executor *executor, uint32_t job, double now_ps)
{
    const struct weft_job_timing *timings = executor->net.options->timings;
    if (timings == NULL || timings[job].stray_ratio == 0) {
        return 0;
    }
    const struct weft_job_timing *own = &timings[job];
    double due_ps =
        (double)own->start_ps + executor->iterations.current[job] * (double)own->period_ps;
    double latest_ps = now_ps - due_ps;
    for (uint32_t other = 0; other < executor->job_count; other++) {
        if (other != job && timings[other].step_group == own->step_group) {
            latest_ps = fmax(latest_ps, executor->iterations.late_ps[other]);
        }
    }
    double ahead_ps = latest_ps - (now_ps - due_ps);
    bool waits = ahead_ps > own->stray_ratio * (double)own->period_ps;
    executor->iterations.late_ps[job] = waits ? latest_ps : now_ps - due_ps;
    return waits ? ahead_ps : 0;
}

void executor_count_task(struct executor *executor, uint32_t job, double now_ps)
{
    WEFT_ASSERT(executor->iterations.tasks_left[job] > 0);
    if (--executor->iterations.tasks_left[job] > 0) {
        return;
    }
    end_iteration(executor, job, now_ps);
    if (executor->iterations.current[job] == executor_own_iterations(executor, job)) {
        return;
    }
    double wait_ps = time_ahead_ps(executor, job, now_ps);
    if (wait_ps > 0) {
        executor->iterations.wait_count++;
        executor_push(executor, now_ps + wait_ps, EXECUTOR_JOB_START, job);
    } else {
        executor_begin_iteration(executor, job, now_ps);
    }
}

bool executor_iterations(struct weft_sim_result *result, const struct executor *executor,
                         struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_job_timing *timings = executor->net.options->timings;
    const uint64_t **lines = WEFT_NEW(arena, const uint64_t *, executor->job_count);
    uint64_t *mean_ps = WEFT_NEW_RAW(arena, uint64_t, executor->job_count);
    for (uint32_t job = 0; job < executor->job_count; job++) {
        uint32_t count = executor_own_iterations(executor, job);
        WEFT_ASSERT(count > 0);
        uint64_t *ends = WEFT_NEW_RAW(arena, uint64_t, count);
        for (uint32_t i = 0; i < count; i++) {
            double end_ps =
                executor->iterations.end_ps[(size_t)job * executor->iterations.count + i];
            if (!weft_simnet_round_ps(&ends[i], end_ps, error)) {
                return weft_wrap(error, "job %u", job);
            }
        }
        uint64_t start_ps = timings == NULL ? 0 : timings[job].start_ps;
        uint64_t last_ps = ends[count - 1];
        mean_ps[job] = (last_ps - (start_ps < last_ps ? start_ps : last_ps) + count / 2) / count;
        result->end_ps = last_ps > result->end_ps ? last_ps : result->end_ps;
        lines[job] = ends;
    }
    result->wait_count = executor->iterations.wait_count;
    result->iteration_ps = mean_ps;
    result->iteration_end_ps = lines;
    return true;
}
