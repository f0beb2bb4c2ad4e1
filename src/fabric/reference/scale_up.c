// SPDX-License-Identifier: Apache-2.0
// Fabrics of accelerators: those of the NICs, built by their own builders, with the servers'
// insides put around them. A NIC is a server of such a fabric, and becomes the accelerator that
// owns it or a node that its accelerators share; where a fabric has no switches its servers become
// the switches inside servers. Rails that do not meet are so many fabrics, the planes. O(links).

#include "dragonfly.h"
#include "leaves.h"

#include <string.h>

static bool check_scale_up(const struct weft_cluster *cluster, const struct weft_scale_up *scale_up,
                           bool is_direct, struct weft_error *error)
{
    uint32_t a = scale_up->accelerators;
    uint64_t ranks = (uint64_t)cluster->server_count * a;
    if (a < 2 || !(scale_up->rate_Bps > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "scale-up: %u accelerators at %g GB/s; give at least 2 and their rate", a,
                         scale_up->rate_Bps / 1e9);
    }
    if (ranks > WEFT_CLUSTER_SERVERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "scale-up: %llu accelerators are more than %u",
                         (unsigned long long)ranks, WEFT_CLUSTER_SERVERS_MAX);
    }
    if (!is_direct && a % cluster->degree != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "degree: %u NICs for %u accelerators; each NIC needs as many of them: "
                         "give %u, or a divisor of it",
                         cluster->degree, a, a);
    }
    return true;
}

// ---- the fabrics of the NICs ----

struct assembly {
    const char *name;
    const struct weft_fabric_reference *reference; // NULL where the planes are handed over
    const struct weft_cluster *cluster;            // as it is bought
    double host_Bps;                               // of an accelerator; 0 = limits nothing
    const struct weft_scale_up *scale_up;
    struct weft_scale_up_routes *routes;
    struct weft_network *planes;
    uint32_t **owner_of; // [plane][end]: the node here, WEFT_NONE = a port that stays dark
    uint32_t group_size; // NICs stand by groups of so many servers, then by rails; 0 = by servers
    uint32_t end_cables; // of an end of a plane
    uint32_t node_count;
    uint64_t unused; // ends without a NIC, all planes
};

// Leaves and spines of NICs. Those of a group of servers stand by rails, a group of ends for each;
// rails that are apart are planes, each of the ends of one rail.
static bool build_leaves(struct assembly *assembly, const struct leaves_kind *kind, uint32_t count,
                         const struct weft_fabric_options *options,
                         const struct weft_environment *environment)
{
    const struct weft_cluster *cluster = assembly->cluster;
    uint32_t n = cluster->server_count;
    uint32_t nics = cluster->degree;
    bool by_rails = !kind->together && !kind->apart;
    struct leaves leaves =
        leaves_asked(kind, kind->together ? n * nics : n, by_rails ? nics : 1, true, options);
    if (!leaves_plan(&leaves, options, environment->error)) {
        return false;
    }
    if (by_rails) {
        assembly->group_size = leaves.size;
        leaves.rails /= nics;
        leaves.meet = divide_up(leaves.meet, nics);
        leaves.groups *= nics;
        leaves.pod_groups *= nics;
        leaves.servers = leaves.groups * leaves.size;
    }
    assembly->end_cables = leaves.rails;
    for (uint32_t p = 0; p < count; p++) {
        if (!leaves_build(&assembly->planes[p], &leaves, cluster, cluster->rate_Bps / leaves.split,
                          environment->arena, environment->error)) {
            return false;
        }
    }
    return true;
}

// Routers of NICs: as leaves, by rails.
static bool build_dragonfly(struct assembly *assembly, const struct weft_fabric_options *options,
                            const struct weft_environment *environment)
{
    const struct weft_cluster *cluster = assembly->cluster;
    struct dragonfly dragonfly;
    if (!dragonfly_plan(&dragonfly, cluster->server_count, cluster->degree, options,
                        environment->error)) {
        return false;
    }
    assembly->group_size = dragonfly.size;
    dragonfly.rails = 1;
    dragonfly.servers =
        divide_up(cluster->server_count, dragonfly.size) * dragonfly.size * cluster->degree;
    return dragonfly_build(assembly->planes, &dragonfly, cluster, cluster->rate_Bps,
                           environment->arena, environment->error);
}

