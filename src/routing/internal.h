// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_ROUTING_INTERNAL_H
#define WEFT_ROUTING_INTERNAL_H

// What the routing methods share (paths.c): lists of paths that grow, the fabric as a graph,
// hops to a target.
//
// Every method collects its paths in such a list and hands it to weft_routes_build_table, so
// that all routes have one form.

#include "weft/graph.h"
#include "weft/routing.h"

// Paths collected one after the other, as weft_routes_build_table wants them. Room grows by
// doubling inside its own arenas.
struct path_list {
    struct weft_arena *arena;
    uint32_t count;
    uint32_t room;
    uint32_t *first; // count + 1
    double *weights;
    uint32_t *nodes;
    uint32_t node_room;
};

void path_list_init(struct path_list *list, struct weft_arena *arena);
// Opens a path at its source; its other nodes follow by path_list_node.
void path_list_start(struct path_list *list, uint32_t source, double weight);
void path_list_node(struct path_list *list, uint32_t node);
// The table of what was collected, of all pairs up to WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX servers.
bool path_list_build(struct weft_routes *routes, const struct path_list *list,
                     const struct weft_fabric *fabric, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Whether pairs without demand get a path.
static inline bool routes_all_pairs(const struct weft_fabric *fabric)
{
    return fabric->server_count <= WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX;
}

// The fabric as a graph: arc i is link i. Shares the fabric's rows.
void fabric_graph(struct weft_graph *graph, const struct weft_fabric *fabric,
                  struct weft_arena *arena);
// Whether a path may pass through `node`.
static inline bool fabric_relays(const struct weft_fabric *fabric, uint32_t node)
{
    return fabric->forwards || node >= fabric->server_count;
}
// Fails with INFEASIBLE: no path joins the pair.
bool fabric_no_path(const struct weft_fabric *fabric, uint32_t from, uint32_t to,
                    struct weft_error *error) WEFT_MUST_USE;
// Hops from every node to `target` around servers that do not relay; WEFT_NONE = no path.
void hops_to_target(uint32_t *hops, const struct weft_fabric *fabric,
                    const struct weft_graph *reverse, uint32_t target, struct weft_arena scratch);

// Adds the path that leaves `source` by next hops nearer to the target of `hops`; of several the
// hash chooses.
void path_list_shortest(struct path_list *list, const struct weft_fabric *fabric,
                        const uint32_t *hops, uint32_t source, uint64_t hash);

#endif
