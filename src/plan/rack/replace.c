// SPDX-License-Identifier: Apache-2.0
// Spares in the place of lost chips (LUMION, arXiv 2505.23105, step 3).
//
// The lost chips of one server move together where some server has as many free, else one by one.
// Every server with room is tried, its own first and alone where it has room: nothing then changes
// for light. The links of the lost chips to others are routed anew, bundled by the servers at
// their other ends; what other routes carry stays where it is. For each spare server the router
// gives the routes with the fewest hops at the least limit of the load (as exact.c), and the best
// spare is kept: least load, then hops, then the lowest server. Chips of several servers are
// replaced one server after the other, so that their optimum together is not proved.

#include "rack.h"

#include <string.h>

// A slice whose routes are being made anew.
struct repair {
    struct weft_rack_state *state;
    const struct weft_rack_options *options;
    struct weft_rack_slice slice; // as it is so far; chips are `chips`
    uint32_t *chips;
    struct rack_route_draft *routes;
    uint32_t route_count;
    struct rack_effort effort;
    bool proved;
    bool color_failed;
    // Of the spare that is being tried.
    struct rack_demand *demands;
    struct rack_path *paths;
    uint32_t demand_count;
};

// What a spare would cost, with its routes.
struct candidate {
    uint32_t server;
    uint32_t load;
    uint32_t hops;
    uint32_t demand_count;
    struct rack_demand *demands;
    struct rack_path *paths;
};

static uint32_t server_of(const struct repair *repair, uint32_t logical)
{
    return repair->chips[logical] / repair->state->rack->chips_per_server;
}

// The neighbor of a logical chip along a side; WEFT_NONE where there is no link of its own.
static uint32_t neighbor(const struct weft_rack_slice *slice, uint32_t chip, uint32_t side,
                         bool forward)
{
    uint32_t stride = side == 0   ? 1
                      : side == 1 ? slice->sides[0]
                                  : slice->sides[0] * slice->sides[1];
    uint32_t n = slice->sides[side];
    uint32_t at = chip / stride % n;
    if (n == 1 || (n == 2 && forward != (at == 0))) {
        return WEFT_NONE;
    }
    uint32_t to = forward ? (at + 1) % n : (at + n - 1) % n;
    return chip - at * stride + to * stride;
}

static bool contains(const uint32_t *values, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == value) {
            return true;
        }
    }
    return false;
}

// Circuits between a group of chips, wherever it will be, and the other chips on each server.
static void count_links(uint32_t *circuits, uint32_t (*ends)[2], const struct repair *repair,
                        const uint32_t *group, uint32_t group_count)
{
    for (uint32_t i = 0; i < group_count; i++) {
        for (uint32_t k = 0; k < 6; k++) {
            uint32_t other = neighbor(&repair->slice, group[i], k / 2, k % 2 == 0);
            if (other == WEFT_NONE || contains(group, group_count, other)) {
                continue;
            }
            uint32_t server = server_of(repair, other);
            if (circuits[server] == 0) {
                ends[server][0] = group[i];
                ends[server][1] = other;
            }
            circuits[server] += repair->slice.lanes;
        }
    }
}

// Takes `circuits` off the routes between two servers: those whose ends are in the group first,
// each as a whole, else some of a bundle's.
static void drop_circuits(struct repair *repair, uint32_t from, uint32_t to, uint32_t circuits,
                          const uint32_t *group, uint32_t group_count)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t r = 0; r < repair->route_count && circuits > 0; r++) {
            struct rack_route_draft *route = &repair->routes[r];
            uint32_t a = route->path.servers[0];
            uint32_t b = route->path.servers[route->path.hops];
            bool joins = (a == from && b == to) || (a == to && b == from);
            bool ends = contains(group, group_count, route->from) ||
                        contains(group, group_count, route->to);
            if (!joins || route->circuits == 0 || (pass == 0 && !ends)) {
                continue;
            }
            uint32_t dropped = route->circuits < circuits ? route->circuits : circuits;
            route->circuits -= dropped;
            circuits -= dropped;
        }
    }
    WEFT_ASSERT(circuits == 0);
}

static enum rack_answer accept_colors(void *context)
{
    struct repair *repair = context;
    (void)repair;
    return RACK_FOUND;
}