// The fabric between servers: one of NICs, or where rails do not meet one for each NIC; direct ones
// join servers, whose own switches pass on.
static bool build_planes(struct assembly *assembly, const struct weft_fabric_options *options,
                         const struct weft_environment *environment)
{
    const char *name = assembly->reference->name;
    const struct leaves_kind *kind = leaves_kind_named(name);
    struct weft_cluster inner = *assembly->cluster;
    uint32_t count = kind != NULL && kind->apart ? inner.degree : 1;
    assembly->end_cables = 1;
    assembly->planes = WEFT_NEW(environment->arena, struct weft_network, count);
    if (!assembly->reference->is_direct) {
        inner.server_count *= inner.degree;
        inner.degree = 1;
    }
    bool built =
        kind != NULL ? build_leaves(assembly, kind, count, options, environment)
        : strcmp(name, "dragonfly") == 0
            ? build_dragonfly(assembly, options, environment)
            : weft_fabric_build_named(assembly->planes, name, &inner, options, environment);
    if (!built) {
        return false;
    }
    struct weft_routes *routes = WEFT_NEW(environment->arena, struct weft_routes, count);
    for (uint32_t p = 0; p < count; p++) {
        routes[p] = assembly->planes[p].routes;
    }
    assembly->routes->plane_count = count;
    assembly->routes->planes = routes;
    return true;
}

// Which end of its plane a NIC is.
static uint32_t end_of(const struct assembly *assembly, uint32_t server, uint32_t nic)
{
    uint32_t nics = assembly->routes->nics;
    uint32_t size = assembly->group_size;
    if (assembly->routes->plane_count > 1) {
        return server;
    }
    return size == 0 ? server * nics + nic : (server / size * nics + nic) * size + server % size;
}

// Gives every node of the planes its number here: NICs are their accelerator's, or nodes of their
// own where several share one.
static void number_nodes(struct assembly *assembly, struct weft_arena *arena)
{
    struct weft_scale_up_routes *routes = assembly->routes;
    uint32_t n = assembly->cluster->server_count;
    uint32_t a = routes->accelerators;
    uint32_t nics = routes->nics;
    uint32_t next = n * a + n;
    bool shared = nics > 0 && nics < a;
    uint32_t *ends = WEFT_NEW(arena, uint32_t, (size_t)n * nics);
    uint32_t first_nic = next;
    next += shared ? n * nics : 0;
    assembly->owner_of = WEFT_NEW(arena, uint32_t *, routes->plane_count);
    for (uint32_t p = 0; p < routes->plane_count; p++) {
        const struct weft_fabric *plane = &assembly->planes[p].fabric;
        uint32_t *owner_of = WEFT_NEW_RAW(arena, uint32_t, plane->node_count);
        memset(owner_of, 0xff, plane->node_count * sizeof *owner_of);
        for (uint32_t v = plane->server_count; v < plane->node_count; v++) {
            owner_of[v] = next++;
        }
        for (uint32_t s = 0; nics == 0 && s < n; s++) {
            owner_of[s] = n * a + s;
        }
        for (uint32_t s = 0; s < n; s++) {
            for (uint32_t nic = 0; nic < nics; nic++) {
                if (routes->plane_count > 1 && nic != p) {
                    continue;
                }
                uint32_t end = end_of(assembly, s, nic);
                ends[s * nics + nic] = end;
                owner_of[end] = shared ? first_nic + s * nics + nic : s * a + nic;
            }
        }
        assembly->owner_of[p] = owner_of;
        for (uint32_t end = 0; end < plane->server_count; end++) {
            assembly->unused += owner_of[end] == WEFT_NONE;
        }
    }
    routes->ends = ends;
    assembly->node_count = next;
}

