// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_MESH_NEGOTIATE_H
#define WEFT_PHOTONICS_MESH_NEGOTIATE_H

// Routes that share no wire, by negotiation: a route takes the cheapest way, and whoever has a wire
// of it gives way and looks for another (negotiate.c); and how they are shortened (shorten.c).

#include "weft/photonics/mesh.h"

// Prices are in parts of a cell.
enum { MESH_UNIT = 64 };

struct mesh_net {
    uint32_t from, to;
    uint32_t shortest; // cells, with the mesh to itself
    uint32_t length;   // 0: it has no route
    uint32_t *stubs;   // room for all wires
};

// What a way costs beside its cells.
struct mesh_prices {
    uint32_t eject;  // of a wire that another has
    uint32_t noise;  // at most so much more for each wire; a power of two less one
    uint32_t grudge; // a wire that is taken from another is dearer by so much from then on
    uint64_t salt;   // of the noise
};

struct mesh_table {
    const struct weft_mesh *mesh;
    const struct weft_mesh_options *options;
    uint32_t net_count;
    struct mesh_net *nets;
    uint32_t *owners;  // per wire; WEFT_NONE
    uint32_t *history; // per wire: what it costs more, since it was wanted by several
    uint16_t *reach;   // [net * stubs + stub]: cells from there to the net's end, light entering
    struct mesh_prices prices;
    uint32_t toggle; // price of a cell that does not keep its former state
    uint64_t searches;

    uint32_t *queue; // nets without a route, a ring of net_count
    uint32_t queue_first, queue_count;

    // What a move has touched, as it was.
    bool recording;
    uint32_t touched_count;
    uint32_t *touched;
    bool *is_touched;
    struct mesh_net *saved;

    // Of one search.
    uint32_t *costs;
    uint32_t *parents;
    uint32_t *seen; // the search that wrote costs and parents
    uint32_t search;
    uint32_t *way;
    uint32_t *marks; // per wire: the way that it is on
    uint32_t mark;
    struct mesh_heap *heap;
};

// Makes a table of nets without routes, and gives a net that has no way even alone (stuck cells);
// WEFT_NONE: all have one.
uint32_t mesh_table_open(struct mesh_table *table, const struct weft_mesh *mesh,
                         const struct weft_mesh_pair *pairs, uint32_t pair_count,
                         const struct weft_mesh_options *options, struct weft_arena *arena)
    WEFT_MUST_USE;
void mesh_table_clear(struct mesh_table *table); // of routes and history
void mesh_table_queue(struct mesh_table *table, uint32_t net);
// Takes a net's route away, if it has one.
void mesh_table_lift(struct mesh_table *table, uint32_t net);
// Gives it that route; none of its wires has an owner.
void mesh_table_lay(struct mesh_table *table, uint32_t net, const uint32_t *stubs, uint32_t length);
// Routes what is queued, ejecting others, in at most so many searches; false: some are left.
bool mesh_table_negotiate(struct mesh_table *table, uint32_t searches) WEFT_MUST_USE;
// From here on changes are recorded; they are kept or taken back.
void mesh_table_begin(struct mesh_table *table);
void mesh_table_keep(struct mesh_table *table);
void mesh_table_undo(struct mesh_table *table);
// Cells of a route that do not keep their former state.
uint32_t mesh_table_toggles(const struct mesh_table *table, const struct mesh_net *net);

// Takes the routes of a setting that joins all nets, and gives the setting of the table's routes,
// which is traced: cells of no route keep their former state (settle.c).
void mesh_table_take(struct mesh_table *table, const uint8_t *cells, struct weft_arena scratch);
void mesh_table_give(struct weft_mesh_setting *setting, const struct mesh_table *table,
                     struct weft_arena *arena);

// Local search over legal routes. O(effort searches).
void mesh_shorten(struct mesh_table *table, uint64_t effort, struct weft_rng *rng, weft_stop stop,
                  struct weft_arena scratch);

#endif
