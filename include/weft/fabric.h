// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_H
#define WEFT_FABRIC_H

// Fabrics: nodes and directed links, routes over them, and the rings that collectives use; built
// once and read-only from then on.
//
//   topology ──► [fabric] ──► routing ──► sim
//
// Nodes and links are dense indices, so that every later stage keeps its own per-node and per-link
// arrays beside this one. Servers are nodes 0 .. server_count-1; switches follow.

#include "weft/base.h"
#include "weft/cluster.h"

WEFT_API_BEGIN

struct weft_link {
    uint32_t from;
    uint32_t to;
    double rate_Bps;     // of all parallel cables together
    uint64_t latency_ps; // propagation only; serialization is the engine's
    uint32_t width;      // parallel cables that act as one link, >= 1
};

// Parts of a fabric, counted by its builder; weft_fabric_cost prices them.
struct weft_parts {
    uint64_t nics; // server ports in use
    uint64_t transceivers;
    uint64_t switch_ports; // electrical
    uint64_t patch_panel_ports;
    uint64_t ocs_ports;
    uint64_t mechanical_switches; // 1x2
    double rate_Bps;              // line rate of all of them
};

struct weft_fabric {
    const char *name; // "ideal", "fat-tree", ...
    uint32_t server_count;
    uint32_t node_count;
    uint32_t link_count;
    const struct weft_link *links; // sorted by from, then to
    const uint32_t *first;         // CSR: links of node v are first[v] .. first[v+1]-1
    struct weft_parts parts;
    bool forwards; // servers relay (host-based forwarding); false where only switches do
    // Per link, of its port, 0 = as the simulation says; NULL = all 0.
    const uint64_t *buffer_bytes;
};

// What a fabric is built from: nodes 0 .. server_count-1 are the servers, the others switches.
struct weft_fabric_links {
    const char *name; // copied
    uint32_t server_count;
    uint32_t node_count;
    const struct weft_link *links; // in any order, from both ends where both ways exist
    uint32_t link_count;
};
// Builds a fabric. Links with equal ends are joined: widths and rates add,
// the largest latency stays. Servers forward where there are no switches. Fails with INPUT if a
// link names a missing node, joins a node to itself or has no capacity. The result lives in
// `arena`. O(n + m).
bool weft_fabric_build(struct weft_fabric *fabric, const struct weft_fabric_links *input,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The link from `from` to `to`, or WEFT_NONE. O(log degree).
uint32_t weft_fabric_find_link(const struct weft_fabric *fabric, uint32_t from, uint32_t to);
// Fails with INFEASIBLE and names a pair without a path. O(n + m), switched O(servers * (n + m)).
bool weft_fabric_check_connected(const struct weft_fabric *fabric, struct weft_arena scratch,
                                 struct weft_error *error) WEFT_MUST_USE;

// Mean number of links between servers by shortest paths, ordered pairs weighted by demand[s * n +
// t]; 0 without demand. Pairs without a path do not count. The TopoOpt artifact reports it so of a
// topology, with the transfers as demand. O(n (n + m)).
double weft_fabric_demand_hops(const struct weft_fabric *fabric, const double *demand,
                               struct weft_arena scratch);

// ---- routes ----

enum weft_routes_kind {
    WEFT_ROUTES_TABLE,     // stored weighted paths for every pair
    WEFT_ROUTES_STAR,      // through the one switch
    WEFT_ROUTES_TREE,      // up and down, ECMP over all spines and cores (Fat-trees, leaf-spines)
    WEFT_ROUTES_RING,      // shorter way round a ring of servers
    WEFT_ROUTES_TORUS,     // dimension order, shorter way round each
    WEFT_ROUTES_CIRCULANT, // coin change: one table of n residues serves all pairs
    WEFT_ROUTES_SHORTEST,  // ECMP over all paths of fewest hops, walked from a distance table
    WEFT_ROUTES_DRAGONFLY, // minimal: one link between groups, ECMP over those of fewest hops
    WEFT_ROUTES_SCALE_UP,  // inside a server by its own switch, else by the fabric of the NICs
};

// What a transfer does when its pair has several paths.
enum weft_spread {
    WEFT_SPREAD_PICK,  // one path, by hash of the flow (ECMP)
    WEFT_SPREAD_SPLIT, // divided over the paths by their weights
    WEFT_SPREAD_NICS,  // divided over its server's NICs, each share on one path, by hash
};

// SCALE_UP: the fabrics of the NICs that lie inside this one, one a plane, and where they lie.
struct weft_scale_up_routes {
    uint32_t accelerators; // of a server
    uint32_t nics;         // of a server; 0 = ports hang on the server's own switch
    uint32_t plane_count;  // 1, or one a NIC: rails that do not meet
    const struct weft_routes *planes;
    const uint32_t *const *links; // [plane][link there]: the link here
    const uint32_t *ends;         // [server * nics + NIC]: its end in its plane
};

// Routes of every ordered pair of servers. Computed kinds answer without a table, so that 4096
// servers cost no n*n memory. A path is a sequence of link ids, loop-free, from server to server.
struct weft_routes {
    enum weft_routes_kind kind;
    enum weft_spread spread;
    const struct weft_fabric *fabric;
    uint32_t hop_max; // links of the longest path
    // TABLE: paths of pair (s, t) are pair_first[s*n+t] .. ; links of path p are
    // path_links[path_first[p] .. path_first[p+1]-1]; weights of a pair add to 1.
    const uint32_t *pair_first; // n*n + 1
    const uint32_t *path_first; // path_count + 1
    const uint32_t *path_links;
    const double *path_weight; // path_count
    // Computed kinds. CIRCULANT: table[r], 0 < r < n, is one jump on the way from any server s to
    // s + r mod n, so that table[r] is the jump of a link and r - table[r] mod n is nearer; table
    // holds n entries, table[0] = 0. The others: see src/fabric/routes.c
    // and src/fabric/routes_kinds.h.
    uint32_t shape[7];
    const uint32_t *table;
    // SHORTEST: hops from node v to server t, and how many shortest paths (255 = or more), both at
    // [t * node_count + v]. UINT16_MAX hops = no path.
    const uint16_t *distance;
    const uint8_t *path_counts;
    const struct weft_scale_up_routes *scale_up;
};

// How many paths the pair (from, to) has; 0 if from == to or there is none.
uint32_t weft_routes_path_count(const struct weft_routes *routes, uint32_t from, uint32_t to);
// Writes the links of path `index` (< path_count) into `links` (room for hop_max) and returns their
// number. The weight of the path among its pair's goes to *weight unless NULL. O(hops).
uint32_t weft_routes_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t index, uint32_t *links, double *weight);
// The number of links of that path, without walking it. O(1); CIRCULANT: O(hops).
uint32_t weft_routes_hop_count(const struct weft_routes *routes, uint32_t from, uint32_t to,
                               uint32_t index);
