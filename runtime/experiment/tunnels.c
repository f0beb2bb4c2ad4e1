// SPDX-License-Identifier: Apache-2.0
// Where an experiment's streams go: an address for each, and routes to these addresses.
//
// A path of several hops that a plan prescribes becomes a tunnel: an address of its own, 10.192.0.0
// and on, on the loopback of the path's last server, with a route for it in every server on the
// path. So each connection takes the path that was planned for it, however many paths join a pair
// of servers; its acknowledgments follow the pair's ordinary routes.

#include "experiment.h"

#include <string.h>

// 10.192.0.0: the first tunnel. Servers and ports have lower addresses (testbed/names.c).
static const uint32_t tunnel_address = 0x0ac00000;

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

// The tunnel of this path, a new one if there is none yet; WEFT_NONE when the addresses are used
// up.
static uint32_t find_tunnel(struct lab_tunnels *tunnels, const struct lab_stream *stream,
                            const uint32_t *links, uint32_t link_count)
{
    for (uint32_t i = 0; i < tunnels->tunnel_count; i++) {
        const struct lab_tunnel *tunnel = &tunnels->tunnels[i];
        if (tunnel->from == stream->from && tunnel->to == stream->to &&
            tunnel->link_count == link_count &&
            memcmp(tunnel->links, links, link_count * sizeof *links) == 0) {
            return i;
        }
    }
    if (tunnels->options->tunnel_first + tunnels->tunnel_count >= LAB_TUNNELS_MAX) {
        return WEFT_NONE;
    }
    uint32_t *copy = WEFT_NEW(tunnels->arena, uint32_t, link_count);
    memcpy(copy, links, link_count * sizeof *links);
    tunnels->tunnels[tunnels->tunnel_count] =
        (struct lab_tunnel){stream->from, stream->to, link_count, copy};
    return tunnels->tunnel_count++;
}

void lab_tunnels_init(struct lab_tunnels *tunnels, const struct lab_experiment_options *options,
                      struct weft_arena *arena)
{
    *tunnels = (struct lab_tunnels){
        .options = options,
        .arena = arena,
        .tunnels = WEFT_NEW(arena, struct lab_tunnel, LAB_TUNNELS_MAX),
    };
}

// To a neighbor by the address of its port, which its cable alone leads to; to others by the
// address of the tunnel.
void lab_tunnels_address(void *context, struct lab_stream *stream, const uint32_t *links,
                         uint32_t link_count, uint32_t lane)
{
    struct lab_tunnels *tunnels = context;
    const struct weft_lab_wiring *wiring = tunnels->options->wiring;
    const uint32_t *place = tunnels->options->place;
    stream->from_ip = weft_lab_server_address(lab_server_at(place, stream->from));
    stream->to_ip = weft_lab_server_address(lab_server_at(place, stream->to));
    if (wiring->planes == NULL) {
        return;
    }
    uint32_t port = link_count == 1 ? port_to(wiring, stream->from, stream->to, lane) : WEFT_NONE;
    uint32_t tunnel = link_count > 1 ? find_tunnel(tunnels, stream, links, link_count) : WEFT_NONE;
    if (port != WEFT_NONE) {
        stream->to_ip = weft_lab_port_address(lab_server_at(place, stream->to), port);
    } else if (tunnel != WEFT_NONE) {
        stream->to_ip = tunnel_address + tunnels->options->tunnel_first + tunnel;
    }
}

// A route to one address out of a port of the server at `at`.
static bool route_out(struct weft_netlink *netlink, const struct lab_experiment_options *options,
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

// What a tunnel asks of one server.
static bool route_tunnel(struct weft_netlink *netlink, const struct lab_tunnels *tunnels,
                         uint32_t index, uint32_t server, struct weft_error *error)
{
    const struct lab_tunnel *tunnel = &tunnels->tunnels[index];
    const struct weft_fabric *fabric = &tunnels->options->network->fabric;
    const struct weft_lab_wiring *wiring = tunnels->options->wiring;
    uint32_t target = tunnel_address + tunnels->options->tunnel_first + index;
    if (tunnel->to == server) {
        return weft_address_add(netlink, 1, target, 32, error);
    }
    for (uint32_t i = 0; i < tunnel->link_count; i++) {
        const struct weft_link *link = &fabric->links[tunnel->links[i]];
        if (link->from == server) {
            uint32_t port = port_to(wiring, server, link->to, index % link->width);
            return port == WEFT_NONE
                       ? weft_fail(error, WEFT_INPUT, "server %u has no port to %u", server,
                                   link->to)
                       : route_out(netlink, tunnels->options, server, port, target, error);
        }
    }
    return true;
}

// What all tunnels, and the ports of its neighbors, ask of one server.
static bool route_server(struct weft_netlink *netlink, const struct lab_tunnels *tunnels,
                         uint32_t server, struct weft_error *error)
{
    const struct lab_experiment_options *options = tunnels->options;
    const struct weft_lab_wiring *wiring = options->wiring;
    for (uint32_t p = 0; p < wiring->port_count; p++) {
        uint32_t to = wiring->planes[(size_t)p * wiring->server_count + server];
        uint32_t address = weft_lab_port_address(lab_server_at(options->place, to), p);
        if (to != server && !route_out(netlink, options, server, p, address, error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < tunnels->tunnel_count; i++) {
        if (!route_tunnel(netlink, tunnels, i, server, error)) {
            return false;
        }
    }
    return true;
}

// Routes to the ports of neighbors and along tunnels; the lab's own are to servers.
bool lab_tunnels_route(const struct lab_tunnels *tunnels, struct weft_error *error)
{
    const struct weft_lab_wiring *wiring = tunnels->options->wiring;
    char netns[WEFT_NETNS_NAME_MAX];
    for (uint32_t s = 0; wiring->planes != NULL && s < wiring->server_count; s++) {
        struct weft_netlink netlink;
        weft_lab_server_netns(netns, tunnels->options->lab->name,
                              lab_server_at(tunnels->options->place, s));
        if (!weft_netlink_open(&netlink, netns, error)) {
            return false;
        }
        bool fine = route_server(&netlink, tunnels, s, error);
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}