// ---- all of it as one ----

// The insides of the servers: accelerators on their switch, and on a NIC that they share, at its
// rate or their host link's, and without delay.
static void wire_insides(struct wiring *wiring, const struct assembly *assembly)
{
    const struct weft_scale_up *scale_up = assembly->scale_up;
    uint32_t n = assembly->cluster->server_count;
    uint32_t a = scale_up->accelerators;
    uint32_t nics = assembly->routes->nics;
    double host_Bps = assembly->cluster->rate_Bps;
    if (assembly->host_Bps > 0 && assembly->host_Bps < host_Bps) {
        host_Bps = assembly->host_Bps;
    }
    for (uint32_t i = 0; i < n * a; i++) {
        wiring->latency_ps = scale_up->latency_ps / 2;
        wiring_join(wiring, i, n * a + i / a, 1, scale_up->rate_Bps);
        if (nics > 0 && nics < a) {
            wiring->latency_ps = 0;
            wiring_join(wiring, i, n * a + n + i / a * nics + i % a / (a / nics), 1, host_Bps);
        }
    }
}

static void copy_planes(struct wiring *wiring, const struct assembly *assembly)
{
    for (uint32_t p = 0; p < assembly->routes->plane_count; p++) {
        const struct weft_fabric *plane = &assembly->planes[p].fabric;
        const uint32_t *owner_of = assembly->owner_of[p];
        for (uint32_t i = 0; i < plane->link_count; i++) {
            struct weft_link link = plane->links[i];
            link.from = owner_of[link.from];
            link.to = owner_of[link.to];
            if (link.from != WEFT_NONE && link.to != WEFT_NONE) {
                WEFT_ASSERT(wiring->count < wiring->capacity);
                wiring->links[wiring->count++] = link;
            }
        }
    }
}

// Where each plane's links lie in the whole fabric; those of dark ports nowhere.
static void find_links(struct assembly *assembly, const struct weft_fabric *fabric,
                       struct weft_arena *arena)
{
    uint32_t plane_count = assembly->routes->plane_count;
    uint32_t const **links = WEFT_NEW(arena, const uint32_t *, plane_count);
    for (uint32_t p = 0; p < plane_count; p++) {
        const struct weft_fabric *plane = &assembly->planes[p].fabric;
        const uint32_t *owner_of = assembly->owner_of[p];
        uint32_t *found = WEFT_NEW_RAW(arena, uint32_t, plane->link_count);
        for (uint32_t i = 0; i < plane->link_count; i++) {
            uint32_t from = owner_of[plane->links[i].from];
            uint32_t to = owner_of[plane->links[i].to];
            found[i] = from == WEFT_NONE || to == WEFT_NONE
                           ? WEFT_NONE
                           : weft_fabric_find_link(fabric, from, to);
        }
        links[p] = found;
    }
    assembly->routes->links = links;
}

// The parts of all planes, but for ends that stay dark: each cable is a NIC's port, a switch's and
// two transceivers.
static struct weft_parts all_parts(const struct assembly *assembly)
{
    struct weft_parts parts = assembly->planes[0].fabric.parts;
    uint64_t count = assembly->routes->plane_count;
    uint64_t unused = assembly->unused * assembly->end_cables;
    parts.nics = count * parts.nics - unused;
    parts.transceivers = count * parts.transceivers - 2 * unused;
    parts.switch_ports = count * parts.switch_ports - unused;
    return parts;
}

// Links of the longest path: planes are alike, and servers at both ends of their longest path have
// accelerators of other rails, which are the farthest of all.
static uint32_t longest(const struct weft_scale_up_routes *routes)
{
    bool shared = routes->nics > 0 && routes->nics < routes->accelerators;
    bool relayed = routes->plane_count > 1;
    return routes->planes->hop_max + (routes->nics == 0 || shared ? 2 : 0) + (relayed ? 2 : 0);
}

