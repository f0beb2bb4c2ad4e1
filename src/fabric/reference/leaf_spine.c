// SPDX-License-Identifier: Apache-2.0
// Fabrics of leaves and spines, and of cores above them where two tiers do not suffice:
// rail-optimised, as NVIDIA's DGX SuperPOD reference architectures wire them (port r of every
// server reaches a leaf of rail r, one leaf a rail and group), rail by rail on its own, all ports
// of a server on one leaf (Clos), and with NICs that are split over planes or over two leaves. A
// transfer chooses its rail at the sending server. Sizes are leaves_plan.c's. O(cables).
//
// Where transfers are divided evenly, rails carry the same at any time, and so do the spines of a
// pod and all cores. They are then one rail with one spine a pod and one core, of their summed
// rates: the same rates of transfers.

#include "fabric/routes_kinds.h"
#include "leaves.h"

static uint32_t planes_of(const struct leaves *leaves)
{
    return leaves->rails / leaves->meet;
}

static uint32_t pods_of(const struct leaves *leaves)
{
    return divide_up(leaves->groups, leaves->pod_groups);
}

// The fabric with what carries the same joined: one rail, one spine a pod and one core, if any.
static void join_rails(struct leaves *leaves)
{
    uint32_t spines = planes_of(leaves) * leaves->spines;
    leaves->core_width *= spines * leaves->cores;
    leaves->spine_width *= leaves->rails * leaves->spines;
    leaves->ports *= leaves->rails;
    leaves->rails = 1;
    leaves->meet = 1;
    leaves->spines = leaves->spines > 0 ? 1 : 0;
    leaves->cores = leaves->cores > 0 ? 1 : 0;
}

// Servers to their leaves, leaves to the spines of their pod, spines to the cores of their plane,
// in this order, which is that of the routes' formulas.
static void wire_leaves(struct wiring *wiring, const struct leaves *leaves, double rate_Bps)
{
    uint32_t n = leaves->servers;
    uint32_t rails = leaves->rails;
    uint32_t pod_spines = planes_of(leaves) * leaves->spines;
    uint32_t spine_base = n + leaves->groups * rails;
    uint32_t core_base = spine_base + pods_of(leaves) * pod_spines;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t rail = 0; rail < rails; rail++) {
            uint32_t leaf = n + s / leaves->size * rails + rail;
            wiring_join(wiring, s, leaf, leaves->ports, rate_Bps);
        }
    }
    for (uint32_t leaf = 0; leaf < leaves->groups * rails; leaf++) {
        uint32_t pod = leaf / rails / leaves->pod_groups;
        uint32_t plane = leaf % rails / leaves->meet;
        for (uint32_t j = 0; j < leaves->spines; j++) {
            uint32_t spine = spine_base + pod * pod_spines + plane * leaves->spines + j;
            wiring_join(wiring, n + leaf, spine, leaves->spine_width, rate_Bps);
        }
    }
    for (uint32_t i = 0; leaves->cores > 0 && i < pods_of(leaves) * pod_spines; i++) {
        for (uint32_t core = 0; core < leaves->cores; core++) {
            uint32_t place = i % pod_spines;
            wiring_join(wiring, spine_base + i, core_base + place * leaves->cores + core,
                        leaves->core_width, rate_Bps);
        }
    }
}

// Every cable above has a transceiver and a switch port at each end; a server's has its NIC at one.
static struct weft_parts leaves_parts(const struct leaves *leaves, double rate_Bps)
{
    uint64_t server_cables = (uint64_t)leaves->servers * leaves->rails * leaves->ports;
    uint64_t leaf_count = (uint64_t)leaves->groups * leaves->rails;
    uint64_t spine_count = (uint64_t)pods_of(leaves) * planes_of(leaves) * leaves->spines;
    uint64_t uplinks = leaf_count * leaves->spines * leaves->spine_width +
                       spine_count * leaves->cores * leaves->core_width;
    return (struct weft_parts){
        .nics = server_cables,
        .transceivers = 2 * (server_cables + uplinks),
        .switch_ports = server_cables + 2 * uplinks,
        .rate_Bps = rate_Bps,
    };
}

bool leaves_build(struct weft_network *network, const struct leaves *planned,
                  const struct weft_cluster *cluster, double rate_Bps, struct weft_arena *arena,
                  struct weft_error *error)
{
    struct leaves leaves = *planned;
    const struct weft_parts parts = leaves_parts(&leaves, rate_Bps);
    if (cluster->balance == WEFT_BALANCE_EVEN) {
        join_rails(&leaves);
    }
    uint64_t leaf_count = (uint64_t)leaves.groups * leaves.rails;
    uint64_t places = (uint64_t)planes_of(&leaves) * leaves.spines; // of a pod's spines
    uint64_t spine_count = pods_of(&leaves) * places;
    uint64_t joins = (uint64_t)leaves.servers * leaves.rails + leaf_count * leaves.spines +
                     spine_count * leaves.cores;
    uint64_t node_count = leaves.servers + leaf_count + spine_count + places * leaves.cores;
    if (!wiring_fits(leaves.name, joins, error)) {
        return false;
    }
    struct wiring wiring = wiring_start(leaves.name, joins, cluster->latency_ps, arena);
    wire_leaves(&wiring, &leaves, rate_Bps);
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, leaves.servers, (uint32_t)node_count, arena, error)) {
        return false;
    }
    fabric.parts = parts;
    *network = (struct weft_network){.fabric = fabric};
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_TREE,
        .fabric = &network->fabric,
        .hop_max = leaves.cores > 0    ? 6
                   : leaves.groups > 1 ? 4
                                       : 2,
        .shape = {[TREE_RAILS] = leaves.rails,
                  [TREE_SIZE] = leaves.size,
                  [TREE_MEET] = leaves.meet,
                  [TREE_SPINES] = leaves.spines,
                  [TREE_CORES] = leaves.cores,
                  [TREE_GROUPS] = leaves.groups,
                  [TREE_POD_GROUPS] = leaves.pod_groups},
    };
    return true;
}

bool weft_fabric_build_leaves(struct weft_network *network, const char *name,
                              const struct weft_cluster *cluster,
                              const struct weft_fabric_options *options, struct weft_arena *arena,
                              struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    const struct leaves_kind *kind = leaves_kind_named(name);
    if (kind == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.64s' is no fabric of leaves and spines", name);
    }
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    struct leaves leaves = leaves_asked(kind, cluster->server_count, cluster->degree, false, &own);
    return leaves_plan(&leaves, &own, error) &&
           leaves_build(network, &leaves, cluster, rate_Bps / leaves.split, arena, error);
}
