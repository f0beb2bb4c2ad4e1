// SPDX-License-Identifier: Apache-2.0
// What a placed job asks of links: its flows take their paths, by hash as ECMP gives one path to a
// flow, or split over all paths by weight, and each link gets its share of the job's rate. Phases
// are slowed to what the job's own fullest link carries, so that a job alone never exceeds a link.
// Paths with a link whose cables have all failed are passed over. O(flows * paths * hops).

#include "state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Paths of a pair that count; more are thinned out evenly. Not measured: it bounds the time to lay
// a job, and 64 parts of a pair's bytes already load its links alike.
#define PATHS_MAX 64u

struct layer {
    const struct sched *sched;
    const uint32_t *servers;
    bool splits;     // a pair's bytes take all its paths
    uint64_t hash;   // of the job: else one each
    uint32_t *links; // of one path
    double *share;   // [link]
    double *flows;   // [link]
    uint32_t *touched;
    uint32_t touched_count;
};

static bool is_whole(const struct layer *layer, const uint32_t *links, uint32_t count)
{
    for (uint32_t i = 0; layer->sched->links.down_count > 0 && i < count; i++) {
        if (sched_link_is_out(layer->sched, links[i])) {
            return false;
        }
    }
    return true;
}

static void add_path(struct layer *layer, uint32_t hops, double share, double part)
{
    for (uint32_t h = 0; h < hops; h++) {
        uint32_t link = layer->links[h];
        if (layer->share[link] == 0) {
            layer->touched[layer->touched_count++] = link;
        }
        layer->share[link] += share * part;
        layer->flows[link] += part;
    }
}

// One path by hash, as ECMP gives a flow; the next one that is whole where that is not.
static bool pick_path(struct layer *layer, uint32_t from, uint32_t to, double share)
{
    const struct weft_routes *routes = &layer->sched->network->routes;
    uint32_t count = weft_routes_path_count(routes, from, to);
    if (count == 0) {
        return false;
    }
    uint64_t hash = weft_hash(layer->hash ^ ((uint64_t)from << 32 | to));
    uint32_t first = weft_routes_pick(routes, from, to, hash);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hops = weft_routes_path(routes, from, to, (first + i) % count, layer->links, NULL);
        if (is_whole(layer, layer->links, hops)) {
            add_path(layer, hops, share, 1);
            return true;
        }
    }
    return false;
}

// A pair's many flows divide over its paths by their weights.
static bool split_paths(struct layer *layer, uint32_t from, uint32_t to, double share)
{
    const struct weft_routes *routes = &layer->sched->network->routes;
    uint32_t count = weft_routes_path_count(routes, from, to);
    uint32_t stride = (count + PATHS_MAX - 1) / PATHS_MAX;
    double total = 0;
    for (uint32_t p = 0; p < count; p += stride) {
        double weight = 0;
        uint32_t hops = weft_routes_path(routes, from, to, p, layer->links, &weight);
        total += is_whole(layer, layer->links, hops) ? weight : 0;
    }
    for (uint32_t p = 0; p < count && total > 0; p += stride) {
        double weight = 0;
        uint32_t hops = weft_routes_path(routes, from, to, p, layer->links, &weight);
        if (is_whole(layer, layer->links, hops)) {
            add_path(layer, hops, share, weight / total);
        }
    }
    return total > 0;
}

static bool add_flow(struct layer *layer, uint32_t from, uint32_t to, double share)
{
    return layer->splits ? split_paths(layer, from, to, share) : pick_path(layer, from, to, share);
}

static bool add_pattern(struct layer *layer, const struct weft_job_class *class, uint32_t count)
{
    const uint32_t *servers = layer->servers;
    bool fine = true;
    if (class->pattern == WEFT_JOB_FLOWS) {
        for (uint32_t f = 0; f < class->flow_count && fine; f++) {
            const struct weft_job_flow *flow = &class->flows[f];
            fine = add_flow(layer, servers[flow->from], servers[flow->to], flow->share_ratio);
        }
        return fine;
    }
    for (uint32_t i = 0; i < count && count > 1 && fine; i++) {
        if (class->pattern == WEFT_JOB_RING) {
            fine = add_flow(layer, servers[i], servers[(i + 1) % count], 1);
        }
        for (uint32_t j = 0; j < count && class->pattern == WEFT_JOB_ALL_TO_ALL && fine; j++) {
            fine = i == j || add_flow(layer, servers[i], servers[j], 1.0 / (count - 1));
        }
    }
    return fine;
}

