// SPDX-License-Identifier: Apache-2.0
// What may stand in a trace of jobs, and the jobs that arrive by chance. A trace is checked once,
// so that the schedule relies on classes, sizes, times and failures in order; messages name class,
// job or failure and what would do. Arrivals are a Poisson process (exponential gaps from a seed,
// classes by weight), merged with those that are listed. O(classes + jobs + failures).

#include "state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Beyond this, times of several jobs in a row could overflow: 53 days.
#define TIME_MAX_PS (WEFT_NEVER / 4)
#define JOBS_MAX 1000000u

const struct weft_policy_entry weft_policies[WEFT_POLICY_COUNT] = {
    {"consolidated", "the lowest free servers"},
    {"random", "any free servers"},
    {"rack-aware", "as few racks as can be, the tightest that fits"},
    {"themis", "like Themis: finish-time fairness with leases"},
    {"pollux", "like Pollux: goodput with elastic sizes"},
};

bool weft_policy_find(enum weft_policy *policy, const char *name, struct weft_error *error)
{
    for (uint32_t i = 0; i < WEFT_POLICY_COUNT; i++) {
        if (strcmp(weft_policies[i].name, name) == 0) {
            *policy = (enum weft_policy)i;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%.40s' is no policy; write consolidated, random, rack-aware, themis or "
                     "pollux",
                     name);
}

// What a job does: its own iterations or duration, else its class's.
static double iterations_of(const struct weft_job_trace *trace, const struct weft_trace_job *job)
{
    const struct weft_job_class *class = &trace->classes[job->class_id];
    bool own = job->iterations > 0 || job->duration_ps > 0;
    uint64_t iterations = own ? job->iterations : class->iterations;
    uint64_t duration_ps = own ? job->duration_ps : class->duration_ps;
    if (iterations > 0) {
        return (double)iterations;
    }
    return duration_ps == 0
               ? 0
               : fmax(1, round((double)duration_ps / (double)class->demand.iteration_ps));
}

static bool check_demand(const struct weft_job_class *class, double server_Bps,
                         struct weft_error *error)
{
    struct weft_shared_link link = {"server", server_Bps};
    uint32_t number = 0;
    struct weft_sharing_job job = {
        .name = class->name, .demand = class->demand, .links = &number, .link_count = 1};
    struct weft_snapshot snapshot = {&link, 1, &job, 1};
    return weft_snapshot_check(&snapshot, error);
}

// Whether a class's sizes fit the cluster and one another. A job measured from a task graph has one
// size, since its flows are between given places.
static bool check_sizes(const struct weft_job_trace *trace, const struct weft_job_class *class,
                        struct weft_error *error)
{
    if (class->server_count == 0 || class->server_count > trace->cluster.server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "class %s: %u servers a job, but the cluster has %u; ask for 1 to %u",
                         class->name, class->server_count, trace->cluster.server_count,
                         trace->cluster.server_count);
    }
    if (class->servers_min == 0 || class->servers_min > class->servers_max ||
        class->servers_max > trace->cluster.server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "class %s: from %u to %u servers; write 1 or more, rising, at most %u",
                         class->name, class->servers_min, class->servers_max,
                         trace->cluster.server_count);
    }
    bool elastic = class->servers_min != class->servers_max;
    if (elastic && class->pattern == WEFT_JOB_FLOWS) {
        return weft_fail(error, WEFT_INPUT,
                         "class %s: a job by its task graph has one size; leave elastic out",
                         class->name);
    }
    if (!elastic && class->servers_min != class->server_count) {
        return weft_fail(error, WEFT_INPUT, "class %s: %u servers, but elastic says %u",
                         class->name, class->server_count, class->servers_min);
    }
    return true;
}

