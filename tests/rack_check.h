// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_RACK_CHECK_H
#define WEFT_TESTS_RACK_CHECK_H

// Whether slices of a rack hold what they say, by code that shares none with the allocators: chips
// once, every link between neighbors that leaves a server on some route with as many circuits,
// routes over pairs that fibers join, each channel once, wavelengths kept along a route, the loss
// within the budget, and hops as stated. Prints what is wrong.

#include "weft/plan/rack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEDGER_SERVERS = 64, LEDGER_PAIRS = LEDGER_SERVERS * LEDGER_SERVERS };

struct ledger {
    const struct weft_rack *rack;
    bool converts;
    uint32_t fibers[LEDGER_PAIRS]; // by pair, either way round
    uint32_t loads[LEDGER_PAIRS];
    bool taken[WEFT_RACK_CHIPS_MAX];
    uint64_t *channels; // pair, fiber, wavelength
    size_t channel_count;
};

static inline uint32_t ledger_pair(uint32_t a, uint32_t b)
{
    return a < b ? a * LEDGER_SERVERS + b : b * LEDGER_SERVERS + a;
}

// Circuits that each pair of servers needs for the slice's links; false where a chip is held twice.
static inline bool ledger_links(int64_t *links, struct ledger *ledger,
                                const struct weft_rack_slice *slice)
{
    const uint32_t *sides = slice->sides;
    uint32_t per = ledger->rack->chips_per_server;
    for (uint32_t c = 0; c < slice->chip_count; c++) {
        if (ledger->taken[slice->chips[c]]) {
            printf("%s: chip %u is held twice\n", slice->name, slice->chips[c]);
            return false;
        }
        ledger->taken[slice->chips[c]] = true;
        const uint32_t at[3] = {c % sides[0], c / sides[0] % sides[1], c / sides[0] / sides[1]};
        for (uint32_t d = 0; d < 3; d++) {
            uint32_t to[3] = {at[0], at[1], at[2]};
            to[d] = (at[d] + 1) % sides[d];
            if (sides[d] == 1 || (sides[d] == 2 && at[d] == 1)) {
                continue; // a ring of two is one link
            }
            uint32_t a = slice->chips[c] / per;
            uint32_t b = slice->chips[to[0] + sides[0] * (to[1] + sides[1] * to[2])] / per;
            links[ledger_pair(a, b)] += a == b ? 0 : slice->lanes;
        }
    }
    return true;
}

static inline bool ledger_channel(struct ledger *ledger, uint32_t pair, uint32_t fiber,
                                  uint32_t color)
{
    uint64_t channel = ((uint64_t)pair << 32) | ((uint64_t)fiber << 16) | color;
    if (fiber >= ledger->fibers[pair] || color >= ledger->rack->wavelengths) {
        printf("no fiber %u with wavelength %u on pair %u\n", fiber, color, pair);
        return false;
    }
    for (size_t i = 0; i < ledger->channel_count; i++) {
        if (ledger->channels[i] == channel) {
            printf("fiber %u, wavelength %u of pair %u taken twice\n", fiber, color, pair);
            return false;
        }
    }
    ledger->channels =
        realloc(ledger->channels, (ledger->channel_count + 1) * sizeof *ledger->channels);
    ledger->channels[ledger->channel_count++] = channel;
    ledger->loads[pair]++;
    return true;
}

static inline bool ledger_route(struct ledger *ledger, const struct weft_rack_slice *slice,
                                const struct weft_rack_route *route)
{
    const struct weft_rack *rack = ledger->rack;
    uint32_t per = rack->chips_per_server;
    if (slice->chips[route->from] / per != route->servers[0] ||
        slice->chips[route->to] / per != route->servers[route->hops]) {
        printf("%s: a route does not join its chips\n", slice->name);
        return false;
    }
    if (rack->budget_db > 0 && route->hops * rack->hop_db > rack->budget_db + 1e-9) {
        printf("%s: a route of %u hops loses too much\n", slice->name, route->hops);
        return false;
    }
    for (uint32_t i = 0; i < route->hops * route->circuits; i++) {
        uint32_t h = i / route->circuits;
        uint32_t pair = ledger_pair(route->servers[h], route->servers[h + 1]);
        if (!ledger->converts && route->wavelengths[i] != route->wavelengths[i % route->circuits]) {
            printf("%s: a route changes its wavelength\n", slice->name);
            return false;
        }
        if (!ledger_channel(ledger, pair, route->fibers[i], route->wavelengths[i])) {
            return false;
        }
    }
    return true;
}

static inline bool ledger_slice(struct ledger *ledger, const struct weft_rack_slice *slice)
{
    static int64_t links[LEDGER_PAIRS];
    uint32_t hops = 0;
    memset(links, 0, sizeof links);
    if (slice->chip_count != slice->sides[0] * slice->sides[1] * slice->sides[2] ||
        !ledger_links(links, ledger, slice)) {
        return false;
    }
    for (uint32_t r = 0; r < slice->route_count; r++) {
        const struct weft_rack_route *route = &slice->routes[r];
        links[ledger_pair(route->servers[0], route->servers[route->hops])] -= route->circuits;
        hops += route->hops;
        if (!ledger_route(ledger, slice, route)) {
            return false;
        }
    }
    for (uint32_t pair = 0; pair < LEDGER_PAIRS; pair++) {
        if (links[pair] != 0) {
            printf("%s: %lld circuits too few between servers %u and %u\n", slice->name,
                   (long long)links[pair], pair / LEDGER_SERVERS, pair % LEDGER_SERVERS);
            return false;
        }
    }
    return hops == slice->hops;
}

// All tenants of a state together, and the loads that it states.
static inline bool rack_holds(const struct weft_rack *rack, const struct weft_rack_state *state,
                              bool converts)
{
    static struct ledger ledger;
    bool fine = true;
    memset(&ledger, 0, sizeof ledger);
    ledger.rack = rack;
    ledger.converts = converts;
    for (uint32_t l = 0; l < rack->link_count; l++) {
        ledger.fibers[ledger_pair(rack->links[l].a, rack->links[l].b)] = rack->links[l].fibers;
    }
    for (uint32_t t = 0; fine && t < rack->server_count * rack->chips_per_server; t++) {
        const struct weft_rack_slice *slice = weft_rack_tenant(state, t);
        fine = slice == NULL || ledger_slice(&ledger, slice);
    }
    for (uint32_t l = 0; fine && l < rack->link_count; l++) {
        const struct weft_rack_link *link = &rack->links[l];
        fine =
            weft_rack_load(state, link->a, link->b) == ledger.loads[ledger_pair(link->a, link->b)];
    }
    free(ledger.channels);
    return fine;
}

#endif
