// SPDX-License-Identifier: Apache-2.0
// Sets the packet engine up, and is its loop: takes the next event of the clock and gives it to the
// function that it is for, until a message ends. A packet costs one event for each link that it
// takes (at most two where ports have queues), each O(1); the loop fetches the packet of the event
// four places ahead (clock_peek), since the wait for memory is most of an event's time.

#include "sim/packet/skip/skip.h"

#include <math.h>

#define BACKOFF_MAX 6u
#define PACKETS_MAX ((uint32_t)1 << 26)

_Static_assert(sizeof(struct packet) <= 64, "a packet fits a cache line");

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
    uint32_t path_room = paths > 1 ? paths : 1;
    uint32_t ack_bytes = options->packet->ack_bytes;
    const struct weft_transport_entry *transport = weft_transport_entry(options->transport);
    uint32_t hop_stride = 1 + 2 * path_room * (hop_max + 1);
    // Messages of a history that is repeated keep their slots until it is over.
    flow_room *= options->packet->skip ? 4 : 1;
    // Messages that have come keep their slots until their senders know.
    bool lingers =
        transport->congestion->ends != NULL && transport->congestion->ends->retire != NULL;
    flow_room *= lingers ? 2 : 1;
    *engine = (struct packet_engine){
        .options = options->packet,
        .congestion = *transport->congestion,
        .ends =
            transport->congestion->ends == NULL ? packet_window_ends : *transport->congestion->ends,
        .setting = {.options = options->packet,
                    .dctcp = &options->dctcp,
                    .packet_bytes = options->packet_bytes,
                    .header_bytes = options->header_bytes,
                    .ack_bytes = ack_bytes > 0 ? ack_bytes : options->header_bytes},
        .scales_growth = transport->scales_growth,
        .demotes = transport->demotes,
        // Headers of trimmed packets say what is lost.
        .finds_losses = !options->packet->port.trims && !(transport->congestion->timeout_trips > 0),
        // PIAS's acknowledgements are as urgent as the first packets of a message.
        .ack_flags = transport->demotes ? (1u << PACKET_PRIORITY_SHIFT) - 1 : (uint16_t)UINT16_MAX,
        .packets = WEFT_NEW_RAW(arena, struct packet, PACKETS_MAX),
        .links = WEFT_NEW(arena, struct packet_link, fabric->link_count),
        .flows = WEFT_NEW_RAW(arena, struct packet_flow, flow_room),
        .hops = WEFT_NEW_RAW(arena, uint32_t, (size_t)flow_room * hop_stride),
        .hop_stride = hop_stride,
        .sprays = {.path_room = path_room, .path_stride = hop_max + 1},
        .packet_ids = {.free = WEFT_NONE, .room = PACKETS_MAX},
        .flow_ids = {.free = WEFT_NONE, .room = flow_room},
        .spared_flags = marks_own ? PACKET_ACK : PACKET_OWN | PACKET_ACK,
        .persistent = options->persistent,
        .arena = arena,
    };
    packet_streams_init(engine);
    if (paths > 1) {
        engine->sprays.flows = WEFT_NEW_RAW(arena, struct packet_spray, flow_room);
        engine->sprays.offers = WEFT_NEW_RAW(arena, uint32_t, hop_stride);
        enum weft_spray by = options->packet->port.spray_by;
        if (by == WEFT_SPRAY_MARKS || by == WEFT_SPRAY_REUSE) {
            engine->sprays.skips = WEFT_NEW_RAW(arena, uint8_t, (size_t)flow_room * path_room);
        }
        if (by == WEFT_SPRAY_REUSE) {
            engine->sprays.recycled =
                WEFT_NEW_RAW(arena, uint8_t, (size_t)flow_room * SPRAY_RECYCLED_MAX);
        }
    }
    if (engine->ends.init != NULL) {
        engine->ends.init(engine, fabric->link_count);
    }
    clock_init(&engine->clock, bucket_ps(fabric, options->packet_bytes), arena);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        engine->links[l].latency_ps = fabric->links[l].latency_ps;
        packet_set_rate(engine, l, fabric->links[l].rate_Bps, fabric, options);
    }
    packet_ports_init(engine, fabric, options, arena);
    if (options->packet->skip) {
        packet_skip_init(engine, fabric->link_count, flow_room, arena);
    }
}

// A flow's retransmission timer was filed for now. What was heard since may have moved its
// deadline: then it is filed anew; else nothing came for a timeout.
static void end_retransmit_timer(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->timer_filed = false;
    if (engine->ends.wake != NULL) {
        if (flow->is_open) {
            engine->ends.wake(engine, id);
        }
        return;
    }
    if (!flow->is_open || flow->acknowledged.low == flow->total) {
        return;
    }
    bool waits = engine->circuits != NULL && flow->slot_ps == WEFT_NEVER; // for a circuit
    if (waits || (flow->view.in_flight == 0 && flow->view.next_send_ps > engine->clock.now_ps)) {
        return; // the next packet sets the timer
    }
    // What waits in the sender's own port is not in the network yet.
    uint64_t least_ps = flow->left_ps + packet_timeout_ps(engine, flow);
    flow->deadline_ps = flow->deadline_ps > least_ps ? flow->deadline_ps : least_ps;
    if (flow->deadline_ps > engine->clock.now_ps) {
        flow->timer_filed = true;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_RETRANSMIT << CLOCK_KIND_SHIFT | id,
                   flow->deadline_ps);
        return;
    }
    engine->counts.timeouts++;
    flow->timeout_count++;
    packet_pause_check(engine);
    flow->backoff = flow->backoff < BACKOFF_MAX ? flow->backoff + 1 : BACKOFF_MAX;
    if (!flow->is_connected) {
        packet_transmit(engine, id, WEFT_NONE, PACKET_RESENT);
        packet_set_timer(engine, id);
        return;
    }
    engine->ends.timed_out(engine, id);
    packet_set_timer(engine, id);
}

bool packet_engine_run(struct packet_engine *engine, uint64_t until_ps, struct packet_end *end)
{
    engine->has_ended = engine->is_stuck;
    if (!engine->is_stuck && engine->streams.due != WEFT_NONE) {
        packet_stream_received(engine, engine->streams.due);
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
            if (packet_arrive(engine, index)) {
                engine->ends.deliver(engine, index);
            }
            break;
        case PACKET_EVENT_RETRANSMIT:
            end_retransmit_timer(engine, index);
            break;
        case PACKET_EVENT_PACE:
            engine->flows[index].is_paced = false;
            if (engine->flows[index].is_open) {
                engine->ends.send(engine, index);
            }
            break;
        case PACKET_EVENT_PULL:
            packet_pull_event(engine, index);
            break;
        case PACKET_EVENT_PORT:
            packet_queue_event(engine, index);
            break;
        case PACKET_EVENT_SKIP:
            packet_skip_event(engine, index);
            break;
        case PACKET_EVENT_CIRCUIT:
            packet_circuits_event(engine, index);
            break;
        }
    }
    if (engine->is_stuck) {
        return false;
    }
    *end = engine->ended;
    return true;
}