static bool check_class(const struct weft_job_trace *trace, const struct weft_job_class *class,
                        struct weft_error *error)
{
    double server_Bps = trace->cluster.rate_Bps * trace->cluster.degree;
    if (!check_sizes(trace, class, error)) {
        return false;
    }
    if (!(class->jitter_ratio >= 0 && class->jitter_ratio < 0.3)) {
        return weft_fail(error, WEFT_INPUT, "class %s: a jitter of %g; write one in [0, 0.3)",
                         class->name, class->jitter_ratio);
    }
    if (!(class->weight >= 0) || isinf(class->weight) || !(class->noise_ratio >= 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "class %s: weight and noise must be 0 or more, and finite", class->name);
    }
    for (uint32_t f = 0; f < class->flow_count; f++) {
        const struct weft_job_flow *flow = &class->flows[f];
        if (flow->from >= class->server_count || flow->to >= class->server_count ||
            flow->from == flow->to || !(flow->share_ratio > 0) || isinf(flow->share_ratio)) {
            return weft_fail(error, WEFT_INPUT, "class %s: flow %u is none", class->name, f);
        }
    }
    return check_demand(class, server_Bps, error);
}

static bool check_work(const struct weft_job_trace *trace, const struct weft_trace_job *job,
                       struct weft_error *error)
{
    double iteration_ps = (double)trace->classes[job->class_id].demand.iteration_ps;
    double iterations = iterations_of(trace, job);
    if (iterations == 0 || iterations * iteration_ps > (double)TIME_MAX_PS) {
        return weft_fail(error, WEFT_INPUT,
                         "no iterations, or more than 53 days of them; write iterations or "
                         "duration");
    }
    return true;
}

// Whether some job arrives, each job does some work, and all times stay below TIME_MAX_PS, also
// those that Poisson arrivals may reach: twice their mean span is allowed for.
static bool check_jobs(const struct weft_job_trace *trace, struct weft_error *error)
{
    double weights = 0;
    for (uint32_t c = 0; c < trace->class_count; c++) {
        weights += trace->classes[c].weight;
    }
    if (trace->job_count == 0 && trace->poisson.count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "no jobs; list some under jobs, or let them arrive by poisson");
    }
    if (trace->job_count > JOBS_MAX || trace->poisson.count > JOBS_MAX) {
        return weft_fail(error, WEFT_INPUT, "more than %u jobs", JOBS_MAX);
    }
    if (trace->poisson.count > 0 &&
        (!(trace->poisson.jobs_per_s > 0) || isinf(trace->poisson.jobs_per_s) || !(weights > 0) ||
         trace->poisson.count / trace->poisson.jobs_per_s > (double)TIME_MAX_PS / 2e12)) {
        return weft_fail(error, WEFT_INPUT,
                         "poisson: %g jobs a second; it must be more than 0, some class must have "
                         "a weight, and all arrive within 26 days",
                         trace->poisson.jobs_per_s);
    }
    for (uint32_t c = 0; c < trace->class_count && trace->poisson.count > 0; c++) {
        struct weft_trace_job job = {.class_id = c};
        if (trace->classes[c].weight > 0 && !check_work(trace, &job, error)) {
            return weft_wrap(error, "class %s", trace->classes[c].name);
        }
    }
    for (uint32_t j = 0; j < trace->job_count; j++) {
        const struct weft_trace_job *job = &trace->jobs[j];
        if (job->class_id >= trace->class_count) {
            return weft_fail(error, WEFT_INPUT, "job %s: no such class", job->name);
        }
        if (job->arrival_ps > TIME_MAX_PS) {
            return weft_fail(error, WEFT_INPUT, "job %s: arrives after more than 53 days",
                             job->name);
        }
        if (!check_work(trace, job, error)) {
            return weft_wrap(error, "job %s", job->name);
        }
        if (j > 0 && job->arrival_ps < trace->jobs[j - 1].arrival_ps) {
            return weft_fail(error, WEFT_INPUT, "job %s: arrives before the job before it",
                             job->name);
        }
    }
    return true;
}

