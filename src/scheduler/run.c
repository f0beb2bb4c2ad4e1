// SPDX-License-Identifier: Apache-2.0
// A schedule from event to event: arrivals, ends, failures and the ends of leases. At each instant
// jobs that ended give their servers back, allocate.c or shards.c hands servers out, and the
// iteration times of jobs whose company changed are found anew (rates.c, flow.c).

#include "state.h"

#include <math.h>
#include <string.h>

// Of a schedule: beyond, failures never let it end.
#define EVENTS_MAX 10000000u
#define LEASE_PS (600 * WEFT_PS_PER_S)

// ---- events ----

static void begin_waiting_ends(struct sched *sched)
{
    for (uint32_t j = 0; j < sched->next_arrival; j++) {
        if (sched->jobs[j].phase == SCHED_HOLDING && sched->jobs[j].begin_ps <= sched->now_ps) {
            sched_begin_iterations(sched, j);
        }
    }
    for (uint32_t i = 0; i < sched->running.count;) {
        uint32_t id = sched->running.jobs[i];
        if (sched->jobs[id].done >= sched->jobs[id].work) {
            sched_stop(sched, id, SCHED_ENDED, false);
        } else {
            i++;
        }
    }
    while (sched->next_arrival < sched->job_count &&
           sched->trace->jobs[sched->next_arrival].arrival_ps <= sched->now_ps) {
        sched_queue(sched, sched->next_arrival++);
    }
}

static uint64_t earlier(uint64_t a_ps, uint64_t b_ps)
{
    return a_ps < b_ps ? a_ps : b_ps;
}

static uint64_t job_event_ps(const struct sched *sched, const struct sched_job *job)
{
    if (job->phase == SCHED_WAITING && job->shard.wired_ps > sched->now_ps) {
        return job->shard.wired_ps;
    }
    if (job->phase == SCHED_HOLDING) {
        return job->begin_ps;
    }
    if (job->phase != SCHED_RUNNING) {
        return WEFT_NEVER;
    }
    uint64_t next_ps = WEFT_NEVER;
    double left_ps = ceil((job->work - job->done) / job->rate);
    if (left_ps < 0x1p62) {
        next_ps = sched->now_ps + (left_ps < 1 ? 1 : (uint64_t)left_ps);
    }
    bool leased = sched->options->policy == WEFT_POLICY_THEMIS && sched->network != NULL &&
                  sched->waiting.count > 0 && job->lease_end_ps > sched->now_ps;
    return leased ? earlier(next_ps, job->lease_end_ps) : next_ps;
}

static uint64_t next_event_ps(const struct sched *sched)
{
    uint64_t next_ps = sched_next_failure_ps(sched);
    if (sched->next_arrival < sched->job_count) {
        next_ps = earlier(next_ps, sched->trace->jobs[sched->next_arrival].arrival_ps);
    }
    bool active = false;
    for (uint32_t j = 0; j < sched->next_arrival; j++) {
        next_ps = earlier(next_ps, job_event_ps(sched, &sched->jobs[j]));
        active |= sched->jobs[j].phase != SCHED_ENDED;
    }
    if (sched->options->policy == WEFT_POLICY_POLLUX && sched->network != NULL && active &&
        sched->running.count > 0) {
        next_ps = earlier(next_ps, sched->next_lease_ps);
    }
    return next_ps;
}

static uint32_t jobs_left(const struct sched *sched, uint32_t *waiting)
{
    uint32_t left = 0;
    for (uint32_t j = 0; j < sched->job_count; j++) {
        if (sched->jobs[j].phase != SCHED_ENDED) {
            *waiting = j;
            left++;
        }
    }
    return left;
}

