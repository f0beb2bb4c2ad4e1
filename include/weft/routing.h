// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_ROUTING_H
#define WEFT_ROUTING_H

// Routing: paths over a fabric of servers that forward.
//
//   fabric + traffic ──► [routing] ──► routes ──► sim, plan, export

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// Every stage takes from its environment arena, scratch and error, and weft_routing_shortest the
// seed; all run on the caller's thread. Fails with INFEASIBLE naming the pair that no path joins.

// Routes for a demand are those of all pairs up to so many servers, so that whatever else is sent
// arrives. Beyond, pairs without demand have none: those of 4,096 servers would be a gigabyte, and
// minutes, for traffic that there is not.
#define WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX 1024u

// CoinChangeMod (TopoOpt, NSDI 2023, appendix): fewest generators that sum to r modulo n, for every
// r; one table of n entries serves all pairs. BFS over residues, O(n * generators). `generators`
// are the jumps of directed links (duplex: p and n-p both). Fails with INPUT where one is no jump
// or lacks a link.
bool weft_routing_coin_change(struct weft_routes *routes, const struct weft_fabric *fabric,
                              const uint32_t *generators, uint32_t generator_count,
                              const struct weft_environment *environment) WEFT_MUST_USE;
// One shortest path a pair (fewest hops; ties by a hash of the pair and the seed). O(n m).
bool weft_routing_shortest(struct weft_routes *routes, const struct weft_fabric *fabric,
                           const struct weft_environment *environment) WEFT_MUST_USE;
// Up to k loop-free paths a pair by hops (Yen, Management Science 1971), equal weights; of equal
// hops a hash of target and links decides. Pairs without demand get one, or none of more servers
// than WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX. demand = NULL: all pairs.
// O(n^3 k (m + n log n)) at worst.
bool weft_routing_k_shortest(struct weft_routes *routes, const struct weft_fabric *fabric,
                             uint32_t k, const double *demand,
                             const struct weft_environment *environment) WEFT_MUST_USE;

struct weft_minmax_options {
    uint32_t paths_max;            // kept a pair, e.g. 8
    uint32_t extra_hops;           // beyond the pair's distance, e.g. 1
    const double *link_base_bytes; // load already on each link (rings), or NULL
    double epsilon;                // relative gap at which to stop, e.g. 0.01
    uint32_t rounds_max;
    bool unproved; // bound_seconds is not read: no search from every server for it at the end, nor,
                   // beyond WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX servers, on the way
};
struct weft_minmax_result {
    double max_link_seconds; // largest (base + routed bytes) / rate over links
    double bound_seconds;    // no routing on this fabric is below (LP duality)
};
// Min-max link load over weighted paths: fractional multi-commodity flow by multiplicative weights
// (Garg and Koenemann, SIAM J. Comput. 2007; Fleischer, SIAM J. Discrete Math. 2000), then small
// weights dropped. demand[n*n] in bytes. Pairs without demand get a shortest path, or none of more
// servers than WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX. routes = NULL: the result alone.
bool weft_routing_minmax(struct weft_routes *routes, struct weft_minmax_result *result,
                         const struct weft_fabric *fabric, const double *demand,
                         const struct weft_minmax_options *options,
                         const struct weft_environment *environment) WEFT_MUST_USE;

// Where the ports of the servers lead: planes[p * server_count + s] is the server that port p of
// server s reaches, s itself where the port is dark; as weft_topology.planes.
struct weft_port_map {
    uint32_t server_count;
    uint32_t port_count; // of a server
    const uint32_t *planes;
};
// One next hop of a pair's traffic at a server: out of `port` to server `next`.
struct weft_pair_hop {
    uint32_t node;
    uint32_t source;
    uint32_t target;
    uint32_t port;
    uint32_t next;
    uint32_t weight; // 1..256, to the others of the same node, source and target
};
struct weft_pair_hops {
    size_t count;
    const struct weft_pair_hop *hops; // by node, source, target, next, port
};
// The routes of all pairs as weighted next hops of every server. A packet knows its pair, not its
// path, so paths of a pair are taken heaviest first and one that would close a cycle with those
// before is left out; parallel ports share. Fails with UNSUPPORTED when the fabric has switches,
// with INPUT when a link is on no port. O(paths * hops * edges of a pair + hops log hops).
bool weft_routing_next_hops(struct weft_pair_hops *hops, const struct weft_routes *routes,
                            const struct weft_port_map *ports,
                            const struct weft_environment *environment) WEFT_MUST_USE;

// Bytes on every link when `demand` (n*n) takes `routes` and the rings carry their groups' bytes:
// load_bytes[link_count] is set. The bandwidth tax is sum(load) / sum(demand on wire).
void weft_routing_load(double *load_bytes, const struct weft_routes *routes,
                       const struct weft_ring_set *rings, const struct weft_traffic *traffic,
                       struct weft_arena scratch);

// ---- rings for fabrics that come without ----

// Two rings, there and back, for each group of more than two members (one for pairs), in an order
// that is short in hops of the routes: nearest neighbor, then 2-opt. Routes decide each hop. They
// depend on the task graph, so that one fabric has other rings for each strategy. `servers`: of the
// fabric, for each server of the graph; NULL = the same. O(groups * members^2 * sweeps + n^2) time,
// 2 n^2 bytes of scratch for n servers of the graph.
struct weft_ring_set weft_routing_tours(const struct weft_taskgraph *graph, const uint32_t *servers,
                                        const struct weft_routes *routes, struct weft_arena *arena,
                                        struct weft_arena scratch);

WEFT_API_END

#endif
