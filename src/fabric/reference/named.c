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
};

static const struct weft_fabric_reference references[] = {
    [IDEAL] = {"ideal", "one non-blocking switch, one NIC of d*B a server"},
    [FAT_TREE] = {"fat-tree", "three tiers at full bisection, one NIC of d*B a server, ECMP"},
    [OVERSUBSCRIBED] = {"oversubscribed", "the Fat-tree with half its uplinks (2:1)"},
    [COST_EQUIVALENT] = {"cost-equivalent", "the Fat-tree that costs what a direct fabric costs"},
    [LEAF_SPINE] = {"leaf-spine", "rail-optimised: port r of each server on rail r"},
    [EXPANDER] = {"expander", "random d-regular graph of servers, ECMP over shortest paths"},
    [TORUS_2D] = {"torus-2d", "servers in a rectangle, dimension order"},
    [TORUS_3D] = {"torus-3d", "servers in a box, dimension order"},
    [RING] = {"ring", "servers in a ring, both ways"},
};

#define REFERENCE_COUNT (sizeof references / sizeof references[0])

const struct weft_fabric_reference *weft_fabric_references(uint32_t *count)
{
    *count = REFERENCE_COUNT;
    return references;
}

static bool find_reference(enum reference *found, const char *name, struct weft_error *error)
{
    if (strcmp(name, "single-switch") == 0) {
        *found = IDEAL;
        return true;
    }
    char names[256];
    size_t length = 0;
    for (size_t i = 0; i < REFERENCE_COUNT; i++) {
        if (strcmp(name, references[i].name) == 0) {
            *found = (enum reference)i;
            return true;
        }
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i == 0 ? "" : ", ", references[i].name);
        WEFT_ASSERT(length < sizeof names);
    }
    return weft_fail(error, WEFT_INPUT, "'%.64s' is no fabric Weft knows; choose one of %s", name,
                     names);
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

bool weft_fabric_build_named(struct weft_network *network, const char *name,
                             const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options,
                             const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    enum reference reference = IDEAL;
    if (!find_reference(&reference, name, error)) {
        return false;
    }
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
        return weft_fabric_build_leaf_spine(network, cluster, &own, arena, error);
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
