// SPDX-License-Identifier: Apache-2.0
// Fabrics of accelerators: those of the NICs, built by their own builders, with the servers'
// insides put around them. A NIC is a server of such a fabric, and becomes the accelerator that
// owns it or a node that its accelerators share; where a fabric has no switches its servers become
// the switches inside servers. Rails that do not meet are so many fabrics, the planes. O(links).

#include "cabling.h"

#include <string.h>

// What stands behind the name of a fabric of accelerators.
struct scaled {
    const char *name;
    const char *inner; // of the NICs' fabric
    bool planes;       // one for each NIC of a server
    bool rails;        // NICs stand by groups of servers, then by rails
    bool direct;       // of servers, not of NICs
};

static const struct scaled scaled_fabrics[] = {
    {"ideal", "ideal", false, false, false},
    {"single-switch", "ideal", false, false, false},
    {"fat-tree", "fat-tree", false, false, false},
    {"oversubscribed", "oversubscribed", false, false, false},
    {"cost-equivalent", "cost-equivalent", false, false, false},
    {"clos", "leaf-spine", false, false, false},
    {"leaf-spine", "leaf-spine", false, true, false},
    {"rail-only", "leaf-spine", true, false, false},
    {"expander", "expander", false, false, true},
    {"torus-2d", "torus-2d", false, false, true},
    {"torus-3d", "torus-3d", false, false, true},
    {"ring", "ring", false, false, true},
};

static const struct scaled *find_scaled(const char *name, struct weft_error *error)
{
    char names[256];
    size_t length = 0;
    for (size_t i = 0; i < sizeof scaled_fabrics / sizeof scaled_fabrics[0]; i++) {
        if (strcmp(name, scaled_fabrics[i].name) == 0) {
            return &scaled_fabrics[i];
        }
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i == 0 ? "" : ", ", scaled_fabrics[i].name);
        WEFT_ASSERT(length < sizeof names);
    }
    weft_fail(error, WEFT_INPUT, "'%.64s' is no fabric of accelerators; choose one of %s", name,
              names);
    return NULL;
}

static bool check_scale_up(const struct weft_cluster *cluster, const struct weft_scale_up *scale_up,
                           const struct scaled *scaled, struct weft_error *error)
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
    if (!scaled->direct && a % cluster->degree != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "degree: %u NICs for %u accelerators; each NIC needs as many of them: "
                         "give %u, or a divisor of it",
                         cluster->degree, a, a);
    }
    return true;
}

// ---- the fabrics of the NICs ----

struct assembly {
    const struct scaled *scaled;
    const struct weft_cluster *cluster;
    const struct weft_scale_up *scale_up;
    struct weft_scale_up_routes *routes;
    struct weft_network *planes;
    uint32_t **owner_of; // [plane][end]: the node here, WEFT_NONE = a port that stays dark
    uint32_t node_count;
    uint64_t unused; // ends without a NIC, all planes
};

// Switches with so many ports hold a Clos of two tiers and full rate up to radix^2 / 2 ports.
static const char *clos_of(uint32_t ends, struct weft_fabric_options *options)
{
    const uint32_t common = 64; // ports of a 25.6T switch at 400G, of a 51.2T one at 800G
    options->radix = options->radix == 0 ? common : options->radix;
    return (uint64_t)options->radix * options->radix / 2 >= ends ? "leaf-spine" : "fat-tree";
}

// Rail-optimised: as many groups of equal size as leaves of half the radix ask for.
static uint32_t group_servers(uint32_t server_count, uint32_t nics, uint32_t radix)
{
    uint32_t ports = radix == 0 ? 64 : radix;
    for (;; ports *= 2) { // until a spine reaches every leaf
        uint32_t groups = divide_up(server_count, ports / 2);
        if (radix != 0 || (uint64_t)groups * nics <= ports) {
            return divide_up(server_count, groups);
        }
    }
}

