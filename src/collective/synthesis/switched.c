// SPDX-License-Identifier: Apache-2.0
// Free paths through switches, and what transfers leave of them: hops to every server are counted
// once backward from it (breadth-first, servers do not forward), a transfer then walks down those
// counts from a random link on, backing out of switches whose links are taken. Links between
// switches count as several lanes of a server link's rate. O(links of a path * degree) for a path
// that is found at once.

#include "switched.h"

#include <math.h>
#include <string.h>

// Lanes of one link between switches, a limit of memory: more transfers at once are not told apart.
#define LANES_MAX 4096.0
#define FAR UINT16_MAX

// Links to each server through switches, backward from the server.
static void fill_hops(uint16_t *hops, const struct weft_fabric *fabric, const uint32_t *into_first,
                      const uint32_t *into, struct weft_arena scratch)
{
    uint32_t nodes = fabric->node_count;
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, nodes);
    memset(hops, 0xff, (size_t)fabric->server_count * nodes * sizeof *hops);
    for (uint32_t t = 0; t < fabric->server_count; t++) {
        uint16_t *row = hops + (size_t)t * nodes;
        uint32_t head = 0;
        uint32_t tail = 0;
        row[t] = 0;
        queue[tail++] = t;
        while (head < tail) {
            uint32_t v = queue[head++];
            if (v < fabric->server_count && v != t) {
                continue; // servers do not forward within a transfer
            }
            for (uint32_t i = into_first[v]; i < into_first[v + 1]; i++) {
                uint32_t from = fabric->links[into[i]].from;
                if (row[from] == FAR && row[v] < WEFT_SWITCHED_HOPS) {
                    row[from] = (uint16_t)(row[v] + 1);
                    queue[tail++] = from;
                }
            }
        }
    }
}

static const uint32_t *links_into(const uint32_t **first, const struct weft_fabric *fabric,
                                  struct weft_arena *arena)
{
    uint32_t *begin = WEFT_NEW(arena, uint32_t, (size_t)fabric->node_count + 2);
    uint32_t *into = WEFT_NEW_RAW(arena, uint32_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        begin[fabric->links[l].to + 2]++;
    }
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        begin[v + 2] += begin[v + 1];
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        into[begin[fabric->links[l].to + 1]++] = l;
    }
    *first = begin;
    return into;
}

// A link between switches has a lane for each link of the fastest server that it could fill.
static void fill_lanes(struct weft_switched *switched, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = switched->synth->fabric;
    double fastest_Bps = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (link->from < fabric->server_count || link->to < fabric->server_count) {
            fastest_Bps = link->rate_Bps > fastest_Bps ? link->rate_Bps : fastest_Bps;
        }
    }
    uint32_t *first = WEFT_NEW_RAW(arena, uint32_t, (size_t)fabric->link_count + 1);
    first[0] = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        double fits = floor(link->rate_Bps / fastest_Bps * (1 + 1e-12));
        bool inner = link->from >= fabric->server_count && link->to >= fabric->server_count;
        fits = !inner || fits < 1 ? 1 : fmin(fits, LANES_MAX);
        first[l + 1] = first[l] + (uint32_t)fits;
    }
    switched->lane_first = first;
    switched->lane_ps = WEFT_NEW(arena, uint64_t, first[fabric->link_count]);
}

void weft_switched_init(struct weft_switched *switched, const struct weft_synth *synth,
                        struct weft_arena *arena)
{
    *switched = (struct weft_switched){.synth = synth};
    if (synth->direct) {
        return;
    }
    const struct weft_fabric *fabric = synth->fabric;
    switched->into = links_into(&switched->into_first, fabric, arena);
    uint16_t *hops =
        WEFT_NEW_RAW(arena, uint16_t, (size_t)fabric->server_count * fabric->node_count);
    fill_hops(hops, fabric, switched->into_first, switched->into, *arena);
    switched->hops = hops;
    fill_lanes(switched, arena);
}

uint32_t weft_switched_hops(const struct weft_switched *switched, uint32_t link, uint32_t to)
{
    const struct weft_fabric *fabric = switched->synth->fabric;
    uint32_t next = fabric->links[link].to;
    uint32_t hops = switched->hops[(size_t)to * fabric->node_count + next];
    return hops < WEFT_SWITCHED_HOPS ? hops + 1 : WEFT_NONE;
}

