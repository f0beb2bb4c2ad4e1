// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_REFERENCE_LEAVES_H
#define WEFT_FABRIC_REFERENCE_LEAVES_H

// Two or three tiers of switches of one radix over groups of servers: which of them are known by
// name, how large they are (leaves_plan.c), and the fabric of such sizes (leaf_spine.c). A new
// fabric of this family is a row of the kinds.

#include "cabling.h"

// What stands behind a name.
struct leaves_kind {
    const char *name;
    bool together; // the ports of a server go to one leaf, instead of one leaf each
    bool meet;  // where accelerators send, which receive by ports of their own as well, leaves of
                // different ports go to the same spines; servers choose a port for each transfer
    bool apart; // not even then: every port of a server has a fabric of its own
    uint32_t split;   // ports of a NIC, each of a share of its rate; 0 = as options say
    bool split_meets; // and these go to different leaves of the same spines, not to planes
};
// NULL where there is none of that name.
const struct leaves_kind *leaves_kind_named(const char *name);

struct leaves {
    const char *name;
    // What is asked for.
    uint32_t servers;
    uint32_t ports; // cables from a server to each of its leaves
    uint32_t rails; // leaves of a group; all servers of the group go to each
    uint32_t meet;  // neighboring rails that go to the same spines: a plane; divides the rails
    uint32_t split; // a port of a switch is so many ports here, each of a share of its rate
    bool crosses;   // transfers may leave by one rail and arrive by another
    // What comes of it.
    uint32_t radix; // of a switch, before its ports are split
    uint32_t size;  // servers of a group
    uint32_t groups;
    uint32_t pod_groups;
    uint32_t spines;      // of a plane and pod; 0 with one group that needs none
    uint32_t spine_width; // cables from a leaf to each of its spines
    uint32_t cores;       // that each spine goes to; 0 with one pod
    uint32_t core_width;
};
// What a fabric of that kind asks for, of servers with `ports` ports each. `nics`: the ports are
// accelerators' own, who receive by their own as well.
struct leaves leaves_asked(const struct leaves_kind *kind, uint32_t servers, uint32_t ports,
                           bool nics, const struct weft_fabric_options *options);
// Sizes for it: of the fewest tiers, two or three, that the stated radix allows; without one of
// switches that are sold, 64 or 128 ports, the smaller where both take as many tiers. Fails with
// INPUT naming what is missing: the radix that would do, and the oversubscription.
bool leaves_plan(struct leaves *leaves, const struct weft_fabric_options *options,
                 struct weft_error *error) WEFT_MUST_USE;
// Builds it, of cables of `rate_Bps`. Where the cluster's balance divides transfers evenly, what
// carries the same is joined. O(cables).
bool leaves_build(struct weft_network *network, const struct leaves *leaves,
                  const struct weft_cluster *cluster, double rate_Bps, struct weft_arena *arena,
                  struct weft_error *error) WEFT_MUST_USE;

#endif
