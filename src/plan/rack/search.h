// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RACK_SEARCH_H
#define WEFT_PLAN_RACK_SEARCH_H

// The search over placements at one limit of the load.

#include "rack.h"

struct rack_search {
    const struct weft_rack_state *state;
    const struct rack_shape *shape;
    bool converts;
    struct rack_effort *effort;
    // Of the rack as it is now (rack_search_open).
    uint8_t orbit[WEFT_RACK_SERVERS_MAX]; // lowest server that is the same as this one
    uint32_t stabilizer_count;
    const uint8_t *stabilizer; // of the slice
    uint32_t *order;           // of units: each has a neighbor before it, the one with most
    struct rack_layout best;   // found last; have = there is one
    bool have;
    bool color_failed; // routes were refused for their wavelengths
    bool uncertain;    // what was refused might have done with other routes of the same edges
    // At a limit of the load.
    uint32_t *left;    // of a link: channels within the limit
    uint8_t *distance; // server_count^2 over links with room, RACK_FAR = none
    uint16_t *far;     // the same, where none is more than any sum
    uint32_t *room;    // of a server: units
    uint32_t least_distance;
    bool forced; // edges take a direct link where it has room: as good as any other route
    uint32_t hops_max;
    uint32_t next_hops;
    uint64_t pieces_steps;
    // A placement as far as it goes.
    uint8_t *servers; // of a unit, RACK_FAR = none yet
    uint16_t *sum;    // unit * server_count: distances to placed neighbors
    uint32_t *least;  // of a unit: the least of these over servers with room
    uint32_t rest;    // of least, over units that are not placed
    uint32_t open;    // edges of which neither end is placed
    struct rack_layout work;
    struct weft_arena scratch;
};

void rack_search_open(struct rack_search *search, const struct weft_rack_state *state,
                      const struct rack_shape *shape, bool converts, struct weft_arena *arena,
                      struct weft_arena scratch);

// The least limit above `load` at which some link has room for more; WEFT_NONE = none has.
uint32_t rack_search_next(const struct rack_search *search, uint32_t load);
// Sets a limit. What any layout within a load of `load` on every link it crosses has at
// least, in hops; WEFT_NONE: there is none.
uint32_t rack_search_limit(struct rack_search *search, uint32_t load);
// A layout of at most hops_max hops (WEFT_NONE = any) at the limit that was set, in search->best,
// the one with the fewest pieces of those that `pieces_steps` more steps find (0 = the first).
// NONE: there is none; next_hops is the least number for which there might be one, WEFT_NONE: none.
enum rack_answer rack_search_run(struct rack_search *search, uint32_t hops_max,
                                 uint64_t pieces_steps);

#endif
