// SPDX-License-Identifier: Apache-2.0
// Where a trial's streams go: their addresses, and the routes to those.

#include "experiment.h"

#include <string.h>

// A prescribed way of several hops has an address of its own, 10.192.0.0 and on: it is on the lo of
// the way's last server, and every server on the way has a route for it. So each connection takes
// the way that was planned for it, however many join a pair; its acknowledgements go by the routes.
static const uint32_t way_address = 0x0ac00000;

// The lane-th port of a server whose cable ends at `to`; WEFT_NONE = none.
static uint32_t port_to(const struct weft_lab_wiring *wiring, uint32_t from, uint32_t to,
                        uint32_t lane)
{
    uint32_t found = WEFT_NONE;
    for (uint32_t p = 0; wiring->planes != NULL && p < wiring->port_count; p++) {
        if (wiring->planes[(size_t)p * wiring->server_count + from] == to) {
            found = p;
            if (lane-- == 0) {
                break;
            }
        }
    }
    return found;
}

static uint32_t find_way(struct lab_ways *ways, const struct lab_stream *stream,
                         const uint32_t *links, uint32_t link_count)
{
    for (uint32_t i = 0; i < ways->way_count; i++) {
        const struct lab_way *way = &ways->ways[i];
        if (way->from == stream->from && way->to == stream->to && way->link_count == link_count &&
            memcmp(way->links, links, link_count * sizeof *links) == 0) {
            return i;
        }
    }
    if (ways->options->way_first + ways->way_count >= LAB_WAYS_MAX) {
        return WEFT_NONE;
    }
    uint32_t *copy = WEFT_NEW(ways->arena, uint32_t, link_count);
    memcpy(copy, links, link_count * sizeof *links);
    ways->ways[ways->way_count] = (struct lab_way){stream->from, stream->to, link_count, copy};
    return ways->way_count++;
}

void lab_ways_init(struct lab_ways *ways, const struct lab_trial_options *options,
                   struct weft_arena *arena)
{
    *ways = (struct lab_ways){
        .options = options,
        .arena = arena,
        .ways = WEFT_NEW(arena, struct lab_way, LAB_WAYS_MAX),
    };
}

// To a neighbor by the address of its port, which its cable alone leads to; to others by the
// address of the way.
void lab_ways_address(void *context, struct lab_stream *stream, const uint32_t *links,
                      uint32_t link_count, uint32_t lane)
{
    struct lab_ways *ways = context;
    const struct weft_lab_wiring *wiring = ways->options->wiring;
    const uint32_t *place = ways->options->place;
    stream->from_ip = weft_lab_server_address(lab_server_at(place, stream->from));
    stream->to_ip = weft_lab_server_address(lab_server_at(place, stream->to));
    if (wiring->planes == NULL) {
        return;
    }
    uint32_t port = link_count == 1 ? port_to(wiring, stream->from, stream->to, lane) : WEFT_NONE;
    uint32_t way = link_count > 1 ? find_way(ways, stream, links, link_count) : WEFT_NONE;
    if (port != WEFT_NONE) {
        stream->to_ip = weft_lab_port_address(lab_server_at(place, stream->to), port);
    } else if (way != WEFT_NONE) {
        stream->to_ip = way_address + ways->options->way_first + way;
    }
}

// A route to one address out of a port of the server at `at`.
static bool route_out(struct weft_netlink *netlink, const struct lab_trial_options *options,
                      uint32_t at, uint32_t port, uint32_t target, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = options->wiring;
    uint32_t to = wiring->planes[(size_t)port * wiring->server_count + at];
    const struct weft_next_hop hop = {
        weft_lab_port_index(port), weft_lab_port_address(lab_server_at(options->place, to), port),
        1};
    const struct weft_route route = {
        .target = target,
        .prefix_bits = 32,
        .source = weft_lab_server_address(lab_server_at(options->place, at)),
        .hop_count = 1,
        .hops = &hop,
    };
    return weft_route_set(netlink, &route, error);
}

// What a way asks of one server.
static bool route_way(struct weft_netlink *netlink, const struct lab_ways *ways, uint32_t index,
                      uint32_t server, struct weft_error *error)
{
    const struct lab_way *way = &ways->ways[index];
    const struct weft_fabric *fabric = &ways->options->network->fabric;
    const struct weft_lab_wiring *wiring = ways->options->wiring;
    uint32_t target = way_address + ways->options->way_first + index;
    if (way->to == server) {
        return weft_address_add(netlink, 1, target, 32, error);
    }
    for (uint32_t i = 0; i < way->link_count; i++) {
        const struct weft_link *link = &fabric->links[way->links[i]];
        if (link->from == server) {
            uint32_t port = port_to(wiring, server, link->to, index % link->width);
            return port == WEFT_NONE
                       ? weft_fail(error, WEFT_INPUT, "server %u has no port to %u", server,
                                   link->to)
                       : route_out(netlink, ways->options, server, port, target, error);
        }
    }
    return true;
}

static bool route_server(struct weft_netlink *netlink, const struct lab_ways *ways, uint32_t server,
                         struct weft_error *error)
{
    const struct lab_trial_options *options = ways->options;
    const struct weft_lab_wiring *wiring = options->wiring;
    for (uint32_t p = 0; p < wiring->port_count; p++) {
        uint32_t to = wiring->planes[(size_t)p * wiring->server_count + server];
        uint32_t address = weft_lab_port_address(lab_server_at(options->place, to), p);
        if (to != server && !route_out(netlink, options, server, p, address, error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < ways->way_count; i++) {
        if (!route_way(netlink, ways, i, server, error)) {
            return false;
        }
    }
    return true;
}

// Routes to the ports of neighbors and along ways; the lab's own are to servers.
bool lab_ways_route(const struct lab_ways *ways, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = ways->options->wiring;
    char netns[WEFT_NETNS_NAME_MAX];
    for (uint32_t s = 0; wiring->planes != NULL && s < wiring->server_count; s++) {
        struct weft_netlink netlink;
        weft_lab_server_netns(netns, ways->options->lab->name,
                              lab_server_at(ways->options->place, s));
        if (!weft_netlink_open(&netlink, netns, error)) {
            return false;
        }
        bool fine = route_server(&netlink, ways, s, error);
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}
