// SPDX-License-Identifier: Apache-2.0
// Dragonflies (Kim, Dally, Scott and Abts, ISCA 2008): groups of a routers, each with p servers, a
// link to every other router of its group and h links to other groups. Balanced ones have a = 2p =
// 2h, so that a radix of 4h - 1 suffices, and a(ah+1)p servers at most; here h follows from the
// radix, and the number of groups from the servers. Where there are fewer groups than ports allow,
// all pairs of groups get as many links as divide evenly, and routers of a group as wide ones as
// their ports allow: what does not divide stays dark.
//
// Routers of a group are filled in order; those that no server needs stand in the last group
// alone, with their links. A server with several ports goes to as many neighboring routers, its
// rails. O(cables); the longest path is looked for among pairs of routers.

#include "dragonfly.h"

#include "fabric/routes_kinds.h"

#define RADIX_COMMON 64u
#define RADIX_MAX 65536u

// Balanced, of routers with so many ports, or as the options have it.
static void choose(struct dragonfly *dragonfly, uint32_t radix, const uint32_t *sides)
{
    uint32_t h = (radix + 1) / 4;
    bool asked = sides[0] > 0;
    dragonfly->size = asked ? sides[0] : h;
    dragonfly->routers = asked ? sides[1] : 2 * h;
    dragonfly->ports = asked ? sides[2] : h;
}

// How the routers of one group, or those of several, share out their ports.
static bool fit(struct dragonfly *dragonfly, uint32_t radix, const uint32_t *sides)
{
    choose(dragonfly, radix, sides);
    uint32_t rails = dragonfly->rails;
    uint32_t most = dragonfly->routers / rails; // groups of servers in a group
    uint32_t size = dragonfly->size;
    if (size == 0 || most == 0 || radix < size) {
        return false;
    }
    uint32_t blocks = divide_up(dragonfly->servers, size);
    uint32_t groups = divide_up(blocks, most);
    uint64_t reach = (uint64_t)most * rails * dragonfly->ports + 1;
    if (groups > reach) {
        return false;
    }
    uint32_t a = divide_up(blocks, groups) * rails;
    groups = divide_up(blocks, a / rails);
    uint32_t h = groups > 1 ? dragonfly->ports : 0;
    uint32_t others = groups - 1;
    uint32_t left = radix >= size + h ? radix - size - h : 0; // ports for the group
    dragonfly->routers = a;
    dragonfly->groups = groups;
    dragonfly->ports = h;
    dragonfly->local = a > 1 ? left / (a - 1) : 0;
    dragonfly->local = dragonfly->local < size ? dragonfly->local : size;
    dragonfly->links = others == 0 ? 0 : others <= h ? a : (uint32_t)((uint64_t)a * h / others);
    dragonfly->width = others > 0 && others <= h ? h / others : 1;
    return size + h <= radix && (a == 1 || dragonfly->local > 0) &&
           (others == 0 || dragonfly->links > 0);
}

bool dragonfly_plan(struct dragonfly *dragonfly, uint32_t servers, uint32_t rails,
                    const struct weft_fabric_options *options, struct weft_error *error)
{
    uint32_t radix = options->radix > 0 ? options->radix : RADIX_COMMON;
    *dragonfly = (struct dragonfly){.servers = servers, .rails = rails};
    while (options->radix == 0 && radix < RADIX_MAX && !fit(dragonfly, radix, options->sides)) {
        radix *= 2;
    }
    if (radix <= RADIX_MAX && fit(dragonfly, radix, options->sides)) {
        return true;
    }
    uint32_t enough = radix;
    while (enough < RADIX_MAX && !fit(dragonfly, enough, options->sides)) {
        enough++;
    }
    if (enough >= RADIX_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "dragonfly: groups of %u routers with %u servers and %u ports to others "
                         "each hold no %u servers of %u ports; give more of them",
                         options->sides[1], options->sides[0], options->sides[2], servers, rails);
    }
    return weft_fail(error, WEFT_INPUT,
                     "dragonfly: routers of %u ports hold no %u servers of %u ports; a radix of %u "
                     "does",
                     radix, servers, rails, enough);
}

static void wire_group(struct wiring *wiring, const struct dragonfly *dragonfly, uint32_t group,
                       double rate_Bps)
{
    uint32_t first = dragonfly->servers + group * dragonfly->routers;
    for (uint32_t i = 0; i < dragonfly->routers; i++) {
        for (uint32_t j = i + 1; j < dragonfly->routers; j++) {
            wiring_join(wiring, first + i, first + j, dragonfly->local, rate_Bps);
        }
    }
}

