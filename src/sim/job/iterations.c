// SPDX-License-Identifier: Apache-2.0
// Jobs that begin anew when their last task has ended.

#include "executor.h"

#include <math.h>
#include <string.h>

#define ITERATIONS_MAX ((uint32_t)1 << 24)

static uint32_t own_iterations(const struct machine *machine, uint32_t job)
{
    const struct weft_sim_pace *paces = machine->net.options->paces;
    uint32_t own = paces == NULL ? 0 : paces[job].iterations;
    return own > 0 && own < machine->iterations ? own : machine->iterations;
}

static bool check_paces(const struct weft_sim_options *options, uint32_t job_count,
                        struct weft_error *error)
{
    for (uint32_t job = 0; options->paces != NULL && job < job_count; job++) {
        const struct weft_sim_pace *pace = &options->paces[job];
        if (!(pace->jitter_ratio >= 0 && pace->jitter_ratio < 0.3)) {
            return weft_fail(error, WEFT_INPUT,
                             "job %u: a jitter of %g of its compute time; write one in [0, 0.3)",
                             job, pace->jitter_ratio);
        }
        if (!(pace->weight_ratio >= 0) || isinf(pace->weight_ratio)) {
            return weft_fail(error, WEFT_INPUT, "job %u: a weight of %g; write one above 0", job,
                             pace->weight_ratio);
        }
        if (!(pace->stray_ratio >= 0) || (pace->stray_ratio > 0 && pace->period_ps == 0)) {
            return weft_fail(error, WEFT_INPUT,
                             "job %u: keeping in step takes a ratio of 0 or more, and a period",
                             job);
        }
    }
    return true;
}

bool machine_lay_out_iterations(struct machine *machine, const struct weft_sim_options *options,
                                struct weft_arena *arena, struct weft_error *error)
{
    uint32_t job_count = machine->job_count;
    machine->iterations = options->iterations == 0 ? 1 : options->iterations;
    if ((uint64_t)machine->iterations * job_count > ITERATIONS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u iterations of %u jobs; play at most %u in all",
                         machine->iterations, job_count, ITERATIONS_MAX);
    }
    if (!check_paces(options, job_count, error) || !sim_shares_check(options, error)) {
        return false;
    }
    if (sim_shares_wanted(options, job_count)) {
        sim_shares_init(&machine->net.shares, &machine->net.wire, options, job_count, arena);
    }
    machine->late_ps = WEFT_NEW(arena, double, job_count);
    machine->iteration = WEFT_NEW(arena, uint32_t, job_count);
    machine->tasks_left = WEFT_NEW(arena, uint32_t, job_count);
    machine->compute_ratio = WEFT_NEW_RAW(arena, double, job_count);
    machine->rng = WEFT_NEW_RAW(arena, struct weft_rng, job_count);
    machine->iteration_end_ps = WEFT_NEW(arena, double, (size_t)machine->iterations *job_count);
    struct weft_rng rng;
    weft_rng_init(&rng, options->seed);
    for (uint32_t job = 0; job < job_count; job++) {
        machine->rng[job] = weft_rng_split(&rng, job);
    }
    if (options->engine == WEFT_ENGINE_PACKET) {
        if (!packet_ports_check_priorities(options, job_count, error)) {
            return weft_wrap(error, "jobs");
        }
        packet_engine_jobs(&machine->net.packets, options->paces, job_count);
    }
    for (uint32_t job = 0; job < job_count; job++) {
        uint64_t start_ps = options->paces == NULL ? 0 : options->paces[job].start_ps;
        if (start_ps == 0) {
            machine_begin_iteration(machine, job, 0);
        } else {
            machine_push(machine, (double)start_ps, MACHINE_JOB_START, job);
        }
    }
    return true;
}

// Normal, by Box and Muller (1958); beyond three deviations: three.
static double draw_ratio(struct machine *machine, uint32_t job)
{
    const struct weft_sim_pace *paces = machine->net.options->paces;
    if (paces == NULL || paces[job].jitter_ratio == 0) {
        return 1;
    }
    double radius = sqrt(-2 * log(1 - weft_rng_unit(&machine->rng[job])));
    double normal = radius * cos(2 * M_PI * weft_rng_unit(&machine->rng[job]));
    return 1 + paces[job].jitter_ratio * fmax(-3, fmin(normal, 3));
}

