// SPDX-License-Identifier: Apache-2.0
// A flow of a list begins: its message goes out on every path that its pair takes, each with its
// share of the bytes. A flow of no bytes only waits for its path's latency, and one from a server
// to itself ends where it starts. In a folded run what begins is a class of equal flows, as one
// flow of the weight of all of them.

#include "flows.h"

#include <math.h>

// The links of the class's path and the joined ones that they are part of: a level of these is that
// of each of those.
static void start_class(struct flows_player *player, uint32_t id)
{
    struct weft_simnet *net = &player->net;
    const struct weft_flow_list *flows = player->flows;
    const struct flows_class *class = &player->fold->classes[id];
    double weight = 1;
    uint32_t hop_count = weft_routes_path(net->routes, flows->from[id], flows->to[id], class->path,
                                          net->links, &weight);
    weight = net->routes->spread == WEFT_SPREAD_PICK ? 1 : weight;
    uint32_t path = weft_simnet_open_joined(net, net->links, hop_count, player->fold->joined, id);
    double wire_bytes = weft_simnet_wire_bytes(net, (double)flows->size_bytes[id]);
    if (wire_bytes > 0) {
        weft_maxmin_set_share(&net->active.maxmin, path, class->count);
        weft_simnet_start(net, path, wire_bytes * weight * class->count, id, 0);
    } else {
        player->end_ps[id] += weft_simnet_latency_ps(net, path, 0);
    }
    weft_active_close(&net->active, path);
}

void flows_start(struct flows_player *player, uint32_t flow)
{
    const struct weft_flow_list *flows = player->flows;
    struct weft_simnet *net = &player->net;
    uint32_t from = flows->from[flow];
    uint32_t to = flows->to[flow];
    player->end_ps[flow] = (double)flows->start_ps[flow];
    if (player->fold != NULL) {
        start_class(player, flow);
        return;
    }
    if (from == to) {
        return;
    }
    double wire_bytes = weft_simnet_wire_bytes(net, (double)flows->size_bytes[flow]);
    uint64_t hash = flows_hash(player, flow);
    uint32_t count = weft_simnet_path_count(net, from, to);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_simnet_path path = weft_simnet_open_path(net, from, to, i, hash, 0);
        if (wire_bytes > 0) {
            weft_simnet_start(net, path.class_id, wire_bytes * path.share_ratio, flow, 0);
        } else {
            double latency_ps = weft_simnet_empty_ps(net, path);
            player->end_ps[flow] =
                fmax(player->end_ps[flow], (double)flows->start_ps[flow] + latency_ps);
        }
        weft_simnet_close_path(net, path);
    }
}
