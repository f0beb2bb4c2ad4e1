// SPDX-License-Identifier: Apache-2.0
// The allocator of a torus (Morphlux' first step): the first free sub-torus that is aligned to its
// size.
//
// Each side divides the rack's, and divides the block's or is a multiple of it; the origin is a
// multiple of the side. Positions are tried with x fastest, in the order of sides that the request
// has and then, unless only that is asked for, in the others. Links between neighbors go over the
// link of their servers; the wrap-around of a side that does not go round the rack comes back over
// the slice's own servers. O(positions * chips).

#include "rack.h"

#include <string.h>

// Where a slice lies: side perm[d] of the request along side d of the rack.
struct position {
    uint32_t perm[3];
    uint32_t origin[3]; // chips
};

static uint32_t server_at(const struct weft_rack *rack, const uint32_t at[3])
{
    return at[0] + rack->sides[0] * (at[1] + rack->sides[1] * at[2]);
}

static uint32_t chip_at(const struct weft_rack *rack, const uint32_t at[3])
{
    uint32_t server[3];
    uint32_t local[3];
    for (uint32_t d = 0; d < 3; d++) {
        server[d] = at[d] / rack->block[d];
        local[d] = at[d] % rack->block[d];
    }
    return server_at(rack, server) * rack->chips_per_server + local[0] +
           rack->block[0] * (local[1] + rack->block[1] * local[2]);
}

// Chips in the order of the slice; false where one is not free.
static bool list_chips(uint32_t *chips, const struct weft_rack_state *state,
                       const uint32_t sides[3], const struct position *position)
{
    uint32_t count = sides[0] * sides[1] * sides[2];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at[3];
        const uint32_t logical[3] = {i % sides[0], i / sides[0] % sides[1],
                                     i / sides[0] / sides[1]};
        for (uint32_t d = 0; d < 3; d++) {
            at[d] = position->origin[d] + logical[position->perm[d]];
        }
        chips[i] = chip_at(state->rack, at);
        if (state->holder[chips[i]] != WEFT_NONE || state->is_lost[chips[i]]) {
            return false;
        }
    }
    return true;
}

// The path of an edge between two units: their link, or back over the units between them.
static bool find_path(struct rack_path *path, const struct weft_rack_state *state,
                      const struct rack_shape *shape, const struct rack_layout *layout,
                      const struct rack_edge *edge)
{
    const struct rack_tables *tables = &state->tables;
    uint32_t from = layout->servers[edge->u];
    uint32_t to = layout->servers[edge->v];
    *path = (struct rack_path){1, {(uint8_t)from, (uint8_t)to}};
    if (from == to || rack_link(tables, from, to) != WEFT_NONE) {
        path->hops = from != to;
        return true;
    }
    uint32_t stride = edge->u > edge->v ? edge->u - edge->v : edge->v - edge->u;
    uint32_t step = 1;
    for (uint32_t d = 0; d < 2 && stride % (step * shape->counts[d]) == 0; d++) {
        step *= shape->counts[d];
    }
    path->hops = 0;
    for (uint32_t unit = edge->u; unit != edge->v; path->hops++) {
        uint32_t next = edge->u > edge->v ? unit - step : unit + step;
        path->servers[path->hops + 1] = layout->servers[next];
        if (rack_link(tables, layout->servers[unit], layout->servers[next]) == WEFT_NONE ||
            path->hops >= tables->hops_max) {
            return false;
        }
        unit = next;
    }
    return true;
}

static bool find_paths(struct rack_layout *layout, const struct weft_rack_state *state,
                       const struct rack_shape *shape, struct weft_arena scratch)
{
    const struct rack_tables *tables = &state->tables;
    uint32_t *load = WEFT_NEW(&scratch, uint32_t, (size_t)tables->link_count + 1);
    memcpy(load, state->load, tables->link_count * sizeof *load);
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        struct rack_path *path = &layout->paths[e];
        if (!find_path(path, state, shape, layout, &shape->edges[e])) {
            return false;
        }
        for (uint32_t h = 0; h < path->hops; h++) {
            uint32_t link = rack_link(tables, path->servers[h], path->servers[h + 1]);
            load[link] += shape->edges[e].circuits;
            if (load[link] > tables->channels[link]) {
                return false;
            }
        }
    }
    return true;
}

