// SPDX-License-Identifier: Apache-2.0
// Servers and links that fail and come back: those that the trace lists, and those by chance, which
// are Poisson processes of rate count / MTBF from one seed. A component counts the reasons why it
// is down, so that failures may overlap. A server's failure stops its job, which loses what its
// last checkpoint lacks; a link's lays the flows of its jobs anew. O(failures under way) to find
// the next event, O(running jobs * their paths) for a link.

#include "state.h"

#include <math.h>

// Links of a fabric stand both ways: each way a cable is one of its width.
static uint64_t cable_ends(const struct weft_fabric *fabric)
{
    uint64_t count = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        count += fabric->links[e].width;
    }
    return count;
}

static double cable_count(const struct sched *sched)
{
    return sched->network != NULL ? (double)cable_ends(&sched->network->fabric) / 2
                                  : (double)sched->servers.count * sched->trace->cluster.degree;
}

static uint64_t draw_ps(struct sched *sched, double mtbf_s, double count)
{
    if (mtbf_s == 0 || count < 1) {
        return WEFT_NEVER;
    }
    double wait_ps =
        weft_rng_exponential(&sched->failures.chance_rng, mtbf_s * (double)WEFT_PS_PER_S / count);
    return sched->now_ps + (uint64_t)fmin(wait_ps, 0x1p62) + 1;
}

static void draw_next(struct sched *sched, bool is_link)
{
    const struct weft_trace_chance *chance = &sched->trace->chance;
    sched->failures.next_chance_ps[is_link] =
        is_link ? draw_ps(sched, chance->link_mtbf_s, cable_count(sched))
                : draw_ps(sched, chance->server_mtbf_s, sched->servers.count);
}

void sched_begin_chance(struct sched *sched)
{
    weft_rng_init(&sched->failures.chance_rng, sched->trace->chance.seed);
    draw_next(sched, false);
    draw_next(sched, true);
}

uint64_t sched_next_failure_ps(const struct sched *sched)
{
    uint64_t next_ps = sched->failures.next_chance_ps[0];
    next_ps =
        sched->failures.next_chance_ps[1] < next_ps ? sched->failures.next_chance_ps[1] : next_ps;
    if (sched->failures.next < sched->trace->failure_count) {
        uint64_t time_ps = sched->trace->failures[sched->failures.next].time_ps;
        next_ps = time_ps < next_ps ? time_ps : next_ps;
    }
    for (uint32_t i = 0; i < sched->failures.open_count; i++) {
        uint64_t end_ps = sched->failures.open[i].time_ps + sched->failures.open[i].repair_ps;
        next_ps = end_ps < next_ps ? end_ps : next_ps;
    }
    return next_ps;
}

static void set_server(struct sched *sched, uint32_t server, bool down)
{
    if (!down) {
        WEFT_ASSERT(sched->servers.down[server] > 0);
        sched->servers.down[server]--;
        return;
    }
    sched->servers.down[server]++;
    uint32_t job = sched->servers.holder[server];
    if (job != WEFT_NONE) {
        sched->jobs[job].record->failures++;
        sched_stop(sched, job, SCHED_WAITING, true);
    }
}

// Jobs that hold servers find their paths anew; those that have none left lose their servers.
static void lay_again(struct sched *sched, struct weft_arena scratch)
{
    for (uint32_t j = 0; j < sched->next_arrival; j++) {
        struct sched_job *job = &sched->jobs[j];
        struct sched_place place;
        if (job->phase != SCHED_HOLDING && job->phase != SCHED_RUNNING) {
            continue;
        }
        if (!sched_lay(&place, sched, j, job->place.servers, job->size,
                       &(struct weft_environment){.arena = sched->arena, .scratch = scratch})) {
            job->record->failures++;
            sched_stop(sched, j, SCHED_WAITING, true);
            continue;
        }
        place.score = job->place.score;
        job->place = place;
        job->steady.segments = place.segments;
        job->steady.alone_ps = place.alone_ps;
        job->signature = 0;
    }
}

static void set_link(struct sched *sched, uint32_t link, bool down)
{
    if (link != WEFT_NONE) {
        sched->links.down[link] += down ? 1 : UINT32_MAX;
        sched->links.down_count += down ? 1 : UINT32_MAX;
    }
}

double sched_degradation(const struct sched *sched, const struct sched_job *job)
{
    const struct weft_demand *demand = &job->class->demand;
    uint32_t degree = sched->trace->cluster.degree;
    uint32_t lost = 0; // ports of the server that has the fewest
    for (uint32_t i = 0; i < job->place.server_count; i++) {
        uint32_t own = sched->servers.ports_down[job->place.servers[i]];
        lost = own > lost ? own : lost;
    }
    WEFT_ASSERT(lost < degree);
    double sending_ps = 0;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        sending_ps += (double)demand->phases[p].duration_ps;
    }
    return 1 + sending_ps / (double)demand->iteration_ps * lost / (degree - lost);
}

