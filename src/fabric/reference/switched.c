// SPDX-License-Identifier: Apache-2.0
// Fabrics of packet switches with one NIC a server: the ideal switch, which holds nobody back but
// at his own ports, and Fat-trees of up to three tiers of one radix (Al-Fares, Loukissas and
// Vahdat, SIGCOMM 2008), whole or oversubscribed at the edge. O(cables).
//
// Where transfers are divided evenly, the cables that stand side by side in the tree (those from
// an edge switch up to its pod, and those from a pod up to the cores) carry the same at any time,
// and a transfer has one rate on all of them. They are then one link of their summed rate, and all
// aggregation switches of a pod, and all cores, one node: the same rates with one path a pair.

#include "cabling.h"
#include "fabric/routes_kinds.h"

#include <math.h>

// A k-ary Fat-tree of h = k/2, filled in order: server s hangs on edge switch s / h, edge switch e
// stands in pod e / h. Switches that no server needs are left out.
struct tree {
    uint32_t h;
    uint32_t uplinks; // of an edge switch = aggregation switches of a pod
    uint32_t edges;
    uint32_t pods;
    uint32_t aggregations; // all pods
    uint32_t core_uplinks; // of an aggregation switch
    uint32_t cores;
    double uplink_rate_Bps; // of one cable above the edge
    uint32_t width;         // cables that one link to an aggregation switch stands for
    uint32_t core_width;    // and to a core
};

static uint64_t tree_capacity(uint64_t k)
{
    return k * k * k / 4;
}

static bool choose_radix(uint32_t *radix, uint32_t server_count, struct weft_error *error)
{
    uint32_t smallest = 2;
    while (tree_capacity(smallest) < server_count) {
        smallest += 2;
    }
    if (*radix == 0) {
        *radix = smallest;
    }
    if (*radix % 2 != 0 || *radix < smallest || *radix > 4096) {
        return weft_fail(error, WEFT_INPUT,
                         "a Fat-tree of %u servers cannot be built of %u-port switches; give an "
                         "even radix of at least %u",
                         server_count, *radix, smallest);
    }
    return true;
}

// The sizes of a Fat-tree of three tiers (Al-Fares et al., SIGCOMM 2008) whose edge switches have
// fewer uplinks than servers where it is oversubscribed. Uplinks are rounded up, so their rate
// makes up for it: the bisection is the one asked for.
static bool plan_tree(struct tree *tree, uint32_t server_count, uint32_t radix,
                      double oversubscription, double rate_Bps, struct weft_error *error)
{
    if (!(oversubscription >= 1 && oversubscription <= 1e6)) {
        return weft_fail(error, WEFT_INPUT, "oversubscription %g is not at least 1 (2 means 2:1)",
                         oversubscription);
    }
    if (!choose_radix(&radix, server_count, error)) {
        return false;
    }
    uint32_t h = radix / 2;
    uint32_t uplinks = (uint32_t)ceil(h / oversubscription);
    uint32_t edges = divide_up(server_count, h);
    uint32_t pods = divide_up(edges, h);
    *tree = (struct tree){
        .h = h,
        .uplinks = uplinks,
        .edges = edges,
        .pods = pods,
        .aggregations = edges > 1 ? pods * uplinks : 0,
        .core_uplinks = h,
        .cores = pods > 1 ? uplinks * h : 0,
        .uplink_rate_Bps = rate_Bps * h / (oversubscription * uplinks),
        .width = 1,
        .core_width = 1,
    };
    return true;
}

// The tree with what carries the same joined: one aggregation switch a pod, one core.
static void join_equals(struct tree *tree)
{
    tree->width = tree->uplinks;
    tree->core_width = tree->uplinks * tree->core_uplinks;
    tree->uplinks = 1;
    tree->core_uplinks = 1;
    tree->aggregations = tree->aggregations > 0 ? tree->pods : 0;
    tree->cores = tree->cores > 0 ? 1 : 0;
}

static uint64_t tree_cables(const struct tree *tree, uint32_t server_count)
{
    uint64_t above_edges = tree->aggregations > 0 ? (uint64_t)tree->edges * tree->uplinks : 0;
    return server_count + above_edges + (uint64_t)tree->pods * tree->cores;
}

// Every cable above has a transceiver and a switch port at each end; a server's has its NIC at one.
static struct weft_parts tree_parts(const struct tree *tree, uint32_t server_count, double rate_Bps)
{
    uint64_t cables = tree_cables(tree, server_count);
    return (struct weft_parts){
        .nics = server_count,
        .transceivers = 2 * cables,
        .switch_ports = 2 * cables - server_count,
        .rate_Bps = rate_Bps,
    };
}