// What stays the same over all positions of one request.
struct attempt {
    struct weft_rack_slice *slice;
    struct weft_rack_state *state;
    const struct weft_rack_request *request;
    const struct weft_rack_options *options;
    struct rack_outcome *outcome;
    struct weft_arena scratch;
};

static bool place_at(struct attempt *attempt, const struct position *position)
{
    struct weft_arena scratch = attempt->scratch;
    struct weft_rack_state *state = attempt->state;
    const uint32_t *sides = attempt->request->sides;
    uint32_t *chips = WEFT_NEW(&scratch, uint32_t, sides[0] * sides[1] * sides[2]);
    if (!list_chips(chips, state, sides, position)) {
        return false;
    }
    uint32_t unit[3];
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t side = sides[position->perm[d]];
        uint32_t block = state->rack->block[d];
        unit[position->perm[d]] = side < block ? side : block;
    }
    struct rack_shape shape;
    struct rack_layout layout;
    uint32_t lanes = rack_lanes(state->rack, sides, attempt->options->fixed);
    rack_shape_build(&shape, sides, unit, lanes, &scratch);
    rack_layout_init(&layout, &shape, &scratch);
    for (uint32_t u = 0; u < shape.unit_count; u++) {
        layout.servers[u] =
            (uint8_t)(chips[rack_shape_chip(&shape, u, 0)] / state->rack->chips_per_server);
    }
    attempt->outcome->reason = WEFT_RACK_FIBERS;
    if (!find_paths(&layout, state, &shape, scratch)) {
        return false;
    }
    rack_root_bounds(attempt->outcome, state, &shape, attempt->options->converts, scratch);
    const struct rack_draft draft = {&shape, &layout, chips, attempt->options->converts};
    if (!rack_commit(attempt->slice, state, &draft, scratch)) {
        attempt->outcome->reason = WEFT_RACK_WAVELENGTHS;
        return false;
    }
    return true;
}

// All positions in one order of the sides.
static bool place_oriented(struct attempt *attempt, const uint32_t perm[3])
{
    const struct weft_rack *rack = attempt->state->rack;
    struct position position = {{perm[0], perm[1], perm[2]}, {0}};
    uint32_t side[3];
    uint32_t chips[3];
    for (uint32_t d = 0; d < 3; d++) {
        side[d] = attempt->request->sides[perm[d]];
        chips[d] = rack->sides[d] * rack->block[d];
        if (side[d] > chips[d] || chips[d] % side[d] != 0 ||
            (side[d] % rack->block[d] != 0 && rack->block[d] % side[d] != 0)) {
            return false;
        }
    }
    for (uint32_t z = 0; z < chips[2]; z += side[2]) {
        for (uint32_t y = 0; y < chips[1]; y += side[1]) {
            for (uint32_t x = 0; x < chips[0]; x += side[0]) {
                position.origin[0] = x;
                position.origin[1] = y;
                position.origin[2] = z;
                if (place_at(attempt, &position)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool rack_contiguous(struct weft_rack_slice *slice, struct weft_rack_state *state,
                     const struct weft_rack_request *request,
                     const struct weft_rack_options *options, struct rack_outcome *outcome,
                     struct weft_arena scratch)
{
    static const uint32_t perms[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const uint32_t *sides = request->sides;
    struct attempt attempt = {slice, state, request, options, outcome, scratch};
    *outcome = (struct rack_outcome){.reason = WEFT_RACK_FRAGMENTATION, .proved = true};
    for (uint32_t p = 0; p < (options->given ? 1u : 6u); p++) {
        bool again = false; // the same sides in the same places as before
        for (uint32_t q = 0; q < p; q++) {
            again = again || (sides[perms[p][0]] == sides[perms[q][0]] &&
                              sides[perms[p][1]] == sides[perms[q][1]] &&
                              sides[perms[p][2]] == sides[perms[q][2]]);
        }
        if (!again && place_oriented(&attempt, perms[p])) {
            outcome->reason = WEFT_RACK_PLACED;
            outcome->contiguous = true;
            outcome->proved =
                slice->load_max == outcome->bound_load && slice->hops == outcome->bound_hops;
            return true;
        }
    }
    return false;
}
