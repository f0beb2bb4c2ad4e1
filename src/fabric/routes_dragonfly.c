// SPDX-License-Identifier: Apache-2.0
// Minimal paths of dragonflies (Kim, Dally, Scott and Abts, ISCA 2008): from a server's router to
// the gateway of its group, over one link to the other group, and on to the other server's router.
// Of all such paths those of fewest links count, as switches with tables of shortest paths take
// them. Which router has which link is a formula, so that nothing is kept. O(rails) a path, and
// O(log degree) for each of its links.

#include "routes_kinds.h"

// Where every router has links of its own to all other groups, a router's place is its gateway's.
// Otherwise a group's ports stand in one row, router by router, and go to the other groups in turn.
uint32_t dragonfly_gateway(const uint32_t *shape, uint32_t offset, uint32_t number)
{
    if (shape[DRAGONFLY_LINKS] == shape[DRAGONFLY_ROUTERS]) {
        return number;
    }
    return (number * (shape[DRAGONFLY_GROUPS] - 1) + offset - 1) / shape[DRAGONFLY_PORTS];
}

// Links between two groups that begin at one router: those numbered `first` to `first + count - 1`.
struct own_links {
    uint32_t first;
    uint32_t count;
};

static struct own_links own_links(const uint32_t *shape, uint32_t offset, uint32_t router)
{
    uint32_t links = shape[DRAGONFLY_LINKS];
    if (links == shape[DRAGONFLY_ROUTERS]) {
        return (struct own_links){router, 1};
    }
    // More groups than ports of a router: it has one link at most to each of them.
    uint32_t others = shape[DRAGONFLY_GROUPS] - 1;
    uint32_t port = router * shape[DRAGONFLY_PORTS];
    uint32_t number = port <= offset - 1 ? 0 : (port - (offset - 1) + others - 1) / others;
    bool has = number < links && dragonfly_gateway(shape, offset, number) == router;
    return (struct own_links){number, has ? 1 : 0};
}

// The routers of one rail at both ends of a path, and what leads from group to group.
struct flight {
    uint32_t from_group;
    uint32_t to_group;
    uint32_t from; // routers, in their groups
    uint32_t to;
    uint32_t offset;         // groups from the first to the second
    struct own_links ahead;  // that the first router has
    struct own_links behind; // that the second has, by their numbers seen from the first
    uint32_t count;
    uint32_t hops; // between routers
};

// What lies between two servers on a rail: within a group at most one link; else one link over if
// both routers end it, two hops with either's own links, three with any of the pair's.
static struct flight fly(const struct weft_routes *routes, uint32_t from, uint32_t to,
                         uint32_t rail)
{
    const uint32_t *shape = routes->shape;
    uint32_t rails = shape[DRAGONFLY_RAILS];
    uint32_t size = shape[DRAGONFLY_SIZE];
    uint32_t a = shape[DRAGONFLY_ROUTERS];
    uint32_t groups = shape[DRAGONFLY_GROUPS];
    uint32_t first = from / size * rails + rail;
    uint32_t last = to / size * rails + rail;
    struct flight flight = {.from_group = first / a, .to_group = last / a, .count = 1};
    flight.from = first - flight.from_group * a;
    flight.to = last - flight.to_group * a;
    if (flight.from_group == flight.to_group) {
        flight.hops = flight.from != flight.to;
        return flight;
    }
    flight.offset = (flight.to_group + groups - flight.from_group) % groups;
    flight.ahead = own_links(shape, flight.offset, flight.from);
    flight.behind = own_links(shape, groups - flight.offset, flight.to);
    bool direct = flight.ahead.count > 0 && flight.behind.count > 0 &&
                  flight.ahead.first == flight.behind.first;
    uint32_t ends = flight.ahead.count + flight.behind.count;
    flight.hops = direct ? 1 : ends > 0 ? 2 : 3;
    flight.count = direct ? 1 : ends > 0 ? ends : shape[DRAGONFLY_LINKS];
    return flight;
}

// The flight of the path with this index, which becomes its index among those of the rail.
static struct flight find_flight(const struct weft_routes *routes, uint32_t from, uint32_t to,
                                 uint32_t *index, uint32_t *rail)
{
    for (*rail = 0;; (*rail)++) {
        WEFT_ASSERT(*rail < routes->shape[DRAGONFLY_RAILS]);
        struct flight flight = fly(routes, from, to, *rail);
        if (*index < flight.count) {
            return flight;
        }
        *index -= flight.count;
    }
}

uint32_t dragonfly_rail(uint32_t *count, const struct weft_routes *routes, uint32_t from,
                        uint32_t to, uint32_t rail)
{
    uint32_t first = 0;
    for (uint32_t before = 0; before < rail; before++) {
        first += fly(routes, from, to, before).count;
    }
    *count = fly(routes, from, to, rail).count;
    return first;
}

uint32_t dragonfly_count(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t count;
    uint32_t last = routes->shape[DRAGONFLY_RAILS] - 1;
    return dragonfly_rail(&count, routes, from, to, last) + count;
}

uint32_t dragonfly_hops(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t index)
{
    uint32_t rail;
    return 2 + find_flight(routes, from, to, &index, &rail).hops;
}

static uint32_t find(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t link = weft_fabric_find_link(routes->fabric, from, to);
    WEFT_ASSERT(link != WEFT_NONE);
    return link;
}

// From the server to its router of the rail, to the gateway of its group, over, and on to the other
// server's router.
uint32_t dragonfly_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t index, uint32_t *links)
{
    const uint32_t *shape = routes->shape;
    uint32_t n = routes->fabric->server_count;
    uint32_t rail;
    const struct flight flight = find_flight(routes, from, to, &index, &rail);
    uint32_t from_base = n + flight.from_group * shape[DRAGONFLY_ROUTERS];
    uint32_t to_base = n + flight.to_group * shape[DRAGONFLY_ROUTERS];
    uint32_t stops[4] = {from_base + flight.from};
    uint32_t stop_count = 1;
    if (flight.from_group != flight.to_group) {
        uint32_t number = flight.hops == 3             ? index
                          : index < flight.ahead.count ? flight.ahead.first
                                                       : flight.behind.first;
        uint32_t back = shape[DRAGONFLY_GROUPS] - flight.offset;
        uint32_t exit = dragonfly_gateway(shape, flight.offset, number);
        uint32_t entry = dragonfly_gateway(shape, back, number);
        if (exit != flight.from) {
            stops[stop_count++] = from_base + exit;
        }
        stops[stop_count++] = to_base + entry;
    }
    if (stops[stop_count - 1] != to_base + flight.to) {
        stops[stop_count++] = to_base + flight.to;
    }
    WEFT_ASSERT(stop_count == flight.hops + 1);
    links[0] = routes->fabric->first[from] + rail;
    for (uint32_t i = 1; i < stop_count; i++) {
        links[i] = find(routes, stops[i - 1], stops[i]);
    }
    links[stop_count] = find(routes, stops[stop_count - 1], to);
    return stop_count + 1;
}
