// SPDX-License-Identifier: Apache-2.0
// Layouts as slices: which chips of a server, which fiber and wavelength on each hop, and the
// arrays that say so, in one block of the state's memory.
//
// Any free chips of a server are as good as any others, since light joins all of them; the lowest
// are taken. Circuits of several hops get their wavelengths first (color.c) and the lowest fiber
// that has it; those of one hop take the lowest fiber with any, so that few fibers are lit.

#include "rack.h"

#include <string.h>

// The chips, moved tenants, routes and their arrays of a slice, one behind the other.
struct arrays {
    char *next;
};

static void *cut(struct arrays *arrays, size_t bytes)
{
    void *piece = arrays->next;
    arrays->next += (bytes + 7) & ~(size_t)7;
    return piece;
}

static size_t bytes_of(const struct weft_rack_slice *slice, const struct rack_route_draft *routes,
                       uint32_t route_count)
{
    size_t bytes = 4 * (size_t)slice->chip_count + 4 * RACK_MOVED_MAX + 32 +
                   route_count * (sizeof(struct weft_rack_route) + 24);
    for (uint32_t r = 0; r < route_count; r++) {
        size_t hops = routes[r].path.hops;
        bytes += 4 * (hops + 1) + 8 * hops * routes[r].circuits;
    }
    return bytes;
}

static void pick_channel(uint32_t *fiber, uint32_t *color, const struct weft_rack_state *state,
                         uint32_t link)
{
    const struct rack_tables *tables = &state->tables;
    const bool *used = &state->used[state->channel_first[link]];
    uint32_t channel = 0;
    while (used[channel]) {
        channel++;
        WEFT_ASSERT(channel < tables->channels[link]);
    }
    *fiber = channel / tables->wavelengths;
    *color = channel % tables->wavelengths;
}

static uint32_t pick_fiber(const struct weft_rack_state *state, uint32_t link, uint32_t color)
{
    const struct rack_tables *tables = &state->tables;
    const bool *used = &state->used[state->channel_first[link]];
    uint32_t fiber = 0;
    while (used[fiber * tables->wavelengths + color]) {
        fiber++;
        WEFT_ASSERT(fiber < tables->fibers[link]);
    }
    return fiber;
}

// Channels for one circuit after the other on each hop; each is taken before the next looks.
static void light(struct weft_rack_state *state, struct weft_rack_route *route, uint32_t *fibers,
                  uint32_t *wavelengths, const uint32_t *colors)
{
    for (uint32_t h = 0; h < route->hops; h++) {
        uint32_t link = rack_link(&state->tables, route->servers[h], route->servers[h + 1]);
        for (uint32_t c = 0; c < route->circuits; c++) {
            uint32_t i = h * route->circuits + c;
            if (colors != NULL) {
                wavelengths[i] = colors[c];
                fibers[i] = pick_fiber(state, link, colors[c]);
            } else {
                pick_channel(&fibers[i], &wavelengths[i], state, link);
            }
            rack_mark_channel(state, link, fibers[i], wavelengths[i], true);
        }
        state->load[link] += route->circuits;
        state->routes[link]++;
    }
}

static struct weft_rack_route build_route(const struct rack_route_draft *draft,
                                          struct arrays *arrays, uint32_t **fibers,
                                          uint32_t **wavelengths)
{
    uint32_t hops = draft->path.hops;
    size_t channels = (size_t)hops * draft->circuits;
    uint32_t *servers = cut(arrays, 4 * ((size_t)hops + 1));
    *fibers = cut(arrays, 4 * channels);
    *wavelengths = cut(arrays, 4 * channels);
    for (uint32_t h = 0; h <= hops; h++) {
        servers[h] = draft->path.servers[h];
    }
    return (struct weft_rack_route){
        .from = draft->from,
        .to = draft->to,
        .circuits = draft->circuits,
        .hops = hops,
        .servers = servers,
        .fibers = *fibers,
        .wavelengths = *wavelengths,
    };
}

// Wavelengths of new circuits of several hops: colors from first[r] on for route r.
static bool color_routes(uint32_t *colors, uint32_t *first, const struct weft_rack_state *state,
                         const struct rack_route_draft *routes, uint32_t route_count,
                         struct weft_arena scratch)
{
    struct rack_bundle *bundles = WEFT_NEW(&scratch, struct rack_bundle, (size_t)route_count + 1);
    uint32_t count = 0;
    uint32_t at = 0;
    for (uint32_t r = 0; r < route_count; r++) {
        if (routes[r].kept == NULL && routes[r].path.hops > 1) {
            bundles[count++] = (struct rack_bundle){&routes[r].path, routes[r].circuits};
            first[r] = at;
            at += routes[r].circuits;
        }
    }
    return rack_color(colors, state, bundles, count, NULL, scratch) == RACK_FOUND;
}

// Figures of the slice once all of it is taken.
static void measure(struct weft_rack_slice *slice, const struct weft_rack_state *state,
                    struct weft_arena scratch)
{
    slice->hops = 0;
    slice->load_max = 0;
    slice->route_load_max = 0;
    slice->fiber_load_max = 0;
    for (uint32_t r = 0; r < slice->route_count; r++) {
        const struct weft_rack_route *route = &slice->routes[r];
        slice->hops += route->hops;
        for (uint32_t h = 0; h < route->hops; h++) {
            uint32_t l = rack_link(&state->tables, route->servers[h], route->servers[h + 1]);
            uint32_t *most[3] = {&slice->load_max, &slice->route_load_max, &slice->fiber_load_max};
            uint32_t over[3] = {state->load[l], state->routes[l], state->lit[l]};
            for (uint32_t i = 0; i < 3; i++) {
                *most[i] = over[i] > *most[i] ? over[i] : *most[i];
            }
        }
    }
    slice->pieces = rack_pieces(state, WEFT_NEW(&scratch, uint32_t, state->tables.server_count));
}

