// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SAMPLE_PLAN_H
#define WEFT_SAMPLE_PLAN_H

// A small plan made by hand, for tests of what reads, writes and draws plans: n servers on duplex
// circulant rings +a and +b and one AllReduce group of all of them.

#include "weft/plan.h"

static const struct weft_bound sample_bounds[] = {
    {.name = "compute-critical-path",
     .seconds = 0.005,
     .reason = "No fabric computes for a server.",
     .scope = WEFT_BOUND_ANY_FABRIC,
     .any_collectives = true},
    {.name = "server-ports",
     .seconds = 0.0125,
     .reason = "A server's bytes leave by its \"d\" ports.",
     .scope = WEFT_BOUND_ANY_FABRIC},
    {.name = "moore-hops",
     .seconds = 0.0110,
     .reason = "Hops use capacity.",
     .scope = WEFT_BOUND_DIRECT_FABRIC},
    {.name = "this-fabric-flow",
     .seconds = 0.0127,
     .reason = "The links that carry it.",
     .scope = WEFT_BOUND_THIS_FABRIC},
};

// Plane 2k sends i to i + jumps[k], plane 2k + 1 sends it back.
static inline const uint32_t *sample_planes(uint32_t n, const uint32_t *jumps, uint32_t jump_count,
                                            struct weft_arena *arena)
{
    uint32_t *planes = WEFT_NEW(arena, uint32_t, (size_t)2 * jump_count * n);
    for (uint32_t k = 0; k < jump_count; k++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = (i + jumps[k]) % n;
            planes[(size_t)2 * k * n + i] = to;
            planes[(size_t)(2 * k + 1) * n + to] = i;
        }
    }
    return planes;
}

static inline bool sample_fabric(struct weft_fabric *fabric, const struct weft_plan *plan,
                                 struct weft_arena *arena, struct weft_error *error)
{
    uint32_t n = plan->cluster.server_count;
    struct weft_link *links = WEFT_NEW(arena, struct weft_link, (size_t)n * plan->cluster.degree);
    uint32_t count = 0;
    for (uint32_t p = 0; p < plan->cluster.degree; p++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = plan->topology.planes[(size_t)p * n + i];
            if (to != i) {
                links[count++] =
                    (struct weft_link){i, to, plan->cluster.rate_Bps, plan->cluster.latency_ps, 1};
            }
        }
    }
    return weft_fabric_build(fabric, &(struct weft_fabric_links){"weft", n, n, links, count}, arena,
                             error);
}

static inline struct weft_ring sample_ring(uint32_t n, uint32_t jump, uint32_t jump_count,
                                           const struct weft_fabric *fabric,
                                           struct weft_arena *arena)
{
    uint32_t *members = WEFT_NEW(arena, uint32_t, n);
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)n + 1);
    uint32_t *links = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        members[i] = i * jump % n;
        first[i + 1] = i + 1;
        links[i] = weft_fabric_find_link(fabric, members[i], (i + 1) * jump % n);
    }
    return (struct weft_ring){0, n, members, 1.0 / jump_count, first, links, NULL};
}

// One shortest walk of jumps for every pair, by breadth over residues.
static inline struct weft_routes sample_circulant(const struct weft_fabric *fabric,
                                                  const uint32_t *jumps, uint32_t jump_count,
                                                  struct weft_arena *arena)
{
    uint32_t n = fabric->server_count;
    uint32_t *table = WEFT_NEW(arena, uint32_t, n);
    uint32_t *hops = WEFT_NEW(arena, uint32_t, n);
    uint32_t *queue = WEFT_NEW(arena, uint32_t, n);
    uint32_t end = 1;
    for (uint32_t at = 0; at < end; at++) {
        for (uint32_t k = 0; k < 2 * jump_count; k++) {
            uint32_t jump = k % 2 == 0 ? jumps[k / 2] : n - jumps[k / 2];
            uint32_t to = (queue[at] + jump) % n;
            if (to != 0 && table[to] == 0) {
                table[to] = jump;
                hops[to] = hops[queue[at]] + 1;
                queue[end++] = to;
            }
        }
    }
    return (struct weft_routes){.kind = WEFT_ROUTES_CIRCULANT,
                                .fabric = fabric,
                                .hop_max = hops[queue[end - 1]],
                                .table = table};
}

// Up to 32 servers the routes are all shortest paths, beyond one of them each. jumps[k] must be
// coprime to n. The plan must not move: its routes point into it.
static inline bool sample_plan(struct weft_plan *plan, uint32_t n, const uint32_t *jumps,
                               uint32_t jump_count, struct weft_arena *arena,
                               struct weft_error *error)
{
    *plan = (struct weft_plan){
        .method = WEFT_TOPOLOGY_WEFT,
        .seed = 7,
        .iteration_s = 0.0131,
        .demand_weighted_hops = 1.25,
        .max_link_load_bytes = 3e8,
        .mean_link_load_bytes = 1e8 + 1.0 / 3,
        .bandwidth_tax_ratio = 1.1,
        .cost = {123456, 7890.5},
        .certificate = {4, sample_bounds, 1, 0.0125, 0.048},
    };
    if (!weft_cluster_build(&plan->cluster, n, 2 * jump_count, 12.5e9, error)) {
        return false;
    }
    plan->cluster.name = "a \"lab\" <of> \xc3\xa9";
    plan->topology = (struct weft_topology){
        .server_count = n,
        .degree = 2 * jump_count,
        .planes = sample_planes(n, jumps, jump_count, arena),
        .allreduce_degree = 2 * jump_count,
        .generator_count = jump_count,
        .generators = jumps,
        .mean_hops = 1.5,
        .diameter = 2,
        .steps = 1000,
    };
    struct weft_network *network = &plan->network;
    if (!sample_fabric(&network->fabric, plan, arena, error)) {
        return false;
    }
    network->fabric.parts = (struct weft_parts){.nics = (uint64_t)2 * jump_count * n,
                                                .transceivers = (uint64_t)2 * jump_count * n,
                                                .ocs_ports = (uint64_t)2 * jump_count * n,
                                                .rate_Bps = 12.5e9};
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, jump_count);
    for (uint32_t k = 0; k < jump_count; k++) {
        rings[k] = sample_ring(n, jumps[k], jump_count, &network->fabric, arena);
    }
    network->rings = (struct weft_ring_set){jump_count, rings};
    plan->topology.rings = network->rings;
    network->routes =
        sample_circulant(&network->fabric, plan->topology.generators, jump_count, arena);
    if (n > 32) {
        return true;
    }
    struct weft_arena scratch;
    if (!weft_arena_init(&scratch, 0, error)) {
        return false;
    }
    bool good =
        weft_routes_build_shortest(&network->routes, &network->fabric, arena, scratch, error);
    network->routes.spread = WEFT_SPREAD_SPLIT;
    weft_arena_release(&scratch);
    return good;
}

#endif
