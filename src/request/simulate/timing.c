// SPDX-License-Identifier: Apache-2.0
// How jobs repeat themselves and share links: iterations, starts, jitter, weights, priorities.
//
// A list of one value is for all jobs, one of several has one for each. What a snapshot states of
// its jobs is in simulation->timings already; what the request gives wins over it.

#include "request/simulate/simulation.h"

// A factor above 1.3 or below 0.7 would be no jitter any more, and the engines refuse it.
static const double jitter_ratio_max = 0.3;

static bool check_count(const char *name, uint32_t values, uint32_t jobs, struct weft_error *error)
{
    return values <= 1 || values == jobs ||
           weft_fail(error, WEFT_USAGE, "{%s}: %u values for %u jobs; write one, or one for each",
                     name, values, jobs);
}

double simulation_jitter_ratio(uint64_t jitter_ps, uint64_t compute_ps)
{
    return jitter_ps == 0 || compute_ps == 0 ? 0 : (double)jitter_ps / (double)compute_ps;
}

// A ratio; or a time, of what the job of a snapshot computes.
static bool take_jitter(double *ratio, const struct simulation *simulation,
                        const struct weft_request_jitter *asked, uint32_t job)
{
    struct weft_error *error = simulation->environment->base.error;
    if (!asked->is_time) {
        *ratio = asked->ratio;
        return true;
    }
    if (simulation->compute_ps == NULL) {
        return weft_parse_number(ratio, asked->text, 0, 0.299, error) ||
               weft_wrap(error, "{jitter}");
    }
    *ratio = simulation_jitter_ratio(asked->time_ps, simulation->compute_ps[job]);
    return *ratio < jitter_ratio_max ||
           weft_fail(error, WEFT_USAGE, "{jitter}: %s is more than 0.3 of what a job computes",
                     asked->text);
}

// Queues of ports by priority; in turn where there are more of `count` than values.
static bool take_priorities(struct simulation *simulation, uint32_t count)
{
    const struct weft_environment *base = &simulation->environment->base;
    const struct weft_count_list *asked = &simulation->request->timing.priority;
    enum weft_sim_transport transport = simulation->options.transport;
    if (asked->count == 0) {
        return true;
    }
    if (simulation->options.engine != WEFT_ENGINE_PACKET) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{priority} is for packets; write {engine=packet}, too");
    }
    if (simulation->packet.port.by_remaining || weft_transport_entry(transport)->demotes) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{priority}: %s gives packets priorities of its own; leave it out",
                         weft_transport_name(transport));
    }
    uint8_t *priority = WEFT_NEW(base->arena, uint8_t, count);
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = asked->values[i % asked->count];
        priority[i] = (uint8_t)value;
        most = value > most ? value : most;
    }
    simulation->packet.port.priority = priority;
    simulation->packet.port.priority_count = most + 1;
    return true;
}

bool simulation_time_jobs(struct simulation *simulation, uint32_t job_count)
{
    const struct weft_environment *base = &simulation->environment->base;
    const struct weft_request_timing *asked = &simulation->request->timing;
    const struct weft_time_list *timer = &simulation->request->packets.control.dcqcn_timer;
    struct weft_error *error = base->error;
    if (!check_count("start", asked->start.count, job_count, error) ||
        !check_count("dcqcn-timer", timer->count, job_count, error) ||
        !check_count("jitter", asked->jitter.count, job_count, error) ||
        !check_count("weight", asked->weight.count, job_count, error) ||
        !check_count("priority", asked->priority.count, job_count, error)) {
        return false;
    }
    if (job_count == 1 && asked->weight.count > 0 &&
        simulation->options.engine == WEFT_ENGINE_FLOW) {
        return weft_fail(error, WEFT_USAGE,
                         "{weight}: one job shares its links with none; leave it out, or play "
                         "several");
    }
    if (asked->iterations > 0) {
        simulation->options.iterations = asked->iterations;
    }
    struct weft_job_timing *timings =
        simulation->timings != NULL ? simulation->timings
                                    : WEFT_NEW(base->arena, struct weft_job_timing, job_count);
    for (uint32_t job = 0; job < job_count; job++) {
        struct weft_job_timing *timing = &timings[job];
        if (asked->start.count > 0) {
            timing->start_ps = asked->start.ps[job % asked->start.count];
        }
        if (timer->count > 0) {
            timing->dcqcn_timer_ps = timer->ps[job % timer->count];
        }
        if (asked->jitter.count > 0 &&
            !take_jitter(&timing->jitter_ratio, simulation,
                         &asked->jitter.values[job % asked->jitter.count], job)) {
            return false;
        }
        if (asked->weight.count > 0) {
            timing->weight_ratio = asked->weight.values[job % asked->weight.count];
        }
    }
    simulation->options.timings = timings;
    return take_priorities(simulation, job_count);
}

bool simulation_time_flows(struct simulation *simulation, uint32_t flow_count)
{
    const struct weft_request_timing *asked = &simulation->request->timing;
    struct weft_error *error = simulation->environment->base.error;
    const struct weft_stated rows[] = {
        {asked->iterations > 0, "iterations"},
        {asked->start.count > 0, "start"},
        {asked->jitter.count > 0, "jitter"},
        {asked->weight.count > 0, "weight"},
        {NULL},
    };
    if (!weft_refuse_stated(rows, error, "is for jobs, not for '%.60s'", simulation->loads[0])) {
        return false;
    }
    if (simulation->request->packets.control.dcqcn_timer.count > 1) {
        return weft_fail(error, WEFT_USAGE, "{dcqcn-timer}: flows are of one job; write one value");
    }
    return take_priorities(simulation, flow_count);
}
