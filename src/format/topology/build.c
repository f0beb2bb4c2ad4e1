// SPDX-License-Identifier: Apache-2.0
// A topology that was read as a fabric with all its paths of fewest hops. Where its servers are
// accelerators (SimAI), what joins the NICs is one fabric, or one for each rail where rails do not
// meet, and the servers' insides are put around it. O(links); routes as
// weft_routes_build_shortest.

#include "weft/base/sets.h"
#include "weft/format/topology_file.h"

// A fabric of some of the links, of all nodes but the switches inside servers, with its routes.
static bool build_part(struct weft_network *network, const struct weft_fabric_links *links,
                       const struct weft_environment *environment)
{
    return weft_fabric_build(&network->fabric, links, environment->arena, environment->error) &&
           weft_routes_build_shortest(&network->routes, &network->fabric, environment->arena,
                                      environment->scratch, environment->error);
}

// The links between NICs, with their nodes renumbered: GPUs stay, switches move up by the inner
// ones. `rail` is WEFT_NONE for all of them, else GPUs are numbered by servers, and only those of
// that rail and what they reach are taken.
struct outside {
    const struct weft_topology_file *topology;
    struct weft_sets sets; // of nodes that reach each other outside servers
    uint32_t servers;
};

static bool is_inner(const struct outside *outside, uint32_t node)
{
    uint32_t first = outside->topology->server_count;
    return node >= first && node < first + outside->servers;
}

static uint32_t place_in(const struct outside *outside, uint32_t node, uint32_t rail)
{
    uint32_t accelerators = outside->topology->accelerators;
    uint32_t gpus = outside->topology->server_count;
    uint32_t ends = rail == WEFT_NONE ? gpus : outside->servers;
    if (node < gpus) {
        return rail == WEFT_NONE ? node : node / accelerators;
    }
    return ends + node - gpus - outside->servers;
}

static bool build_plane(struct weft_network *network, struct outside *outside, uint32_t rail,
                        const struct weft_environment *environment)
{
    const struct weft_topology_file *topology = outside->topology;
    struct weft_arena scratch = environment->scratch;
    struct weft_link *links = WEFT_NEW_RAW(&scratch, struct weft_link, topology->link_count);
    uint32_t switches = topology->node_count - topology->server_count - outside->servers;
    uint32_t ends = rail == WEFT_NONE ? topology->server_count : outside->servers;
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        struct weft_link link = topology->links[i];
        bool own = rail == WEFT_NONE || weft_sets_find(&outside->sets, link.from) ==
                                            weft_sets_find(&outside->sets, rail);
        if (own && !is_inner(outside, link.from) && !is_inner(outside, link.to)) {
            link.from = place_in(outside, link.from, rail);
            link.to = place_in(outside, link.to, rail);
            links[count++] = link;
        }
    }
    const struct weft_fabric_links plane = {"topology", ends, ends + switches, links, count};
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    return build_part(network, &plane, &inner);
}

// Whether the NICs of each rail reach each other and no others.
static bool has_rails(struct outside *outside)
{
    uint32_t accelerators = outside->topology->accelerators;
    for (uint32_t g = 0; g < outside->topology->server_count; g++) {
        if (weft_sets_find(&outside->sets, g) != g % accelerators) {
            return false;
        }
    }
    return true;
}

// The one rate and latency of links inside servers. Fails with INPUT where they differ.
static bool find_inside(struct weft_scale_up *scale_up, const struct outside *outside,
                        struct weft_error *error)
{
    const struct weft_topology_file *topology = outside->topology;
    *scale_up = (struct weft_scale_up){.accelerators = topology->accelerators};
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        const struct weft_link *link = &topology->links[i];
        if (!is_inner(outside, link->from) && !is_inner(outside, link->to)) {
            continue;
        }
        double off = count == 0 ? 0 : link->rate_Bps / scale_up->rate_Bps - 1;
        if (off > 1e-9 || off < -1e-9) {
            return weft_fail(error, WEFT_INPUT,
                             "links inside servers have several rates; give all GPUs one");
        }
        scale_up->rate_Bps = link->rate_Bps;
        scale_up->latency_ps = 2 * link->latency_ps;
        count++;
    }
    return count == 2 * topology->server_count ||
           weft_fail(error, WEFT_INPUT,
                     "%u links lead to NVSwitches, of %u GPUs; each has one cable to its own",
                     count / 2, topology->server_count);
}

