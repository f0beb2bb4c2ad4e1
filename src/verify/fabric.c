// SPDX-License-Identifier: Apache-2.0
// Whether a plan's planes, links, rings and routes are what they claim to be.
//
// A plane is a permutation; the links are exactly the lit ports, at the cluster's rate and latency;
// a ring visits its group once over links that chain, and the shares of a group add to 1; every
// pair has paths that chain and do not loop, with weights that add to 1. Nothing here is shared
// with what builds them. O(n d log (n d) + members + paths * hops).

#include "checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_RATIO 1e-9

// ---- planes ----

static bool check_permutation(struct findings *findings, const struct weft_topology *topology,
                              uint32_t plane, uint32_t *sender)
{
    uint32_t n = topology->server_count;
    memset(sender, 0xff, n * sizeof *sender);
    for (uint32_t s = 0; s < n; s++) {
        uint32_t to = topology->planes[(size_t)plane * n + s];
        if (to >= n) {
            findings_add(findings, "plane %u: server %u sends to %u, but servers are 0 to %u",
                         plane, s, to, n - 1);
            return false;
        }
        if (sender[to] != WEFT_NONE) {
            findings_add(findings, "plane %u is no permutation: servers %u and %u both reach %u",
                         plane, sender[to], s, to);
            return false;
        }
        sender[to] = s;
    }
    return true;
}

static int compare_keys(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// The lit interfaces as sorted keys from * 2^32 + to.
static uint64_t *list_lit(uint32_t *count, const struct weft_topology *topology,
                          struct weft_arena *arena)
{
    uint32_t n = topology->server_count;
    uint64_t *keys = WEFT_NEW_RAW(arena, uint64_t, (size_t)n * topology->degree + 1);
    uint32_t found = 0;
    for (uint32_t p = 0; p < topology->degree; p++) {
        for (uint32_t s = 0; s < n; s++) {
            uint32_t to = topology->planes[(size_t)p * n + s];
            if (to != s) {
                keys[found++] = (uint64_t)s << 32 | to;
            }
        }
    }
    qsort(keys, found, sizeof *keys, compare_keys);
    *count = found;
    return keys;
}

bool check_planes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch)
{
    const struct weft_topology *topology = &plan->topology;
    uint32_t before = findings->count;
    uint32_t *sender = WEFT_NEW_RAW(&scratch, uint32_t, topology->server_count);
    for (uint32_t p = 0; p < topology->degree; p++) {
        check_permutation(findings, topology, p, sender);
    }
    return findings->count == before;
}

// ---- links ----

static bool differ(double value, double wanted)
{
    return !(fabs(value - wanted) <= SAME_RATIO * fabs(wanted));
}

// One link of the fabric against `width` interfaces from..to.
static void check_link(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_link *link, uint32_t width)
{
    const struct weft_cluster *cluster = &plan->cluster;
    if (link->width != width) {
        findings_add(findings, "the link from %u to %u has width %u, but %u interfaces join them",
                     link->from, link->to, link->width, width);
    } else if (differ(link->rate_Bps, width * cluster->rate_Bps)) {
        char rate[WEFT_UNIT_TEXT];
        char wanted[WEFT_UNIT_TEXT];
        findings_add(findings, "the link from %u to %u has %s, but %u ports of the cluster have %s",
                     link->from, link->to, weft_show_rate(rate, link->rate_Bps), width,
                     weft_show_rate(wanted, width * cluster->rate_Bps));
    } else if (link->latency_ps != cluster->latency_ps) {
        char latency[WEFT_UNIT_TEXT];
        char wanted[WEFT_UNIT_TEXT];
        findings_add(findings, "the link from %u to %u has a latency of %s, the cluster's is %s",
                     link->from, link->to, weft_show_time(latency, link->latency_ps),
                     weft_show_time(wanted, cluster->latency_ps));
    }
}