// Accelerators with the switches inside their servers, and the planes with their nodes renumbered
// behind them, as one fabric.
static bool assemble(struct weft_network *network, struct assembly *assembly,
                     const struct weft_environment *environment)
{
    const struct weft_scale_up_routes *routes = assembly->routes;
    uint64_t ranks = (uint64_t)assembly->cluster->server_count * routes->accelerators;
    uint64_t cables = 2 * ranks;
    for (uint32_t p = 0; p < routes->plane_count; p++) {
        cables += assembly->planes[p].fabric.link_count / 2 + 1;
    }
    if (!wiring_fits(assembly->name, cables, environment->error)) {
        return false;
    }
    struct wiring wiring = wiring_start(assembly->name, cables, 0, environment->arena);
    wire_insides(&wiring, assembly);
    copy_planes(&wiring, assembly);
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, (uint32_t)ranks, assembly->node_count, environment->arena,
                       environment->error)) {
        return false;
    }
    fabric.parts = all_parts(assembly);
    fabric.forwards = routes->plane_count > 1; // to another rail, by the accelerator on it
    find_links(assembly, &fabric, environment->arena);
    *network = (struct weft_network){.fabric = fabric};
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_SCALE_UP,
        .spread = assembly->planes[0].routes.spread,
        .fabric = &network->fabric,
        .hop_max = longest(routes),
        .scale_up = routes,
    };
    return true;
}

bool weft_fabric_build_scale_up(struct weft_network *network, const char *name,
                                const struct weft_cluster *cluster,
                                const struct weft_scale_up *scale_up,
                                const struct weft_fabric_options *options,
                                const struct weft_environment *environment)
{
    const struct weft_fabric_options own = options_or_default(options);
    const struct weft_fabric_reference *reference =
        weft_fabric_reference_named(name, environment->error);
    if (reference == NULL ||
        !check_scale_up(cluster, scale_up, reference->is_direct, environment->error)) {
        return false;
    }
    struct weft_scale_up_routes *routes =
        WEFT_NEW(environment->arena, struct weft_scale_up_routes, 1);
    routes->accelerators = scale_up->accelerators;
    routes->nics = reference->is_direct ? 0 : cluster->degree;
    const struct weft_cluster bought = weft_cluster_as_bought(cluster);
    struct assembly assembly = {.name = reference->name,
                                .reference = reference,
                                .cluster = &bought,
                                .host_Bps = cluster->host_Bps,
                                .scale_up = scale_up,
                                .routes = routes};
    if (!build_planes(&assembly, &own, environment)) {
        return false;
    }
    for (uint32_t p = 0; p < routes->plane_count; p++) {
        reference_limit_ports(&assembly.planes[p].fabric, cluster, bought.rate_Bps,
                              environment->arena);
    }
    number_nodes(&assembly, environment->arena);
    return assemble(network, &assembly, environment);
}

bool weft_fabric_build_planes(struct weft_network *network, const char *name,
                              struct weft_network *planes, uint32_t plane_count,
                              const struct weft_cluster *cluster,
                              const struct weft_scale_up *scale_up,
                              const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_scale_up_routes *routes = WEFT_NEW(arena, struct weft_scale_up_routes, 1);
    struct weft_routes *plane_routes = WEFT_NEW(arena, struct weft_routes, plane_count);
    if (!check_scale_up(cluster, scale_up, false, environment->error)) {
        return false;
    }
    WEFT_ASSERT(plane_count == 1 || plane_count == cluster->degree);
    for (uint32_t p = 0; p < plane_count; p++) {
        plane_routes[p] = planes[p].routes;
    }
    *routes = (struct weft_scale_up_routes){.accelerators = scale_up->accelerators,
                                            .nics = cluster->degree,
                                            .plane_count = plane_count,
                                            .planes = plane_routes};
    struct assembly assembly = {.name = name,
                                .cluster = cluster,
                                .scale_up = scale_up,
                                .routes = routes,
                                .planes = planes,
                                .end_cables = 1};
    number_nodes(&assembly, arena);
    return assemble(network, &assembly, environment);
}
