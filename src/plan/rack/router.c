// SPDX-License-Identifier: Apache-2.0
// Paths for the edges of a placement, within the channels that are left on each link and within a
// number of hops: branch and bound over simple paths, exact.
//
// At each step the bound is the sum of the distances of what is not routed yet, over the links
// that still have room. The edge whose ends are farthest apart goes first, its shortest paths
// before longer ones; a path may be longer than the distance by what the bound leaves of hops_max.
// Before that, links out of each server must have room for the circuits that end there (a cut of
// one server). Sets of servers are words, so a breadth-first search takes a few operations a level.

#include "rack.h"

struct walk {
    struct rack_router *router;
    const struct rack_demand *demands;
    uint64_t *near; // of a server: over links with room for the least circuits
    bool *routed;
    uint32_t count;
    uint32_t remaining;
    const uint64_t *within; // of the demand being routed: servers that many hops from its end
};

// Servers from which `to` is at most i hops away, in within[i].
static void spread(uint64_t *within, const uint64_t *near, uint32_t to, uint32_t most)
{
    within[0] = rack_bit(to);
    uint64_t front = within[0];
    for (uint32_t i = 1; i <= most; i++) {
        uint64_t found = 0;
        for (; front != 0; front &= front - 1) {
            found |= near[rack_first(front)];
        }
        front = found & ~within[i - 1];
        within[i] = within[i - 1] | front;
    }
}

static uint32_t distance_of(const uint64_t *near, uint32_t from, uint32_t to, uint32_t most)
{
    uint64_t seen = rack_bit(from);
    uint64_t front = seen;
    for (uint32_t i = 1; i <= most && front != 0; i++) {
        uint64_t found = 0;
        for (; front != 0; front &= front - 1) {
            found |= near[rack_first(front)];
        }
        if ((found & rack_bit(to)) != 0) {
            return i;
        }
        front = found & ~seen;
        seen |= front;
    }
    return WEFT_NONE;
}

static void use_link(struct walk *walk, uint32_t a, uint32_t b, uint32_t circuits, bool taken)
{
    struct rack_router *router = walk->router;
    uint32_t link = rack_link(router->tables, a, b);
    router->left[link] += taken ? -circuits : circuits;
    bool open = router->left[link] >= router->circuits_least;
    walk->near[a] = open ? walk->near[a] | rack_bit(b) : walk->near[a] & ~rack_bit(b);
    walk->near[b] = open ? walk->near[b] | rack_bit(a) : walk->near[b] & ~rack_bit(a);
}

static enum rack_answer route_next(struct walk *walk, uint32_t spent);

// Paths of exactly `length` more hops from the end of the demand's path.
static enum rack_answer extend(struct walk *walk, const struct rack_demand *demand, uint64_t seen,
                               uint32_t length, uint32_t spent)
{
    struct rack_path *path = &walk->router->paths[demand->edge];
    uint32_t at = path->servers[path->hops];
    const uint64_t *within = walk->within;
    if (length == 0) {
        enum rack_answer answer = route_next(walk, spent);
        walk->within = within;
        return answer;
    }
    uint64_t next = walk->near[at] & ~seen & within[length - 1];
    next &= length > 1 ? ~rack_bit(demand->to) : next;
    for (; next != 0; next &= next - 1) {
        uint32_t s = rack_first(next);
        if (!rack_step(walk->router->effort, 1)) {
            return RACK_CUT;
        }
        if (walk->router->left[rack_link(walk->router->tables, at, s)] < demand->circuits) {
            continue;
        }
        use_link(walk, at, s, demand->circuits, true);
        path->servers[++path->hops] = (uint8_t)s;
        enum rack_answer answer = extend(walk, demand, seen | rack_bit(s), length - 1, spent);
        use_link(walk, at, s, demand->circuits, false);
        if (answer != RACK_NONE) {
            return answer;
        }
        path->hops--;
    }
    return RACK_NONE;
}

