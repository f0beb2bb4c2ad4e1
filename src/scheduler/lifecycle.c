// SPDX-License-Identifier: Apache-2.0
// The states of a job: it waits in the queue, holds servers while they are wired, runs and ends;
// and what the schedule records of each change. All changes go through sched_start and sched_stop,
// which assert that a server has one holder. O(servers of the job + jobs that wait or run) each.

#include "state.h"

#include <math.h>
#include <string.h>

// Of the work that an iteration on `size` servers does: as many samples as they take, each worth
// less the larger the batch is against the gradient's noise scale (Qiao et al., "Pollux", OSDI
// 2021, equation 7: efficiency = (noise + M0) / (noise + M)).
double sched_step(const struct weft_job_class *class, uint32_t size)
{
    double ratio = (double)size / class->server_count;
    if (isinf(class->noise_ratio)) {
        return ratio;
    }
    return ratio * (class->noise_ratio + 1) / (class->noise_ratio + ratio);
}

void *sched_grow(void *values, uint32_t *room, uint32_t count, size_t size,
                 struct weft_arena *arena)
{
    if (count < *room) {
        return values;
    }
    *room = *room == 0 ? 64 : 2 * *room;
    void *larger = weft_arena_alloc(arena, *room, size);
    if (count > 0) {
        memcpy(larger, values, count * size);
    }
    return larger;
}

// ---- servers are given and taken ----

static void insert(uint32_t *list, uint32_t *count, uint32_t job)
{
    uint32_t at = (*count)++;
    for (; at > 0 && list[at - 1] > job; at--) {
        list[at] = list[at - 1];
    }
    list[at] = job;
}

static void take_out(uint32_t *list, uint32_t *count, uint32_t job)
{
    for (uint32_t at = 0; at < *count; at++) {
        if (list[at] == job) {
            memmove(list + at, list + at + 1, (*count - at - 1) * sizeof *list);
            (*count)--;
            return;
        }
    }
}

// Jobs stand in order of arrival, so that one that lost its servers comes before later ones.
void sched_queue(struct sched *sched, uint32_t job)
{
    sched->jobs[job].phase = SCHED_WAITING;
    insert(sched->waiting.jobs, &sched->waiting.count, job);
}

void sched_unqueue(struct sched *sched, uint32_t job)
{
    take_out(sched->waiting.jobs, &sched->waiting.count, job);
}

void sched_begin_iterations(struct sched *sched, uint32_t id)
{
    struct sched_job *job = &sched->jobs[id];
    job->phase = SCHED_RUNNING;
    job->updated_ps = sched->now_ps;
    job->lease_end_ps = sched->now_ps + sched->options->lease_ps;
    job->signature = 0;
    job->steady.segments = job->place.segments;
    job->steady.segment_count = job->place.segment_count;
    job->steady.alone_ps = job->place.alone_ps;
    job->steady.flow_ratio = job->place.flow_ratio;
    // Nothing keeps jobs in step with one another: each begins anywhere in its first iteration.
    uint64_t draw = weft_hash(job->steady.seed ^ weft_hash(job->record->placements));
    steady_begin(&job->steady, (double)(draw >> 11) * 0x1p-53 * job->steady.alone_ps);
    insert(sched->running.jobs, &sched->running.count, id);
}

// Gives a waiting job its servers: it runs from now on, or holds them until ready_ps where it
// restarts or its shard is wired. Opens the span that sched_stop closes.
void sched_start(struct sched *sched, uint32_t id, const struct sched_place *place,
                 uint64_t ready_ps)
{
    struct sched_job *job = &sched->jobs[id];
    struct weft_job_record *record = job->record;
    WEFT_ASSERT(job->phase == SCHED_WAITING);
    sched_unqueue(sched, id);
    job->place = *place;
    job->step = sched_step(job->class, job->size);
    job->phase = SCHED_HOLDING;
    job->begin_ps = ready_ps;
    job->saved = job->done;
    job->rate = 0;
    for (uint32_t i = 0; i < place->server_count; i++) {
        WEFT_ASSERT(sched->servers.holder[place->servers[i]] == WEFT_NONE);
        sched->servers.holder[place->servers[i]] = id;
    }
    record->start_ps = record->placements == 0 ? sched->now_ps : record->start_ps;
    record->placements++;
    sched->spans.list = sched_grow(sched->spans.list, &sched->spans.room, sched->spans.count,
                                   sizeof *sched->spans.list, sched->arena);
    job->span = sched->spans.count++;
    sched->spans.list[job->span] = (struct weft_job_span){
        .job = id,
        .start_ps = sched->now_ps,
        .begin_ps = ready_ps,
        .server_count = place->server_count,
        .servers = place->servers,
    };
    if (ready_ps <= sched->now_ps) {
        sched_begin_iterations(sched, id);
    }
}

// The job gives its servers back, and waits again or has ended. Where it is interrupted, what it
// did since it started is lost and counted, in servers times seconds.
void sched_stop(struct sched *sched, uint32_t id, enum sched_phase next, bool interrupted)
{
    struct sched_job *job = &sched->jobs[id];
    struct weft_job_span *span = &sched->spans.list[job->span];
    WEFT_ASSERT(job->phase == SCHED_HOLDING || job->phase == SCHED_RUNNING);
    for (uint32_t i = 0; i < job->place.server_count; i++) {
        WEFT_ASSERT(sched->servers.holder[job->place.servers[i]] == id);
        sched->servers.holder[job->place.servers[i]] = WEFT_NONE;
    }
    if (interrupted) {
        double lost = job->done - job->saved;
        job->record->lost_iterations += lost;
        sched->totals.lost_server_s += lost / job->step * job->steady.mean_ps /
                                       (double)WEFT_PS_PER_S * job->place.server_count;
        job->done = job->saved;
    }
    span->end_ps = sched->now_ps;
    span->begin_ps = span->begin_ps < span->end_ps ? span->begin_ps : span->end_ps;
    span->score = job->place.score;
    span->interrupted = interrupted;
    job->record->held_ps += span->end_ps - span->start_ps;
    job->record->score = fmin(job->record->score, job->place.score);
    take_out(sched->running.jobs, &sched->running.count, id);
    weft_tally_add(sched->options->tally, next == SCHED_ENDED);
    job->rate = 0;
    job->shard.degradation = 1;
    if (next == SCHED_WAITING) {
        sched_queue(sched, id);
    } else {
        job->phase = next;
        job->record->end_ps = sched->now_ps;
    }
}