static bool build_accelerators(struct weft_network *network,
                               const struct weft_topology_file *topology,
                               const struct weft_environment *environment)
{
    struct weft_scale_up scale_up;
    struct weft_arena scratch = environment->scratch;
    uint32_t accelerators = topology->accelerators;
    struct outside outside = {.topology = topology,
                              .sets = weft_sets_build(topology->node_count, &scratch),
                              .servers = topology->server_count / accelerators};
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    if (!find_inside(&scale_up, &outside, environment->error)) {
        return false;
    }
    for (uint32_t i = 0; i < topology->link_count; i++) {
        const struct weft_link *link = &topology->links[i];
        if (!is_inner(&outside, link->from) && !is_inner(&outside, link->to)) {
            weft_sets_join(&outside.sets, link->from, link->to);
        }
    }
    uint32_t plane_count = has_rails(&outside) ? accelerators : 1;
    struct weft_network *planes = WEFT_NEW(environment->arena, struct weft_network, plane_count);
    for (uint32_t p = 0; p < plane_count; p++) {
        if (!build_plane(&planes[p], &outside, plane_count == 1 ? WEFT_NONE : p, &inner)) {
            return false;
        }
    }
    // What a server's NIC carries is its links' affair; the cluster says how many there are.
    const struct weft_cluster cluster = {
        .server_count = outside.servers, .degree = accelerators, .rate_Bps = scale_up.rate_Bps};
    return weft_fabric_build_planes(network, "topology", planes, plane_count, &cluster, &scale_up,
                                    &inner);
}

bool weft_topology_file_build(struct weft_network *network,
                              const struct weft_topology_file *topology,
                              const struct weft_environment *environment)
{
    if (topology->kind == WEFT_FILE_TIERS) {
        return weft_fabric_build_tiers(network, &topology->tiers, NULL, 0, environment);
    }
    if (topology->accelerators > 1) {
        return build_accelerators(network, topology, environment);
    }
    const struct weft_fabric_links links = {"topology", topology->server_count,
                                            topology->node_count, topology->links,
                                            topology->link_count};
    return build_part(network, &links, environment);
}

bool weft_topology_file_servers(struct weft_fabric *fabric,
                                const struct weft_topology_file *topology,
                                const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    if (topology->kind == WEFT_FILE_TIERS) {
        struct weft_network *network = WEFT_NEW(environment->arena, struct weft_network, 1);
        bool built = weft_fabric_build_tiers(network, &topology->tiers, NULL, 0, environment);
        *fabric = network->fabric;
        return built;
    }
    uint32_t accelerators = topology->accelerators;
    uint32_t servers = topology->server_count / accelerators;
    uint32_t inner = accelerators > 1 ? servers : 0;
    const struct outside outside = {.topology = topology, .servers = inner};
    struct weft_link *links = WEFT_NEW_RAW(&scratch, struct weft_link, topology->link_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        uint32_t ends[2] = {topology->links[i].from, topology->links[i].to};
        bool out = !is_inner(&outside, ends[0]) && !is_inner(&outside, ends[1]);
        for (uint32_t e = 0; e < 2; e++) {
            ends[e] = ends[e] < topology->server_count
                          ? ends[e] / accelerators
                          : ends[e] - topology->server_count - inner + servers;
        }
        if (out && ends[0] != ends[1]) {
            links[count] = topology->links[i];
            links[count].from = ends[0];
            links[count++].to = ends[1];
        }
    }
    const struct weft_fabric_links input = {
        "topology", servers, topology->node_count - topology->server_count - inner + servers, links,
        count};
    return weft_fabric_build(fabric, &input, environment->arena, environment->error);
}
