// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_NETWORK_H
#define WEFT_RUNTIME_HEAL_NETWORK_H

// The network of a job that heals: a lab of optical switches and a management network beside them
// (rails/management.h), and how a rack's circuits and routes are brought about in it.
//
// A port's address is reached over the switch where a circuit joins both hosts there, and else over
// the management network. So a spare's connections are open before it has any light, and one route
// at each end moves them onto a circuit.

#include "runtime/heal/core/rack.h"
#include "runtime/testbed/testbed.h"

// Where hosts listen, and where their heartbeats go to.
#define LAB_HEAL_PORT 4791u
#define LAB_HEAL_BEAT_PORT 4792u

// Ports of a rack's hosts, with its circuits lit. Spares are dark.
void lab_heal_wire(struct weft_lab_wiring *wiring, const struct lab_heal_rack *rack,
                   struct weft_arena *arena);

struct lab_heal_network {
    const struct weft_lab *lab;
    uint32_t host_count, plane_count;
    bool detour; // a spare is reached through the last host, a relay, as in an electrical rack
    struct weft_ocs planes[LAB_HEAL_PLANES_MAX];
    struct weft_netlink hosts[LAB_HEAL_HOSTS_MAX];
    uint32_t far[LAB_HEAL_HOSTS_MAX][LAB_HEAL_PLANES_MAX]; // to whom a circuit is routed
};
// Sessions with all switches and hosts of a lab that stands, with its management network, and the
// routes of the circuits of the rack, which are lit.
bool lab_heal_network_open(struct lab_heal_network *network, const struct weft_lab *lab,
                           const struct lab_heal_rack *rack, struct weft_arena *arena,
                           struct weft_error *error) WEFT_MUST_USE;
void lab_heal_network_close(struct lab_heal_network *network);
// Brings all switches that are not lost to the rack's circuits, one right after the other, then
// routes to them. *plane: the switch that did not do as told, or WEFT_NONE. Circuits are dark from
// now on for as long as the lab says; *changed is how many ends of circuits are others.
bool lab_heal_turn(struct lab_heal_network *network, uint32_t *plane, uint32_t *changed,
                   const struct lab_heal_rack *rack, struct weft_arena scratch,
                   struct weft_error *error) WEFT_MUST_USE;

#endif
