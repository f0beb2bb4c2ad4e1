// SPDX-License-Identifier: Apache-2.0
// What is taken of a rack: chips, fibers and wavelengths by tenant.
//
// Arrays of slices come in blocks of powers of two of bytes; a block that is given back is taken
// by the next slice of its class, so that memory grows with the largest set of slices at one time
// and not with the number of requests.

#include "tables.h"

#include <string.h>

const char *weft_rack_reason_name(enum weft_rack_reason reason)
{
    static const char *const names[] = {"placed", "capacity", "fragmentation", "fibres",
                                        "wavelengths"};
    WEFT_ASSERT(reason < WEFT_RACK_REASON_COUNT);
    return names[reason];
}

const char *weft_rack_allocator_name(enum weft_rack_allocator allocator)
{
    static const char *const names[] = {"contiguous", "published", "exact"};
    WEFT_ASSERT(allocator < WEFT_RACK_ALLOCATOR_COUNT);
    return names[allocator];
}

struct weft_rack_state *weft_rack_open(const struct weft_rack *rack, struct weft_arena *arena)
{
    struct weft_rack_state *state = WEFT_NEW(arena, struct weft_rack_state, 1);
    state->rack = rack;
    rack_tables_build(&state->tables, rack, arena);
    const struct rack_tables *tables = &state->tables;
    uint32_t chips = rack->server_count * rack->chips_per_server;
    uint32_t m = tables->link_count;
    state->holder = WEFT_NEW(arena, uint32_t, chips);
    memset(state->holder, 0xff, chips * sizeof *state->holder);
    state->is_lost = WEFT_NEW(arena, bool, chips);
    state->free_chips = WEFT_NEW(arena, uint32_t, rack->server_count);
    for (uint32_t s = 0; s < rack->server_count; s++) {
        state->free_chips[s] = rack->chips_per_server;
    }
    state->load = WEFT_NEW(arena, uint32_t, m);
    state->routes = WEFT_NEW(arena, uint32_t, m);
    state->lit = WEFT_NEW(arena, uint32_t, m);
    state->channel_first = WEFT_NEW(arena, uint32_t, m);
    state->fiber_first = WEFT_NEW(arena, uint32_t, m);
    uint32_t channels = 0;
    uint32_t fibers = 0;
    for (uint32_t l = 0; l < m; l++) {
        state->channel_first[l] = channels;
        state->fiber_first[l] = fibers;
        channels += tables->channels[l];
        fibers += tables->fibers[l];
    }
    state->used = WEFT_NEW(arena, bool, channels);
    state->fiber_use = WEFT_NEW(arena, uint32_t, fibers);
    state->color_use = WEFT_NEW(arena, uint32_t, (size_t)m * tables->wavelengths);
    // A slice has a chip at least.
    state->slices = WEFT_NEW(arena, struct weft_rack_slice, chips);
    state->blocks = WEFT_NEW(arena, uint32_t, chips);
    for (uint32_t t = 0; t < chips; t++) {
        state->slices[t].tenant = WEFT_NONE;
    }
    state->own = weft_arena_split(arena);
    return state;
}

void *rack_block_take(struct weft_rack_state *state, size_t bytes, uint32_t *class)
{
    uint32_t k = 6; // a cache line
    while (((size_t)1 << k) < bytes) {
        k++;
    }
    WEFT_ASSERT(k < RACK_BLOCK_CLASSES);
    *class = k;
    struct rack_block *block = state->free_blocks[k];
    if (block != NULL) {
        state->free_blocks[k] = block->next;
        return block;
    }
    return weft_arena_alloc(&state->own, 1, (size_t)1 << k);
}

void rack_block_give(struct weft_rack_state *state, void *block, uint32_t class)
{
    struct rack_block *given = block;
    given->next = state->free_blocks[class];
    state->free_blocks[class] = given;
}

void rack_mark_channel(struct weft_rack_state *state, uint32_t link, uint32_t fiber, uint32_t color,
                       bool taken)
{
    uint32_t by = taken ? 1 : WEFT_NONE; // minus one, modulo 2^32
    uint32_t colors = state->tables.wavelengths;
    bool *channel = &state->used[state->channel_first[link] + fiber * colors + color];
    uint32_t *circuits = &state->fiber_use[state->fiber_first[link] + fiber];
    WEFT_ASSERT(*channel != taken);
    *channel = taken;
    state->color_use[link * colors + color] += by;
    if (*circuits == (taken ? 0u : 1u)) {
        state->lit[link] += by;
    }
    *circuits += by;
}

void rack_mark_route(struct weft_rack_state *state, const struct weft_rack_route *route, bool taken)
{
    for (uint32_t h = 0; h < route->hops; h++) {
        uint32_t link = rack_link(&state->tables, route->servers[h], route->servers[h + 1]);
        const uint32_t *fibers = &route->fibers[h * route->circuits];
        const uint32_t *wavelengths = &route->wavelengths[h * route->circuits];
        state->load[link] += taken ? route->circuits : -route->circuits;
        state->routes[link] += taken ? 1 : WEFT_NONE;
        for (uint32_t c = 0; c < route->circuits; c++) {
            rack_mark_channel(state, link, fibers[c], wavelengths[c], taken);
        }
    }
}

