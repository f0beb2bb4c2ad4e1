// SPDX-License-Identifier: Apache-2.0
// How a message gets onto the network: by the routes of its pair or by circuits that change, as a
// flow or in packets. Both engines know a path by its class (flow/path_classes.h), which is found
// by hash, so that opening a path costs O(hops) however many there are.

#include "net.h"

#include "sim/packet/partition/partitions.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool weft_simnet_check_options(const struct weft_sim_options *options, struct weft_error *error)
{
    if (options->packet_bytes > 0 && options->header_bytes >= options->packet_bytes) {
        return weft_fail(error, WEFT_INPUT, "a header of %u bytes fills the packet of %u; use less",
                         options->header_bytes, options->packet_bytes);
    }
    if (options->engine == WEFT_ENGINE_PACKET) {
        return packet_check_options(options, error);
    }
    if (options->transport != WEFT_TRANSPORT_IDEAL) {
        return weft_fail(error, WEFT_INPUT, "%s moves packets; take the packet engine",
                         weft_transport_name(options->transport));
    }
    return true;
}

static void reserve(struct weft_simnet *net, const double *capacity_Bps, uint32_t link_count,
                    const struct weft_active_room *room, struct weft_arena *arena)
{
    weft_active_init(&net->active, capacity_Bps, link_count, room, arena);
    net->delays = WEFT_NEW_RAW(arena, struct weft_path_delay, room->class_capacity);
    net->links = WEFT_NEW_RAW(arena, uint32_t, room->hop_max);
}

void weft_simnet_init(struct weft_simnet *net, const struct weft_fabric *fabric,
                      const struct weft_routes *routes, const struct weft_sim_options *options,
                      const struct weft_active_room *room, struct weft_arena *arena)
{
    struct weft_active_room wide = *room;
    if (options->circuits != NULL) {
        wide.hop_max = fabric->node_count; // the controller's paths may be longer than the routes
    }
    *net = (struct weft_simnet){.fabric = fabric, .routes = routes, .options = options};
    double *capacity_Bps = WEFT_NEW_RAW(arena, double, fabric->link_count);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        capacity_Bps[link] = fabric->links[link].rate_Bps;
    }
    reserve(net, capacity_Bps, fabric->link_count, &wide, arena);
    if (options->engine == WEFT_ENGINE_PACKET) {
        net->back = WEFT_NEW_RAW(arena, uint32_t, wide.hop_max);
        packet_engine_init(&net->packets, fabric, options, wide.flow_capacity, wide.hop_max, arena);
    }
    if (options->circuits != NULL) {
        sim_circuits_init(net, &wide, arena);
    }
}

void weft_simnet_init_joined(struct weft_simnet *net, const double *capacity_Bps,
                             uint32_t link_count, const struct weft_active_room *room,
                             struct weft_arena *arena)
{
    reserve(net, capacity_Bps, link_count, room, arena);
    weft_active_use_shares(&net->active, false, arena);
    weft_maxmin_use_repeats(&net->active.maxmin);
    net->joined = WEFT_NEW_RAW(arena, uint32_t, room->hop_max);
}

uint32_t weft_simnet_path_count(const struct weft_simnet *net, uint32_t from, uint32_t to)
{
    if (net->circuits != NULL) {
        return sim_circuits_part_count(net, from, to);
    }
    return weft_routes_part_count(net->routes, from, to);
}

struct weft_simnet_path weft_simnet_open_path(struct weft_simnet *net, uint32_t from, uint32_t to,
                                              uint32_t index, uint64_t hash, uint32_t job)
{
    if (net->circuits != NULL) {
        return sim_circuits_part(net, from, to, index);
    }
    const struct weft_routes *routes = net->routes;
    double weight = 1;
    uint32_t hop_count = weft_routes_path(
        routes, from, to, weft_routes_part(routes, from, to, index, hash), net->links, &weight);
    double share = routes->spread == WEFT_SPREAD_SPLIT
                       ? weight
                       : 1.0 / weft_routes_part_count(routes, from, to);
    return (struct weft_simnet_path){weft_simnet_open(net, net->links, hop_count, job), share};
}

void weft_simnet_close_path(struct weft_simnet *net, struct weft_simnet_path path)
{
    if (net->circuits == NULL) {
        weft_active_close(&net->active, path.class_id);
    }
}

double weft_simnet_empty_ps(const struct weft_simnet *net, struct weft_simnet_path path)
{
    return net->circuits != NULL ? 0 : weft_simnet_latency_ps(net, path.class_id, 0);
}