// Whether failures are in order of time, each is repaired after a while, and names a server that
// exists. Links are looked up where they fail (failures.c), since only the fabric knows them.
static bool check_failures(const struct weft_job_trace *trace, struct weft_error *error)
{
    const struct weft_trace_chance *chance = &trace->chance;
    if (!(chance->server_mtbf_s >= 0) || !(chance->link_mtbf_s >= 0) ||
        isinf(chance->server_mtbf_s + chance->link_mtbf_s)) {
        return weft_fail(error, WEFT_INPUT, "failures: a mean time that is none");
    }
    if ((chance->server_mtbf_s > 0 || chance->link_mtbf_s > 0) &&
        (chance->repair_ps == 0 || chance->repair_ps > TIME_MAX_PS)) {
        return weft_fail(error, WEFT_INPUT,
                         "failures: a repair of 0 s or of more than 53 days; write for example "
                         "30min");
    }
    for (uint32_t f = 0; f < trace->failure_count; f++) {
        const struct weft_trace_failure *failure = &trace->failures[f];
        if (failure->repair_ps == 0 || failure->repair_ps > TIME_MAX_PS ||
            failure->time_ps > TIME_MAX_PS) {
            return weft_fail(error, WEFT_INPUT,
                             "failures.events[%u]: a repair of 0 s, or times beyond 53 days; write "
                             "for example 30min",
                             f);
        }
        if (failure->server >= trace->cluster.server_count &&
            (!failure->is_link || trace->shards.dedicated)) {
            return weft_fail(error, WEFT_INPUT, "failures.events[%u]: no server %u; write 0 to %u",
                             f, failure->server, trace->cluster.server_count - 1);
        }
        if (f > 0 && failure->time_ps < trace->failures[f - 1].time_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "failures.events[%u]: before the one above it; list them in order of "
                             "time",
                             f);
        }
    }
    return true;
}

bool weft_job_trace_check(const struct weft_job_trace *trace, struct weft_error *error)
{
    if (!weft_cluster_check(&trace->cluster, error)) {
        return weft_wrap(error, "cluster");
    }
    if (trace->class_count == 0) {
        return weft_fail(error, WEFT_INPUT, "no classes of jobs; describe one under classes");
    }
    for (uint32_t c = 0; c < trace->class_count; c++) {
        if (!check_class(trace, &trace->classes[c], error)) {
            return false;
        }
    }
    if (trace->shards.wiring_ps > TIME_MAX_PS || trace->shards.switch_ps > TIME_MAX_PS ||
        trace->restart_ps > TIME_MAX_PS) {
        return weft_fail(error, WEFT_INPUT, "wiring, switch or restart of more than 53 days");
    }
    return check_jobs(trace, error) && check_failures(trace, error);
}

// ---- arrivals ----

static uint32_t draw_class(const struct weft_job_trace *trace, struct weft_rng *rng)
{
    double total = 0;
    for (uint32_t c = 0; c < trace->class_count; c++) {
        total += trace->classes[c].weight;
    }
    double draw = weft_rng_unit(rng) * total;
    uint32_t last = 0;
    for (uint32_t c = 0; c < trace->class_count; c++) {
        if (trace->classes[c].weight > 0) {
            last = c;
            if (draw < trace->classes[c].weight) {
                return c;
            }
        }
        draw -= trace->classes[c].weight;
    }
    return last;
}

void weft_job_trace_expand(struct weft_job_trace *full, const struct weft_job_trace *trace,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t drawn_count = trace->poisson.count;
    struct weft_trace_job *drawn = WEFT_NEW(&scratch, struct weft_trace_job, drawn_count);
    struct weft_rng rng;
    weft_rng_init(&rng, trace->poisson.seed);
    double at_s = 0;
    for (uint32_t j = 0; j < drawn_count; j++) {
        at_s += weft_rng_exponential(&rng, 1 / trace->poisson.jobs_per_s);
        uint32_t class = draw_class(trace, &rng);
        drawn[j] = (struct weft_trace_job){
            .name = weft_arena_format(arena, "%s-%u", trace->classes[class].name, j),
            .class_id = class,
            .arrival_ps = weft_picoseconds(at_s),
        };
    }
    uint32_t count = trace->job_count + drawn_count;
    struct weft_trace_job *jobs = WEFT_NEW(arena, struct weft_trace_job, count);
    uint32_t listed = 0;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t next = j - listed;
        bool take =
            listed < trace->job_count &&
            (next == drawn_count || trace->jobs[listed].arrival_ps <= drawn[next].arrival_ps);
        jobs[j] = take ? trace->jobs[listed++] : drawn[next];
        jobs[j].iterations = (uint64_t)iterations_of(trace, &jobs[j]);
    }
    *full = *trace;
    full->jobs = jobs;
    full->job_count = count;
    full->poisson.count = 0;
}