// Puts `count` of n places into an order that is short there and back, by hops[from * n + to]:
// nearest neighbor from the first on, then 2-opt. O(count^2) a sweep, at most twenty.
void weft_routes_tour(uint32_t *order, uint32_t count, const uint16_t *hops, uint32_t n);
// The path that a flow with this hash takes under PICK: weights decide. The hash is mixed here, so
// a flow's number will do. O(1); TABLE: O(paths of the pair).
uint32_t weft_routes_pick(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint64_t hash);
// Messages that a transfer is by the spread, 0 without a route; and the path of one of them, by
// hash unless under SPLIT. O(1), as pick.
uint32_t weft_routes_part_count(const struct weft_routes *routes, uint32_t from, uint32_t to);
uint32_t weft_routes_part(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t part, uint64_t hash);
// NICS from now on, if the routes are a tree's or a dragonfly's and servers have several NICs.
void weft_routes_divide_by_nics(struct weft_routes *routes);
// The same as pick where no weights decide: one of `count` equal choices, count > 0. O(1).
uint32_t weft_routes_pick_equal(uint32_t count, uint64_t hash);
// Routes of a fabric with one switch, the node after the servers, that joins every server both
// ways. Fails with INPUT if it is none. O(n).
bool weft_routes_build_star(struct weft_routes *routes, const struct weft_fabric *fabric,
                            struct weft_error *error) WEFT_MUST_USE;
// Routes of a ring of servers 0, 1, ..., n-1, both ways; pairs opposite each other go forward from
// even servers and backward from odd ones, which loads both ways alike. Fails with INPUT if it is
// none. O(n).
bool weft_routes_build_ring(struct weft_routes *routes, const struct weft_fabric *fabric,
                            struct weft_error *error) WEFT_MUST_USE;
