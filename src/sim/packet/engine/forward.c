// SPDX-License-Identifier: Apache-2.0
// Packets from link to link: a packet arrives, enters the port of its path's next link, and its
// arrival at that link's far end is filed.
//
// Ports first come, first served know a packet's departure when it enters and have no queue; the
// others have one (queue.c).

#include "engine.h"

static uint64_t backlog_ps(uint64_t bytes, double ps_per_byte)
{
    double ps = (double)bytes * ps_per_byte;
    return ps < 0x1p62 ? (uint64_t)ps : (uint64_t)1 << 62;
}

void packet_set_rate(struct packet_engine *engine, uint32_t link_id, double rate_Bps,
                     const struct weft_fabric *fabric, const struct weft_sim_options *options)
{
    struct packet_link *link = &engine->links[link_id];
    link->ps_per_byte = (double)WEFT_PS_PER_S / rate_Bps;
    link->limit_ps = backlog_ps(packet_buffer_bytes(fabric, link_id, options), link->ps_per_byte);
    link->mark_ps = backlog_ps(options->packet->mark_bytes, link->ps_per_byte);
}

// First come, first served, with marks by chance or cut-through.
static void enter_extended(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t link_id = engine->hops[packet->hop];
    struct packet_link *link = &engine->links[link_id];
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t backlog = link->free_ps > now_ps ? link->free_ps - now_ps : 0;
    uint64_t serial = (uint64_t)(packet->bytes * link->ps_per_byte + 0.5);
    bool own = (packet->flags & PACKET_OWN) != 0;
    if (!own && backlog + serial > link->limit_ps) {
        packet_lose(engine, link, id);
        return;
    }
    if (engine->lines != NULL) {
        packet->link = link_id;
        packet_line_join(engine, link_id, id);
    } else if ((packet->flags & (PACKET_OWN | PACKET_ACK)) == 0 &&
               !packet_mark_or_lose(engine, link_id, id, backlog)) {
        return;
    }
    if (own) {
        packet->tail_ps = now_ps;
    }
    uint64_t begins_ps = packet_begins(engine, link, packet, now_ps + backlog);
    uint64_t arrives_ps = packet_arrives(engine, link_id, packet, begins_ps);
    backlog = begins_ps + serial - now_ps;
    link->free_ps = begins_ps + serial;
    link->backlog_max_ps = backlog > link->backlog_max_ps ? backlog : link->backlog_max_ps;
    link->bytes += packet->bytes;
    packet->hop++;
    packet_file_arrival(engine, id, link_id, arrives_ps);
}

void packet_enter(struct packet_engine *engine, uint32_t id)
{
    if (engine->ports.are_extended) {
        if (engine->ports.queues != NULL) {
            packet_queue_enter(engine, id);
        } else {
            enter_extended(engine, id);
        }
        return;
    }
    struct packet *packet = &engine->packets[id];
    uint32_t link_id = engine->hops[packet->hop];
    struct packet_link *link = &engine->links[link_id];
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t backlog = link->free_ps > now_ps ? link->free_ps - now_ps : 0;
    uint64_t serial = (uint64_t)(packet->bytes * link->ps_per_byte + 0.5);
    bool own = (packet->flags & PACKET_OWN) != 0;
    if (!own && backlog + serial > link->limit_ps) {
        packet_lose(engine, link, id);
        return;
    }
    if (engine->lines != NULL) {
        packet->link = link_id;
        packet_line_join(engine, link_id, id);
    } else if ((packet->flags & (PACKET_OWN | PACKET_ACK)) == 0 && backlog > link->mark_ps) {
        packet->flags |= PACKET_MARKED;
        link->marks++;
    }
    backlog += serial;
    link->free_ps = now_ps + backlog;
    link->backlog_max_ps = backlog > link->backlog_max_ps ? backlog : link->backlog_max_ps;
    link->bytes += packet->bytes;
    packet->hop++;
    packet_file_arrival(engine, id, link_id, link->free_ps + link->latency_ps);
}

// ---- circuits that change ----

static uint32_t destination_of(const struct packet_engine *engine, const struct packet *packet)
{
    const struct packet_circuits *circuits = engine->circuits;
    bool is_back = (packet->flags & PACKET_ACK) != 0;
    return is_back ? circuits->flow_from[packet->flow] : circuits->flow_to[packet->flow];
}

