// SPDX-License-Identifier: Apache-2.0
// Circuits that change, in the packet engine: links that close drain, packets that would enter them
// wait at their server, and links that open let them go on.
//
// A packet is forwarded from node to node by the present table instead of by the path that its
// message began on, as host-based forwarding does. The tables of one answer have no loops, so that
// a packet that a change catches in flight follows the new table from where it is. Ports have to
// be first come, first served: those know when their last packet leaves.

#include "engine.h"

#include <math.h>
#include <string.h>

void packet_circuits_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                          const uint32_t *packet_link, struct weft_arena *arena)
{
    WEFT_ASSERT(engine->ports.queues == NULL);
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
        .packet_link = packet_link,
        .state = WEFT_NEW(arena, uint8_t, fabric->link_count),
        .opens_ps = WEFT_NEW_RAW(arena, uint64_t, fabric->link_count),
        .hop_base = (uint32_t)laid_out,
        .flow_from = WEFT_NEW_RAW(arena, uint32_t, engine->flow_ids.room),
        .flow_to = WEFT_NEW_RAW(arena, uint32_t, engine->flow_ids.room),
        .by_packets = WEFT_NEW_RAW(arena, bool, engine->flow_ids.room),
        .held_first = WEFT_NONE,
        .held_last = WEFT_NONE,
    };
    memset(circuits->opens_ps, 0xff, fabric->link_count * sizeof(uint64_t)); // WEFT_NEVER
    engine->circuits = circuits;
}

uint64_t packet_circuits_close(struct packet_engine *engine, uint32_t link)
{
    engine->circuits->state[link] = PACKET_CIRCUIT_CLOSED;
    engine->circuits->opens_ps[link] = WEFT_NEVER;
    const struct packet_link *port = &engine->links[link];
    uint64_t last_ps = port->free_ps > 0 ? port->free_ps + port->latency_ps : 0;
    return last_ps > engine->clock.now_ps ? last_ps : engine->clock.now_ps;
}

void packet_circuits_open(struct packet_engine *engine, uint32_t link, bool was_dark)
{
    struct packet_circuits *circuits = engine->circuits;
    bool waits = was_dark && circuits->first_ps > 0;
    circuits->state[link] = waits ? PACKET_CIRCUIT_FRESH : PACKET_CIRCUIT_OPEN;
}

void packet_circuits_release(struct packet_engine *engine)
{
    struct packet_circuits *circuits = engine->circuits;
    uint32_t id = circuits->held_first;
    circuits->held_first = WEFT_NONE;
    circuits->held_last = WEFT_NONE;
    while (id != WEFT_NONE) {
        uint32_t next = engine->packets[id].behind;
        packet_go_on(engine, id, engine->packets[id].link);
        id = next;
    }
}

void packet_circuits_event(struct packet_engine *engine, uint32_t link)
{
    struct packet_circuits *circuits = engine->circuits;
    if (circuits->opens_ps[link] == engine->clock.now_ps) {
        circuits->opens_ps[link] = WEFT_NEVER;
        circuits->state[link] = PACKET_CIRCUIT_OPEN;
        packet_circuits_release(engine);
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
