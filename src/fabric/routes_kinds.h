// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_ROUTES_KINDS_H
#define WEFT_FABRIC_ROUTES_KINDS_H

// Computed routes by kind: what builders leave in shape[] for them, and the functions of
// weft/fabric.h for those kinds that have a file of their own, which routes.c calls. Servers of
// switched fabrics stand in groups, in order; those of a group share its switches, and there is one
// switch of a group for each link of a server, its rail.

#include "weft/fabric.h"

// WEFT_ROUTES_TREE. Nodes: servers; leaves, those of a group together; spines by pod, then by
// plane, a plane being rails that meet; cores by plane, then by the spine's place in it. A server
// goes to every leaf of its group, a leaf to every spine of its pod and plane, a spine to the cores
// of its place. A Fat-tree has one rail; its edge switches are leaves.
//
// Path index = ((rail * spines + spine) * cores + core) * meet + where the leaf that it comes down
// by stands among those that meet; rail alone inside a group, no core inside a pod.
enum {
    TREE_RAILS,
    TREE_SIZE,   // servers of a group
    TREE_MEET,   // neighboring rails that go to the same spines; divides the rails
    TREE_SPINES, // of a plane in a pod
    TREE_CORES,  // of a spine's place
    TREE_GROUPS,
    TREE_POD_GROUPS,
};

// WEFT_ROUTES_DRAGONFLY. Nodes: servers, then routers, those of a group of servers together and
// those of a group of the dragonfly together. See reference/dragonfly.c for which global link goes
// where.
//
// Minimal paths have one link between groups at most, and of these paths those of fewest links
// count. Path index: rail by rail; of a rail by the number of the link between the groups.
enum {
    DRAGONFLY_RAILS,
    DRAGONFLY_SIZE,    // servers of a group of servers = a router's
    DRAGONFLY_ROUTERS, // of a group of the dragonfly
    DRAGONFLY_GROUPS,  // of the dragonfly
    DRAGONFLY_PORTS,   // to other groups, of a router
    DRAGONFLY_LINKS,   // between any two groups; as many as routers: every router has its own
};

uint32_t ring_hops(const struct weft_routes *routes, uint32_t from, uint32_t to);
uint32_t ring_path(const struct weft_routes *routes, uint32_t from, uint32_t to, uint32_t *links);
uint32_t torus_hops(const struct weft_routes *routes, uint32_t from, uint32_t to);
uint32_t torus_path(const struct weft_routes *routes, uint32_t from, uint32_t to, uint32_t *links);
uint32_t circulant_hops(const struct weft_routes *routes, uint32_t from, uint32_t to);
uint32_t circulant_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t *links);

uint32_t dragonfly_count(const struct weft_routes *routes, uint32_t from, uint32_t to);
// The first path that leaves by a rail, and how many do.
uint32_t dragonfly_rail(uint32_t *count, const struct weft_routes *routes, uint32_t from,
                        uint32_t to, uint32_t rail);
uint32_t dragonfly_hops(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t index);
uint32_t dragonfly_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t index, uint32_t *links);
// Which router of `group` has link `number` to the group that is `offset` groups further, 1 to
// groups - 1. Given shape[] alone, so that the builder joins what the routes walk.
uint32_t dragonfly_gateway(const uint32_t *shape, uint32_t offset, uint32_t number);

#endif
