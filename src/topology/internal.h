// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_INTERNAL_H
#define WEFT_TOPOLOGY_INTERNAL_H

// What the chambers of the room share: the two methods behind weft_topology_find, and what both
// need to know about planes. Private to the topology room.
//
// Calls go one way: finder.c ─► topoopt/ and search/ ─► design/ ─► network.c, measure.c, links.c.

#include "weft/graph.h"
#include "weft/topology.h"

// ---- the methods ----

// What a topology is wanted for; checked by finder.c.
struct weft_topology_request {
    const struct weft_traffic *traffic; // NULL = uniform
    uint32_t server_count;
    const struct weft_topology_options *options;
};
bool weft_topology_find_topoopt(struct weft_topology *topology,
                                const struct weft_topology_request *request,
                                const struct weft_environment *environment) WEFT_MUST_USE;
bool weft_topology_find_weft(struct weft_topology *topology,
                             const struct weft_topology_request *request,
                             const struct weft_environment *environment) WEFT_MUST_USE;
// As weft_topology_candidates, for traffic that is not uniform.
bool weft_topology_find_mixed(struct weft_topology_candidate_list *candidates,
                              uint32_t candidate_max, const struct weft_topology_request *request,
                              const struct weft_environment *environment) WEFT_MUST_USE;

// The greatest common divisor (Euclid).
static inline uint32_t weft_greatest_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// ---- planes ----

// The lit ports of `degree` planes as a digraph, parallel arcs kept. O(n d).
void weft_topology_graph(struct weft_graph *graph, const uint32_t *planes, uint32_t server_count,
                         uint32_t degree, struct weft_arena *arena);

// The links of the planes' fabric in the order and with the numbers that weft_fabric_build gives
// them: by from, then to, parallel ones joined.
struct weft_topology_links {
    uint32_t server_count;
    uint32_t link_count;
    const uint32_t *first; // server_count + 1
    const uint32_t *from;
    const uint32_t *to;
    const uint32_t *width; // how many planes hold it
};
// O(n d^2).
void weft_topology_list_links(struct weft_topology_links *links, const uint32_t *planes,
                              uint32_t server_count, uint32_t degree, struct weft_arena *arena);
// WEFT_NONE if there is none. O(d).
uint32_t weft_topology_find_link(const struct weft_topology_links *links, uint32_t from,
                                 uint32_t to);

// Links with the price of crossing each, for rings whose members are not neighbors.
struct weft_priced_links {
    struct weft_graph graph; // its arcs are the links
    const uint32_t *from;    // of each link
    double *prices;
};
// The links of one hop of a ring into path[n]: the link between the two servers, else the cheapest
// path, which must exist. Returns their number. O(d) or O(n d log n).
uint32_t weft_topology_hop_path(uint32_t *path, const struct weft_priced_links *links,
                                uint32_t from, uint32_t to, struct weft_arena scratch);

// Fills mean_hops, diameter, generator_count and generators from the planes. Circulant planes take
// one search, O(n d); others one from every server. Returns whether every server reaches every
// other; mean_hops is over the pairs that do.
bool weft_topology_measure(struct weft_topology *topology, struct weft_arena *arena,
                           struct weft_arena scratch);

// ---- steps of the TopologyFinder ----

// TotientPerms and SelectPermutations for a ring of `member_count` (>= 2) members: writes `count`
// jumps, ascending, each prime to member_count (so that i -> i + jump is one ring). They stand
// nearest to a geometric sequence 1, x, x^2, ... Repeats them, in order, where there are fewer than
// `count`.
// duplex = false: x = m^(1/count), nearest candidate that is free, the larger on a tie; candidates
// are 1 and the primes when m > 64 and they suffice, else all numbers prime to m. duplex = true: a
// jump stands for itself and its opposite, so jumps are at most m/2; x = (m-1)^(1/count), first
// free candidate that is not below, over all numbers prime to m. O(m log m + count * candidates).
void weft_topology_select(uint32_t *jumps, uint32_t member_count, uint32_t count, bool duplex,
                          struct weft_arena scratch);

// Matching rounds (TopologyFinder's step 3) on the planes first_plane .. first_plane+round_count-1:
// each takes the maximum-weight matching of the remaining demand (both ways of a pair together) and
// halves what its pairs have left. Stops when no pair with demand is left; returns the rounds done.
uint32_t weft_topology_match_rounds(uint32_t *planes, const double *transfer_bytes,
                                    uint32_t server_count, uint32_t first_plane,
                                    uint32_t round_count, struct weft_arena scratch);

// Joins the servers that are dark on a plane in pairs, those that save most hops first. At most one
// server a plane stays dark.
void weft_topology_light_dark(uint32_t *planes, uint32_t server_count, uint32_t degree,
                              struct weft_arena scratch);

#endif
