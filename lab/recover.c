// SPDX-License-Identifier: Apache-2.0
// A fault in a job's run, and what is done about it.

#include "recover.h"

#include "weft/routing.h"
#include "weft/topology.h"

#include <string.h>

// As plans are routed.
static const uint32_t paths_max = 8;
static const uint32_t extra_hops = 1;
static const double routing_epsilon = 0.02;
static const uint32_t routing_rounds = 200;

// ---- circuits ----

static void lose_port(uint32_t *plane, uint32_t server_count, uint32_t server, uint32_t *lost)
{
    for (uint32_t i = 0; i < server_count; i++) {
        if (plane[i] != i && (i == server || plane[i] == server)) {
            plane[i] = i;
            (*lost)++;
        }
    }
}

static void lose_circuits(struct lab_rest *rest, const struct weft_lab_wiring *wiring,
                          const struct weft_lab_fault *fault, struct weft_arena *arena)
{
    uint32_t n = wiring->server_count;
    uint32_t *planes = WEFT_NEW(arena, uint32_t, (size_t)wiring->port_count * n);
    memcpy(planes, wiring->planes, (size_t)wiring->port_count * n * sizeof *planes);
    uint32_t *plane = planes + (size_t)fault->port * n;
    bool whole = fault->kind == WEFT_LAB_FAULT_OCS;
    for (uint32_t s = whole ? 0 : fault->server; s < (whole ? n : fault->server + 1); s++) {
        lose_port(plane, n, s, &rest->circuits_lost);
    }
    rest->wiring = *wiring;
    rest->wiring.planes = planes;
}

static bool build_fabric(struct weft_fabric *fabric, const struct lab_rest *rest,
                         const struct lab_trial_options *options, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = &rest->wiring;
    const struct weft_topology topology = {.server_count = wiring->server_count,
                                           .degree = wiring->port_count,
                                           .planes = wiring->planes};
    const struct weft_cluster cluster = {.server_count = wiring->server_count,
                                         .rate_Bps = options->plan_rate_Bps,
                                         .latency_ps =
                                             options->network->fabric.links[0].latency_ps};
    return weft_topology_fabric(fabric, &topology, &cluster, arena, scratch, error) &&
           weft_fabric_check_connected(fabric, scratch, error);
}

// ---- rings ----

// The links of a hop in what is left, or 0 where one is missing.
static uint32_t keep_hop(uint32_t *links, const struct weft_ring *ring, uint32_t hop,
                         const struct weft_fabric *old, const struct weft_fabric *fabric)
{
    uint32_t count = 0;
    for (uint32_t l = ring->hop_first[hop]; l < ring->hop_first[hop + 1]; l++) {
        const struct weft_link *link = &old->links[ring->hop_links[l]];
        links[count] = weft_fabric_find_link(fabric, link->from, link->to);
        if (links[count++] == WEFT_NONE) {
            return 0;
        }
    }
    return count;
}

static struct weft_ring mend_ring(struct lab_rest *rest, const struct weft_ring *ring,
                                  const struct weft_fabric *old, const struct weft_routes *shortest,
                                  struct weft_arena *arena)
{
    const struct weft_fabric *fabric = &rest->network.fabric;
    uint32_t members = ring->member_count;
    size_t hop_max = fabric->node_count;
    struct weft_ring mended = *ring;
    if (ring->hop_first == NULL) {
        return mended; // the pairs' routes decide
    }
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)members + 1);
    uint32_t *links = WEFT_NEW(arena, uint32_t, members * hop_max + 1);
    for (uint32_t i = 0; i < members; i++) {
        uint32_t count = keep_hop(links + first[i], ring, i, old, fabric);
        if (count == 0) {
            count = weft_routes_path(shortest, ring->members[i], ring->members[(i + 1) % members],
                                     0, links + first[i], NULL);
            rest->detours++;
        }
        first[i + 1] = first[i] + count;
    }
    mended.hop_first = first;
    mended.hop_links = links;
    return mended;
}

static void mend_rings(struct lab_rest *rest, const struct weft_network *old,
                       const struct weft_routes *shortest, struct weft_arena *arena)
{
    uint32_t count = old->rings.ring_count;
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, (size_t)count + 1);
    for (uint32_t r = 0; r < count; r++) {
        rings[r] = mend_ring(rest, &old->rings.rings[r], &old->fabric, shortest, arena);
    }
    rest->network.rings = (struct weft_ring_set){count, rings};
}