static bool build_planes(struct assembly *assembly, const struct weft_fabric_options *options,
                         const struct weft_environment *environment)
{
    const struct weft_cluster *cluster = assembly->cluster;
    const struct scaled *scaled = assembly->scaled;
    struct weft_fabric_options own = *options;
    struct weft_cluster inner = *cluster;
    const char *name = scaled->inner;
    uint32_t n = cluster->server_count;
    uint32_t nics = cluster->degree;
    if (!scaled->direct) {
        inner.degree = 1;
        inner.server_count = scaled->planes ? n : n * nics;
    }
    if (scaled->rails) {
        own.leaf_servers = group_servers(n, nics, own.radix);
        inner.server_count = divide_up(n, own.leaf_servers) * own.leaf_servers * nics;
    } else if (strcmp(scaled->name, "clos") == 0) {
        name = clos_of(inner.server_count, &own);
    }
    uint32_t count = scaled->planes ? nics : 1;
    assembly->planes = WEFT_NEW(environment->arena, struct weft_network, count);
    struct weft_routes *routes = WEFT_NEW(environment->arena, struct weft_routes, count);
    for (uint32_t p = 0; p < count; p++) {
        if (!weft_fabric_build_named(&assembly->planes[p], name, &inner, &own, environment)) {
            return false;
        }
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
    if (assembly->scaled->planes) {
        return server;
    }
    if (!assembly->scaled->rails) {
        return server * nics + nic;
    }
    uint32_t size = assembly->planes[0].routes.shape[1]; // servers of a group
    return (server / size * nics + nic) * size + server % size;
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
// rate and without delay.
static void wire_insides(struct wiring *wiring, const struct assembly *assembly)
{
    const struct weft_scale_up *scale_up = assembly->scale_up;
    uint32_t n = assembly->cluster->server_count;
    uint32_t a = scale_up->accelerators;
    uint32_t nics = assembly->routes->nics;
    for (uint32_t i = 0; i < n * a; i++) {
        wiring->latency_ps = scale_up->latency_ps / 2;
        wiring_join(wiring, i, n * a + i / a, 1, scale_up->rate_Bps);
        if (nics > 0 && nics < a) {
            wiring->latency_ps = 0;
            wiring_join(wiring, i, n * a + n + i / a * nics + i % a / (a / nics), 1,
                        assembly->cluster->rate_Bps);
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

// The parts of all planes, but for ports that stay dark: each is a NIC, a switch port and a cable.
static struct weft_parts all_parts(const struct assembly *assembly)
{
    struct weft_parts parts = assembly->planes[0].fabric.parts;
    uint64_t count = assembly->routes->plane_count;
    parts.nics = count * parts.nics - assembly->unused;
    parts.transceivers = count * parts.transceivers - 2 * assembly->unused;
    parts.switch_ports = count * parts.switch_ports - assembly->unused;
    return parts;
}

static bool assemble(struct weft_network *network, struct assembly *assembly,
                     const struct weft_environment *environment)
{
    const struct weft_scale_up_routes *routes = assembly->routes;
    uint64_t ranks = (uint64_t)assembly->cluster->server_count * routes->accelerators;
    uint64_t cables = 2 * ranks;
    uint32_t hop_max = 0;
    for (uint32_t p = 0; p < routes->plane_count; p++) {
        cables += assembly->planes[p].fabric.link_count / 2 + 1;
        hop_max = routes->planes[p].hop_max > hop_max ? routes->planes[p].hop_max : hop_max;
    }
    if (!wiring_fits(assembly->scaled->name, cables, environment->error)) {
        return false;
    }
    struct wiring wiring = wiring_start(assembly->scaled->name, cables, 0, environment->arena);
    wire_insides(&wiring, assembly);
    copy_planes(&wiring, assembly);
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, (uint32_t)ranks, assembly->node_count, environment->arena,
                       environment->error)) {
        return false;
    }
    fabric.parts = all_parts(assembly);
    fabric.forwards = assembly->scaled->planes; // to another rail, by the accelerator on it
    find_links(assembly, &fabric, environment->arena);
    *network = (struct weft_network){.fabric = fabric};
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_SCALE_UP,
        .spread = assembly->planes[0].routes.spread,
        .fabric = &network->fabric,
        .hop_max = hop_max + 4,
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
    const struct scaled *scaled = find_scaled(name, environment->error);
    if (scaled == NULL || !check_scale_up(cluster, scale_up, scaled, environment->error)) {
        return false;
    }
    struct weft_scale_up_routes *routes =
        WEFT_NEW(environment->arena, struct weft_scale_up_routes, 1);
    routes->accelerators = scale_up->accelerators;
    routes->nics = scaled->direct ? 0 : cluster->degree;
    struct assembly assembly = {
        .scaled = scaled, .cluster = cluster, .scale_up = scale_up, .routes = routes};
    if (!build_planes(&assembly, &own, environment)) {
        return false;
    }
    number_nodes(&assembly, environment->arena);
    return assemble(network, &assembly, environment);
}
