// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_RACK_H
#define WEFT_RUNTIME_HEAL_CORE_RACK_H

// The rack of a job that heals: which host has which rank, over which optical switch each edge of
// the ring goes, what is lost, and how what is left is used with as few changes as possible. Pure.
//
// A host has one port on each switch; an edge is a circuit both ways between the ports of two hosts
// on one switch. Edge e joins rank e and rank e + 1. The two edges of a host lie on two switches,
// so that switches are colors of the ring's edges.

#include "ring.h"

#define LAB_HEAL_HOSTS_MAX 96u
#define LAB_HEAL_PLANES_MAX 8u

struct lab_heal_rack {
    uint32_t rank_count;
    uint32_t host_count; // with spares and relays
    uint32_t plane_count;
    uint32_t spare_first, spare_end;    // hosts
    uint32_t server_hosts;              // accelerators of a server: ranks in their order
    uint32_t rack_servers;              // servers of a rack
    uint32_t host[LAB_HEAL_RANKS_MAX];  // of a rank
    uint32_t plane[LAB_HEAL_RANKS_MAX]; // of an edge
    bool host_lost[LAB_HEAL_HOSTS_MAX];
    bool plane_lost[LAB_HEAL_PLANES_MAX];
    bool port_lost[LAB_HEAL_HOSTS_MAX][LAB_HEAL_PLANES_MAX];
};

// A ring of ranks 0 to n - 1 on hosts of the same numbers, its edges on as few switches as that
// takes. Fails with INPUT where there are too few switches: an odd ring needs three.
bool lab_heal_rack_build(struct lab_heal_rack *rack, struct weft_error *error) WEFT_MUST_USE;

// The rank of a host; WEFT_NONE: none.
uint32_t lab_heal_rank_of(const struct lab_heal_rack *rack, uint32_t host);
// How near a host is to another: in the same server, in the same rack, in another one. Spares are
// dealt to the servers in turn.
enum lab_heal_distance { LAB_HEAL_SERVER, LAB_HEAL_RACK, LAB_HEAL_AWAY };
enum lab_heal_distance lab_heal_distance(const struct lab_heal_rack *rack, uint32_t a, uint32_t b);

// What repairing changed.
struct lab_heal_repair {
    uint32_t replaced_count;         // ranks that got another host
    uint32_t moved_count;            // edges between two hosts that stayed, on another switch now
    enum lab_heal_distance farthest; // of the spares that were taken
};
// Gives ranks of lost hosts to spares, the nearest that will do, and edges whose switch or port is
// lost to other switches; edges that need not change stay. Among spares that are equally near
// those are taken with which the fewest edges move; edges are exact (a shortest closed walk of
// switches along the ring). Where an edge finds no switch, a host with a lost port there is given
// up, too. False: there are too few spares or switches; nothing was changed. O(ranks * planes^3)
// for each choice of spares, at most 4096 choices.
bool lab_heal_repair(struct lab_heal_rack *rack, struct lab_heal_repair *repair) WEFT_MUST_USE;

// The circuits of one switch: outputs[host], WEFT_NONE = dark.
void lab_heal_circuits(uint32_t *outputs, const struct lab_heal_rack *rack, uint32_t plane);

#endif