// Ends what has not ended. Jobs that had not come are none of the timetable's.
static bool cut_off(struct sched *sched)
{
    if (sched->next_arrival == 0) {
        return weft_fail(
            sched->error, WEFT_INPUT, "ends at %.6g s, before the first job comes, at %.6g s",
            weft_seconds(sched->now_ps), weft_seconds(sched->trace->jobs[0].arrival_ps));
    }
    sched->totals.later_count = sched->job_count - sched->next_arrival;
    sched->job_count = sched->next_arrival;
    for (uint32_t j = 0; j < sched->job_count; j++) {
        struct sched_job *job = &sched->jobs[j];
        job->record->cut_off = job->phase != SCHED_ENDED;
        if (job->phase == SCHED_HOLDING || job->phase == SCHED_RUNNING) {
            sched_stop(sched, j, SCHED_ENDED, false);
        } else if (job->phase != SCHED_ENDED) {
            job->record->end_ps = sched->now_ps;
            job->phase = SCHED_ENDED;
        }
    }
    return true;
}

// The loop over events. An instant is handled in a fixed order: work up to now, ends, failures and
// repairs, servers, rates; then time moves to the next event. That the next event lies ahead is
// asserted, so the loop ends or reports a job that waits for ever.
static bool play(struct sched *sched, struct weft_arena scratch)
{
    uint64_t until_ps = sched->options->until_ps == 0 ? WEFT_NEVER : sched->options->until_ps;
    for (;; sched->totals.event_count++) {
        uint32_t waiting = 0;
        sched_advance(sched);
        begin_waiting_ends(sched);
        if (sched->now_ps >= until_ps) {
            if (sched->options->snapshot && sched->network != NULL) {
                sched_take_snapshot(&sched->totals.snapshot, sched);
            }
            return cut_off(sched);
        }
        sched_play_failures(sched, scratch);
        if (!sched_allocate(sched, scratch) || !sched_update_rates(sched, scratch)) {
            return false;
        }
        if (jobs_left(sched, &waiting) == 0) {
            return true;
        }
        uint64_t next_ps = earlier(next_event_ps(sched), until_ps);
        const char *name = sched->jobs[waiting].record->name;
        if (next_ps >= WEFT_NEVER / 2) {
            return weft_fail(sched->error, WEFT_INFEASIBLE,
                             "job %s waits for ever: too few servers that work and are joined; "
                             "give failures a repair time, or the cluster more servers",
                             name);
        }
        bool stopped = weft_stopped(sched->options->stop);
        if (stopped || sched->totals.event_count >= EVENTS_MAX) {
            return weft_fail(sched->error, stopped ? WEFT_STOPPED : WEFT_INFEASIBLE,
                             "stopped before job %s had ended, at %.6g s; failures may come more "
                             "often than checkpoints",
                             name, weft_seconds(sched->now_ps));
        }
        WEFT_ASSERT(next_ps > sched->now_ps);
        sched->now_ps = next_ps;
    }
}

// ---- the beginning ----

// A job before its arrival. Its seed depends on its index alone, so that policies and placements
// see the same jitter.
static void init_job(struct sched *sched, uint32_t id)
{
    struct sched_job *job = &sched->jobs[id];
    const struct weft_trace_job *asked = &sched->trace->jobs[id];
    const struct weft_job_class *class = &sched->trace->classes[asked->class_id];
    bool elastic = sched->options->policy == WEFT_POLICY_POLLUX && sched->network != NULL;
    struct weft_job_record *record = WEFT_NEW(sched->arena, struct weft_job_record, 1);
    *record = (struct weft_job_record){
        .name = asked->name,
        .class_id = asked->class_id,
        .arrival_ps = asked->arrival_ps,
        .score = 1,
    };
    *job = (struct sched_job){
        .class = class,
        .size = elastic ? class->servers_min : class->server_count,
        .step = 1,
        .work = (double)asked->iterations,
        .shard.degradation = 1,
        .bins = WEFT_NEW(sched->arena, double, SCHED_BINS),
        .shard.wired_ps = WEFT_NEVER,
        .record = record,
        .graph = class->graph,
    };
    job->steady = (struct steady_job){
        .compared_ps = (double)class->demand.iteration_ps,
        .jitter_ratio = class->jitter_ratio,
        .seed = weft_hash(sched->options->seed ^ weft_hash(id)),
        .compute_ratio = 1,
        .bins = WEFT_NEW(sched->arena, float, SCHED_BINS),
    };
}

