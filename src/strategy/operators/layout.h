// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_LAYOUT_H
#define WEFT_STRATEGY_OPERATORS_LAYOUT_H

// A strategy while it is searched: a choice and servers for each node, and what follows of them for
// each edge, kept up to date as they change. Private to the room.

#include "search_space.h"

// What crosses the network for one edge, in forward direction; backward is its mirror image.
struct wire {
    bool same;          // both ends have the same parts on the same servers: nothing crosses
    uint32_t flows;     // transfers
    double bytes;       // all of them together
    double relay_bytes; // crossing further links, where the network stands
    float *load;        // row: bytes out of each server, then into each
};

struct layout {
    const struct problem *problem;
    uint32_t *choice;  // per node, its index in problem->choices
    uint32_t *servers; // node * server_count
    struct wire *wires;
    // The move under way: what it changed, as it was before.
    uint32_t changed_count;
    uint32_t *changed; // nodes
    uint8_t *is_changed;
    uint32_t *old_choice;  // by place in `changed`
    uint32_t *old_servers; // place * server_count
    uint32_t rewired_count;
    uint32_t *rewired; // edges
    struct wire *old_wires;
    float **spare; // loads not in use: as many as rewired edges may need
};

void weft_layout_init(struct layout *layout, const struct problem *problem,
                      struct weft_arena *arena);
// Makes `to` the same strategy as `from`.
void weft_layout_copy(struct layout *to, const struct layout *from);
// A move: any number of weft_layout_set, then weft_layout_apply, then keep or undo. Servers of a
// node must differ from one another; `servers` holds as many as the choice has parts.
void weft_layout_set(struct layout *layout, uint32_t node, uint32_t choice,
                     const uint32_t *servers);
void weft_layout_apply(struct layout *layout);
void weft_layout_keep(struct layout *layout);
void weft_layout_undo(struct layout *layout);

// Bytes on the fullest accelerator, from above: inputs count as copied unless all of them are made
// where they are read. `server_bytes` is room for one figure a server.
double weft_layout_memory(const struct layout *layout, double *server_bytes);
// The layout of a strategy whose splits the problem knows, the parts of an operator on servers of
// the problem that differ; false otherwise. No move is under way.
bool weft_layout_load(struct layout *layout, const struct weft_strategy *strategy,
                      struct weft_arena scratch);
// The strategy of a layout, and its memory. Fails with INFEASIBLE when it does not fit.
bool weft_layout_store(struct weft_strategy *strategy, const struct layout *layout,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
static inline uint32_t *weft_layout_servers(const struct layout *layout, uint32_t node)
{
    return layout->servers + (size_t)node * layout->problem->server_count;
}
static inline const struct choice *weft_layout_choice(const struct layout *layout, uint32_t node)
{
    return &layout->problem->choices[layout->choice[node]];
}

#endif