// What the rings put on each link; task graph groups of the same members are one in the traffic.
static double *ring_load(const struct lab_rest *rest, const struct weft_traffic *traffic,
                         struct weft_arena *arena)
{
    const struct weft_ring_set *set = &rest->network.rings;
    double *load_bytes = WEFT_NEW(arena, double, (size_t)rest->network.fabric.link_count + 1);
    uint32_t *group_of = WEFT_NEW(arena, uint32_t, (size_t)traffic->group_count + 1);
    memset(group_of, 0xff, ((size_t)traffic->group_count + 1) * sizeof *group_of);
    for (uint32_t r = 0; r < set->ring_count; r++) {
        const struct weft_ring *ring = &set->rings[r];
        uint32_t g = traffic->group_of[ring->group];
        if (g == WEFT_NONE || ring->hop_first == NULL) {
            continue;
        }
        group_of[g] = group_of[g] == WEFT_NONE ? ring->group : group_of[g];
        if (group_of[g] != ring->group) {
            continue;
        }
        const struct weft_traffic_group *group = &traffic->groups[g];
        double bytes = group->wire_bytes / group->member_count * ring->share_ratio;
        for (uint32_t l = 0; l < ring->hop_first[ring->member_count]; l++) {
            load_bytes[ring->hop_links[l]] += bytes;
        }
    }
    return load_bytes;
}

bool lab_replan(struct lab_rest *rest, const struct lab_trial_options *options,
                const struct weft_lab_fault *fault, struct weft_arena *arena,
                struct weft_arena scratch, struct weft_error *error)
{
    *rest = (struct lab_rest){.circuits_lost = 0};
    if (fault->kind == WEFT_LAB_FAULT_SERVER) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "a server's tasks cannot be done by others: not supported; write link or "
                         "ocs");
    }
    lose_circuits(rest, options->wiring, fault, arena);
    struct weft_fabric *fabric = &rest->network.fabric;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_routes shortest;
    struct weft_traffic traffic;
    if (!build_fabric(fabric, rest, options, arena, scratch, error) ||
        !weft_routing_shortest(&shortest, fabric, options->seed, &kept, scratch, error)) {
        return weft_wrap(error, "what the fault leaves");
    }
    mend_rings(rest, options->network, &shortest, arena);
    weft_traffic_build(&traffic, options->graph, &kept, scratch);
    const struct weft_minmax_options routing = {
        .paths_max = paths_max,
        .extra_hops = extra_hops,
        .link_base_bytes = ring_load(rest, &traffic, &kept),
        .epsilon = routing_epsilon,
        .rounds_max = routing_rounds,
    };
    struct weft_minmax_result result;
    const struct weft_topology topology = {.server_count = rest->wiring.server_count,
                                           .degree = rest->wiring.port_count,
                                           .planes = rest->wiring.planes};
    return weft_routing_minmax(&rest->network.routes, &result, fabric, traffic.transfer_bytes,
                               &routing, arena, scratch, error) &&
           weft_ip_list_ways(&rest->wiring.ways, &topology, &rest->network.routes, arena, scratch,
                             error);
}

// ---- run ----

static double between(uint64_t from_ns, uint64_t to_ns)
{
    return 1e-9 * (double)(to_ns - from_ns);
}

bool lab_recover_run(struct lab_recovery *recovery, const struct lab_trial_options *options,
                     uint32_t after_iterations, struct weft_arena *arena, struct weft_arena scratch,
                     struct weft_error *error)
{
    struct lab_trial *before = &recovery->before;
    struct lab_trial *after = &recovery->after;
    struct weft_lab_move move;
    if (options->fault->kind == WEFT_LAB_FAULT_SERVER) {
        return lab_replan(&recovery->rest, options, options->fault, arena, scratch, error);
    }
    if (!lab_trial_run(before, options, arena, scratch, error) ||
        !lab_replan(&recovery->rest, options, options->fault, arena, scratch, error)) {
        return false;
    }
    uint64_t planned_ns = lab_now_ns();
    if (!weft_lab_apply(&move, options->lab, &recovery->rest.wiring, true, scratch, error)) {
        return false;
    }
    uint64_t applied_ns = lab_now_ns();
    struct lab_trial_options rest = *options;
    rest.network = &recovery->rest.network;
    rest.wiring = &recovery->rest.wiring;
    rest.iterations = after_iterations;
    rest.fault = NULL;
    rest.predict_last = true;
    rest.way_first = before->way_end;
    // The ports that failed stay dark, which is no news.
    rest.watch_carrier = false;
    if (!lab_trial_run(after, &rest, arena, scratch, error)) {
        return weft_wrap(error, "after the fault");
    }
    const struct lab_moments *moments = &before->moments;
    recovery->detection_s = between(moments->fault_ns, moments->noticed_ns);
    recovery->stop_s = between(moments->noticed_ns, moments->stopped_ns);
    recovery->replan_s = between(moments->stopped_ns, planned_ns);
    recovery->circuits_s = between(planned_ns, applied_ns) - move.routes_s;
    recovery->routes_s = move.routes_s;
    recovery->reconnect_s = between(applied_ns, after->moments.opened_ns);
    recovery->first_s = between(after->moments.opened_ns, after->moments.first_ns);
    recovery->recovery_s = between(moments->fault_ns, after->moments.first_ns);
    return true;
}