static void init(struct sched *sched)
{
    struct weft_arena *arena = sched->arena;
    uint32_t n = sched->servers.count;
    sched->job_count = sched->trace->job_count;
    sched->jobs = WEFT_NEW(arena, struct sched_job, sched->job_count);
    sched->waiting.jobs = WEFT_NEW(arena, uint32_t, (size_t)sched->job_count + 1);
    sched->running.jobs = WEFT_NEW(arena, uint32_t, (size_t)sched->job_count + 1);
    sched->servers.holder = WEFT_NEW(arena, uint32_t, n);
    sched->servers.down = WEFT_NEW(arena, uint32_t, n);
    sched->servers.ports_down = WEFT_NEW(arena, uint32_t, n);
    sched->servers.ahead = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t v = 0; v < n; v++) {
        sched->servers.holder[v] = WEFT_NONE;
        sched->servers.ahead[v] = WEFT_NONE;
    }
    if (sched->network != NULL) {
        sched->links.down = WEFT_NEW(arena, uint32_t, sched->network->fabric.link_count);
    }
    sched_find_racks(sched);
    for (uint32_t j = 0; j < sched->job_count; j++) {
        init_job(sched, j);
    }
    sched_begin_chance(sched);
}

// Links can only fail where there are some.
static bool check_links(const struct weft_job_trace *trace, const struct weft_network *network,
                        struct weft_error *error)
{
    for (uint32_t f = 0; f < trace->failure_count && network != NULL; f++) {
        const struct weft_fabric *fabric = &network->fabric;
        uint32_t server = trace->failures[f].server;
        uint32_t peer = trace->failures[f].peer;
        if (!trace->failures[f].is_link ||
            weft_fabric_find_link(fabric, server, peer) != WEFT_NONE ||
            weft_fabric_find_link(fabric, peer, server) != WEFT_NONE) {
            continue;
        }
        if (server >= fabric->node_count || fabric->first[server] == fabric->first[server + 1]) {
            return weft_fail(error, WEFT_INPUT,
                             "failures.events[%u]: no node %u; write 0 to %u, servers first", f,
                             server, fabric->node_count - 1);
        }
        return weft_fail(
            error, WEFT_INPUT,
            "failures.events[%u]: no link from node %u to %u; its first one goes to %u", f, server,
            peer, fabric->links[fabric->first[server]].to);
    }
    return true;
}

bool weft_scheduler_run(struct weft_timetable *schedule, const struct weft_job_trace *trace,
                        const struct weft_network *network,
                        const struct weft_scheduler_options *options,
                        const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    if (!weft_job_trace_check(trace, error) || !check_links(trace, network, error)) {
        return false;
    }
    WEFT_ASSERT(trace->shards.dedicated == (network == NULL));
    WEFT_ASSERT(network == NULL || network->fabric.server_count >= trace->cluster.server_count);
    struct weft_job_trace *full = WEFT_NEW(arena, struct weft_job_trace, 1);
    weft_job_trace_expand(full, trace, arena, scratch);
    struct weft_scheduler_options *filled = WEFT_NEW(arena, struct weft_scheduler_options, 1);
    *filled = *options;
    filled->window = options->window == 0 ? WEFT_SCHEDULER_WINDOW : options->window;
    filled->warm_up = options->warm_up == 0 ? WEFT_SCHEDULER_WARM_UP : options->warm_up;
    filled->lease_ps = options->lease_ps == 0 ? LEASE_PS : options->lease_ps;
    struct sched sched = {
        .trace = full,
        .network = network,
        .options = filled,
        .servers.count = trace->cluster.server_count,
        .arena = arena,
        .error = error,
    };
    init(&sched);
    uint64_t due_count = 0;
    for (uint32_t j = 0; j < sched.job_count; j++) {
        due_count += options->until_ps == 0 || full->jobs[j].arrival_ps <= options->until_ps;
    }
    weft_tally_begin(options->tally, due_count);
    if (!play(&sched, scratch)) {
        return false;
    }
    sched_tally(schedule, &sched, arena, scratch);
    return true;
}