static uint32_t new_tenant(struct weft_rack_state *state)
{
    uint32_t tenant = 0;
    while (tenant < state->tenant_count && state->slices[tenant].tenant != WEFT_NONE) {
        tenant++;
    }
    state->tenant_count += tenant == state->tenant_count;
    return tenant;
}

bool rack_commit_routes(struct weft_rack_slice *slice, struct weft_rack_state *state,
                        const struct rack_route_draft *routes, uint32_t route_count, bool converts,
                        struct weft_arena scratch)
{
    uint32_t circuits = 0;
    for (uint32_t r = 0; r < route_count; r++) {
        circuits += routes[r].circuits;
        if (routes[r].kept != NULL) {
            rack_mark_route(state, routes[r].kept, true);
        }
    }
    uint32_t *colors = WEFT_NEW(&scratch, uint32_t, (size_t)circuits + 1);
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)route_count + 1);
    if (!converts && !color_routes(colors, first, state, routes, route_count, scratch)) {
        for (uint32_t r = 0; r < route_count; r++) {
            if (routes[r].kept != NULL) {
                rack_mark_route(state, routes[r].kept, false);
            }
        }
        return false;
    }
    uint32_t class = 0;
    struct arrays arrays = {rack_block_take(state, bytes_of(slice, routes, route_count), &class)};
    uint32_t *chips = cut(&arrays, 4 * (size_t)slice->chip_count);
    uint32_t *moved = cut(&arrays, 4 * RACK_MOVED_MAX);
    struct weft_rack_route *made = cut(&arrays, route_count * sizeof *made);
    memcpy(chips, slice->chips, 4 * (size_t)slice->chip_count);
    for (uint32_t pass = 0; pass < 2; pass++) { // several hops before one
        for (uint32_t r = 0; r < route_count; r++) {
            uint32_t *fibers = NULL;
            uint32_t *wavelengths = NULL;
            const struct weft_rack_route *kept = routes[r].kept;
            if ((routes[r].path.hops > 1) != (pass == 0)) {
                continue;
            }
            made[r] = build_route(&routes[r], &arrays, &fibers, &wavelengths);
            if (kept != NULL) {
                size_t bytes = 4 * (size_t)kept->hops * kept->circuits;
                memcpy(fibers, kept->fibers, bytes);
                memcpy(wavelengths, kept->wavelengths, bytes);
            } else {
                bool colored = !converts && made[r].hops > 1;
                light(state, &made[r], fibers, wavelengths, colored ? colors + first[r] : NULL);
            }
        }
    }
    slice->tenant = new_tenant(state);
    slice->chips = chips;
    slice->moved = moved;
    slice->moved_count = 0;
    slice->moved_chips = 0;
    slice->routes = made;
    slice->route_count = route_count;
    slice->reason = WEFT_RACK_PLACED;
    slice->largest = 0;
    rack_mark_chips(state, slice, true);
    measure(slice, state, scratch);
    state->slices[slice->tenant] = *slice;
    state->blocks[slice->tenant] = class;
    return true;
}

bool rack_commit(struct weft_rack_slice *slice, struct weft_rack_state *state,
                 const struct rack_draft *draft, struct weft_arena scratch)
{
    const struct rack_shape *shape = draft->shape;
    uint32_t per_server = state->rack->chips_per_server;
    uint32_t *chips = WEFT_NEW(&scratch, uint32_t, shape->chip_count);
    uint32_t *next = WEFT_NEW(&scratch, uint32_t, state->tables.server_count);
    struct rack_route_draft *routes =
        WEFT_NEW(&scratch, struct rack_route_draft, (size_t)shape->edge_count + 1);
    uint32_t route_count = 0;
    for (uint32_t u = 0; u < shape->unit_count && draft->chips == NULL; u++) {
        uint32_t server = draft->layout->servers[u];
        for (uint32_t p = 0; p < shape->unit_chips; p++) {
            uint32_t chip = server * per_server + next[server];
            while (state->is_lost[chip] || state->holder[chip] != WEFT_NONE) {
                chip++;
            }
            WEFT_ASSERT(chip / per_server == server);
            chips[rack_shape_chip(shape, u, p)] = chip;
            next[server] = chip - server * per_server + 1;
        }
    }
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const struct rack_edge *edge = &shape->edges[e];
        if (draft->layout->paths[e].hops > 0) {
            routes[route_count++] = (struct rack_route_draft){
                .path = draft->layout->paths[e],
                .from = edge->from,
                .to = edge->to,
                .circuits = edge->circuits,
            };
        }
    }
    memcpy(slice->sides, shape->sides, sizeof slice->sides);
    memcpy(slice->unit, shape->unit, sizeof slice->unit);
    slice->chip_count = shape->chip_count;
    slice->lanes = shape->lanes;
    slice->chips = draft->chips != NULL ? draft->chips : chips;
    return rack_commit_routes(slice, state, routes, route_count, draft->converts, scratch);
}
