// SPDX-License-Identifier: Apache-2.0
// The reference fabrics by name, so that every tool offers the same ones: a name is looked up, and
// the builder it stands for is called with the cluster's ports. The fabric of equal cost gets the
// budget of a direct one on a patch panel where none is stated, as TopoOpt compares them (Wang et
// al., NSDI 2023).

#include "cabling.h"

#include <string.h>

enum reference {
    IDEAL,
    FAT_TREE,
    OVERSUBSCRIBED,
    COST_EQUIVALENT,
    LEAF_SPINE,
    EXPANDER,
    TORUS_2D,
    TORUS_3D,
    RING,
    RAIL_ONLY,
    CLOS,
    MULTI_PLANE,
    DUAL_PLANE,
    DUAL_TOR,
    DRAGONFLY,
};

// Fabrics of leaves and spines of a stated radix.
#define OF_LEAVES .has_radix = true, .has_ratio = true, .has_paths = true

static const struct weft_fabric_reference references[] = {
    [IDEAL] = {"ideal", "one non-blocking switch, one NIC of d*B a server", .compared = true},
    [FAT_TREE] = {"fat-tree", "three tiers at full bisection, one NIC of d*B a server, ECMP",
                  .compared = true, OF_LEAVES},
    [OVERSUBSCRIBED] = {"oversubscribed", "the Fat-tree with half its uplinks (2:1)",
                        .compared = true, OF_LEAVES},
    [COST_EQUIVALENT] = {"cost-equivalent", "the Fat-tree that costs what a direct fabric costs",
                         .compared = true, .has_paths = true},
    [LEAF_SPINE] = {"leaf-spine", "rail-optimised: port r of each server on rail r",
                    .compared = true, OF_LEAVES},
    [EXPANDER] = {"expander", "random d-regular graph of servers, ECMP over shortest paths",
                  .compared = true, .has_paths = true, .is_direct = true},
    [TORUS_2D] = {"torus-2d", "servers in a rectangle, dimension order", .compared = true,
                  .is_direct = true},
    [TORUS_3D] = {"torus-3d", "servers in a box, dimension order", .compared = true,
                  .is_direct = true},
    [RING] = {"ring", "servers in a ring, both ways", .compared = true, .is_direct = true},
    [RAIL_ONLY] = {"rail-only", "a leaf-spine for each port of a server, none between them",
                   OF_LEAVES},
    [CLOS] = {"clos", "leaves and spines, all ports of a server on one leaf", OF_LEAVES},
    [MULTI_PLANE] = {"multi-plane", "rails, with each port split over planes (4)", OF_LEAVES,
                     .has_planes = true},
    [DUAL_PLANE] = {"dual-plane", "rails, with each port split over two planes", OF_LEAVES},
    [DUAL_TOR] = {"dual-tor", "rails, with each port split over two leaves of the same spines",
                  OF_LEAVES},
    [DRAGONFLY] = {"dragonfly", "full meshes of routers, joined by links of each pair of them",
                   .has_radix = true, .has_paths = true},
};

#define REFERENCE_COUNT (sizeof references / sizeof references[0])

const struct weft_fabric_reference *weft_fabric_references(uint32_t *count)
{
    *count = REFERENCE_COUNT;
    return references;
}

const struct weft_fabric_reference *weft_fabric_reference_named(const char *name,
                                                                struct weft_error *error)
{
    const char *names[REFERENCE_COUNT];
    for (size_t i = 0; i < REFERENCE_COUNT; i++) {
        if (strcmp(name, references[i].name) == 0) {
            return &references[i];
        }
        names[i] = references[i].name;
    }
    if (strcmp(name, "single-switch") == 0) {
        return &references[IDEAL];
    }
    if (error != NULL) {
        weft_fail_word(error, "fabric", name, names, REFERENCE_COUNT);
    }
    return NULL;
}

// What a direct fabric of all the cluster's ports on a patch panel costs.
static double direct_cost(const struct weft_cluster *cluster)
{
    uint64_t ports = (uint64_t)cluster->server_count * cluster->degree;
    struct weft_parts parts = {
        .nics = ports,
        .transceivers = ports,
        .patch_panel_ports = ports,
        .rate_Bps = cluster->rate_Bps,
    };
    return weft_fabric_cost(&parts, &cluster->prices).total_usd;
}

void reference_limit_ports(struct weft_fabric *fabric, const struct weft_cluster *cluster,
                           double built_Bps, struct weft_arena *arena)
{
    double ratio = cluster->rate_Bps / built_Bps;
    if (!(cluster->nic_Bps > 0) || ratio >= 1) {
        return;
    }
    struct weft_link *links = WEFT_NEW_RAW(arena, struct weft_link, fabric->link_count);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        links[i] = fabric->links[i];
        if (links[i].from < fabric->server_count || links[i].to < fabric->server_count) {
            links[i].rate_Bps *= ratio;
        }
    }
    fabric->links = links;
}

// By its builder, of ports as they are bought.
static bool build_bought(struct weft_network *network, const char *name,
                         const struct weft_cluster *cluster,
                         const struct weft_fabric_options *options,
                         const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    const struct weft_fabric_reference *found = weft_fabric_reference_named(name, error);
    if (found == NULL) {
        return false;
    }
    const enum reference reference = (enum reference)(found - references);
    struct weft_fabric_options own = options_or_default(options);
    switch (reference) {
    case IDEAL:
        return weft_fabric_build_ideal(network, cluster, &own, arena, error);
    case FAT_TREE:
        return weft_fabric_build_fat_tree(network, cluster, &own, arena, error);
    case OVERSUBSCRIBED:
        return weft_fabric_build_oversubscribed(network, cluster, &own, arena, error);
    case COST_EQUIVALENT:
        return weft_fabric_build_cost_equivalent(
            network, cluster, own.budget_usd > 0 ? own.budget_usd : direct_cost(cluster), arena,
            error);
    case LEAF_SPINE:
    case RAIL_ONLY:
    case CLOS:
    case MULTI_PLANE:
    case DUAL_PLANE:
    case DUAL_TOR:
        return weft_fabric_build_leaves(network, name, cluster, &own, arena, error);
    case DRAGONFLY:
        return weft_fabric_build_dragonfly(network, cluster, &own, arena, error);
    case EXPANDER:
        return weft_fabric_build_expander(network, cluster, &own, arena, scratch, error);
    case TORUS_2D:
    case TORUS_3D:
        own.dimensions = reference == TORUS_2D ? 2 : 3;
        return weft_fabric_build_torus(network, cluster, &own, arena, error);
    case RING:
        break;
    }
    return weft_fabric_build_ring(network, cluster, &own, arena, error);
}

bool weft_fabric_build_named(struct weft_network *network, const char *name,
                             const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options,
                             const struct weft_environment *environment)
{
    const struct weft_cluster bought = weft_cluster_as_bought(cluster);
    if (!build_bought(network, name, &bought, options, environment)) {
        return false;
    }
    if (!(options_or_default(options).port_rate_Bps > 0)) { // else that is what ports carry
        bool solved = strcmp(name, references[COST_EQUIVALENT].name) == 0;
        double built_Bps =
            solved ? network->fabric.parts.rate_Bps / cluster->degree : bought.rate_Bps;
        reference_limit_ports(&network->fabric, cluster, built_Bps, environment->arena);
    }
    return true;
}
