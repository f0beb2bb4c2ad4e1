// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_PLACEMENT_H
#define WEFT_STRATEGY_OPERATORS_PLACEMENT_H

// A placement: a strategy while it is searched. It has a choice of split and servers for each node
// of the search space, and what follows of them for each edge, kept up to date as they change.
// (Struct weft_placement is that of one operator.) Private to the strategy room.

#include "search_space.h"

// What crosses the network for one edge, in forward direction; backward is its mirror image.
struct edge_traffic {
    bool same;          // both ends have the same parts on the same servers: nothing crosses
    uint32_t flows;     // transfers
    double bytes;       // all of them together
    double relay_bytes; // crossing further links, where the network stands
    float *load;        // row: bytes out of each server, then into each
};

struct placement {
    const struct weft_strategy_space *space;
    uint32_t *choice;  // per node, its index in space->choices
    uint32_t *servers; // node * server_count
    struct edge_traffic *traffic;
    // The move under way: what it changed, as it was before.
    uint32_t changed_count;
    uint32_t *changed; // nodes
    uint8_t *is_changed;
    uint32_t *old_choice;  // by place in `changed`
    uint32_t *old_servers; // place * server_count
    uint32_t updated_count;
    uint32_t *updated; // edges
    struct edge_traffic *old_traffic;
    float **spare; // loads not in use: as many as updated edges may need
};

void weft_placement_init(struct placement *placement, const struct weft_strategy_space *space,
                         struct weft_arena *arena);
// Makes `to` the same strategy as `from`.
void weft_placement_copy(struct placement *to, const struct placement *from);
// A move: any number of weft_placement_set, then weft_placement_apply, then keep or undo. Servers
// of a node must differ from one another; `servers` holds as many as the choice has parts.
void weft_placement_set(struct placement *placement, uint32_t node, uint32_t choice,
                        const uint32_t *servers);
void weft_placement_apply(struct placement *placement);
void weft_placement_keep(struct placement *placement);
void weft_placement_undo(struct placement *placement);

// Bytes on the fullest accelerator, from above: inputs count as copied unless all of them are made
// where they are read. `server_bytes` is room for one figure a server.
double weft_placement_memory(const struct placement *placement, double *server_bytes);
// The placement of a strategy whose splits the space knows, the parts of an operator on servers of
// the space that differ; false otherwise. No move is under way.
bool weft_placement_load(struct placement *placement, const struct weft_strategy *strategy,
                         struct weft_arena scratch);
// The strategy of a placement, and its memory. Fails with INFEASIBLE when it does not fit.
bool weft_placement_store(struct weft_strategy *strategy, const struct placement *placement,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;
static inline uint32_t *weft_placement_servers(const struct placement *placement, uint32_t node)
{
    return placement->servers + (size_t)node * placement->space->server_count;
}
static inline const struct choice *weft_placement_choice(const struct placement *placement,
                                                         uint32_t node)
{
    return &placement->space->choices[placement->choice[node]];
}

#endif
