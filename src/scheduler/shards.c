// SPDX-License-Identifier: Apache-2.0
// Servers of its own for each job, with a topology wired before it begins: TopoOpt's shared cluster
// with look-ahead wiring (Wang et al., NSDI 2023, section 3 and appendix).
//
// 1x2 switches give each interface an active plane and one that can be wired meanwhile. The first
// job in the queue takes the servers that are expected to be free first and whose other plane is
// unused; robots wire one shard after the other, and the switches flip when the servers are free.
// O(servers * size) for each job.

#include "state.h"

#include <string.h>

// When a server is expected to be free of the job that holds it.
static uint64_t expected_free_ps(const struct sched *sched, uint32_t server)
{
    uint32_t holder = sched->servers.holder[server];
    if (holder == WEFT_NONE) {
        return sched->now_ps;
    }
    const struct sched_job *job = &sched->jobs[holder];
    double rate = job->rate > 0 ? job->rate : job->step / job->place.alone_ps;
    double left_ps = (job->work - job->done) / rate;
    uint64_t from_ps = job->begin_ps > sched->now_ps ? job->begin_ps : sched->now_ps;
    return from_ps + (uint64_t)left_ps;
}

// The `size` servers that are free first and whose other plane no job has yet; false: too few.
// Without look-ahead ports only idle servers can be wired.
static bool pick(uint32_t *servers, uint32_t size, const struct sched *sched,
                 struct weft_arena scratch)
{
    uint64_t *free_ps = WEFT_NEW(&scratch, uint64_t, size);
    uint32_t count = 0;
    for (uint32_t v = 0; v < sched->servers.count; v++) {
        bool idle = sched->servers.holder[v] == WEFT_NONE;
        if (sched->servers.ahead[v] != WEFT_NONE || sched->servers.down[v] > 0 ||
            (!idle && !sched->trace->shards.look_ahead)) {
            continue;
        }
        uint64_t when_ps = expected_free_ps(sched, v);
        if (count == size && when_ps >= free_ps[count - 1]) {
            continue;
        }
        uint32_t at = count < size ? count++ : count - 1;
        for (; at > 0 && free_ps[at - 1] > when_ps; at--) {
            free_ps[at] = free_ps[at - 1];
            servers[at] = servers[at - 1];
        }
        free_ps[at] = when_ps;
        servers[at] = v;
    }
    return count == size;
}

// The robots wire one job's shard after the other, in the order in which they are asked to.
static void order_wiring(struct sched *sched, uint32_t job, const uint32_t *servers)
{
    struct sched_job *entry = &sched->jobs[job];
    uint64_t from_ps =
        sched->robots_free_ps > sched->now_ps ? sched->robots_free_ps : sched->now_ps;
    sched->robots_free_ps = from_ps + sched->trace->shards.wiring_ps;
    entry->shard.wired_ps = sched->robots_free_ps;
    entry->place.servers = WEFT_NEW(sched->arena, uint32_t, entry->size);
    memcpy(entry->place.servers, servers, entry->size * sizeof *servers);
    for (uint32_t i = 0; i < entry->size; i++) {
        sched->servers.ahead[servers[i]] = job;
    }
}

static void cancel_wiring(struct sched *sched, uint32_t job)
{
    struct sched_job *entry = &sched->jobs[job];
    for (uint32_t i = 0; i < entry->size; i++) {
        sched->servers.ahead[entry->place.servers[i]] = WEFT_NONE;
    }
    entry->shard.wired_ps = WEFT_NEVER;
}

static bool is_ready(const struct sched *sched, const struct sched_job *job)
{
    for (uint32_t i = 0; i < job->size; i++) {
        if (!sched_usable(sched, job->place.servers[i])) {
            return false;
        }
    }
    return job->shard.wired_ps <= sched->now_ps;
}

static bool lost_server(const struct sched *sched, const struct sched_job *job)
{
    for (uint32_t i = 0; i < job->size; i++) {
        if (sched->servers.down[job->place.servers[i]] > 0) {
            return true;
        }
    }
    return false;
}

static void start(struct sched *sched, uint32_t job)
{
    struct sched_job *entry = &sched->jobs[job];
    const struct weft_job_class *class = entry->class;
    struct sched_segment *segment = WEFT_NEW(sched->arena, struct sched_segment, 1);
    uint64_t alone_ps =
        class->shard_iteration_ps > 0 ? class->shard_iteration_ps : class->demand.iteration_ps;
    segment->duration_ps = (double)alone_ps;
    struct sched_place place = {
        .server_count = entry->size,
        .servers = entry->place.servers,
        .segment_count = 1,
        .segments = segment,
        .alone_ps = (double)alone_ps,
        .score = 1,
    };
    cancel_wiring(sched, job);
    bool again = entry->record->placements > 0;
    sched_start(sched, job, &place,
                sched->now_ps + sched->trace->shards.switch_ps +
                    (again ? sched->trace->restart_ps : 0));
    entry->shard.degradation = sched_degradation(sched, entry);
}

bool sched_allocate_shards(struct sched *sched, struct weft_arena scratch)
{
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, sched->servers.count);
    bool blocked = false;
    for (uint32_t i = 0; i < sched->waiting.count;) {
        uint32_t job = sched->waiting.jobs[i];
        struct sched_job *entry = &sched->jobs[job];
        if (entry->shard.wired_ps != WEFT_NEVER && lost_server(sched, entry)) {
            cancel_wiring(sched, job);
        }
        if (entry->shard.wired_ps == WEFT_NEVER && !blocked) {
            if (pick(servers, entry->size, sched, scratch)) {
                order_wiring(sched, job, servers);
            } else {
                blocked = true; // first come, first served: nobody's shard is wired before
            }
        }
        if (entry->shard.wired_ps != WEFT_NEVER && is_ready(sched, entry)) {
            start(sched, job);
        } else {
            i++;
        }
    }
    return true;
}
