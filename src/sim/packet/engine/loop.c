// SPDX-License-Identifier: Apache-2.0
// Queues and links of the packet engine, and its loop.

#include "engine.h"

#include <math.h>
#include <string.h>

#define PACKETS_MAX ((uint32_t)1 << 26)

_Static_assert(sizeof(struct packet) <= 64, "a packet fits a cache line");

static uint64_t backlog_ps(uint64_t bytes, double ps_per_byte)
{
    double ps = (double)bytes * ps_per_byte;
    return ps < 0x1p62 ? (uint64_t)ps : (uint64_t)1 << 62;
}

// How wide a bucket of the clock is: some twenty events, if every link is busy.
static uint64_t bucket_ps(const struct weft_fabric *fabric, uint32_t packet_bytes)
{
    double events_per_ps = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        events_per_ps += fabric->links[l].rate_Bps / packet_bytes / (double)WEFT_PS_PER_S;
    }
    double width_ps = 16 / fmax(events_per_ps, 1e-9);
    return (uint64_t)fmin(fmax(width_ps, 1), 1e9);
}

void packet_engine_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                        const struct weft_sim_options *options, uint32_t flow_room,
                        uint32_t hop_max, struct weft_arena *arena)
{
    bool marks_own = options->packet->mark_own && fabric->node_count == fabric->server_count;
    uint32_t paths = options->packet->port.spray_paths;
    uint32_t way_room = paths > 1 ? paths : 1;
    uint32_t hop_stride = 1 + 2 * way_room * (hop_max + 1);
    *engine = (struct packet_engine){
        .options = options->packet,
        .transport = packet_transport_of(options->transport),
        .packets = WEFT_NEW_RAW(arena, struct packet, PACKETS_MAX),
        .links = WEFT_NEW(arena, struct packet_link, fabric->link_count),
        .flows = WEFT_NEW_RAW(arena, struct packet_flow, flow_room),
        .hops = WEFT_NEW_RAW(arena, uint32_t, (size_t)flow_room * hop_stride),
        .hop_stride = hop_stride,
        .way_room = way_room,
        .way_stride = hop_max + 1,
        .packet_free = WEFT_NONE,
        .packet_room = PACKETS_MAX,
        .flow_free = WEFT_NONE,
        .flow_room = flow_room,
        .packet_bytes = options->packet_bytes,
        .header_bytes = options->header_bytes,
        .ack_bytes =
            options->packet->ack_bytes > 0 ? options->packet->ack_bytes : options->header_bytes,
        .spared_flags = marks_own ? PACKET_ACK : PACKET_OWN | PACKET_ACK,
        .dctcp = &options->dctcp,
        .persistent = options->persistent,
        .arena = arena,
    };
    packet_streams_init(engine);
    if (paths > 1) {
        engine->sprays = WEFT_NEW_RAW(arena, struct packet_spray, flow_room);
        engine->offers = WEFT_NEW_RAW(arena, uint32_t, hop_stride);
        enum weft_spray by = options->packet->port.spray_by;
        if (by == WEFT_SPRAY_MARKS || by == WEFT_SPRAY_REUSE) {
            engine->skips = WEFT_NEW_RAW(arena, uint8_t, (size_t)flow_room * way_room);
        }
        if (by == WEFT_SPRAY_REUSE) {
            engine->goods = WEFT_NEW_RAW(arena, uint8_t, (size_t)flow_room * SPRAY_GOOD_MAX);
        }
    }
    if (engine->transport.is_pulled) {
        packet_pull_init(engine, fabric->link_count);
    }
    clock_init(&engine->clock, bucket_ps(fabric, options->packet_bytes), arena);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        double ps_per_byte = (double)WEFT_PS_PER_S / link->rate_Bps;
        engine->links[l] = (struct packet_link){
            .latency_ps = link->latency_ps,
            .limit_ps = backlog_ps(packet_buffer_bytes(fabric, l, options), ps_per_byte),
            .mark_ps = backlog_ps(options->packet->mark_bytes, ps_per_byte),
            .ps_per_byte = ps_per_byte,
        };
    }
    packet_ports_init(engine, fabric, options, arena);
}