static void end_iteration(struct machine *machine, uint32_t job, double now_ps)
{
    uint32_t index = machine->iteration[job]++;
    machine->iteration_end_ps[(size_t)job * machine->iterations + index] = now_ps;
}

void machine_begin_iteration(struct machine *machine, uint32_t job, double now_ps)
{
    const struct weft_taskgraph *graph = machine->jobs[job].graph;
    uint32_t first = machine->first_task[job];
    machine->compute_ratio[job] = draw_ratio(machine, job);
    machine->tasks_left[job] = graph->task_count;
    if (machine->net.options->engine == WEFT_ENGINE_PACKET) {
        packet_engine_iteration(&machine->net.packets, job);
    } else {
        sim_shares_iteration(&machine->net.shares, &machine->net.wire, job);
    }
    memcpy(&machine->waits_for[first], graph->need != NULL ? graph->need : graph->prev_count,
           graph->task_count * sizeof(uint32_t));
    for (uint32_t task = 0; task < graph->task_count; task++) {
        if (graph->prev_count[task] == 0) {
            machine_make_ready(machine, first + task);
        }
    }
    while (graph->task_count == 0 && machine->iteration[job] < own_iterations(machine, job)) {
        end_iteration(machine, job, now_ps);
    }
}

// How long a job waits so as to be in step with the latest of its group; 0: it need not. Those that
// are in their last iteration count as they were.
static double time_ahead_ps(struct machine *machine, uint32_t job, double now_ps)
{
    const struct weft_sim_pace *paces = machine->net.options->paces;
    if (paces == NULL || paces[job].stray_ratio == 0) {
        return 0;
    }
    const struct weft_sim_pace *own = &paces[job];
    double due_ps = (double)own->start_ps + machine->iteration[job] * (double)own->period_ps;
    double latest_ps = now_ps - due_ps;
    for (uint32_t other = 0; other < machine->job_count; other++) {
        if (other != job && paces[other].step_group == own->step_group) {
            latest_ps = fmax(latest_ps, machine->late_ps[other]);
        }
    }
    double ahead_ps = latest_ps - (now_ps - due_ps);
    bool waits = ahead_ps > own->stray_ratio * (double)own->period_ps;
    machine->late_ps[job] = waits ? latest_ps : now_ps - due_ps;
    return waits ? ahead_ps : 0;
}

void machine_count_task(struct machine *machine, uint32_t job, double now_ps)
{
    WEFT_ASSERT(machine->tasks_left[job] > 0);
    if (--machine->tasks_left[job] > 0) {
        return;
    }
    end_iteration(machine, job, now_ps);
    if (machine->iteration[job] == own_iterations(machine, job)) {
        return;
    }
    double wait_ps = time_ahead_ps(machine, job, now_ps);
    if (wait_ps > 0) {
        machine->wait_count++;
        machine_push(machine, now_ps + wait_ps, MACHINE_JOB_START, job);
    } else {
        machine_begin_iteration(machine, job, now_ps);
    }
}

bool machine_iterations(struct weft_sim_result *result, const struct machine *machine,
                        struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_sim_pace *paces = machine->net.options->paces;
    const uint64_t **lines = WEFT_NEW(arena, const uint64_t *, machine->job_count);
    uint64_t *mean_ps = WEFT_NEW_RAW(arena, uint64_t, machine->job_count);
    for (uint32_t job = 0; job < machine->job_count; job++) {
        uint32_t count = own_iterations(machine, job);
        WEFT_ASSERT(count > 0);
        uint64_t *ends = WEFT_NEW_RAW(arena, uint64_t, count);
        for (uint32_t i = 0; i < count; i++) {
            double end_ps = machine->iteration_end_ps[(size_t)job * machine->iterations + i];
            if (!weft_simnet_round_ps(&ends[i], end_ps, error)) {
                return weft_wrap(error, "job %u", job);
            }
        }
        uint64_t start_ps = paces == NULL ? 0 : paces[job].start_ps;
        uint64_t last_ps = ends[count - 1];
        mean_ps[job] = (last_ps - (start_ps < last_ps ? start_ps : last_ps) + count / 2) / count;
        result->end_ps = last_ps > result->end_ps ? last_ps : result->end_ps;
        lines[job] = ends;
    }
    result->wait_count = machine->wait_count;
    result->iteration_ps = mean_ps;
    result->iteration_end_ps = lines;
    return true;
}
