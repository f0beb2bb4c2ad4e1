// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_REFERENCE_DRAGONFLY_H
#define WEFT_FABRIC_REFERENCE_DRAGONFLY_H

// The dragonfly: its sizes, and the fabric of such sizes (dragonfly.c, which has the method and its
// source). Routes are by formula, in fabric/routes_dragonfly.c, from the sizes that a network keeps
// in its `shape`.

#include "cabling.h"

struct dragonfly {
    uint32_t servers;
    uint32_t rails;   // routers that a server goes to, by a cable each
    uint32_t size;    // servers on a router: p
    uint32_t routers; // of a group: a
    uint32_t groups;  // g
    uint32_t ports;   // of a router to other groups: h; 0 with one group
    uint32_t links;   // between any two groups
    uint32_t width;   // cables of each of them
    uint32_t local;   // cables between two routers of a group
};
// Sizes for so many servers with a cable to each of `rails` routers. Fails with INPUT naming the
// radix that would do.
bool dragonfly_plan(struct dragonfly *dragonfly, uint32_t servers, uint32_t rails,
                    const struct weft_fabric_options *options, struct weft_error *error)
    WEFT_MUST_USE;
// Builds it, of cables of `rate_Bps`. O(cables), and O(routers^2) steps at most.
bool dragonfly_build(struct weft_network *network, const struct dragonfly *dragonfly,
                     const struct weft_cluster *cluster, double rate_Bps, struct weft_arena *arena,
                     struct weft_error *error) WEFT_MUST_USE;

#endif