uint32_t packet_take(struct packet_engine *engine)
{
    uint32_t id = engine->packet_free;
    if (id != WEFT_NONE) {
        engine->packet_free = engine->packets[id].next;
        return id;
    }
    WEFT_ASSERT(engine->packet_count < engine->packet_room);
    return engine->packet_count++;
}

// ---- marks at departure: what had come before a packet left is looked up when it has arrived ----

void packet_line_join(struct packet_engine *engine, uint32_t line_id, uint32_t id)
{
    struct packet_line *line = &engine->lines[line_id];
    struct packet *packet = &engine->packets[id];
    packet->entered_ps = engine->clock.now_ps;
    packet->behind = WEFT_NONE;
    if (line->last == WEFT_NONE) {
        line->first = id;
    } else {
        engine->packets[line->last].behind = id;
    }
    line->last = id;
}

static void leave_line(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t link_id = packet->link;
    struct packet_link *link = &engine->links[link_id];
    uint32_t band = engine->ports.queues == NULL ? 0 : packet_band_of(engine, packet);
    struct packet_line *line = &engine->lines[(size_t)link_id * engine->ports.band_count + band];
    WEFT_ASSERT(line->first == id);
    uint64_t left_ps = engine->clock.now_ps - link->latency_ps;
    for (;;) {
        uint32_t next =
            line->ahead_last == WEFT_NONE ? line->first : engine->packets[line->ahead_last].behind;
        if (next == WEFT_NONE || engine->packets[next].entered_ps > left_ps) {
            break;
        }
        line->ahead_bytes += engine->packets[next].bytes;
        line->ahead_last = next;
    }
    if ((packet->flags & engine->spared_flags) == 0 &&
        packet_ramp(engine, link_id, packet, line->ahead_bytes)) {
        packet->flags |= PACKET_MARKED;
        link->marks++;
    }
    line->ahead_bytes -= packet->bytes;
    line->first = packet->behind;
    if (line->ahead_last == id) {
        line->ahead_last = WEFT_NONE;
    }
    if (line->last == id) {
        line->last = WEFT_NONE;
    }
}

// ---- queues ----

void packet_lose(struct packet_engine *engine, struct packet_link *link, uint32_t id)
{
    engine->counts.drops++;
    link->drops++;
    packet_drop(engine, id);
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

static void arrive(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    if (engine->lines != NULL) {
        leave_line(engine, id);
    }
    // The slot of its flow is another's.
    if (engine->hops[(size_t)packet->flow * engine->hop_stride] != packet->generation) {
        packet_drop(engine, id);
        return;
    }
    packet->flags &= (uint16_t)~PACKET_OWN;
    if (engine->hops[packet->hop] == WEFT_NONE) {
        packet_deliver(engine, id);
    } else {
        packet_enter(engine, id);
    }
}

bool packet_engine_run(struct packet_engine *engine, uint64_t until_ps, struct packet_end *end)
{
    engine->has_ended = engine->is_stuck;
    if (!engine->is_stuck && engine->stream_due != WEFT_NONE) {
        packet_stream_received(engine, engine->stream_due);
    }
    while (!engine->has_ended) {
        uint32_t event = clock_take(&engine->clock, until_ps);
        if (event == WEFT_NONE) {
            return false;
        }
        engine->counts.events++;
        uint32_t coming = clock_peek(&engine->clock, 4);
        if (coming < (uint32_t)1 << CLOCK_KIND_SHIFT) {
            __builtin_prefetch(&engine->packets[coming], 1);
        }
        uint32_t index = event & CLOCK_INDEX_MASK;
        switch ((enum packet_event)(event >> CLOCK_KIND_SHIFT)) {
        case PACKET_EVENT_ARRIVAL:
            arrive(engine, index);
            break;
        case PACKET_EVENT_RETRANSMIT:
            packet_retransmit_timer(engine, index);
            break;
        case PACKET_EVENT_PACE:
            engine->flows[index].is_paced = false;
            if (engine->flows[index].is_open) {
                packet_send(engine, index);
            }
            break;
        case PACKET_EVENT_PULL:
            packet_pull_event(engine, index);
            break;
        case PACKET_EVENT_PORT:
            packet_queue_event(engine, index);
            break;
        }
    }
    if (engine->is_stuck) {
        return false;
    }
    *end = engine->ended;
    return true;
}
