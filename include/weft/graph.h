// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

// Graphs: the plain algorithms under fabrics, topologies and routes.
//
//   arcs ──► [graph] ──► distances, paths, matchings, permutations
//
// Nodes and arcs are dense indices. Nothing here knows of servers, rates or bytes; weights are the
// caller's. Every function is deterministic: ties go to the smaller index.

#include "weft/base.h"

WEFT_API_BEGIN

// A directed graph in compressed rows: the arcs of node v are first[v] .. first[v+1]-1 and arc a
// ends at heads[a]. Parallel arcs and self-loops are allowed.
struct weft_graph {
    uint32_t node_count;
    uint32_t arc_count;
    const uint32_t *first; // node_count + 1
    const uint32_t *heads; // arc_count
};

// Builds the rows from arcs in any order; arcs of a node keep their given order. All ends must be
// below node_count (asserted). O(n + m).
void weft_graph_build(struct weft_graph *graph, uint32_t node_count, const uint32_t *tails,
                      const uint32_t *heads, uint32_t arc_count, struct weft_arena *arena);
// The graph with every arc turned round. Arc a of the result is arc origin[a] of `graph` (origin
// may be NULL). O(n + m).
void weft_graph_reverse(struct weft_graph *reverse, const uint32_t **origin,
                        const struct weft_graph *graph, struct weft_arena *arena);

// ---- distances ----

// Hops from `source` to every node: distance[v], WEFT_NONE where there is no path. O(n + m).
void weft_graph_bfs(uint32_t *distance, const struct weft_graph *graph, uint32_t source,
                    struct weft_arena scratch);

struct weft_graph_hops {
    uint64_t pair_count; // ordered pairs of distinct nodes with a path
    uint64_t sum;        // of their distances
    uint32_t diameter;   // the largest of them
    bool connected;      // every ordered pair has a path
};
#define WEFT_GRAPH_UNREACHED UINT16_MAX
// Distances of all ordered pairs at once: breadth-first search from 512 sources side by side, a bit
// each (Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", VLDB 2014).
// distance (n*n, row = source, WEFT_GRAPH_UNREACHED where there is no path) is filled unless NULL.
// node_count < 65535. O(n m diameter / 64) word steps without distances.
struct weft_graph_hops weft_graph_all_hops(uint16_t *distance, const struct weft_graph *graph,
                                           struct weft_arena scratch);

// ---- cycles ----

// Hamiltonian cycles of an undirected graph (each edge an arc each way) that share no edge, `most`
// of them or as many as were found: cycle c is cycles[c*n .. c*n+n-1]. None where n < 3. In random
// regular graphs of degree d that is d/2, rounded down, up to some thousand nodes. At most about a
// second; the same generator gives the same cycles.
uint32_t weft_graph_disjoint_cycles(uint32_t *cycles, const struct weft_graph *graph, uint32_t most,
                                    struct weft_rng *rng, struct weft_arena scratch) WEFT_MUST_USE;

// ---- paths ----

// Least cost from `source` to every node under arc costs >= 0 (Dijkstra 1959, binary heap):
// distance[v] is INFINITY and last_arc[v] WEFT_NONE where there is no path; last_arc may be NULL.
// O((n + m) log n).
void weft_graph_dijkstra(double *distance, uint32_t *last_arc, const struct weft_graph *graph,
                         const double *costs, uint32_t source, struct weft_arena scratch);

// Paths of one pair, as arcs: path i is arcs[first[i]] .. arcs[first[i+1]-1].
struct weft_graph_paths {
    uint32_t count;
    const uint32_t *first; // count + 1
    const uint32_t *arcs;
    const double *costs; // ascending
};
// Which paths of a pair are asked for.
struct weft_path_query {
    const double *costs;     // per arc; NULL counts hops
    const double *remaining; // per node: the least cost from it to `target`, INFINITY = none
    uint32_t source;
    uint32_t target; // != source
    uint32_t k;      // as many paths at most
};
// Up to k cheapest loop-free paths from `source` to `target` (Yen, Management
// Science 1971; each deviation is searched with the exact remaining cost as its guide, Hart et al.
// 1968). `remaining` is exact for this graph: the caller computes it once per target on the reverse
// graph.
// Parallel arcs give distinct paths. O(k L m log n) at worst, L the hops of a path.
void weft_graph_k_shortest(struct weft_graph_paths *paths, const struct weft_graph *graph,
                           const struct weft_path_query *query, struct weft_arena *arena,
                           struct weft_arena scratch);

// ---- matchings ----

// Maximum-weight matching of a general graph (Edmonds, "Maximum matching and a polyhedron with
// 0,1-vertices", 1965, in the primal-dual form of Galil, ACM Computing Surveys 1986). weights is
// n*n and symmetric, entries <= 0 mean no edge, |weight| < 2^60. mate[v] is the partner of v or v
// itself when v stays single. Exact: integers throughout. O(n^3) time, O(n^2) memory. Returns the
// weight of the matching.
int64_t weft_graph_match(uint32_t *mate, uint32_t node_count, const int64_t *weights,
                         struct weft_arena scratch);

// Colors arcs so that no two arcs out of a node, and no two arcs into a node, share a color:
// color[a] < color_count. color_count must be at least every in-degree and out-degree (asserted);
// it always suffices (Koenig 1916). Each color is then a partial permutation of the nodes, so a
// d-regular digraph becomes d planes. Alternating chains, O(m (n + color_count)).
void weft_graph_color(uint32_t *color, const struct weft_graph *graph, uint32_t color_count,
                      struct weft_arena scratch);

// ---- permutations ----

// Whether next[0..n-1] is a permutation of 0..n-1. O(n).
bool weft_graph_is_permutation(const uint32_t *next, uint32_t node_count,
                               struct weft_arena scratch);
// Whether next[0..n-1] is one directed cycle over all n nodes (n = 1: the self-loop). O(n).
bool weft_graph_is_cycle(const uint32_t *next, uint32_t node_count);

WEFT_API_END

#endif