// All paths of fewest hops of any fabric, equally likely, at most 255 a pair. Keeps 3 bytes for
// every pair of a server and a node. Fails with INFEASIBLE, naming a pair without a path, and with
// INPUT beyond 16384 servers. O(servers * (n + m)).
bool weft_routes_build_shortest(struct weft_routes *routes, const struct weft_fabric *fabric,
                                struct weft_arena *arena, struct weft_arena scratch,
                                struct weft_error *error) WEFT_MUST_USE;
// Paths of some or all pairs: path p visits path_nodes[node_first[p] .. node_first[p+1]-1], its
// pair is (first node, last node).
struct weft_route_table {
    uint32_t path_count;
    const uint32_t *node_first; // path_count + 1
    const uint32_t *path_nodes;
    const double *weights; // need not be normalized; NULL = equal
    bool partial;          // pairs may be without a path
};
// Routes by a table, in any order of its paths. Fails with INPUT on a hop without a link, a loop, a
// weight that is not positive, or a pair of distinct servers without a path unless `partial`. Flows
// pick one path; set `spread` to split them. O(n^2 + hops log degree).
bool weft_routes_build_table(struct weft_routes *routes, const struct weft_fabric *fabric,
                             const struct weft_route_table *table, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Verifies every pair: reachable, links chain from s to t, no node twice, weights add to 1.
// Fails with INFEASIBLE naming the pair. O(n^2 * hops).
bool weft_routes_check(const struct weft_routes *routes, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// Mean and largest number of hops over ordered pairs, each pair weighted by demand[s*n+t] (NULL =
// uniform) and over its paths by weight; pairs without a path count nothing. O(n^2 + paths).
void weft_routes_hops(const struct weft_routes *routes, const double *demand, double *mean_hops,
                      uint32_t *hops_max);

// ---- rings ----

// What a path takes besides the transmission at its slowest link.
struct weft_path_delay {
    double propagation_ps;
    double store_ps_per_byte; // 1 / rate of every link but the slowest, summed; 0 of a single link
};

// Of a path of 1 or more links. O(hops).
struct weft_path_delay weft_fabric_path_delay(const struct weft_fabric *fabric,
                                              const uint32_t *links, uint32_t hop_count);

// A directed Hamiltonian cycle over a collective group's members: member i sends to member i+1 (and
// the last to the first). share_ratio of the group's bytes go over it; shares of a group add to 1.
struct weft_ring {
    uint32_t group; // index into the rings' groups
    uint32_t member_count;
    const uint32_t *members; // server ids, in ring order
    double share_ratio;
    // Links from member i to member i+1: hop_links[hop_first[i] .. hop_first[i+1]-1]. NULL = the
    // pair's route decides.
    const uint32_t *hop_first;
    const uint32_t *hop_links;
    const struct weft_ring_fold *fold; // NULL = the ring is whole
};

// A ring whose hops are equal to others of a larger ring, which it stands for: as many rounds and
// as small messages as the larger one has, on these hops alone. A hop's links are those that may
// hold it back; they need not join up, and `members` are those that send.
struct weft_ring_fold {
    uint32_t member_count; // of the larger ring
    // Per hop: the slowest path of those that it stands for; NULL = they take as long as it.
    const struct weft_path_delay *delays;
    // What is not played of a ring that is its own: hops, and all their links, so that flows and
    // the bytes of links are counted as if they were.
    uint32_t hidden_hop_count;
    uint32_t hidden_count;
    const uint32_t *hidden_links;
};

// Rings of several groups; those of one group stand together. A group without a ring uses the
// members' order as given by its task graph.
struct weft_ring_set {
    uint32_t ring_count;
    const struct weft_ring *rings;
};

// ---- reference fabrics ----

// A fabric with its routes, as the builders below make them. It must stay where it was built:
// routes.fabric points at the fabric beside it.
struct weft_network {
    struct weft_fabric fabric;
    struct weft_routes routes;
    struct weft_ring_set rings; // empty where the fabric prefers none
};

// Every builder takes the cluster (n servers, d ports of B each) and counts its parts. `rate_Bps`
// below is the cluster's unless an option says otherwise. Each fails with INPUT when the cluster
// cannot carry it (a torus of a prime number of servers, ...), naming the remedy. Options may be
// NULL: all defaults.
struct weft_fabric_options {
    double port_rate_Bps; // 0 = the cluster's d * B on one NIC (switched) or B (direct)
    uint32_t radix; // ports of a switch at the port rate; 0 = smallest that fits (fat-tree k), 64
                    // or 128 (leaf-spine and its kin, dragonfly)
    double oversubscription; // 0 = the builder's own (2 for oversubscribed, else 1)
    uint32_t dimensions;     // torus: 2 or 3; 0 = 2
    uint32_t sides[3];       // torus: as many as dimensions; 0 = as equal as n allows. dragonfly:
                             // servers p, routers a of a group, global links h; 0 = balanced
    uint64_t seed;           // expander
    double budget_usd;       // cost-equivalent by name; 0 = n*d ports of B on a patch panel
    uint32_t planes;         // multi-plane: ports of a NIC; 0 = 4
};
// One non-blocking switch, one NIC of d*B a server.
bool weft_fabric_build_ideal(struct weft_network *network, const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options, struct weft_arena *arena,
                             struct weft_error *error) WEFT_MUST_USE;
// Three-tier k-ary Fat-tree (Al-Fares et al., SIGCOMM 2008), k the smallest even number with
// k^3/4 >= n, one NIC of d*B a server, ECMP.
bool weft_fabric_build_fat_tree(struct weft_network *network, const struct weft_cluster *cluster,
                                const struct weft_fabric_options *options, struct weft_arena *arena,
                                struct weft_error *error) WEFT_MUST_USE;
// The same with its ToR uplinks at 1/oversubscription of full (default 2:1).
bool weft_fabric_build_oversubscribed(struct weft_network *network,
                                      const struct weft_cluster *cluster,
                                      const struct weft_fabric_options *options,
                                      struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
// The Fat-tree whose cost is `budget_usd`: its NIC rate, d*B' for a port rate B', is solved for and
// stands in parts.rate_Bps. Of several such rates the fastest row's segment decides. Fails with
// INFEASIBLE when even the slowest row is too dear, or the book has no end to what it gives.
bool weft_fabric_build_cost_equivalent(struct weft_network *network,
                                       const struct weft_cluster *cluster, double budget_usd,
                                       struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
// Leaves, spines, and cores where two tiers do not suffice, of switches of one radix: the fewest
// tiers, two or three, that the radix allows; without one 64 ports, or 128 where that saves a tier.
// Uplinks of leaves are divided by the oversubscription. By name:
//
//   leaf-spine   rail-optimised: port r of every server goes to a leaf of rail r; the leaves of a
//                rail meet in that rail's spines. Servers of a group are one switch apart on every
//                rail
//   rail-only    the same, under the name that it has where accelerators send by rails
//   clos         all ports of a server go to one leaf, as one link
//   multi-plane  leaf-spine with every port split over planes of an equal share of its rate, as
//                switch ports are. dual-plane: two of them
//   dual-tor     leaf-spine with every port split over two leaves of the same spines
//
// Fails with INPUT, naming the radix or the oversubscription that would do.
bool weft_fabric_build_leaves(struct weft_network *network, const char *name,
                              const struct weft_cluster *cluster,
                              const struct weft_fabric_options *options, struct weft_arena *arena,
                              struct weft_error *error) WEFT_MUST_USE;
// A dragonfly (Kim et al., ISCA 2008), balanced for the radix (64 ports unless it has to be more);
// port r of a server goes to a router of rail r. Minimal routes: one link between groups at most,
// and of such paths those of fewest hops. Fails with INPUT, naming the radix that would do.
bool weft_fabric_build_dragonfly(struct weft_network *network, const struct weft_cluster *cluster,
                                 const struct weft_fabric_options *options,
                                 struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// A random d-regular simple connected graph of servers (Jellyfish, NSDI 2012), ECMP over all
// shortest paths. Where n*d is odd one server keeps one port dark. O(n d + n^2 d).
bool weft_fabric_build_expander(struct weft_network *network, const struct weft_cluster *cluster,
                                const struct weft_fabric_options *options, struct weft_arena *arena,
                                struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// 2D or 3D torus of servers with sides as equal as n allows. Spare ports widen the dimension whose
// cables uniform traffic loads most, one cable a link at a time; what does not suffice stays dark.
bool weft_fabric_build_torus(struct weft_network *network, const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options, struct weft_arena *arena,
                             struct weft_error *error) WEFT_MUST_USE;
// A ring of servers, both directions; d/2 cables each way.
bool weft_fabric_build_ring(struct weft_network *network, const struct weft_cluster *cluster,
                            const struct weft_fabric_options *options, struct weft_arena *arena,
                            struct weft_error *error) WEFT_MUST_USE;

// The builders above by name, in the order in which tables list them. Static storage.
struct weft_fabric_reference {
    const char *name;    // "ideal", "fat-tree", "torus-3d", ...
    const char *summary; // one line
    bool compared;       // a row of every comparison; these stand first
    bool has_radix;      // of switches that are chosen by it
    bool has_ratio;      // that may be oversubscribed
    bool has_paths;      // of a pair, more than one: a balance means something
    bool has_planes;     // as many as options say
    bool is_direct;      // of servers' ports, without switches
};
const struct weft_fabric_reference *weft_fabric_references(uint32_t *count);
// The row of that name, "single-switch" included; NULL where there is none, with `error` (NULL:
// not).
const struct weft_fabric_reference *weft_fabric_reference_named(const char *name,
                                                                struct weft_error *error);
// Builds that fabric. Fails as the row of its name, else as the builder does.
bool weft_fabric_build_named(struct weft_network *network, const char *name,
                             const struct weft_cluster *cluster,
                             const struct weft_fabric_options *options,
                             const struct weft_environment *environment) WEFT_MUST_USE;

// A plain shape, every link both ways with one rate and one latency.
#define WEFT_SHAPE_SIDES 16u
enum weft_shape_kind {
    WEFT_SHAPE_TORUS, // servers are mixed-radix numbers over the sides, the first fastest; a ring
                      // has one side, a hypercube sides of 2 (one link, not two, between them)
    WEFT_SHAPE_MESH,  // the same without the links that close each side
    WEFT_SHAPE_FULL,  // all pairs of sides[0] servers
    WEFT_SHAPE_STAR,  // sides[0] servers on one switch
};
struct weft_shape {
    enum weft_shape_kind kind;
    uint32_t side_count;
    uint32_t sides[WEFT_SHAPE_SIDES];
};
// Fails with INPUT below 2 servers, beyond 2^20 servers or 2^26 links. The fabric's parts are not
// counted. O(links).
bool weft_fabric_build_shape(struct weft_fabric *fabric, const struct weft_shape *shape,
                             double rate_Bps, uint64_t latency_ps,
                             const struct weft_environment *environment) WEFT_MUST_USE;

// ---- Fat-trees by their tiers ----

// One tier of switches, as htsim's topology files have them; cables go down from it.
struct weft_tier {
    double rate_Bps;            // of a cable
    uint64_t latency_ps;        // of a cable, propagation
    uint64_t switch_latency_ps; // what each packet takes in a switch of this tier
    uint32_t radix_down;        // cables to the tier below
    uint32_t radix_up;          // cables to the tier above; 0 at the top
    uint32_t bundle;            // cables side by side between a switch and one below, >= 1
    uint64_t queue_up_bytes;    // of a port to the tier above; 0 = as the simulation says
    uint64_t queue_down_bytes;  // of a port to the tier below, likewise
};

#define WEFT_TIERS_MAX 3u
struct weft_tiers {
    uint32_t server_count;
    uint32_t pod_servers; // servers below the same switches of tier 1; with 2 tiers: all of them
    uint32_t tier_count;  // 2 or 3
    struct weft_tier tiers[WEFT_TIERS_MAX]; // the servers' switches first
};

// A cable between an aggregation switch (0 .. of all pods) and the cores that is broken, both ways.
struct weft_tier_failure {
    uint32_t aggregation;
    uint32_t cable; // below radix_up of tier 1
};
// Builds that network with ECMP over all paths: computed routes, or shortest ones where failures
// leave no cable of a bundle. A bundle is one link of all its cables' rate and queues; a switch's
// latency lies on the links that enter it. Servers of a ToR, ToRs of a pod and pods stand in order;
// a core joins the aggregation switches of one place in every pod. Fails with INPUT naming the
// tier: radices that do not divide or meet, no rate, a failure of a cable that is not there or was
// named before; with INFEASIBLE where failures part the network. O(links).
bool weft_fabric_build_tiers(struct weft_network *network, const struct weft_tiers *tiers,
                             const struct weft_tier_failure *failures, uint32_t failure_count,
                             const struct weft_environment *environment) WEFT_MUST_USE;

// ---- which servers are near each other, for schedulers ----

// Sets of servers within larger sets, as trees of switches have them: level 0 are the sets that
// meet below their first switches, the last level is one set of all.
struct weft_nest {
    uint32_t server_count;
    uint32_t level_count;
    const uint32_t *set_count;     // per level
    const uint32_t *const *set_of; // [0]: per server its set; [l]: per set of level l - 1
};
// The sets of a fabric with switches: a level's are what stays joined without all switches further
// from servers; one that joins no more than the one below is left out. Sets are counted by their
// smallest server. Fails with INPUT without switches, and as weft_fabric_check_connected.
bool weft_fabric_nest(struct weft_nest *nest, const struct weft_fabric *fabric,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// Which servers are near each other on each rail: tiers of sets within sets.
#define WEFT_RAIL_TIERS_MAX 2u
struct weft_rails {
    uint32_t server_count;
    uint32_t nic_count;                     // of a server
    uint32_t tier_count;                    // 0: all NICs of a rail are on one switch
    const char *names[WEFT_RAIL_TIERS_MAX]; // of a tier's sets: "leaf", "pod"; "router", "group"
    // [tier][server * nic_count + NIC]: its set, which only NICs of its rail are compared with.
    const uint32_t *set_of[WEFT_RAIL_TIERS_MAX];
};
// Those of a reference fabric with switches: of accelerators (each NIC by where it is plugged in),
// or of servers, whose NICs all stand where the server does. O(NICs + levels * links).
void weft_fabric_rails(struct weft_rails *rails, const struct weft_network *network,
                       uint32_t nic_count, struct weft_arena *arena, struct weft_arena scratch);
// Puts some servers in an order that keeps those of a set of rail 0 together on every tier: a ring
// in that order leaves each set once, the least; on every rail where all are wired alike, as all
// but Fat-trees' are. O(tiers * NICs).
void weft_fabric_order_rails(uint32_t *servers, uint32_t count, const struct weft_rails *rails,
                             struct weft_arena scratch);
// Of rings over these servers in this order, one a rail: hops that lead from one set of a tier to
// another, all rails together; and the least, one for each set, if several. O(tiers * NICs).
struct weft_rail_crossings {
    uint64_t hop_count; // of all rings
    uint64_t crossings[WEFT_RAIL_TIERS_MAX];
    uint64_t least[WEFT_RAIL_TIERS_MAX];
};
void weft_fabric_cross_rails(struct weft_rail_crossings *crossings, const uint32_t *servers,
                             uint32_t count, const struct weft_rails *rails,
                             struct weft_arena scratch);

// Blocks of servers few hops apart: those of b are servers[first[b] .. first[b + 1] - 1],
// ascending.
struct weft_blocks {
    uint32_t count;
    uint32_t size; // of the smallest
    const uint32_t *first;
    const uint32_t *servers;
    double mean_hops_inside; // between two of one block; 0 = blocks of one
    double mean_hops;        // between any two
};
// n / size blocks of at least `size` servers each, of a fabric without switches: grown one after
// another, then servers swapped while that shortens the hops within blocks. Fails with INPUT where
// there are switches, fewer servers than `size` or more than 8192, with INFEASIBLE as
// weft_fabric_check_connected. O(n^2) a pass of swaps, 16 at most.
bool weft_fabric_blocks(struct weft_blocks *blocks, const struct weft_fabric *fabric, uint32_t size,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;

// ---- links that can hold nobody back ----

// Of switches that are joined as trees, servers at their ends: a path rises from its server and
// falls to the other. A link that does not bind has room for all that the NICs on one side of it
// send, or those on the other receive; rates of flows are the same without it.
struct weft_hose {
    const bool *binds; // per link: may hold somebody back; NICs (a server's links) always may
    const bool *rises; // per link: leaves a server, or leads towards the root of its tree
};
// False where the fabric is none such: servers relay, switches are joined in circles, or a link has
// none back. O(links log degree).
bool weft_fabric_hose(struct weft_hose *hose, const struct weft_fabric *fabric,
                      struct weft_arena *arena, struct weft_arena scratch) WEFT_MUST_USE;

// ---- ECMP: flows whose hashes meet ----

// Flows over equal uplinks of a switch, which spreads them by hash (ECMP). A flow at its full rate
// fills an uplink; split over `split` slower host ports it is as many parts, each hashed alone, and
// an uplink carries `split` parts. Parts of an overloaded uplink share it; nothing else binds.
struct weft_ecmp {
    uint32_t uplink_count; // at most WEFT_ECMP_UPLINKS_MAX
    uint32_t flow_count;   // that leave by these uplinks, before they are split
    uint32_t split;        // parts of a flow; 1 = whole. At most WEFT_ECMP_PARTS_MAX in all
};
#define WEFT_ECMP_UPLINKS_MAX (1u << 20)
#define WEFT_ECMP_PARTS_MAX (1u << 24)

// Exact expectations over all hashes, each part on each uplink with equal chance.
struct weft_ecmp_expected {
    double delivered_ratio;      // of what the flows offer, the share that the uplinks carry
    double even_delivered_ratio; // the same where it is divided evenly: min(1, uplinks / flows)
    double conflict_probability; // that a part's uplink has more parts than it carries
};
// With K ~ Bin(parts, 1/n) parts on an uplink of n: delivered = n / parts * E[min(K, split)], and
// conflict = P(Bin(parts - 1, 1/n) >= split), as MegaScale's split of 400G ports (NSDI 2024)
// comes to. Distributions are summed outward from their modes, so that neither large counts nor
// small chances lose digits: about 1e-12 of each. Fails with INPUT where a count is 0 or beyond its
// limit. O(split + sqrt(parts / n)).
bool weft_fabric_ecmp_expect(struct weft_ecmp_expected *expected, const struct weft_ecmp *ecmp,
                             struct weft_error *error) WEFT_MUST_USE;

// The mean over draws, and its standard error.
struct weft_ecmp_mean {
    double mean;
    double standard_error;
};
struct weft_ecmp_sample {
    uint32_t draw_count;
    struct weft_ecmp_mean delivered_ratio;
    struct weft_ecmp_mean conflict_ratio; // the share of parts in conflict
    // Until the last of equal flows ends, over the time of one alone: max(1, most parts on an
    // uplink / split). What a collective, which waits for its slowest flow, pays.
    struct weft_ecmp_mean slowdown_ratio;
};
// Draws of a sample, at least 2, and draws * (parts + uplinks) of it: seconds.
#define WEFT_ECMP_DRAWS_MAX 1000000u
#define WEFT_ECMP_WORK_MAX (1u << 30)
// The same by the hash that engines use (weft_routes_pick), each draw with a key of its own from
// the environment's seed. Fails with INPUT as weft_fabric_ecmp_expect does and where draws are too
// few or too many. `tally` counts draws; it may be NULL. O(draws * (parts + n)) time, O(n) of
// scratch memory.
bool weft_fabric_ecmp_sample(struct weft_ecmp_sample *sample, const struct weft_ecmp *ecmp,
                             uint32_t draw_count, struct weft_tally *tally,
                             const struct weft_environment *environment) WEFT_MUST_USE;

// ---- money, power, bounds ----

// How the ports of a direct fabric are joined.
enum weft_cabling {
    WEFT_CABLING_FIXED,             // cables for good
    WEFT_CABLING_PATCH_PANEL,       // one panel port a server port
    WEFT_CABLING_PATCH_PANEL_AHEAD, // two, behind a 1x2 switch: the next job's plane (TopoOpt)
    WEFT_CABLING_OCS,               // one circuit-switch port a server port
    WEFT_CABLING_OCS_AHEAD,
};
// The parts of a fabric without packet switches: each server has a port of rate_Bps, with its
// transceiver, for every cable that leaves or for every one that arrives, whichever are more (a
// port does both). O(n + m).
struct weft_parts weft_fabric_direct_parts(const struct weft_fabric *fabric, double rate_Bps,
                                           enum weft_cabling cabling, struct weft_arena scratch);

struct weft_cost {
    double total_usd;
    double power_watts;
};
struct weft_cost weft_fabric_cost(const struct weft_parts *parts,
                                  const struct weft_price_book *book);

// Moore bound on the mean distance of any graph of n nodes and degree d: at most d (d-1)^(h-1) (or
// d^h when links are directed) nodes at h hops. Also the smallest diameter. Hoffman and Singleton
// 1960; Cerf et al. 1974 for the mean. Degree 1 joins 2 nodes at most: INFINITY and WEFT_NONE.
void weft_fabric_moore(uint32_t server_count, uint32_t degree, bool directed, double *mean_hops,
                       uint32_t *diameter);

WEFT_API_END

#include "weft/fabric/scale_up.h" // fabrics of accelerators

#include "weft/fabric/bill.h" // what a fabric is bought as

#endif
