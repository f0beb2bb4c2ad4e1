// SPDX-License-Identifier: Apache-2.0
// Rail-optimised leaf-spine, as NVIDIA's DGX SuperPOD reference architectures wire it: port r of
// every server reaches a leaf switch of rail r, and the leaves of one rail meet in that rail's
// spines. A transfer chooses its rail at the sending server, so it never needs to change rails on
// the way. Leaf and spine counts follow from the radix and the oversubscription alone. O(cables).
//
// Where transfers are divided evenly, rails carry the same at any time, and so do the spines of a
// rail. They are then one rail with one spine of their summed rate: the same rates of transfers.

#include "cabling.h"

#include <math.h>

// The port count of common 400G and 800G switches; the largest is far beyond any that is sold.
#define RADIX_DEFAULT 64u
#define RADIX_MAX 65536u

struct leaves {
    uint32_t rails;
    uint32_t size;        // servers a group = server ports of a leaf
    uint32_t groups;      // leaves of a rail
    uint32_t spines;      // of a rail; 0 with one group
    uint32_t spine_width; // cables from a leaf to each of its rail's spines
    uint32_t width;       // cables that one link from a server stands for
};

// Fills groups, spines and widths for switches of this radix; false when they do not fit. The size
// of a group is as large as may be, or the one asked for (0 = none is).
static bool fit_leaves(struct leaves *leaves, uint32_t server_count, uint32_t radix,
                       double oversubscription, uint32_t asked)
{
    uint32_t down = (uint32_t)floor(radix * oversubscription / (1 + oversubscription));
    uint32_t most = asked > 0 && asked < radix ? asked : radix;
    if (server_count <= most) { // one leaf a rail holds all servers and needs no way up
        leaves->size = server_count;
        leaves->groups = 1;
        leaves->spines = 0;
        leaves->spine_width = 0;
        return true;
    }
    leaves->groups = divide_up(server_count, down);
    leaves->size = asked > 0 ? asked : divide_up(server_count, leaves->groups);
    leaves->groups = divide_up(server_count, leaves->size);
    if (leaves->groups > radix || leaves->size > down) {
        return false;
    }
    // As few spines as take the uplinks in bundles of equal width; a bundle may need a port more
    // than its share, as long as the leaf has it.
    uint32_t uplinks = (uint32_t)ceil(leaves->size / oversubscription);
    uint32_t spines = divide_up(uplinks, radix / leaves->groups);
    while (spines * divide_up(uplinks, spines) > radix - leaves->size) {
        spines++;
    }
    WEFT_ASSERT(spines <= uplinks);
    leaves->spine_width = divide_up(uplinks, spines);
    leaves->spines = spines;
    return true;
}

// Finds how many leaves and spines the cluster needs. Without a stated radix 64 ports are doubled
// until two tiers hold all servers; with one, the same search gives the message the radix that
// would do.
static bool plan_leaves(struct leaves *leaves, const struct weft_cluster *cluster,
                        const struct weft_fabric_options *options, struct weft_error *error)
{
    double oversubscription = options->oversubscription == 0 ? 1 : options->oversubscription;
    if (!(oversubscription >= 1 && oversubscription <= 1e6)) {
        return weft_fail(error, WEFT_INPUT,
                         "leaf-spine: oversubscription %g is not at least 1 (2 means 2:1)",
                         oversubscription);
    }
    uint32_t n = cluster->server_count;
    uint32_t fitting = RADIX_DEFAULT;
    leaves->rails = cluster->degree;
    leaves->width = 1;
    uint32_t size = options->leaf_servers;
    while (!fit_leaves(leaves, n, fitting, oversubscription, size)) {
        fitting *= 2;
    }
    if (options->radix == 0) {
        return true;
    }
    if (options->radix < 2 || options->radix > RADIX_MAX ||
        !fit_leaves(leaves, n, options->radix, oversubscription, size)) {
        return weft_fail(error, WEFT_INPUT,
                         "leaf-spine: %u servers do not fit two tiers of %u-port switches; a radix "
                         "of %u does",
                         n, options->radix, fitting);
    }
    return true;
}

// The fabric with what carries the same joined: one rail, with one spine if it has any.
static void join_rails(struct leaves *leaves)
{
    leaves->width = leaves->rails;
    leaves->spine_width *= leaves->rails * leaves->spines;
    leaves->rails = 1;
    leaves->spines = leaves->spines > 0 ? 1 : 0;
}

static void wire_leaves(struct wiring *wiring, const struct leaves *leaves, uint32_t n,
                        double rate_Bps)
{
    uint32_t leaf_base = n;
    uint32_t spine_base = n + leaves->groups * leaves->rails;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t rail = 0; rail < leaves->rails; rail++) {
            uint32_t leaf = leaf_base + s / leaves->size * leaves->rails + rail;
            wiring_join(wiring, s, leaf, leaves->width, rate_Bps);
        }
    }
    for (uint32_t i = 0; i < leaves->groups * leaves->rails; i++) {
        uint32_t rail = i % leaves->rails;
        for (uint32_t j = 0; j < leaves->spines; j++) {
            wiring_join(wiring, leaf_base + i, spine_base + rail * leaves->spines + j,
                        leaves->spine_width, rate_Bps);
        }
    }
}

static struct weft_parts leaves_parts(const struct leaves *leaves, uint32_t n, double rate_Bps)
{
    uint64_t server_cables = (uint64_t)n * leaves->rails;
    uint64_t uplinks =
        (uint64_t)leaves->groups * leaves->rails * leaves->spines * leaves->spine_width;
    return (struct weft_parts){
        .nics = server_cables,
        .transceivers = 2 * (server_cables + uplinks),
        .switch_ports = server_cables + 2 * uplinks,
        .rate_Bps = rate_Bps,
    };
}

bool weft_fabric_build_leaf_spine(struct weft_network *network, const struct weft_cluster *cluster,
                                  const struct weft_fabric_options *options,
                                  struct weft_arena *arena, struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    uint32_t n = cluster->server_count;
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    struct leaves leaves = {0};
    if (!plan_leaves(&leaves, cluster, &own, error)) {
        return false;
    }
    const struct weft_parts parts = leaves_parts(&leaves, n, rate_Bps);
    if (cluster->balance == WEFT_BALANCE_EVEN) {
        join_rails(&leaves);
    }
    uint64_t leaf_count = (uint64_t)leaves.groups * leaves.rails;
    uint64_t joins = (uint64_t)n * leaves.rails + leaf_count * leaves.spines;
    uint64_t node_count = n + leaf_count + (uint64_t)leaves.rails * leaves.spines;
    if (!wiring_fits("leaf-spine", joins, error)) {
        return false;
    }
    struct wiring wiring = wiring_start("leaf-spine", joins, cluster->latency_ps, arena);
    wire_leaves(&wiring, &leaves, n, rate_Bps);
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, n, (uint32_t)node_count, arena, error)) {
        return false;
    }
    fabric.parts = parts;
    *network = (struct weft_network){.fabric = fabric};
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_LEAF_SPINE,
        .fabric = &network->fabric,
        .hop_max = leaves.groups > 1 ? 4 : 2,
        .shape = {leaves.rails, leaves.size, leaves.spines, leaves.groups},
    };
    return true;
}