static void wire_tree(struct wiring *wiring, const struct tree *tree, uint32_t server_count,
                      double rate_Bps)
{
    WEFT_ASSERT(tree->h > 0 && tree->edges > 0);
    uint32_t edge_base = server_count;
    uint32_t aggregation_base = edge_base + tree->edges;
    uint32_t core_base = aggregation_base + tree->aggregations;
    for (uint32_t s = 0; s < server_count; s++) {
        wiring_join(wiring, s, edge_base + s / tree->h, 1, rate_Bps);
    }
    for (uint32_t e = 0; tree->aggregations > 0 && e < tree->edges; e++) {
        uint32_t pod_base = aggregation_base + e / tree->h * tree->uplinks;
        for (uint32_t j = 0; j < tree->uplinks; j++) {
            wiring_join(wiring, edge_base + e, pod_base + j, tree->width, tree->uplink_rate_Bps);
        }
    }
    for (uint32_t i = 0; i < tree->cores; i++) {
        for (uint32_t pod = 0; pod < tree->pods; pod++) {
            uint32_t aggregation = aggregation_base + pod * tree->uplinks + i / tree->core_uplinks;
            wiring_join(wiring, aggregation, core_base + i, tree->core_width,
                        tree->uplink_rate_Bps);
        }
    }
}

// The Fat-tree with `options` filled in. A server's d ports are one NIC of their summed rate, so
// that the tree compares with direct fabrics of the same bandwidth a server (TopoOpt, NSDI 2023).
static bool build_tree(struct weft_network *network, const char *name,
                       const struct weft_cluster *cluster,
                       const struct weft_fabric_options *options, struct weft_arena *arena,
                       struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    double rate_Bps =
        options->port_rate_Bps > 0 ? options->port_rate_Bps : cluster->degree * cluster->rate_Bps;
    struct tree tree = {0};
    if (!plan_tree(&tree, n, options->radix, options->oversubscription, rate_Bps, error)) {
        return weft_wrap(error, "%s", name);
    }
    const struct weft_parts parts = tree_parts(&tree, n, rate_Bps);
    if (cluster->balance == WEFT_BALANCE_EVEN) {
        join_equals(&tree);
    }
    struct wiring wiring = wiring_start(name, tree_cables(&tree, n), cluster->latency_ps, arena);
    wire_tree(&wiring, &tree, n, rate_Bps);
    uint32_t node_count = n + tree.edges + tree.aggregations + tree.cores;
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, n, node_count, arena, error)) {
        return false;
    }
    fabric.parts = parts;
    *network = (struct weft_network){.fabric = fabric};
    network->routes = (struct weft_routes){
        .kind = WEFT_ROUTES_TREE,
        .fabric = &network->fabric,
        .hop_max = tree.cores > 0          ? 6
                   : tree.aggregations > 0 ? 4
                                           : 2,
        .shape = {[TREE_RAILS] = 1,
                  [TREE_SIZE] = tree.h,
                  [TREE_MEET] = 1,
                  [TREE_SPINES] = tree.uplinks,
                  [TREE_CORES] = tree.core_uplinks,
                  [TREE_GROUPS] = tree.edges,
                  [TREE_POD_GROUPS] = tree.h},
    };
    return true;
}

bool weft_fabric_build_fat_tree(struct weft_network *network, const struct weft_cluster *cluster,
                                const struct weft_fabric_options *options, struct weft_arena *arena,
                                struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    own.oversubscription = own.oversubscription == 0 ? 1 : own.oversubscription;
    return build_tree(network, "fat-tree", cluster, &own, arena, error);
}

bool weft_fabric_build_oversubscribed(struct weft_network *network,
                                      const struct weft_cluster *cluster,
                                      const struct weft_fabric_options *options,
                                      struct weft_arena *arena, struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    own.oversubscription = own.oversubscription == 0 ? 2 : own.oversubscription;
    return build_tree(network, "oversubscribed", cluster, &own, arena, error);
}

bool weft_fabric_build_ideal(struct weft_network *network, const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options, struct weft_arena *arena,
                             struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    uint32_t n = cluster->server_count;
    double rate_Bps =
        own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->degree * cluster->rate_Bps;
    struct tree tree = {0}; // no such switch is sold: what stands in for it is bought
    if (!plan_tree(&tree, n, 0, 1, rate_Bps, error)) {
        return weft_wrap(error, "ideal");
    }
    struct wiring wiring = wiring_start("ideal", n, cluster->latency_ps, arena);
    for (uint32_t s = 0; s < n; s++) {
        wiring_join(&wiring, s, n, 1, rate_Bps);
    }
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, n, n + 1, arena, error)) {
        return false;
    }
    fabric.parts = tree_parts(&tree, n, rate_Bps);
    *network = (struct weft_network){.fabric = fabric};
    return weft_routes_build_star(&network->routes, &network->fabric, error);
}