// The link that a packet takes next from a node: that of the circuits' present table, or of the
// packet part where the message is on it, where a switch is, and where there is no circuit: then
// the message stays there. WEFT_NONE: none of them leads on.
static uint32_t next_link_of(struct packet_circuits *circuits, const struct packet *packet,
                             uint32_t at, uint32_t to)
{
    uint32_t servers = circuits->fabric->server_count;
    size_t entry = (size_t)at * servers + to;
    uint32_t link = WEFT_NONE;
    if (at < servers && !circuits->by_packets[packet->flow]) {
        link = circuits->next_link[entry];
    }
    if (link != WEFT_NONE || circuits->packet_link == NULL) {
        return link;
    }
    if (at == circuits->flow_from[packet->flow]) {
        circuits->by_packets[packet->flow] = true;
    }
    return circuits->packet_link[entry];
}

static void hold(struct packet_engine *engine, uint32_t id, uint32_t server)
{
    struct packet_circuits *circuits = engine->circuits;
    engine->packets[id].link = server;
    engine->packets[id].behind = WEFT_NONE;
    if (circuits->held_last == WEFT_NONE) {
        circuits->held_first = id;
    } else {
        engine->packets[circuits->held_last].behind = id;
    }
    circuits->held_last = id;
}

// A packet at a node enters the next link of the present tables. WEFT_NONE: there is none, or it
// takes no packets, so that the packet waits. An acknowledgement without a way back is at its
// sender at once.
static uint32_t enter_next(struct packet_engine *engine, uint32_t id, uint32_t at)
{
    struct packet_circuits *circuits = engine->circuits;
    struct packet *packet = &engine->packets[id];
    uint32_t link = next_link_of(circuits, packet, at, destination_of(engine, packet));
    if (link == WEFT_NONE && (packet->flags & PACKET_ACK) != 0) {
        packet->hop = WEFT_NONE;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
                   engine->clock.now_ps);
        return WEFT_NONE;
    }
    if (link != WEFT_NONE && circuits->state[link] == PACKET_CIRCUIT_FRESH) {
        circuits->state[link] = PACKET_CIRCUIT_CLOSED;
        circuits->opens_ps[link] = engine->clock.now_ps + circuits->first_ps;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_CIRCUIT << CLOCK_KIND_SHIFT | link,
                   circuits->opens_ps[link]);
    }
    if (link != WEFT_NONE && circuits->state[link] == PACKET_CIRCUIT_OPEN) {
        packet->hop = circuits->hop_base + 2 * link;
        packet_enter(engine, id);
        return link;
    }
    hold(engine, id, at);
    return WEFT_NONE;
}

bool packet_arrive_by_circuit(struct packet_engine *engine, uint32_t id)
{
    const struct packet_circuits *circuits = engine->circuits;
    const struct packet *packet = &engine->packets[id];
    if (packet->hop == WEFT_NONE) {
        return true;
    }
    uint32_t link = (packet->hop - 1 - circuits->hop_base) / 2;
    uint32_t node = circuits->fabric->links[link].to;
    if (node == destination_of(engine, packet)) {
        return true;
    }
    enter_next(engine, id, node);
    return false;
}

void packet_go_on(struct packet_engine *engine, uint32_t id, uint32_t server)
{
    struct packet *packet = &engine->packets[id];
    if (engine->hops[(size_t)packet->flow * engine->hop_stride] != packet->generation) {
        packet_drop(engine, id);
        return;
    }
    bool is_first = (packet->flags & (PACKET_OWN | PACKET_ACK)) == PACKET_OWN;
    const struct packet copy = *packet;
    if (enter_next(engine, id, server) != WEFT_NONE && is_first) {
        packet_open_slot(engine, &copy);
        packet_set_timer(engine, copy.flow);
    }
}

uint32_t packet_depart_by_circuit(struct packet_engine *engine, uint32_t id)
{
    const struct packet *packet = &engine->packets[id];
    const struct packet_circuits *circuits = engine->circuits;
    bool is_back = (packet->flags & PACKET_ACK) != 0;
    return enter_next(
        engine, id, is_back ? circuits->flow_to[packet->flow] : circuits->flow_from[packet->flow]);
}