// A fibre of a shard: its rings go on over the other ports, until a spare port of the patch panel
// takes its place (with look-ahead ports: after a wiring) or it is mended. A server without ports
// is down.
static void set_port(struct sched *sched, const struct weft_trace_failure *failure, bool down)
{
    uint32_t *ports = &sched->servers.ports_down[failure->server];
    uint32_t most = down ? *ports + 1 : *ports;
    *ports = down ? most : most - 1;
    if (most == sched->trace->cluster.degree) {
        set_server(sched, failure->server, down);
    }
    uint32_t job = sched->servers.holder[failure->server];
    if (job != WEFT_NONE) {
        sched->jobs[job].shard.degradation = sched_degradation(sched, &sched->jobs[job]);
        sched->jobs[job].record->failures += down;
    }
}

// A failure begins (`down`) or is mended.
static void apply(struct sched *sched, const struct weft_trace_failure *failure, bool down,
                  struct weft_arena scratch)
{
    if (!failure->is_link) {
        set_server(sched, failure->server, down);
        return;
    }
    if (sched->network == NULL) {
        set_port(sched, failure, down);
        return;
    }
    const struct weft_fabric *fabric = &sched->network->fabric;
    uint32_t there = weft_fabric_find_link(fabric, failure->server, failure->peer);
    uint32_t link =
        there != WEFT_NONE ? there : weft_fabric_find_link(fabric, failure->peer, failure->server);
    bool was_out = sched_link_is_out(sched, link);
    set_link(sched, there, down);
    set_link(sched, weft_fabric_find_link(fabric, failure->peer, failure->server), down);
    // A server is down with the last cable of a link of its own, and up again with the first.
    bool switched = fabric->node_count > fabric->server_count;
    bool turned = was_out != sched_link_is_out(sched, link);
    if (switched && turned && failure->server < fabric->server_count) {
        set_server(sched, failure->server, down);
    }
    if (switched && turned && failure->peer < fabric->server_count) {
        set_server(sched, failure->peer, down);
    }
    lay_again(sched, scratch);
}

static void open_failure(struct sched *sched, struct weft_trace_failure failure,
                         struct weft_arena scratch)
{
    failure.time_ps = sched->now_ps;
    sched->failures.past = sched_grow(sched->failures.past, &sched->failures.past_room,
                                      sched->failures.past_count, sizeof failure, sched->arena);
    sched->failures.past[sched->failures.past_count++] = failure;
    uint64_t wiring_ps = sched->trace->shards.wiring_ps;
    if (failure.is_link && sched->network == NULL && sched->trace->shards.look_ahead &&
        sched->trace->cluster.degree > 1 && wiring_ps < failure.repair_ps) {
        failure.repair_ps = wiring_ps;
    }
    sched->failures.open = sched_grow(sched->failures.open, &sched->failures.open_room,
                                      sched->failures.open_count, sizeof failure, sched->arena);
    sched->failures.open[sched->failures.open_count++] = failure;
    apply(sched, &failure, true, scratch);
}

static struct weft_trace_failure draw_failure(struct sched *sched, bool is_link)
{
    struct weft_trace_failure failure = {
        .repair_ps = sched->trace->chance.repair_ps,
        .is_link = is_link,
    };
    struct weft_rng *rng = &sched->failures.chance_rng;
    if (is_link && sched->network != NULL) {
        const struct weft_fabric *fabric = &sched->network->fabric;
        uint64_t cable = weft_rng_below(rng, (uint32_t)cable_ends(fabric));
        const struct weft_link *link = fabric->links;
        for (; cable >= link->width; link++) {
            cable -= link->width;
        }
        failure.server = link->from;
        failure.peer = link->to;
    } else {
        failure.server = weft_rng_below(rng, sched->servers.count);
    }
    return failure;
}

void sched_play_failures(struct sched *sched, struct weft_arena scratch)
{
    for (uint32_t i = 0; i < sched->failures.open_count;) {
        struct weft_trace_failure failure = sched->failures.open[i];
        if (failure.time_ps + failure.repair_ps > sched->now_ps) {
            i++;
            continue;
        }
        for (uint32_t k = i + 1; k < sched->failures.open_count; k++) {
            sched->failures.open[k - 1] = sched->failures.open[k];
        }
        sched->failures.open_count--;
        apply(sched, &failure, false, scratch);
    }
    while (sched->failures.next < sched->trace->failure_count &&
           sched->trace->failures[sched->failures.next].time_ps <= sched->now_ps) {
        open_failure(sched, sched->trace->failures[sched->failures.next++], scratch);
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (sched->failures.next_chance_ps[kind] <= sched->now_ps) {
            open_failure(sched, draw_failure(sched, kind == 1), scratch);
            draw_next(sched, kind == 1);
        }
    }
}