void rack_mark_chips(struct weft_rack_state *state, const struct weft_rack_slice *slice, bool taken)
{
    uint32_t per_server = state->rack->chips_per_server;
    for (uint32_t i = 0; i < slice->chip_count; i++) {
        uint32_t chip = slice->chips[i];
        WEFT_ASSERT(state->holder[chip] == (taken ? WEFT_NONE : slice->tenant));
        state->holder[chip] = taken ? slice->tenant : WEFT_NONE;
        if (!state->is_lost[chip]) {
            state->free_chips[chip / per_server] += taken ? WEFT_NONE : 1;
        }
    }
}

static void mark(struct weft_rack_state *state, const struct weft_rack_slice *slice, bool taken)
{
    rack_mark_chips(state, slice, taken);
    for (uint32_t r = 0; r < slice->route_count; r++) {
        rack_mark_route(state, &slice->routes[r], taken);
    }
}

void rack_lift(struct weft_rack_state *state, const struct weft_rack_slice *slice)
{
    mark(state, slice, false);
}

void rack_lay(struct weft_rack_state *state, const struct weft_rack_slice *slice)
{
    mark(state, slice, true);
}

uint32_t rack_take_over(struct weft_rack_state *state, uint32_t tenant, uint32_t placed)
{
    struct weft_rack_slice *old = &state->slices[tenant];
    struct weft_rack_slice *new = &state->slices[placed];
    uint32_t moved = 0;
    for (uint32_t c = 0; c < new->chip_count; c++) {
        moved += new->chips[c] != old->chips[c];
        state->holder[new->chips[c]] = tenant;
    }
    rack_block_give(state, (void *)(uintptr_t)old->chips, state->blocks[tenant]);
    *old = *new;
    old->tenant = tenant;
    state->blocks[tenant] = state->blocks[placed];
    new->tenant = WEFT_NONE;
    return moved;
}

void weft_rack_release(struct weft_rack_state *state, uint32_t tenant)
{
    WEFT_ASSERT(tenant < state->tenant_count && state->slices[tenant].tenant == tenant);
    struct weft_rack_slice *slice = &state->slices[tenant];
    rack_lift(state, slice);
    // The chips stand first in the slice's block.
    rack_block_give(state, (void *)(uintptr_t)slice->chips, state->blocks[tenant]);
    slice->tenant = WEFT_NONE;
}

void weft_rack_lose(struct weft_rack_state *state, uint32_t chip)
{
    if (!state->is_lost[chip] && state->holder[chip] == WEFT_NONE) {
        state->free_chips[chip / state->rack->chips_per_server]--;
    }
    state->is_lost[chip] = true;
}

void weft_rack_mend(struct weft_rack_state *state, uint32_t chip)
{
    if (state->is_lost[chip] && state->holder[chip] == WEFT_NONE) {
        state->free_chips[chip / state->rack->chips_per_server]++;
    }
    state->is_lost[chip] = false;
}

const struct weft_rack_slice *weft_rack_tenant(const struct weft_rack_state *state, uint32_t tenant)
{
    return tenant < state->tenant_count && state->slices[tenant].tenant == tenant
               ? &state->slices[tenant]
               : NULL;
}

static const uint32_t *copy_counts(const uint32_t *values, size_t count, struct weft_arena *arena)
{
    uint32_t *copy = WEFT_NEW_RAW(arena, uint32_t, count > 0 ? count : 1);
    if (count > 0) {
        memcpy(copy, values, count * sizeof *copy);
    }
    return copy;
}

void weft_rack_slice_copy(struct weft_rack_slice *copy, const struct weft_rack_slice *slice,
                          struct weft_arena *arena)
{
    *copy = *slice;
    if (slice->tenant == WEFT_NONE) {
        return;
    }
    struct weft_rack_route *routes = WEFT_NEW(arena, struct weft_rack_route, slice->route_count);
    copy->chips = copy_counts(slice->chips, slice->chip_count, arena);
    copy->moved = copy_counts(slice->moved, slice->moved_count, arena);
    copy->routes = routes;
    for (uint32_t r = 0; r < slice->route_count; r++) {
        const struct weft_rack_route *route = &slice->routes[r];
        size_t channels = (size_t)route->hops * route->circuits;
        routes[r] = *route;
        routes[r].servers = copy_counts(route->servers, route->hops + 1, arena);
        routes[r].fibers = copy_counts(route->fibers, channels, arena);
        routes[r].wavelengths = copy_counts(route->wavelengths, channels, arena);
    }
}

uint32_t weft_rack_free_chips(const struct weft_rack_state *state)
{
    uint32_t sum = 0;
    for (uint32_t s = 0; s < state->tables.server_count; s++) {
        sum += state->free_chips[s];
    }
    return sum;
}

uint32_t weft_rack_holder(const struct weft_rack_state *state, uint32_t chip, bool *is_lost)
{
    if (is_lost != NULL) {
        *is_lost = state->is_lost[chip];
    }
    return state->holder[chip];
}

uint32_t weft_rack_load(const struct weft_rack_state *state, uint32_t a, uint32_t b)
{
    uint32_t link = rack_link(&state->tables, a, b);
    return link == WEFT_NONE ? 0 : state->load[link];
}

uint32_t weft_rack_fiber_load(const struct weft_rack_state *state, uint32_t a, uint32_t b)
{
    uint32_t link = rack_link(&state->tables, a, b);
    return link == WEFT_NONE ? 0 : state->lit[link];
}