static void wire(struct wiring *wiring, const struct dragonfly *dragonfly, const uint32_t *shape,
                 double rate_Bps)
{
    uint32_t n = dragonfly->servers;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t rail = 0; rail < dragonfly->rails; rail++) {
            uint32_t router = n + s / dragonfly->size * dragonfly->rails + rail;
            wiring_join(wiring, s, router, 1, rate_Bps);
        }
    }
    for (uint32_t group = 0; group < dragonfly->groups; group++) {
        wire_group(wiring, dragonfly, group, rate_Bps);
        for (uint32_t other = group + 1; other < dragonfly->groups; other++) {
            for (uint32_t i = 0; i < dragonfly->links; i++) {
                uint32_t offset = other - group;
                uint32_t from = dragonfly_gateway(shape, offset, i);
                uint32_t to = dragonfly_gateway(shape, dragonfly->groups - offset, i);
                wiring_join(wiring, n + group * dragonfly->routers + from,
                            n + other * dragonfly->routers + to, dragonfly->width, rate_Bps);
            }
        }
    }
}

// Links of the longest path: by pairs of servers of different routers, until one is as long as any
// can be. Rails never meet.
static uint32_t longest(const struct weft_routes *routes, const struct dragonfly *dragonfly)
{
    uint32_t most = dragonfly->groups == 1 ? 3 : dragonfly->links == dragonfly->routers ? 4 : 5;
    uint32_t found = 2;
    for (uint32_t s = 0; s < dragonfly->servers && found < most; s += dragonfly->size) {
        for (uint32_t t = 0; t < dragonfly->servers && found < most; t += dragonfly->size) {
            uint32_t paths = s == t ? 0 : dragonfly_count(routes, s, t);
            for (uint32_t i = 0; i < paths; i++) {
                uint32_t hops = dragonfly_hops(routes, s, t, i);
                found = hops > found ? hops : found;
            }
        }
    }
    return found;
}

// A cable between routers has a transceiver and a port at each end; a server's has its NIC at one.
static struct weft_parts count_parts(const struct dragonfly *dragonfly, double rate_Bps)
{
    uint64_t g = dragonfly->groups;
    uint64_t a = dragonfly->routers;
    uint64_t server_cables = (uint64_t)dragonfly->servers * dragonfly->rails;
    uint64_t cables = g * (a * (a - 1) / 2) * dragonfly->local +
                      g * (g - 1) / 2 * dragonfly->links * dragonfly->width;
    return (struct weft_parts){
        .nics = server_cables,
        .transceivers = 2 * (server_cables + cables),
        .switch_ports = server_cables + 2 * cables,
        .rate_Bps = rate_Bps,
    };
}

bool dragonfly_build(struct weft_network *network, const struct dragonfly *dragonfly,
                     const struct weft_cluster *cluster, double rate_Bps, struct weft_arena *arena,
                     struct weft_error *error)
{
    uint64_t g = dragonfly->groups;
    uint64_t a = dragonfly->routers;
    uint64_t joins = (uint64_t)dragonfly->servers * dragonfly->rails + g * (a * (a - 1) / 2) +
                     g * (g - 1) / 2 * dragonfly->links;
    if (!wiring_fits("dragonfly", joins, error)) {
        return false;
    }
    struct weft_routes routes = {
        .kind = WEFT_ROUTES_DRAGONFLY,
        .spread = cluster->balance == WEFT_BALANCE_EVEN ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK,
        .fabric = &network->fabric,
        .shape = {[DRAGONFLY_RAILS] = dragonfly->rails,
                  [DRAGONFLY_SIZE] = dragonfly->size,
                  [DRAGONFLY_ROUTERS] = dragonfly->routers,
                  [DRAGONFLY_GROUPS] = dragonfly->groups,
                  [DRAGONFLY_PORTS] = dragonfly->ports,
                  [DRAGONFLY_LINKS] = dragonfly->links},
    };
    struct wiring wiring = wiring_start("dragonfly", joins, cluster->latency_ps, arena);
    wire(&wiring, dragonfly, routes.shape, rate_Bps);
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, dragonfly->servers, dragonfly->servers + (uint32_t)(g * a),
                       arena, error)) {
        return false;
    }
    fabric.parts = count_parts(dragonfly, rate_Bps);
    *network = (struct weft_network){.fabric = fabric, .routes = routes};
    network->routes.hop_max = longest(&network->routes, dragonfly);
    return true;
}

bool weft_fabric_build_dragonfly(struct weft_network *network, const struct weft_cluster *cluster,
                                 const struct weft_fabric_options *options,
                                 struct weft_arena *arena, struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    struct dragonfly dragonfly;
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    return dragonfly_plan(&dragonfly, cluster->server_count, cluster->degree, &own, error) &&
           dragonfly_build(network, &dragonfly, cluster, rate_Bps, arena, error);
}
