// SPDX-License-Identifier: Apache-2.0
// Layouts: units on servers and paths for the edges between them, and what they come to.

#include "rack.h"

#include <string.h>

void rack_layout_init(struct rack_layout *layout, const struct rack_shape *shape,
                      struct weft_arena *arena)
{
    *layout = (struct rack_layout){
        .servers = WEFT_NEW(arena, uint8_t, shape->unit_count),
        .paths = WEFT_NEW(arena, struct rack_path, (size_t)shape->edge_count + 1),
        .load = WEFT_NONE,
        .hops = WEFT_NONE,
        .pieces = WEFT_NONE,
    };
}

void rack_layout_copy(struct rack_layout *to, const struct rack_layout *from,
                      const struct rack_shape *shape)
{
    memcpy(to->servers, from->servers, shape->unit_count * sizeof *to->servers);
    memcpy(to->paths, from->paths, shape->edge_count * sizeof *to->paths);
    to->load = from->load;
    to->hops = from->hops;
    to->pieces = from->pieces;
}

void rack_layout_measure(struct rack_layout *layout, const struct rack_shape *shape,
                         const struct weft_rack_state *state, struct weft_arena scratch)
{
    const struct rack_tables *tables = &state->tables;
    uint32_t *load = WEFT_NEW(&scratch, uint32_t, (size_t)tables->link_count + 1);
    uint32_t *taken = WEFT_NEW(&scratch, uint32_t, tables->server_count);
    memcpy(load, state->load, tables->link_count * sizeof *load);
    layout->hops = 0;
    layout->load = 0;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const struct rack_path *path = &layout->paths[e];
        layout->hops += path->hops;
        for (uint32_t h = 0; h < path->hops; h++) {
            load[rack_link(tables, path->servers[h], path->servers[h + 1])] +=
                shape->edges[e].circuits;
        }
    }
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const struct rack_path *path = &layout->paths[e];
        for (uint32_t h = 0; h < path->hops; h++) {
            uint32_t over = load[rack_link(tables, path->servers[h], path->servers[h + 1])];
            layout->load = over > layout->load ? over : layout->load;
        }
    }
    for (uint32_t u = 0; u < shape->unit_count; u++) {
        taken[layout->servers[u]] += shape->unit_chips;
    }
    layout->pieces = rack_pieces(state, taken);
}

uint32_t rack_pieces(const struct weft_rack_state *state, const uint32_t *taken)
{
    const struct rack_tables *tables = &state->tables;
    uint32_t per_server = state->rack->chips_per_server;
    uint64_t whole = 0;
    uint32_t pieces = 0;
    for (uint32_t s = 0; s < tables->server_count; s++) {
        uint32_t left = state->free_chips[s] - taken[s];
        if (left == per_server) {
            whole |= rack_bit(s);
        } else {
            pieces += left > 0;
        }
    }
    while (whole != 0) {
        uint64_t front = rack_bit(rack_first(whole));
        whole &= ~front;
        pieces++;
        while (front != 0) {
            uint32_t s = rack_first(front);
            uint64_t found = tables->near[s] & whole;
            whole &= ~found;
            front = (front & (front - 1)) | found;
        }
    }
    return pieces;
}
