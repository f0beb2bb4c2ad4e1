// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_H
#define WEFT_TOPOLOGY_H

// Topology: choosing a fabric's links for a given traffic.
//
//   traffic + cluster ──► [topology] ──► planes, rings, routes ──► fabric
//
// Two methods answer the same question. `topoopt` is the paper's TopologyFinder (TopoOpt, NSDI
// 2023, section 4 and appendix): circulant rings, matchings, coin change. `weft` takes any
// Hamiltonian cycles, tries every degree split, and routes by min-max link load.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_topology_method {
    WEFT_TOPOLOGY_TOPOOPT,
    WEFT_TOPOLOGY_WEFT,
};

struct weft_topology_options {
    enum weft_topology_method method;
    bool simplex;   // a ring takes one interface (the paper); else two, both ways
    double seconds; // search effort: turned into a fixed number of steps, so that the answer
                    // does not depend on the machine; 0 = the method's default
    uint64_t seed;
    uint32_t threads;
    weft_stop stop; // ends the search early with the best so far
};

// d optical planes over n servers. Plane p joins interface p of server i to server plane[p*n + i];
// a permutation, with plane[p*n + i] == i where the interface stays dark.
struct weft_topology {
    uint32_t server_count;
    uint32_t degree;
    bool simplex;
    const uint32_t *planes; // degree * n
    // Of the traffic's groups (index = traffic group; uniform: the one group 0 of all servers).
    // Without hop_links each hop is a link of the planes, which weft_topology_rings binds; with
    // them (links of weft_topology_fabric) it may be a path over relays. A group that got no
    // interfaces may have no ring.
    struct weft_ring_set rings;
    uint32_t allreduce_degree; // interfaces given to rings
    uint32_t generator_count;  // circulant planes only: the distinct jumps, ascending (duplex: a
                               // jump p stands for n - p too); else 0
    const uint32_t *generators;
    double mean_hops; // over ordered pairs, hop-shortest, uniform
    uint32_t diameter;
    uint64_t steps; // search steps taken
    bool stopped;   // by `stop`
};

// Uniform demand: all ports to AllReduce over all n servers, fewest mean hops. traffic may be NULL
// (uniform) or real. Fails with INPUT: n < 2, d = 0, d >= n; duplex with n > 2 needs d >= 2;
// INFEASIBLE when no connected fabric exists.
bool weft_topology_find(struct weft_topology *topology, const struct weft_traffic *traffic,
                        uint32_t server_count, uint32_t degree,
                        const struct weft_topology_options *options, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// A part of a mixed answer: a cycle of servers, or pairs of them, and the planes it fills.
enum weft_topology_part_kind {
    WEFT_TOPOLOGY_CYCLE,    // a cycle, both ways: planes slot and slot + 1
    WEFT_TOPOLOGY_RING,     // a cycle, one way: plane slot
    WEFT_TOPOLOGY_MATCHING, // pairs, both ways: plane slot
};
struct weft_topology_part {
    enum weft_topology_part_kind kind;
    uint32_t slot;
    uint32_t size;
    const uint32_t *order; // along the cycle; MATCHING: 2i with 2i+1, an odd last one alone
    uint32_t group;        // the traffic group whose ring it is, or WEFT_NONE
};
// One mixed answer of the weft method and what it promises: the bytes of the busiest interface when
// transfers spread over all their shortest paths and rings carry their shares.
struct weft_topology_candidate {
    struct weft_topology topology;
    uint32_t part_count;
    const struct weft_topology_part *parts;
    double busiest_bytes;
};
// Where weft_topology_find gives all ports to cycles through all servers, this tries every split of
// the degree between rings of the traffic's groups, matchings and cycles, and returns the best,
// best first, at most candidate_max (1 for uniform traffic), for a caller who can simulate them.
// Every group has rings, with hop_links: links of weft_topology_fabric, over relays where members
// are not neighbors. Options and errors as for weft_topology_find.
bool weft_topology_candidates(struct weft_topology_candidate *candidates, uint32_t candidate_max,
                              uint32_t *candidate_count, const struct weft_traffic *traffic,
                              uint32_t degree, const struct weft_topology_options *options,
                              struct weft_arena *arena, struct weft_arena scratch,
                              struct weft_error *error) WEFT_MUST_USE;

// The fabric of a topology: a link of rate B and the cluster's latency for each lit interface.
bool weft_topology_fabric(struct weft_fabric *fabric, const struct weft_topology *topology,
                          const struct weft_cluster *cluster, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The rings of a topology with their hops bound to the links of its fabric, so that a ring never
// strays onto a route. O(members * log degree).
void weft_topology_rings(struct weft_ring_set *rings, const struct weft_topology *topology,
                         const struct weft_fabric *fabric, struct weft_arena *arena);

// The paper's routes (TopoOpt, section 4.3). Pairs with transfers take up to `path_count` shortest
// paths of equal weight (Yen); the others one: coin change inside the largest group of both ends,
// if that has circulant rings, else a shortest path. Where every plane is circulant and path_count
// is 1 or there are no transfers (traffic = NULL), coin change serves all pairs from one table of n
// entries; else a table of all pairs is kept, O(n^2) paths.
bool weft_topology_routes(struct weft_routes *routes, const struct weft_topology *topology,
                          const struct weft_fabric *fabric, const struct weft_traffic *traffic,
                          uint32_t path_count, struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;

// Fails with INFEASIBLE when a plane is not a permutation, a ring does not visit its group once, or
// a ring hop has no link. Names what and where.
bool weft_topology_check(const struct weft_topology *topology, const struct weft_traffic *traffic,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
