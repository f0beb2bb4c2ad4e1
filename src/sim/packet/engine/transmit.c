// SPDX-License-Identifier: Apache-2.0
// Packets as either end of a connection makes them: data, acknowledgements, and the end of a
// message.
//
// An acknowledgement is the packet that it answers, sent back, so that nothing is allocated for it
// and it still carries the instant of sending. O(1) for each packet.

#include "sequence.h"
#include "sim/packet/skip/skip.h"
#include "sim/packet/transport/pias.h"

// What waits in the sender's own port.
static uint64_t own_backlog_ps(const struct packet_engine *engine, uint32_t link)
{
    uint64_t now_ps = engine->clock.now_ps;
    if (engine->ports.queues != NULL) {
        const struct packet_port *port = &engine->ports.queues[link];
        return packet_port_backlog_ps(port, now_ps);
    }
    uint64_t free_ps = engine->links[link].free_ps;
    return free_ps > now_ps ? free_ps - now_ps : 0;
}

// When the packet that entered a port of its sender's begins to leave.
static uint64_t next_slot_ps(const struct packet_engine *engine, const struct packet_flow *flow,
                             uint32_t link, uint32_t id)
{
    if (engine->ports.queues == NULL) {
        double serial_ps = engine->packets[id].bytes * engine->links[link].ps_per_byte;
        return flow->left_ps - (uint64_t)(serial_ps + 0.5);
    }
    return packet_queue_keeps(engine, link, id) ? WEFT_NEVER : engine->clock.now_ps;
}

// The priority of the next packet of a flow that demotes its packets: by what was sent before it,
// of which a packet that goes again is part.
static uint32_t demoted(const struct packet_engine *engine, const struct packet_flow *flow)
{
    uint32_t sent = flow->view.snd_next > 0 ? flow->view.snd_next - 1 : 0;
    return packet_pias_priority(&engine->options->pias, engine->ports.options->priority_count,
                                (uint64_t)sent * engine->setting.packet_bytes);
}

// Makes the packet `sequence` of a flow (WEFT_NONE: the header that opens its connection) and gives
// it to the sender's own port. Afterwards left_ps is when it leaves that port, and slot_ps when the
// flow's next packet may enter it.
void packet_transmit_with(struct packet_engine *engine, uint32_t id, uint32_t sequence,
                          uint32_t flags, uint32_t cumulative)
{
    struct packet_flow *flow = &engine->flows[id];
    uint32_t packet_id = packet_take(engine);
    struct packet *packet = &engine->packets[packet_id];
    packet->generation = flow->generation;
    packet->sent_ps = engine->clock.now_ps;
    packet->flow = id;
    packet->sequence = sequence;
    packet->hop = flow->data_hop;
    if (engine->sprays.flows != NULL) {
        packet->path = packet_spray_path(engine, id);
        packet->hop += packet->path * engine->sprays.path_stride;
        packet_spray_sent(engine, id);
    }
    packet->cumulative = cumulative;
    uint32_t priority = engine->demotes ? demoted(engine, flow) : flow->priority;
    packet->flags = (uint16_t)(PACKET_OWN | flags | priority << PACKET_PRIORITY_SHIFT);
    uint32_t header_bytes = engine->setting.header_bytes > 0 ? engine->setting.header_bytes : 1;
    packet->bytes = (uint16_t)(sequence < flow->total ? packet_stream_bytes(engine, flow, sequence)
                                                      : header_bytes);
    engine->counts.packets += (flags & PACKET_PROBE) == 0;
    uint32_t link = packet_depart(engine, packet_id);
    if (link == WEFT_NONE) { // it waits for a circuit, which opens the slot
        flow->left_ps = engine->clock.now_ps;
        flow->slot_ps = engine->options->own_at_once ? flow->slot_ps : WEFT_NEVER;
        return;
    }
    flow->left_ps = engine->clock.now_ps + own_backlog_ps(engine, link);
    if (!engine->options->own_at_once) {
        flow->slot_ps = next_slot_ps(engine, flow, link, packet_id);
    }
}

bool packet_send_back_with(struct packet_engine *engine, uint32_t id, uint32_t bytes)
{
    struct packet *packet = &engine->packets[id];
    uint32_t ack_hop = engine->flows[packet->flow].ack_hop;
    packet->flags = (uint16_t)((packet->flags & engine->ack_flags) | PACKET_ACK);
    if (ack_hop == WEFT_NONE) {
        return false;
    }
    packet->bytes = (uint16_t)bytes;
    packet->hop = ack_hop;
    if (engine->sprays.flows != NULL) {
        packet->hop += packet_spray_back(engine, packet->flow);
    }
    packet->flags |= PACKET_OWN;
    packet_depart(engine, id);
    return true;
}

void packet_close(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    engine->jobs[flow->end.job].acknowledged += flow->total - flow->acknowledged.low;
    packet_release_bits(engine, &flow->acknowledged);
    packet_release_bits(engine, &flow->received);
    packet_forget_all_trimmed(engine, flow);
    engine->ended = flow->end;
    engine->ledger = (struct packet_ledger){
        .started_ps = flow->started_ps,
        .wire_bytes = flow->last_bytes + (double)(flow->total - 1) * engine->setting.packet_bytes,
        .packets = flow->total + flow->resent_count,
        .resent = flow->resent_count,
        .marked = flow->marked_count,
        .timeouts = flow->timeout_count,
    };
    engine->has_ended = engine->skip == NULL || packet_skip_closed(engine, id);
    packet_free_flow(engine, id);
}
