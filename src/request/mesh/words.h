// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_MESH_WORDS_H
#define WEFT_REQUEST_MESH_WORDS_H

// Ports, matchings and stuck cells of a mesh as they are written on a command line. Each fails with
// INPUT, naming the place in the text.

#include "weft/photonics/mesh.h"

// "32" is a number of ports, "3,45,6" are ports, distinct.
struct mesh_ports {
    uint32_t count;
    const uint32_t *ports; // NULL: their number alone
};
bool mesh_read_ports(struct mesh_ports *ports, const char *text, const struct weft_mesh *mesh,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// "4-7,11-17/4-11": rounds of pairs; a port is in one pair of a round.
struct mesh_matchings {
    uint32_t round_count;
    const uint32_t *first; // per round, and the number of all pairs
    const struct weft_mesh_pair *pairs;
};
bool mesh_read_matchings(struct mesh_matchings *matchings, const char *text,
                         const struct weft_mesh *mesh, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

// "12:bar,40:cross" as enum weft_mesh_stuck per cell.
bool mesh_read_stuck(uint8_t *stuck, const char *text, const struct weft_mesh *mesh,
                     struct weft_error *error) WEFT_MUST_USE;

#endif
