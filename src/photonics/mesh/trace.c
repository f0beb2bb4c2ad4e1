// SPDX-License-Identifier: Apache-2.0
// Light in a mesh whose cells are set: where it comes out, what it loses, what leaks into it.

#include "weft/photonics/mesh.h"

#include <math.h>

// Follows light from a port to where it comes out; writes the stubs by which cells are entered,
// where `stubs` is not NULL.
static uint32_t follow(uint32_t *length, uint32_t *stubs, const struct weft_mesh *mesh,
                       const uint8_t *cells, uint32_t port)
{
    uint32_t stub = mesh->port_stubs[port];
    uint32_t out;
    uint32_t passed = 0;
    do {
        WEFT_ASSERT(passed < 2 * mesh->cell_count);
        if (stubs != NULL) {
            stubs[passed] = stub;
        }
        passed++;
        out = weft_mesh_through(stub, cells[stub / 4] != 0);
        stub = mesh->stub_mates[out];
    } while (stub != WEFT_NONE);
    *length = passed;
    return mesh->stub_wires[out];
}

void weft_mesh_trace(uint32_t *peers, uint32_t *lengths, const struct weft_mesh *mesh,
                     const uint8_t *cells)
{
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        uint32_t length;
        peers[p] = follow(&length, NULL, mesh, cells, p);
        if (lengths != NULL) {
            lengths[p] = length;
        }
    }
}

void weft_mesh_follow(struct weft_mesh_route *route, const struct weft_mesh *mesh,
                      const uint8_t *cells, uint32_t port, struct weft_arena *arena)
{
    struct weft_mesh_route found = {.from = port};
    found.to = follow(&found.length, NULL, mesh, cells, port);
    uint32_t *stubs = WEFT_NEW_RAW(arena, uint32_t, found.length);
    follow(&found.length, stubs, mesh, cells, port);
    found.stubs = stubs;
    *route = found;
}

double weft_mesh_loss_db(const struct weft_mesh_light *light, uint32_t length)
{
    return light->cell_db * length + 2 * light->port_db;
}

// Which light enters a stub: that of a route, after how many cells. Light goes both ways, so that a
// stub by which a route leaves a cell is entered by what comes from its other end.
struct entry {
    uint32_t route; // WEFT_NONE: none
    uint32_t passed;
};

// Light of another route that enters the same end of a cell by the other stub leaks into the stub
// by which this route leaves it.
static double leak_into(const struct weft_mesh_route *route, uint32_t self,
                        const struct entry *entries, const struct weft_mesh_light *light,
                        bool forward)
{
    double leaks = 0; // over the light that the leak joins
    for (uint32_t i = 0; i < route->length; i++) {
        uint32_t passed = forward ? i : route->length - 1 - i;
        uint32_t stub = route->stubs[i];
        // Backwards, the cell is entered by the stub that is left forwards: its other end.
        const struct entry *pair = &entries[forward ? (stub & ~1u) : ((stub & ~1u) ^ 2u)];
        for (uint32_t side = 0; side < 2; side++) {
            bool own = pair[side].route == self && pair[side].passed == passed;
            if (pair[side].route == WEFT_NONE || own) {
                continue;
            }
            double below =
                light->crosstalk_db + light->cell_db * ((double)pair[side].passed - (double)passed);
            leaks += pow(10, -below / 10);
        }
    }
    return leaks;
}

void weft_mesh_crosstalk(double *signal_db, const struct weft_mesh *mesh,
                         const struct weft_mesh_route *routes, uint32_t route_count,
                         const struct weft_mesh_light *light, struct weft_arena scratch)
{
    struct entry *entries = WEFT_NEW_RAW(&scratch, struct entry, 4 * mesh->cell_count);
    for (uint32_t s = 0; s < 4 * mesh->cell_count; s++) {
        entries[s] = (struct entry){WEFT_NONE, 0};
    }
    for (uint32_t r = 0; r < route_count; r++) {
        const struct weft_mesh_route *route = &routes[r];
        for (uint32_t i = 0; i < route->length; i++) {
            entries[route->stubs[i]] = (struct entry){r, i};
            uint32_t next = i + 1 < route->length ? mesh->stub_mates[route->stubs[i + 1]]
                                                  : mesh->port_stubs[route->to];
            entries[next] = (struct entry){r, route->length - 1 - i};
        }
    }
    for (uint32_t r = 0; r < route_count; r++) {
        double there = leak_into(&routes[r], r, entries, light, true);
        double back = leak_into(&routes[r], r, entries, light, false);
        double leaks = light->crosstalk_db > 0 ? fmax(there, back) : 0;
        signal_db[r] = leaks > 0 ? -10 * log10(leaks) : HUGE_VAL;
    }
}