// The fabric's links against the lit ports: the same pairs, as wide as planes join them.
bool check_links(struct findings *findings, const struct weft_plan *plan, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t before = findings->count;
    uint32_t count;
    const uint64_t *lit = list_lit(&count, &plan->topology, &scratch);
    uint32_t at = 0;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *link = &fabric->links[e];
        uint64_t key = (uint64_t)link->from << 32 | link->to;
        for (; at < count && lit[at] < key; at++) {
            findings_add(findings, "the interface from %u to %u has no link in the fabric",
                         (uint32_t)(lit[at] >> 32), (uint32_t)lit[at]);
        }
        uint32_t first = at;
        while (at < count && lit[at] == key) {
            at++;
        }
        if (at == first) {
            findings_add(findings, "the link from %u to %u is on no plane", link->from, link->to);
        } else {
            check_link(findings, plan, link, at - first);
        }
    }
    for (; at < count; at++) {
        findings_add(findings, "the interface from %u to %u has no link in the fabric",
                     (uint32_t)(lit[at] >> 32), (uint32_t)lit[at]);
    }
    return findings->count == before;
}

// ---- rings ----

// Whether the links chain from `from` to `to`.
static bool chains(const struct weft_fabric *fabric, const uint32_t *links, uint32_t link_count,
                   uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < link_count; i++) {
        if (links[i] >= fabric->link_count || fabric->links[links[i]].from != from) {
            return false;
        }
        from = fabric->links[links[i]].to;
    }
    return link_count > 0 && from == to;
}

// One ring against its group: as many members, each once.
static bool check_members(struct findings *findings, const struct weft_plan *plan, uint32_t index,
                          const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    const struct weft_ring *ring = &plan->network.rings.rings[index];
    uint32_t n = plan->cluster.server_count;
    uint8_t *seen = WEFT_NEW(&scratch, uint8_t, n);
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t member = ring->members[i];
        if (member >= n) {
            findings_add(findings, "ring %u names server %u, but servers are 0 to %u", index,
                         member, n - 1);
            return false;
        }
        if (seen[member]++ != 0) {
            findings_add(findings, "ring %u visits server %u twice", index, member);
            return false;
        }
    }
    if (graph == NULL) {
        return true;
    }
    if (ring->group >= graph->group_count) {
        findings_add(findings, "ring %u is for group %u, but the task graph has %u groups", index,
                     ring->group, graph->group_count);
        return false;
    }
    for (uint32_t i = graph->group_first[ring->group]; i < graph->group_first[ring->group + 1];
         i++) {
        uint32_t member = graph->group_members[i];
        if (member >= n || seen[member] == 0) {
            findings_add(findings, "ring %u does not visit server %u of its group %u", index,
                         member, ring->group);
            return false;
        }
        seen[member] = 0;
    }
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (seen[ring->members[i]] != 0) {
            findings_add(findings, "ring %u visits server %u, which is not in its group %u", index,
                         ring->members[i], ring->group);
            return false;
        }
    }
    return true;
}

static void check_hops(struct findings *findings, const struct weft_plan *plan, uint32_t index)
{
    const struct weft_ring *ring = &plan->network.rings.rings[index];
    for (uint32_t i = 0; i < ring->member_count && ring->member_count > 1; i++) {
        uint32_t from = ring->members[i];
        uint32_t to = ring->members[(i + 1) % ring->member_count];
        if (ring->hop_first == NULL) {
            continue; // the pair's route, which check_routes looks at
        }
        uint32_t first = ring->hop_first[i];
        if (!chains(&plan->network.fabric, ring->hop_links + first, ring->hop_first[i + 1] - first,
                    from, to)) {
            findings_add(findings, "ring %u: its hop from %u to %u is not over links that chain",
                         index, from, to);
            return;
        }
    }
}

// Shares of the rings of one group, which start at `first`; returns the index after them.
static uint32_t check_shares(struct findings *findings, const struct weft_ring_set *rings,
                             uint32_t first)
{
    uint32_t group = rings->rings[first].group;
    double sum = 0;
    uint32_t r = first;
    for (; r < rings->ring_count && rings->rings[r].group == group; r++) {
        double share_ratio = rings->rings[r].share_ratio;
        if (!(share_ratio > 0 && share_ratio <= 1 + SAME_RATIO)) {
            findings_add(findings, "ring %u carries %g of its group's bytes; it must be in (0, 1]",
                         r, share_ratio);
            return r + 1;
        }
        sum += share_ratio;
    }
    if (differ(sum, 1)) {
        findings_add(findings, "the rings of group %u carry %.9g of its bytes together, not 1",
                     group, sum);
    }
    for (uint32_t later = r; later < rings->ring_count; later++) {
        if (rings->rings[later].group == group) {
            findings_add(findings, "the rings of group %u do not stand together", group);
            break;
        }
    }
    return r;
}

