// SPDX-License-Identifier: Apache-2.0
// A flow of a list begins: its message goes out on every path that its pair takes, each with its
// share of the bytes. A flow of no bytes only waits for its path's latency, and one from a server
// to itself ends where it starts. In a run in partitions the message waits for the next window.

#include "flows.h"

#include <math.h>

void flows_start(struct flows_player *player, uint32_t flow)
{
    const struct weft_flow_list *flows = player->flows;
    struct weft_simnet *net = &player->net;
    uint32_t from = flows->from[flow];
    uint32_t to = flows->to[flow];
    player->end_ps[flow] = (double)flows->start_ps[flow];
    if (from == to) {
        return;
    }
    double wire_bytes = weft_simnet_wire_bytes(net, (double)flows->size_bytes[flow]);
    uint64_t hash = weft_hash(net->options->seed ^ weft_hash(flow));
    uint32_t count = weft_simnet_path_count(net, from, to);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_simnet_path path = weft_simnet_open_path(net, from, to, i, hash, 0);
        if (wire_bytes > 0) {
            weft_simnet_start(net, path.class_id, wire_bytes * path.share_ratio, flow, 0);
            if (player->partitions != NULL) {
                uint64_t start_ps = flows->start_ps[flow];
                packet_partitions_start(player->partitions, net->packets.laid_out,
                                        start_ps < CLOCK_END_PS ? start_ps : CLOCK_END_PS);
            }
        } else {
            double latency_ps = weft_simnet_empty_ps(net, path);
            player->end_ps[flow] =
                fmax(player->end_ps[flow], (double)flows->start_ps[flow] + latency_ps);
        }
        weft_simnet_close_path(net, path);
    }
}
