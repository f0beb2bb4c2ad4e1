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
//
// What both come to is a topology: planes of permutations. What a search changes on the way is a
// design: the cycles and matchings that the planes are made of. The planner (weft/plan.h) searches
// over the same designs by the same moves.

#include "weft/base.h"
#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_topology_method {
    WEFT_TOPOLOGY_WEFT, // zero: the method where none is said
    WEFT_TOPOLOGY_TOPOOPT,
};

// What is asked for. Seed, threads and the request to stop are the environment's.
struct weft_topology_options {
    enum weft_topology_method method;
    uint32_t degree; // ports of a server
    bool simplex;    // a ring takes one port (the paper); else two, both ways
    double seconds;  // search effort: turned into a fixed number of steps, so that the answer
                     // does not depend on the machine; 0 = the method's default
};

// d optical planes over n servers. Plane p joins port p of server i to server plane[p*n + i];
// a permutation, with plane[p*n + i] == i where the port stays dark.
struct weft_topology {
    uint32_t server_count;
    uint32_t degree;
    bool simplex;
    const uint32_t *planes; // degree * n
    // Of the traffic's groups (index = traffic group; uniform: the one group 0 of all servers).
    // Without hop_links each hop is a link of the planes, which weft_topology_rings binds; with
    // them (links of weft_topology_fabric) it may be a path over relays. A group that got no
    // ports may have no ring.
    struct weft_ring_set rings;
    uint32_t allreduce_degree; // ports given to rings
    uint32_t generator_count;  // circulant planes only: the distinct jumps, ascending (duplex: a
                               // jump p stands for n - p too); else 0
    const uint32_t *generators;
    double mean_hops; // over ordered pairs, hop-shortest, uniform
    uint32_t diameter;
    uint64_t steps; // search steps taken
    bool stopped;   // by the environment's `stop`
};

// ---- designs: what the searches change ----

// A design is a list of parts over n servers, and each part is a permutation of the servers that it
// covers on one plane or two: Hamiltonian cycles of some servers, and matchings. Parts that share
// no server may share a plane. Every plane of a design is therefore a permutation by construction,
// whatever the moves.
//
// With symmetry s > 1 a design is the lift of a base of m = n/s orbits by voltages in Z_s (Gross
// and Tucker, "Topological Graph Theory", 1987, chapter 2): server l*m + o is copy l of orbit o,
// and a base edge o -> p with shift w stands for the s edges (l, o) -> (l + w mod s, p). A base
// cycle whose shifts add to a unit of Z_s lifts to ONE cycle through all n servers, and i -> i + m
// maps the design to itself, so that distances from m servers tell those from all.

enum weft_part_kind {
    WEFT_PART_CYCLE,    // a cycle, both ways: planes slot and slot + 1
    WEFT_PART_RING,     // a cycle, one way: plane slot
    WEFT_PART_MATCHING, // pairs, both ways: plane slot
};

struct weft_part {
    enum weft_part_kind kind;
    uint32_t slot;   // its first plane
    uint32_t size;   // orbits that it covers (symmetry 1: servers)
    uint32_t *order; // along the cycle; MATCHING: 2i is paired with 2i+1, and an odd last one
                     // stays dark
    uint32_t *shift; // of the edge from order[j] to its successor (MATCHING: of pairs, at 2i)
    uint32_t group;  // the traffic group whose ring it is, or WEFT_NONE
    // Of a cycle: the relative weight of its ring forward and back among its group's rings.
    double share[2];
    // Of a cycle: the same for the ring that every other group it holds runs along it, each way;
    // its hops pass the servers between. 0 = the cycle is not shared.
    double shared_ring;
};

struct weft_design {
    uint32_t server_count;
    uint32_t degree;
    bool simplex;         // rings run one way
    uint32_t symmetry;    // s
    uint32_t orbit_count; // m = n/s
    uint32_t part_count;
    struct weft_part *parts;
    uint32_t *next; // server_count * degree: where each port leads, the server itself where it is
                    // dark; NULL until weft_design_light asks for it
    uint32_t paths; // that a transfer may be split over; 0 = what the search says
    // > 0: the TopologyFinder's topology with its own rings and up to so many of its paths a pair,
    // of which the parts are the planes. A move makes it a design like any other.
    uint32_t finder_paths;
};

// How a random move is drawn. Both draw the same elementary changes (2-opt, exchange of segments,
// exchange of servers, of partners, of shifts and of shares), in another mixture.
enum weft_design_moves {
    // One part of all, and the change that keeps most of it: 2-opt for cycles, exchange of two
    // segments for one-way rings, exchange of partners for matchings, now and then shifts alone.
    WEFT_MOVES_EDGES,
    // 2-opt, moving one server and exchanging two in cycles of either kind, exchange of partners,
    // and in one of eight moves of a cycle the share of a ring. For symmetry 1.
    WEFT_MOVES_RINGS,
};

// A part as it was before a move.
struct weft_part_copy {
    uint32_t *order;
    uint32_t *shift;
};

// Planes that a part takes.
uint32_t weft_part_planes(enum weft_part_kind kind);
static inline bool weft_part_is_cycle(const struct weft_part *part)
{
    return part->kind != WEFT_PART_MATCHING;
}

// A dark design with room for `part_max` parts. n is a multiple of `symmetry`.
struct weft_design weft_design_open(uint32_t server_count, uint32_t degree, uint32_t symmetry,
                                    uint32_t part_max, struct weft_arena *arena);
// Adds a part over these orbits in this order (NULL: 0 .. size-1), of no group, its ring's weight 1
// each way. Shifts start at 0 but for the last of each cycle (1 if s > 1).
struct weft_part *weft_design_add(struct weft_design *design, enum weft_part_kind kind,
                                  uint32_t slot, const uint32_t *order, uint32_t size,
                                  struct weft_arena *arena);