// Of a job's rate, what one of its flows has; 1 where nothing is sent.
static double mean_flow(const struct weft_job_class *class, uint32_t count)
{
    double sum = 0;
    for (uint32_t f = 0; class->pattern == WEFT_JOB_FLOWS && f < class->flow_count; f++) {
        sum += class->flows[f].share_ratio;
    }
    if (sum > 0) {
        return sum / class->flow_count;
    }
    return class->pattern == WEFT_JOB_ALL_TO_ALL && count > 1 ? 1.0 / (count - 1) : 1;
}

static int compare_links(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void take_uses(struct sched_place *place, const struct layer *layer,
                      struct weft_arena *arena)
{
    place->use_count = layer->touched_count;
    place->uses = WEFT_NEW(arena, struct sched_use, layer->touched_count);
    for (uint32_t i = 0; i < layer->touched_count; i++) {
        uint32_t link = layer->touched[i];
        place->uses[i] = (struct sched_use){link, layer->share[link], layer->flows[link]};
    }
}

// The job's phases no faster than the links that it uses alone allow.
static void take_segments(struct sched_place *place, const struct sched *sched,
                          const struct weft_demand *demand, struct weft_arena *arena)
{
    double limit_Bps = (double)INFINITY;
    for (uint32_t i = 0; i < place->use_count; i++) {
        double rate_Bps = sched_link_Bps(sched, place->uses[i].link);
        limit_Bps = fmin(limit_Bps, rate_Bps / place->uses[i].share);
    }
    place->segments = WEFT_NEW(arena, struct sched_segment, 2 * (size_t)demand->phase_count + 1);
    uint64_t at_ps = 0;
    for (uint32_t p = 0; p <= demand->phase_count; p++) {
        bool last = p == demand->phase_count;
        uint64_t start_ps = last ? demand->iteration_ps : demand->phases[p].start_ps;
        if (start_ps > at_ps) {
            place->segments[place->segment_count++] =
                (struct sched_segment){(double)(start_ps - at_ps), 0};
            at_ps = start_ps;
        }
        if (last || demand->phases[p].duration_ps == 0) {
            continue;
        }
        const struct weft_demand_phase *phase = &demand->phases[p];
        double rate_Bps = place->use_count == 0 ? 0 : fmin(phase->rate_Bps, limit_Bps);
        double stretch = rate_Bps > 0 ? phase->rate_Bps / rate_Bps : 1;
        place->segments[place->segment_count++] =
            (struct sched_segment){(double)phase->duration_ps * stretch, rate_Bps};
        place->peak_Bps = fmax(place->peak_Bps, rate_Bps);
        at_ps = start_ps + phase->duration_ps;
    }
    for (uint32_t s = 0; s < place->segment_count; s++) {
        place->alone_ps += place->segments[s].duration_ps;
    }
}

bool sched_lay(struct sched_place *place, const struct sched *sched, uint32_t job,
               const uint32_t *servers, uint32_t count, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    const struct weft_fabric *fabric = &sched->network->fabric;
    const struct weft_job_class *class = sched->jobs[job].class;
    struct layer layer = {
        .sched = sched,
        .servers = servers,
        // A task graph has many messages for a pair, and each picks its path.
        .splits = sched->network->routes.spread == WEFT_SPREAD_SPLIT || class->graph != NULL,
        .hash = sched->jobs[job].steady.seed,
        .links = WEFT_NEW(&scratch, uint32_t, (size_t)sched->network->routes.hop_max + 1),
        .share = WEFT_NEW(&scratch, double, fabric->link_count),
        .flows = WEFT_NEW(&scratch, double, fabric->link_count),
        .touched = WEFT_NEW(&scratch, uint32_t, fabric->link_count),
    };
    if (!add_pattern(&layer, class, count)) {
        return false;
    }
    qsort(layer.touched, layer.touched_count, sizeof *layer.touched, compare_links);
    *place = (struct sched_place){.server_count = count, .score = 1};
    place->servers = WEFT_NEW(arena, uint32_t, count);
    memcpy(place->servers, servers, count * sizeof *servers);
    take_uses(place, &layer, arena);
    place->flow_ratio = mean_flow(class, count);
    take_segments(place, sched, &class->demand, arena);
    return true;
}
