// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2).
//
// All rates grow together until a link is full; the flows that cross it keep theirs, the others
// grow on. It starts from nothing after every change, looks at all paths in use and keeps nothing
// but the bytes that each has served, which is slow and easy to believe.

#include "rates.h"

#include <math.h>
#include <string.h>

// Links that are full at one level, but for the rounding of what was taken from them.
#define EQUAL_RATIO 1e-12
#define PS_PER_S ((double)WEFT_PS_PER_S)

void rates_init(struct rates *rates, const struct weft_fabric *fabric, struct rates_path *paths,
                uint32_t path_count, struct weft_arena *arena)
{
    for (uint32_t p = 0; p < path_count; p++) {
        struct rates_path *path = &paths[p];
        double slowest = 0;
        for (uint32_t l = 0; l < path->link_count; l++) {
            const struct weft_link *link = &fabric->links[path->links[l]];
            path->propagation_ps += (double)link->latency_ps;
            path->store_ps_per_byte += PS_PER_S / link->rate_Bps;
            slowest = fmax(slowest, PS_PER_S / link->rate_Bps);
        }
        path->store_ps_per_byte -= slowest;
        if (path->link_count < 2) {
            path->store_ps_per_byte = 0;
        }
    }
    size_t links = (size_t)fabric->link_count + 1;
    *rates = (struct rates){.fabric = fabric,
                            .paths = paths,
                            .active = WEFT_NEW(arena, uint32_t, (size_t)path_count + 1),
                            .unfrozen = WEFT_NEW(arena, uint32_t, (size_t)path_count + 1),
                            .left_Bps = WEFT_NEW(arena, double, links),
                            .share_Bps = WEFT_NEW(arena, double, links),
                            .crossing = WEFT_NEW(arena, uint32_t, links),
                            .used = WEFT_NEW(arena, uint32_t, links),
                            .arena = arena};
}

void rates_start(struct rates *rates, uint32_t path_id, double bytes, uint32_t owner)
{
    struct rates_path *path = &rates->paths[path_id];
    if (rates->flow_count == rates->flow_room) {
        uint32_t room = 2 * rates->flow_room + 64;
        struct rates_flow *flows = WEFT_NEW_RAW(rates->arena, struct rates_flow, room);
        if (rates->flow_count > 0) {
            memcpy(flows, rates->flows, rates->flow_count * sizeof *flows);
        }
        rates->flows = flows;
        rates->flow_room = room;
    }
    if (path->flow_count++ == 0) {
        path->served_bytes = 0;
    }
    if (!path->is_active) {
        path->is_active = true;
        rates->active[rates->active_count++] = path_id;
    }
    rates->flows[rates->flow_count++] =
        (struct rates_flow){path_id, owner, path->served_bytes + bytes};
    rates->started_count++;
    rates->changed = true;
}

// Counts the flows on each link, and drops paths whose flows have all ended.
static uint32_t count_crossing(struct rates *rates)
{
    uint32_t used_count = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rates->active_count; i++) {
        struct rates_path *path = &rates->paths[rates->active[i]];
        path->is_active = path->flow_count > 0;
        if (!path->is_active) {
            continue;
        }
        rates->active[kept++] = rates->active[i];
        for (uint32_t l = 0; l < path->link_count; l++) {
            uint32_t link = path->links[l];
            if (rates->crossing[link] == 0) {
                rates->left_Bps[link] = rates->fabric->links[link].rate_Bps;
                rates->used[used_count++] = link;
            }
            rates->crossing[link] += path->flow_count;
        }
    }
    rates->active_count = kept;
    return used_count;
}

// What each flow of every used link would get if the link were full now; the least of them.
static double find_level(struct rates *rates, uint32_t used_count)
{
    double level_Bps = HUGE_VAL;
    for (uint32_t i = 0; i < used_count; i++) {
        uint32_t link = rates->used[i];
        double left_Bps = rates->left_Bps[link] > 0 ? rates->left_Bps[link] : 0;
        if (rates->crossing[link] > 0) {
            rates->share_Bps[link] = left_Bps / rates->crossing[link];
            level_Bps = rates->share_Bps[link] < level_Bps ? rates->share_Bps[link] : level_Bps;
        }
    }
    return level_Bps;
}

static bool is_full(const struct rates *rates, const struct rates_path *path, double level_Bps)
{
    for (uint32_t l = 0; l < path->link_count; l++) {
        if (rates->share_Bps[path->links[l]] <= level_Bps * (1 + EQUAL_RATIO)) {
            return true;
        }
    }
    return false;
}

// Level by level: the paths over links that are full there keep its rate, who is settled before
// anything is taken from the links.
void rates_fill(struct rates *rates)
{
    if (!rates->changed) {
        return;
    }
    rates->changed = false;
    uint32_t used_count = count_crossing(rates);
    uint32_t left = rates->active_count;
    memcpy(rates->unfrozen, rates->active, left * sizeof *rates->unfrozen);
    while (left > 0) {
        double level_Bps = find_level(rates, used_count);
        uint32_t frozen = left;
        for (uint32_t i = 0; i < frozen;) {
            uint32_t id = rates->unfrozen[i];
            if (is_full(rates, &rates->paths[id], level_Bps)) {
                rates->unfrozen[i] = rates->unfrozen[--frozen];
                rates->unfrozen[frozen] = id;
            } else {
                i++;
            }
        }
        WEFT_ASSERT(frozen < left);
        for (uint32_t i = frozen; i < left; i++) {
            struct rates_path *path = &rates->paths[rates->unfrozen[i]];
            path->rate_Bps = level_Bps;
            for (uint32_t l = 0; l < path->link_count; l++) {
                rates->left_Bps[path->links[l]] -= level_Bps * path->flow_count;
                rates->crossing[path->links[l]] -= path->flow_count;
            }
        }
        left = frozen;
    }
}

static double left_ps(const struct rates *rates, const struct rates_flow *flow)
{
    const struct rates_path *path = &rates->paths[flow->path];
    double left_bytes = flow->target_bytes - path->served_bytes;
    return left_bytes > 0 ? left_bytes / path->rate_Bps * PS_PER_S : 0;
}

double rates_next_ps(const struct rates *rates)
{
    double next_ps = HUGE_VAL;
    for (uint32_t i = 0; i < rates->flow_count; i++) {
        double end_ps = left_ps(rates, &rates->flows[i]);
        next_ps = end_ps < next_ps ? end_ps : next_ps;
    }
    return next_ps;
}

void rates_pass(struct rates *rates, double time_ps)
{
    for (uint32_t i = 0; i < rates->active_count; i++) {
        struct rates_path *path = &rates->paths[rates->active[i]];
        path->served_bytes += path->rate_Bps * (time_ps / PS_PER_S);
    }
}

bool rates_take(struct rates *rates, uint32_t *at, double slack_ps, struct rates_flow *ended)
{
    for (; *at < rates->flow_count; (*at)++) {
        if (left_ps(rates, &rates->flows[*at]) <= slack_ps) {
            *ended = rates->flows[*at];
            rates->paths[ended->path].flow_count--;
            rates->changed = true;
            rates->flow_count--;
            memmove(&rates->flows[*at], &rates->flows[*at + 1],
                    (rates->flow_count - *at) * sizeof *rates->flows);
            return true;
        }
    }
    return false;
}