// Makes the table `next` of all parts; every later change keeps it.
void weft_design_light(struct weft_design *design, struct weft_arena *arena);
// Writes the columns of one part into `next`.
void weft_design_light_part(struct weft_design *design, const struct weft_part *part);
// Draws every part anew, uniformly.
void weft_design_shuffle(struct weft_design *design, struct weft_rng *rng);
// A design of the same parts in memory of its own; it has a table `next` if the other one has.
struct weft_design weft_design_copy(const struct weft_design *design, struct weft_arena *arena);
// Copies the parts' contents between designs of one shape.
void weft_design_assign(struct weft_design *to, const struct weft_design *from);

// Changes one random part a little. Returns the part's index, or WEFT_NONE if nothing can change.
// `before` (NULL: not kept) gets the part's old form for weft_design_undo, which restores all but
// shares. O(size of the part).
uint32_t weft_design_move(struct weft_design *design, enum weft_design_moves moves,
                          struct weft_part_copy *before, struct weft_rng *rng);
void weft_design_undo(struct weft_design *design, uint32_t part,
                      const struct weft_part_copy *before);
struct weft_part_copy weft_part_copy_init(uint32_t size_max, struct weft_arena *arena);
// The same changes for an order of servers that is no part. Turns `count` entries from position
// `at` on, around the end, the other way round.
void weft_order_turn(uint32_t *order, uint32_t size, uint32_t at, uint32_t count);
// Exchanges the `first` entries from position `at` on with the `second` ones after them, around the
// end.
void weft_order_exchange(uint32_t *order, uint32_t size, uint32_t at, uint32_t first,
                         uint32_t second);

// planes[degree * n], as in struct weft_topology. No plane may be lit twice at a server (asserted).
void weft_design_planes(uint32_t *planes, const struct weft_design *design);
// The servers of a lifted cycle in order, into servers[size * s]. The design must be lit.
void weft_design_walk(const struct weft_design *design, const struct weft_part *part,
                      uint32_t *servers);
// A topology as a design: cycles both ways (simplex: one way) and pairs of servers become parts,
// and cycles of exactly a traffic group's servers are that group's. False, and there are no parts,
// when a plane holds anything else. O(d n + parts * groups * members).
bool weft_design_from_topology(struct weft_design *design, const struct weft_topology *topology,
                               const struct weft_traffic *traffic, struct weft_arena *arena,
                               struct weft_arena scratch);
// Points each cycle of a design at the group of this traffic that has the same members; the
// TopologyFinder's topology for another traffic becomes a design like any other.
void weft_design_regroup(struct weft_design *design, const struct weft_traffic *traffic,
                         struct weft_arena scratch);
// The links of the design as a fabric that forwards, its parts counted. Fails only as
// weft_fabric_build does.
bool weft_design_fabric(struct weft_fabric *fabric, const struct weft_design *design,
                        const struct weft_cluster *cluster, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The rings of every traffic group, by traffic group: its cycles, and those that it shares, bound
// to their links; a group without any gets rings along the smallest cycle that holds it (else in
// ascending order), each hop on a shortest path. The fabric is the design's and connected.
// O(groups * (n + members * hops)).
struct weft_ring_set weft_design_rings(const struct weft_design *design,
                                       const struct weft_traffic *traffic,
                                       const struct weft_fabric *fabric, struct weft_arena *arena,
                                       struct weft_arena scratch);

// ---- finding a topology ----

// Uniform demand: all ports to AllReduce over all n servers, fewest mean hops. traffic may be NULL
// (uniform) or real, then of n servers. Fails with INPUT: n < 2, d = 0, d >= n; duplex with n > 2
// needs d >= 2; INFEASIBLE when no connected fabric exists.
bool weft_topology_find(struct weft_topology *topology, const struct weft_traffic *traffic,
                        uint32_t server_count, const struct weft_topology_options *options,
                        const struct weft_environment *environment) WEFT_MUST_USE;

// One mixed answer of the weft method and what it promises: the bytes of the busiest port when
// transfers spread over all their shortest paths and rings carry their shares.
struct weft_topology_candidate {
    struct weft_topology topology;
    struct weft_design design; // uniform traffic: without parts
    double busiest_bytes;
};
struct weft_topology_candidate_list {
    uint32_t count;
    struct weft_topology_candidate *list; // best first
};
// Where weft_topology_find gives all ports to cycles through all servers, this tries every split of
// the degree between rings of the traffic's groups, matchings and cycles, and returns the best, at
// most candidate_max (1 for uniform traffic), for a caller who can simulate them. Every group has
// rings, with hop_links: links of weft_topology_fabric, over relays where members are not
// neighbors. Options and errors as for weft_topology_find; the method is always `weft`.
bool weft_topology_candidates(struct weft_topology_candidate_list *candidates,
                              uint32_t candidate_max, const struct weft_traffic *traffic,
                              const struct weft_topology_options *options,
                              const struct weft_environment *environment) WEFT_MUST_USE;

// ---- a topology as a network ----

// The fabric of a topology: a link of rate B and the cluster's latency for each lit port.
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
// entries; else a table of all pairs is kept, O(n^2) paths, or of those with transfers alone beyond
// WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX servers. Seed and threads do not matter.
bool weft_topology_routes(struct weft_routes *routes, const struct weft_topology *topology,
                          const struct weft_fabric *fabric, const struct weft_traffic *traffic,
                          uint32_t path_count, const struct weft_environment *environment)
    WEFT_MUST_USE;

// Fails with INFEASIBLE when a plane is not a permutation, a ring does not visit its group once, or
// a ring hop has no link. Names what and where.
bool weft_topology_check(const struct weft_topology *topology, const struct weft_traffic *traffic,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
