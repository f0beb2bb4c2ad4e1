// SPDX-License-Identifier: Apache-2.0
// Matchings that come while the switch runs: settings that were found before, and repair of the
// nearest one.
//
// Of the settings kept, the one with the most pairs in common lends their routes as they lie; the
// other pairs negotiate, so that a route that is in their way moves and all others stay. A library
// has a fixed number of places; the one that was used the longest ago makes room.

#include "negotiate.h"

#include <string.h>

enum { SEARCHES_A_PAIR = 60 };

struct place {
    uint32_t pair_count; // 0: empty
    struct weft_mesh_pair *pairs;
    uint8_t *cells;
    uint64_t used; // the library's clock
};

struct weft_mesh_library {
    const struct weft_mesh *mesh;
    struct weft_mesh_router *router;
    uint32_t place_count;
    struct place *places;
    uint64_t clock;
};

struct weft_mesh_library *weft_mesh_library_open(const struct weft_mesh *mesh,
                                                 uint32_t setting_count, struct weft_arena *arena)
{
    WEFT_ASSERT(setting_count > 0);
    struct weft_mesh_library *library = WEFT_NEW(arena, struct weft_mesh_library, 1);
    *library = (struct weft_mesh_library){.mesh = mesh, .place_count = setting_count};
    library->router = weft_mesh_router_open(mesh, arena);
    library->places = WEFT_NEW(arena, struct place, setting_count);
    for (uint32_t p = 0; p < setting_count; p++) {
        library->places[p].pairs = WEFT_NEW(arena, struct weft_mesh_pair, mesh->port_count / 2);
        library->places[p].cells = WEFT_NEW(arena, uint8_t, mesh->cell_count);
    }
    return library;
}

void weft_mesh_library_add(struct weft_mesh_library *library, const struct weft_mesh_pair *pairs,
                           uint32_t pair_count, const uint8_t *cells)
{
    WEFT_ASSERT(pair_count > 0 && pair_count <= library->mesh->port_count / 2);
    struct place *oldest = &library->places[0];
    for (uint32_t p = 1; p < library->place_count; p++) {
        oldest = library->places[p].used < oldest->used ? &library->places[p] : oldest;
    }
    oldest->pair_count = pair_count;
    memcpy(oldest->pairs, pairs, pair_count * sizeof *pairs);
    memcpy(oldest->cells, cells, library->mesh->cell_count);
    oldest->used = ++library->clock;
}

// Whether light from a pair's one port comes out of the other and passes no cell that is stuck
// otherwise.
static bool holds(struct weft_mesh_route *route, const struct weft_mesh *mesh, const uint8_t *cells,
                  const struct weft_mesh_pair *pair, const uint8_t *stuck, struct weft_arena *arena)
{
    weft_mesh_follow(route, mesh, cells, pair->from, arena);
    bool fine = route->to == pair->to;
    for (uint32_t i = 0; i < route->length && fine && stuck != NULL; i++) {
        uint32_t e = route->stubs[i] / 4;
        fine = stuck[e] == WEFT_MESH_FREE || (stuck[e] == WEFT_MESH_CROSS) == (cells[e] != 0);
    }
    return fine;
}

// The place whose setting joins most of the pairs; NULL where none joins any.
static struct place *find_nearest(struct weft_mesh_library *library,
                                  const struct weft_mesh_pair *pairs, uint32_t pair_count,
                                  struct weft_arena scratch)
{
    uint32_t *peers = WEFT_NEW(&scratch, uint32_t, library->mesh->port_count);
    struct place *nearest = NULL;
    uint32_t most = 0;
    for (uint32_t p = 0; p < library->place_count; p++) {
        struct place *place = &library->places[p];
        memset(peers, 0xff, library->mesh->port_count * sizeof *peers);
        for (uint32_t i = 0; i < place->pair_count; i++) {
            peers[place->pairs[i].from] = place->pairs[i].to;
            peers[place->pairs[i].to] = place->pairs[i].from;
        }
        uint32_t common = 0;
        for (uint32_t i = 0; i < pair_count; i++) {
            common += peers[pairs[i].from] == pairs[i].to;
        }
        if (common > most) {
            most = common;
            nearest = place;
        }
    }
    return nearest;
}

bool weft_mesh_library_route(struct weft_mesh_setting *setting, uint32_t *moved,
                             struct weft_mesh_library *library, const struct weft_mesh_pair *pairs,
                             uint32_t pair_count, const struct weft_mesh_options *options,
                             const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    if (!weft_mesh_check_pairs(library->mesh, pairs, pair_count, scratch, error)) {
        return false;
    }
    struct place *near = find_nearest(library, pairs, pair_count, scratch);
    struct mesh_table table;
    if (near != NULL &&
        mesh_table_open(&table, library->mesh, pairs, pair_count, options, &scratch) == WEFT_NONE) {
        struct weft_mesh_route *routes = WEFT_NEW(&scratch, struct weft_mesh_route, pair_count);
        bool *lent = WEFT_NEW(&scratch, bool, pair_count);
        for (uint32_t i = 0; i < pair_count; i++) {
            lent[i] =
                holds(&routes[i], library->mesh, near->cells, &pairs[i], options->stuck, &scratch);
            if (lent[i]) {
                mesh_table_lay(&table, i, routes[i].stubs, routes[i].length);
            } else {
                mesh_table_queue(&table, i);
            }
        }
        table.prices = (struct mesh_prices){.eject = 4 * MESH_UNIT, .grudge = MESH_UNIT / 2};
        if (mesh_table_negotiate(&table, SEARCHES_A_PAIR * pair_count)) {
            struct weft_mesh_setting found = {0};
            mesh_table_give(&found, &table, environment->arena);
            uint32_t count = 0;
            for (uint32_t i = 0; i < pair_count; i++) {
                count += !lent[i] || found.routes[i].length != routes[i].length ||
                         memcmp(found.routes[i].stubs, routes[i].stubs,
                                routes[i].length * sizeof *routes[i].stubs) != 0;
            }
            near->used = ++library->clock;
            *moved = count;
            *setting = found;
            return true;
        }
    }
    *moved = pair_count;
    return weft_mesh_route(setting, library->router, pairs, pair_count, options, environment);
}
