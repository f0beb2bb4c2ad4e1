// SPDX-License-Identifier: Apache-2.0
// Circuits that change, in the packet engine: links that close drain, packets that would enter them
// wait at their server, and links that open let them go on.
//
// A packet is forwarded from server to server by the present table instead of by the path that its
// message began on, as host-based forwarding does. The tables of one answer have no loops, so that
// a packet that a change catches in flight follows the new table from where it is. Ports have to
// be first come, first served: those know when their last packet leaves.

#include "engine.h"

#include <math.h>

void packet_circuits_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                          struct weft_arena *arena)
{
    WEFT_ASSERT(engine->ports.queues == NULL && fabric->node_count == fabric->server_count);
    struct packet_circuits *circuits = WEFT_NEW(arena, struct packet_circuits, 1);
    size_t laid_out = (size_t)engine->flow_ids.room * engine->hop_stride;
    uint32_t *hops = WEFT_NEW_RAW(arena, uint32_t, laid_out + 2 * (size_t)fabric->link_count);
    WEFT_ASSERT(laid_out + 2 * (size_t)fabric->link_count < UINT32_MAX);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        uint32_t *pair = hops + laid_out + 2 * (size_t)link;
        pair[0] = link;
        pair[1] = WEFT_NONE;
    }
    engine->hops = hops;
    *circuits = (struct packet_circuits){
        .fabric = fabric,
        .is_closed = WEFT_NEW(arena, bool, fabric->link_count),
        .hop_base = (uint32_t)laid_out,
        .flow_from = WEFT_NEW_RAW(arena, uint32_t, engine->flow_ids.room),
        .flow_to = WEFT_NEW_RAW(arena, uint32_t, engine->flow_ids.room),
        .held_first = WEFT_NONE,
        .held_last = WEFT_NONE,
    };
    engine->circuits = circuits;
}

uint64_t packet_circuits_close(struct packet_engine *engine, const uint32_t *next_link,
                               const bool *closes)
{
    struct packet_circuits *circuits = engine->circuits;
    uint64_t drained_ps = engine->clock.now_ps;
    circuits->next_link = next_link;
    for (uint32_t l = 0; l < circuits->fabric->link_count; l++) {
        const struct packet_link *link = &engine->links[l];
        circuits->is_closed[l] = closes[l];
        uint64_t last_ps = link->free_ps + link->latency_ps;
        if (closes[l] && link->free_ps > 0 && last_ps > drained_ps) {
            drained_ps = last_ps;
        }
    }
    return drained_ps;
}

void packet_circuits_open(struct packet_engine *engine, const double *rate_Bps,
                          const struct weft_sim_options *options)
{
    struct packet_circuits *circuits = engine->circuits;
    for (uint32_t l = 0; l < circuits->fabric->link_count; l++) {
        bool was_closed = circuits->is_closed[l];
        circuits->is_closed[l] = false;
        if (rate_Bps[l] > 0) {
            WEFT_ASSERT(!was_closed || engine->links[l].free_ps <= engine->clock.now_ps);
            packet_set_rate(engine, l, rate_Bps[l], circuits->fabric, options);
        }
    }
    uint32_t id = circuits->held_first;
    circuits->held_first = WEFT_NONE;
    circuits->held_last = WEFT_NONE;
    while (id != WEFT_NONE) {
        uint32_t next = engine->packets[id].behind;
        packet_go_on(engine, id, engine->packets[id].link);
        id = next;
    }
}

void packet_circuits_demand(const struct packet_engine *engine, double *unserved_bytes)
{
    const struct packet_circuits *circuits = engine->circuits;
    size_t servers = circuits->fabric->server_count;
    for (uint32_t id = 0; id < engine->flow_ids.count; id++) {
        const struct packet_flow *flow = &engine->flows[id];
        if (flow->is_open) {
            unserved_bytes[circuits->flow_from[id] * servers + circuits->flow_to[id]] +=
                (double)(flow->total - flow->received.low) * engine->setting.packet_bytes;
        }
    }
}