bool weft_switched_may_end(const struct weft_switched *switched, uint32_t to, uint64_t now_ps)
{
    const struct weft_fabric *fabric = switched->synth->fabric;
    for (uint32_t i = switched->into_first[to]; i < switched->into_first[to + 1]; i++) {
        uint32_t link = switched->into[i];
        uint64_t slack_ps = fabric->links[link].latency_ps * WEFT_SWITCHED_HOPS;
        if (switched->lane_ps[switched->lane_first[link]] <= now_ps + slack_ps + 1000000) {
            return true;
        }
    }
    return false;
}

// A walk down the distances to `to`, backing out of switches whose links are taken.
struct walk {
    const struct weft_switched *switched;
    struct weft_switched_path *path;
    const uint16_t *hops;
    uint32_t to;
    uint64_t now_ps;
    struct weft_rng *rng;
    double rate_Bps[WEFT_SWITCHED_HOPS + 1]; // the least so far
};

static uint32_t free_lane(const struct weft_switched *switched, uint32_t link, uint64_t at_ps)
{
    for (uint32_t i = switched->lane_first[link]; i < switched->lane_first[link + 1]; i++) {
        if (switched->lane_ps[i] <= at_ps) {
            return i;
        }
    }
    return WEFT_NONE;
}

static bool step_along(struct walk *walk, uint32_t link, uint32_t depth, uint64_t before_ps);

static bool walk_on(struct walk *walk, uint32_t node, uint32_t depth, uint64_t before_ps)
{
    if (node == walk->to) {
        walk->path->hop_count = depth;
        walk->path->arrive_ps = before_ps;
        return true;
    }
    const struct weft_fabric *fabric = walk->switched->synth->fabric;
    uint32_t first = fabric->first[node];
    uint32_t degree = fabric->first[node + 1] - first;
    uint32_t shift = degree > 0 ? weft_rng_below(walk->rng, degree) : 0;
    for (uint32_t i = 0; i < degree; i++) {
        uint32_t link = first + (shift + i) % degree;
        uint32_t next = fabric->links[link].to;
        if (walk->hops[next] + 1u == walk->hops[node] && step_along(walk, link, depth, before_ps)) {
            return true;
        }
    }
    return false;
}

static bool step_along(struct walk *walk, uint32_t link, uint32_t depth, uint64_t before_ps)
{
    const struct weft_switched *switched = walk->switched;
    const struct weft_link *via = &switched->synth->fabric->links[link];
    uint32_t lane = free_lane(switched, link, walk->now_ps + before_ps);
    if (lane == WEFT_NONE || depth == WEFT_SWITCHED_HOPS) {
        return false;
    }
    uint32_t lanes = switched->lane_first[link + 1] - switched->lane_first[link];
    walk->path->lanes[depth] = lane;
    walk->path->before_ps[depth] = before_ps;
    walk->rate_Bps[depth + 1] = fmin(walk->rate_Bps[depth], via->rate_Bps / lanes);
    return walk_on(walk, via->to, depth + 1, before_ps + via->latency_ps);
}

bool weft_switched_find(struct weft_switched_path *path, const struct weft_switched *switched,
                        uint32_t link, uint32_t to, uint64_t now_ps, struct weft_rng *rng)
{
    const struct weft_synth *synth = switched->synth;
    struct walk walk = {
        .switched = switched,
        .path = path,
        .hops = switched->hops + (size_t)to * synth->fabric->node_count,
        .to = to,
        .now_ps = now_ps,
        .rng = rng,
        .rate_Bps = {HUGE_VAL},
    };
    if (!step_along(&walk, link, 0, 0)) {
        return false;
    }
    path->send_ps = weft_synth_send_ps(synth->chunk_bytes, walk.rate_Bps[path->hop_count]);
    path->arrive_ps += path->send_ps;
    path->busy_ps = synth->holds ? path->arrive_ps : path->send_ps;
    return true;
}

void weft_switched_take(struct weft_switched *switched, const struct weft_switched_path *path,
                        uint64_t now_ps)
{
    for (uint32_t i = 0; i < path->hop_count; i++) {
        uint64_t before_ps = switched->synth->holds ? 0 : path->before_ps[i];
        WEFT_ASSERT(switched->lane_ps[path->lanes[i]] <= now_ps + path->before_ps[i]);
        switched->lane_ps[path->lanes[i]] = now_ps + before_ps + path->busy_ps;
    }
}