// Whether a path of the pair's routes is this one.
static bool is_path(const struct weft_simnet *net, uint32_t from, uint32_t to, uint32_t index,
                    const uint32_t *links, uint32_t hop_count)
{
    uint32_t count = weft_routes_path(net->routes, from, to, index, net->links, NULL);
    return count == hop_count && memcmp(net->links, links, count * sizeof(*links)) == 0;
}

// Offers the packets of a message, or its acknowledgements, other paths than their own, from which
// spraying chooses: all of the pair's if there is room for them. Else as many as there is room for,
// in equal steps from a place that the hash gives; with spray_hashed, each by a hash of its own.
static void offer_paths(struct weft_simnet *net, const uint32_t *links, uint32_t hop_count,
                        uint64_t hash, bool is_back)
{
    uint32_t from = net->fabric->links[links[0]].from;
    uint32_t to = net->fabric->links[links[hop_count - 1]].to;
    uint32_t count = weft_routes_path_count(net->routes, from, to);
    uint32_t room = net->packets.sprays.path_room;
    uint32_t own = 0;
    while (own < count && !is_path(net, from, to, own, links, hop_count)) {
        own++;
    }
    if (own == count) { // prescribed
        return;
    }
    bool hashed = net->packets.options->port.spray_hashed;
    uint32_t others = hashed || room < count ? room - 1 : count - 1;
    uint32_t rest = count > 1 ? count - 1 : 1;
    uint32_t start = (uint32_t)(hash >> 32) % rest;
    for (uint32_t i = 0; i < others; i++) {
        uint32_t step = (uint32_t)((uint64_t)i * rest / others);
        uint32_t index = hashed ? (uint32_t)(weft_hash(hash ^ weft_hash(i)) % count)
                                : (own + 1 + (start + step) % rest) % count;
        uint32_t hops = weft_routes_path(net->routes, from, to, index, net->links, NULL);
        packet_spray_offer(&net->packets, net->links, hops, is_back);
    }
}

// Acknowledgements take the path that a flow of this owner would, from the NIC that it leaves by.
static void start_packets(struct weft_simnet *net, uint32_t class_id, double wire_bytes,
                          uint32_t owner, uint32_t job)
{
    const struct weft_maxmin_class *path = weft_maxmin_class_at(&net->active.maxmin, class_id);
    uint32_t from = net->fabric->links[path->path[0]].from;
    uint32_t to = net->fabric->links[path->path[path->hop_count - 1]].to;
    uint32_t back_count = 0;
    uint64_t hash = weft_hash(net->options->seed ^ weft_hash(owner));
    if (weft_routes_path_count(net->routes, to, from) > 0) {
        bool by_nics = net->routes->spread == WEFT_SPREAD_NICS;
        uint32_t nic = path->path[0] - net->fabric->first[from];
        uint32_t index = by_nics ? weft_routes_part(net->routes, to, from, nic, hash)
                                 : weft_routes_pick(net->routes, to, from, hash);
        back_count = weft_routes_path(net->routes, to, from, index, net->back, NULL);
    }
    if (net->packets.sprays.flows != NULL && net->routes->spread == WEFT_SPREAD_PICK) {
        packet_spray_clear(&net->packets);
        offer_paths(net, path->path, path->hop_count, hash, false);
        if (back_count > 0) {
            offer_paths(net, net->back, back_count, hash, true);
        }
    }
    // A stream holds its path for good.
    net->active.classes[class_id].users += net->options->persistent ? 2 : 1;
    net->active.started_count++;
    const struct packet_route route = {path->path, path->hop_count, net->back, back_count, false};
    packet_engine_start(&net->packets, &route, wire_bytes,
                        (struct packet_end){owner, class_id, job});
    if (net->partitions != NULL) {
        packet_partitions_start(net->partitions, net->packets.laid_out, net->packets.clock.now_ps);
    }
}

void weft_simnet_start(struct weft_simnet *net, uint32_t class_id, double wire_bytes,
                       uint32_t owner, uint32_t job)
{
    wire_bytes = fmax(wire_bytes, DBL_MIN); // tiny shares of few bytes may come to 0
    if (net->circuits != NULL) {
        sim_circuits_start(net, class_id, wire_bytes, owner, job);
    } else if (weft_simnet_is_packet(net)) {
        start_packets(net, class_id, wire_bytes, owner, job);
    } else {
        weft_active_start(&net->active, class_id, wire_bytes, owner);
        if (net->shares.learns) {
            sim_shares_start(&net->shares, &net->active, class_id, wire_bytes);
        }
    }
}