bool check_rings(struct findings *findings, const struct weft_plan *plan,
                 const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    const struct weft_ring_set *rings = &plan->network.rings;
    uint32_t before = findings->count;
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        if (check_members(findings, plan, r, graph, scratch)) {
            check_hops(findings, plan, r);
        }
    }
    for (uint32_t r = 0; r < rings->ring_count;) {
        r = check_shares(findings, rings, r);
    }
    return findings->count == before;
}

// ---- routes ----

// What is wrong with the path, or NULL. `seen` marks nodes and is left clean.
static const char *path_fault(const struct weft_fabric *fabric, const uint32_t *links,
                              uint32_t link_count, uint32_t from, uint32_t to, bool *seen)
{
    if (!chains(fabric, links, link_count, from, to)) {
        return "does not chain";
    }
    bool loops = false;
    seen[from] = true;
    for (uint32_t i = 0; i < link_count; i++) {
        loops = loops || seen[fabric->links[links[i]].to];
        seen[fabric->links[links[i]].to] = true;
    }
    seen[from] = false;
    for (uint32_t i = 0; i < link_count; i++) {
        seen[fabric->links[links[i]].to] = false;
    }
    return loops ? "visits a server twice" : NULL;
}

// Plans of more servers have routes for the pairs that send alone (docs/plan-format.md).
#define ALL_PAIRS_SERVERS_MAX 1024u

// The paths of one pair: at least one, each from end to end without a loop, weights that add to 1.
static void check_pair(struct findings *findings, const struct weft_routes *routes, uint32_t from,
                       uint32_t to, bool *seen)
{
    size_t pair = (size_t)from * routes->fabric->server_count + to;
    uint32_t first = routes->pair_first[pair];
    uint32_t end = routes->pair_first[pair + 1];
    if (first == end && routes->fabric->server_count > ALL_PAIRS_SERVERS_MAX) {
        return; // whether something is sent is looked at with the job (check_routed)
    }
    if (first == end) {
        findings_add(findings, "no route from server %u to %u", from, to);
        return;
    }
    double sum = 0;
    for (uint32_t p = first; p < end; p++) {
        const uint32_t *links = routes->path_links + routes->path_first[p];
        uint32_t link_count = routes->path_first[p + 1] - routes->path_first[p];
        const char *fault = path_fault(routes->fabric, links, link_count, from, to, seen);
        if (fault != NULL) {
            findings_add(findings, "path %u of the route from server %u to %u %s", p - first, from,
                         to, fault);
            return;
        }
        if (!(routes->path_weight[p] > 0)) {
            findings_add(findings, "path %u of the route from server %u to %u has weight %.9g",
                         p - first, from, to, routes->path_weight[p]);
            return;
        }
        sum += routes->path_weight[p];
    }
    if (differ(sum, 1)) {
        findings_add(findings, "the paths from server %u to %u have weight %.9g together, not 1",
                     from, to, sum);
    }
}

bool check_routes(struct findings *findings, const struct weft_plan *plan,
                  struct weft_arena scratch)
{
    const struct weft_routes *routes = &plan->network.routes;
    uint32_t n = plan->cluster.server_count;
    uint32_t before = findings->count;
    if (routes->fabric != &plan->network.fabric || routes->kind != WEFT_ROUTES_TABLE) {
        findings_add(findings, "the routes are not a table over the plan's fabric");
        return false;
    }
    bool *seen = WEFT_NEW(&scratch, bool, routes->fabric->node_count);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (s != t) {
                check_pair(findings, routes, s, t, seen);
            }
        }
    }
    return findings->count == before;
}
