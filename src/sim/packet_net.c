// SPDX-License-Identifier: Apache-2.0
// Queues and links of the packet engine, and its loop.

#include "packet.h"

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
    *engine = (struct packet_engine){
        .options = options->packet,
        .transport = packet_transport_of(options->transport),
        .packets = WEFT_NEW_RAW(arena, struct packet, PACKETS_MAX),
        .links = WEFT_NEW(arena, struct packet_link, fabric->link_count),
        .flows = WEFT_NEW_RAW(arena, struct packet_flow, flow_room),
        .hops = WEFT_NEW_RAW(arena, uint32_t, (size_t)flow_room * 2 * (hop_max + 1)),
        .hop_stride = 2 * (hop_max + 1),
        .packet_free = WEFT_NONE,
        .packet_room = PACKETS_MAX,
        .flow_free = WEFT_NONE,
        .flow_room = flow_room,
        .packet_bytes = options->packet_bytes,
        .header_bytes = options->header_bytes,
        .ack_bytes =
            options->packet->ack_bytes > 0 ? options->packet->ack_bytes : options->header_bytes,
        .dctcp = &options->dctcp,
        .persistent = options->persistent,
        .arena = arena,
    };
    packet_streams_init(engine);
    clock_init(&engine->clock, bucket_ps(fabric, options->packet_bytes), arena);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        double ps_per_byte = (double)WEFT_PS_PER_S / link->rate_Bps;
        engine->links[l] = (struct packet_link){
            .latency_ps = link->latency_ps,
            .limit_ps = backlog_ps(options->packet->buffer_bytes, ps_per_byte),
            .mark_ps = backlog_ps(options->packet->mark_bytes, ps_per_byte),
            .ps_per_byte = ps_per_byte,
            .first = WEFT_NONE,
            .last = WEFT_NONE,
            .ahead_last = WEFT_NONE,
        };
    }
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

static void join_link(struct packet_engine *engine, struct packet_link *link, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    packet->entered_ps = engine->clock.now_ps;
    packet->behind = WEFT_NONE;
    if (link->last == WEFT_NONE) {
        link->first = id;
    } else {
        engine->packets[link->last].behind = id;
    }
    link->last = id;
}

static void leave_link(struct packet_engine *engine, struct packet_link *link, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    WEFT_ASSERT(link->first == id);
    uint64_t left_ps = engine->clock.now_ps - link->latency_ps;
    for (;;) {
        uint32_t next =
            link->ahead_last == WEFT_NONE ? link->first : engine->packets[link->ahead_last].behind;
        if (next == WEFT_NONE || engine->packets[next].entered_ps > left_ps) {
            break;
        }
        link->ahead_bytes += engine->packets[next].bytes;
        link->ahead_last = next;
    }
    if ((packet->flags & (PACKET_OWN | PACKET_ACK)) == 0 &&
        link->ahead_bytes > engine->options->mark_bytes) {
        packet->flags |= PACKET_MARKED;
    }
    link->ahead_bytes -= packet->bytes;
    link->first = packet->behind;
    if (link->ahead_last == id) {
        link->ahead_last = WEFT_NONE;
    }
    if (link->last == id) {
        link->last = WEFT_NONE;
    }
}

// ---- queues ----

void packet_enter(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    struct packet_link *link = &engine->links[engine->hops[packet->hop]];
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t backlog = link->free_ps > now_ps ? link->free_ps - now_ps : 0;
    uint64_t serial = (uint64_t)(packet->bytes * link->ps_per_byte + 0.5);
    bool own = (packet->flags & PACKET_OWN) != 0;
    if (!own && backlog + serial > link->limit_ps) {
        engine->counts.drops++;
        packet_drop(engine, id);
        return;
    }
    if (engine->options->mark_at_departure) {
        join_link(engine, link, id);
    } else if ((packet->flags & (PACKET_OWN | PACKET_ACK)) == 0 && backlog > link->mark_ps) {
        packet->flags |= PACKET_MARKED;
    }
    link->free_ps = now_ps + backlog + serial;
    link->bytes += packet->bytes;
    packet->hop++;
    clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
               link->free_ps + link->latency_ps);
}

static void arrive(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    if (engine->options->mark_at_departure) {
        leave_link(engine, &engine->links[engine->hops[packet->hop - 1]], id);
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
    engine->has_ended = false;
    if (engine->stream_due != WEFT_NONE) {
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
        }
    }
    *end = engine->ended;
    return true;
}