// Whether links out of every server have room for the circuits that begin or end there.
static bool ends_fit(const struct walk *walk)
{
    const struct rack_router *router = walk->router;
    uint32_t need[WEFT_RACK_SERVERS_MAX] = {0};
    for (uint32_t d = 0; d < walk->count; d++) {
        if (!walk->routed[d]) {
            need[walk->demands[d].from] += walk->demands[d].circuits;
            need[walk->demands[d].to] += walk->demands[d].circuits;
        }
    }
    for (uint32_t s = 0; s < router->tables->server_count; s++) {
        uint64_t near = need[s] > 0 ? walk->near[s] : 0;
        uint64_t room = 0;
        for (; near != 0; near &= near - 1) {
            room += router->left[rack_link(router->tables, s, rack_first(near))];
        }
        if (room < need[s]) {
            return false;
        }
    }
    return true;
}

static void refuse_hops(struct rack_router *router, uint32_t hops)
{
    router->next_hops = hops < router->next_hops ? hops : router->next_hops;
}

static enum rack_answer route_next(struct walk *walk, uint32_t spent)
{
    struct rack_router *router = walk->router;
    if (walk->remaining == 0) {
        return router->accept == NULL ? RACK_FOUND : router->accept(router->context);
    }
    if (!rack_step(router->effort, walk->remaining)) {
        return RACK_CUT;
    }
    uint32_t most = router->tables->hops_max;
    uint32_t sum = 0;
    uint32_t longest = 0;
    uint32_t chosen = 0;
    for (uint32_t d = 0; d < walk->count; d++) {
        if (walk->routed[d]) {
            continue;
        }
        const struct rack_demand *demand = &walk->demands[d];
        uint32_t distance = distance_of(walk->near, demand->from, demand->to, most);
        if (distance == WEFT_NONE) {
            return RACK_NONE;
        }
        sum += distance;
        if (distance > longest) {
            longest = distance;
            chosen = d;
        }
    }
    if (router->bounds_hops && spent + sum > router->hops_max) {
        refuse_hops(router, spent + sum);
        return RACK_NONE;
    }
    if (!ends_fit(walk)) {
        return RACK_NONE;
    }
    uint32_t last =
        router->tables->server_count - 1 < most ? router->tables->server_count - 1 : most;
    if (router->bounds_hops && longest + (router->hops_max - spent - sum) < last) {
        last = longest + (router->hops_max - spent - sum);
        refuse_hops(router, router->hops_max + 1);
    }
    const struct rack_demand *demand = &walk->demands[chosen];
    struct rack_path *path = &router->paths[demand->edge];
    enum rack_answer answer = RACK_NONE;
    uint64_t within[WEFT_RACK_SERVERS_MAX + 1];
    spread(within, walk->near, demand->to, last);
    walk->within = within;
    walk->routed[chosen] = true;
    walk->remaining--;
    for (uint32_t length = longest; length <= last && answer == RACK_NONE; length++) {
        path->hops = 0;
        path->servers[0] = (uint8_t)demand->from;
        answer = extend(walk, demand, rack_bit(demand->from), length, spent + length);
    }
    walk->routed[chosen] = false;
    walk->remaining++;
    return answer;
}

enum rack_answer rack_route(struct rack_router *router, const struct rack_demand *demands,
                            uint32_t count, uint32_t spent, struct weft_arena scratch)
{
    const struct rack_tables *tables = router->tables;
    struct walk walk = {
        .router = router,
        .demands = demands,
        .near = WEFT_NEW(&scratch, uint64_t, tables->server_count),
        .routed = WEFT_NEW(&scratch, bool, (size_t)count + 1),
        .count = count,
        .remaining = count,
    };
    for (uint32_t l = 0; l < tables->link_count; l++) {
        if (router->left[l] >= router->circuits_least && router->left[l] > 0) {
            walk.near[tables->link_a[l]] |= rack_bit(tables->link_b[l]);
            walk.near[tables->link_b[l]] |= rack_bit(tables->link_a[l]);
        }
    }
    return route_next(&walk, spent);
}
