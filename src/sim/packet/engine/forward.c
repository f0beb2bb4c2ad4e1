// SPDX-License-Identifier: Apache-2.0
// Packets from link to link: a packet arrives, enters the port of its path's next link, and its
// arrival at that link's far end is filed.
//
// Ports first come, first served know a packet's departure when it enters and have no queue; the
// others have one (queue.c).

#include "engine.h"

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

bool packet_arrive(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    if (engine->lines != NULL) {
        packet_line_leave(engine, id);
    }
    // The slot of its flow is another's.
    if (engine->hops[(size_t)packet->flow * engine->hop_stride] != packet->generation) {
        packet_drop(engine, id);
        return false;
    }
    packet->flags &= (uint16_t)~PACKET_OWN;
    if (engine->hops[packet->hop] == WEFT_NONE) {
        return true;
    }
    packet_enter(engine, id);
    return false;
}
