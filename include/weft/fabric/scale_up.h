// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_SCALE_UP_H
#define WEFT_FABRIC_SCALE_UP_H

// Fabrics of accelerators: those of the NICs, with the insides of servers put around them.
// weft/fabric.h includes this.

#include "weft/fabric.h"

WEFT_API_BEGIN

// A server's accelerators and the switch that joins them inside it: its scale-up domain.
struct weft_scale_up {
    uint32_t accelerators; // of a server, at least 2
    double rate_Bps;       // of an accelerator's links to that switch, each way
    uint64_t latency_ps;   // from one accelerator of a server to another
};
// A fabric whose servers are accelerators: accelerator i of server s is number s * accelerators +
// i. The cluster's degree is the NICs of a server, each of one port; a NIC is an accelerator's own,
// or that of as many neighbors as share it.
//
//   ideal, fat-tree, oversubscribed, cost-equivalent: that fabric with a port for every NIC
//   clos        the NICs of a server stand together on leaves
//   leaf-spine  rail-optimised: one leaf for each rail of a group of servers, the spines join all
//               leaves; multi-plane, dual-plane and dual-tor the same with NICs that are split
//   rail-only   a leaf-spine of its own for each rail: who leaves a server for another rail passes
//               by its own accelerator of that rail first (as PXN does)
//   dragonfly   one router for each rail of a group of servers, neighbors in a group of routers
//   torus-2d, torus-3d, ring, expander: of servers; ports hang on the servers' own switches, which
//               pass on what is not theirs
//
// Fails with INPUT, naming the remedy, where NICs and accelerators do not divide evenly, and as the
// builder of that name. The network must stay where it was built. As that builder, and O(links).
bool weft_fabric_build_scale_up(struct weft_network *network, const char *name,
                                const struct weft_cluster *cluster,
                                const struct weft_scale_up *scale_up,
                                const struct weft_fabric_options *options,
                                const struct weft_environment *environment) WEFT_MUST_USE;

// The same around fabrics of NICs that are there already: one whose server s * degree + i is NIC i
// of server s, or one for each NIC, whose server s is that NIC of server s. They must stay where
// they are. Fails as the function above. O(links).
bool weft_fabric_build_planes(struct weft_network *network, const char *name,
                              struct weft_network *planes, uint32_t plane_count,
                              const struct weft_cluster *cluster,
                              const struct weft_scale_up *scale_up,
                              const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
