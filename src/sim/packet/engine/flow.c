// SPDX-License-Identifier: Apache-2.0
// Both ends of a message: what to send, what has come, what was lost.
//
// Every packet is acknowledged by itself, with the receiver's first gap. A packet is lost when one
// reorder_packets above it has come (Mathis and Mahdavi, "Forward acknowledgement", SIGCOMM 1996;
// RFC 6675 counts likewise), or when the timer ends (RFC 6298).

#include "sequence.h"

#include <string.h>

#define BACKOFF_MAX 6u

// ---- the timer ----

uint64_t packet_longest_trip_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const uint32_t ways[] = {flow->data_hop, flow->ack_hop};
    uint64_t sum_ps = 0;
    for (uint32_t w = 0; w < 2 && ways[w] != WEFT_NONE; w++) {
        for (uint32_t hop = ways[w]; engine->hops[hop] != WEFT_NONE; hop++) {
            const struct packet_link *link = &engine->links[engine->hops[hop]];
            bool is_own = hop == ways[w];
            sum_ps += link->latency_ps + (is_own ? 0 : link->limit_ps) +
                      (uint64_t)(engine->packet_bytes * link->ps_per_byte);
            sum_ps = sum_ps < WEFT_PS_PER_S ? sum_ps : WEFT_PS_PER_S; // RFC 6298, 2.1
        }
    }
    return sum_ps;
}

static uint64_t timeout_ps(const struct packet_engine *engine, const struct packet_flow *flow)
{
    uint64_t timeout = engine->options->timeout_first_ps;
    if (flow->smooth_ps > 0) {
        timeout = flow->smooth_ps + 4 * flow->vary_ps;
    } else if (timeout == 0) {
        timeout = packet_longest_trip_ps(engine, flow);
    }
    if (timeout < engine->options->timeout_min_ps) {
        timeout = engine->options->timeout_min_ps;
    }
    return timeout << flow->backoff;
}

// What waits in the sender's own port.
static uint64_t own_backlog_ps(const struct packet_engine *engine, uint32_t link)
{
    uint64_t now_ps = engine->clock.now_ps;
    if (engine->ports.queues != NULL) {
        const struct packet_port *port = &engine->ports.queues[link];
        return port->waiting_ps + (port->busy_ps > now_ps ? port->busy_ps - now_ps : 0);
    }
    uint64_t free_ps = engine->links[link].free_ps;
    return free_ps > now_ps ? free_ps - now_ps : 0;
}

void packet_set_timer(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->deadline_ps = engine->clock.now_ps + timeout_ps(engine, flow);
    if (!flow->timer_filed) {
        flow->timer_filed = true;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_RETRANSMIT << CLOCK_KIND_SHIFT | id,
                   flow->deadline_ps);
    }
}

static void measure_trip(struct packet_flow *flow, uint64_t trip_ps)
{
    if (flow->smooth_ps == 0) {
        flow->smooth_ps = trip_ps;
        flow->vary_ps = trip_ps / 2;
        return;
    }
    uint64_t off =
        trip_ps > flow->smooth_ps ? trip_ps - flow->smooth_ps : flow->smooth_ps - trip_ps;
    flow->vary_ps = (3 * flow->vary_ps + off) / 4;
    flow->smooth_ps = (7 * flow->smooth_ps + trip_ps) / 8;
}

// ---- sending ----

// When the packet that entered a port of its sender's begins to leave.
static uint64_t next_turn_ps(const struct packet_engine *engine, const struct packet_flow *flow,
                             uint32_t link, uint32_t id)
{
    if (engine->ports.queues == NULL) {
        double serial_ps = engine->packets[id].bytes * engine->links[link].ps_per_byte;
        return flow->left_ps - (uint64_t)(serial_ps + 0.5);
    }
    return packet_queue_keeps(engine, link, id) ? WEFT_NEVER : engine->clock.now_ps;
}

static void transmit(struct packet_engine *engine, uint32_t id, uint32_t sequence, uint32_t flags)
{
    struct packet_flow *flow = &engine->flows[id];
    uint32_t packet_id = packet_take(engine);
    struct packet *packet = &engine->packets[packet_id];
    packet->generation = flow->generation;
    packet->sent_ps = engine->clock.now_ps;
    packet->flow = id;
    packet->sequence = sequence;
    packet->hop = flow->data_hop;
    if (engine->sprays != NULL) {
        packet->way = packet_spray_way(engine, id);
        packet->hop += packet->way * engine->way_stride;
        packet_spray_sent(engine, id);
    }
    packet->bytes = (uint16_t)packet_stream_bytes(engine, flow, sequence);
    packet->flags = (uint16_t)(PACKET_OWN | flags | flow->priority << PACKET_PRIORITY_SHIFT);
    if (sequence == WEFT_NONE) {
        packet->bytes = (uint16_t)(engine->header_bytes > 0 ? engine->header_bytes : 1);
    }
    engine->counts.packets++;
    uint32_t link = engine->hops[packet->hop];
    packet_enter(engine, packet_id);
    flow->left_ps = engine->clock.now_ps + own_backlog_ps(engine, link);
    if (!engine->options->own_at_once) {
        flow->turn_ps = next_turn_ps(engine, flow, link, packet_id);
    }
}

// What to send again first, then what was never sent; WEFT_NONE if nothing may go.
static uint32_t choose(struct packet_engine *engine, struct packet_flow *flow)
{
    if (flow->cuts.count > 0) {
        return packet_take_cut(engine, flow);
    }
    if (flow->lost_from < flow->acknowledged.low) {
        flow->lost_from = flow->acknowledged.low;
    }
    while (flow->lost_from < flow->lost_until) {
        uint32_t sequence = flow->lost_from++;
        if (!packet_has_come(engine, &flow->acknowledged, sequence)) {
            return sequence;
        }
    }
    uint32_t limit = engine->options->window_limit_packets;
    if (flow->next < flow->total && flow->next - flow->acknowledged.low < limit) {
        return flow->next++;
    }
    return WEFT_NONE;
}

// Files the instant when the next packet may go, if there is one to send.
static void wait_pace(struct packet_engine *engine, uint32_t id, uint64_t at_ps)
{
    struct packet_flow *flow = &engine->flows[id];
    bool more =
        flow->lost_from < flow->lost_until || flow->next < flow->total || flow->cuts.count > 0;
    if (!flow->is_paced && more && at_ps != WEFT_NEVER) {
        flow->is_paced = true;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_PACE << CLOCK_KIND_SHIFT | id, at_ps);
    }
}

bool packet_is_held(struct packet_engine *engine, uint32_t id)
{
    const struct packet_flow *flow = &engine->flows[id];
    uint64_t from_ps = flow->pace_ps > flow->turn_ps ? flow->pace_ps : flow->turn_ps;
    if (from_ps <= engine->clock.now_ps) {
        return false;
    }
    wait_pace(engine, id, from_ps);
    return true;
}

void packet_turn(struct packet_engine *engine, const struct packet *packet)
{
    struct packet_flow *flow = &engine->flows[packet->flow];
    if (packet->generation == flow->generation && flow->turn_ps == WEFT_NEVER) {
        flow->turn_ps = engine->clock.now_ps;
        wait_pace(engine, packet->flow, flow->turn_ps);
    }
}

void packet_send(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    if (engine->transport.is_pulled) {
        packet_pull_send(engine, id);
        return;
    }
    while (flow->in_flight + 1 <= flow->window || flow->in_flight == 0) {
        if (packet_is_held(engine, id)) {
            return;
        }
        uint32_t before = flow->next;
        uint32_t sequence = choose(engine, flow);
        if (sequence == WEFT_NONE) {
            return;
        }
        bool again = sequence < before;
        engine->counts.retransmits += again;
        flow->resent_count += again;
        if (engine->transport.sent != NULL) {
            if (flow->in_flight == 0) { // it may have waited longer than a timeout
                packet_set_timer(engine, id);
            }
            engine->transport.sent(engine, flow, packet_stream_bytes(engine, flow, sequence));
        }
        flow->in_flight++;
        transmit(engine, id, sequence, again ? PACKET_RESENT : 0);
    }
}

void packet_retransmit_timer(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->timer_filed = false;
    if (!flow->is_open || flow->acknowledged.low == flow->total) {
        return;
    }
    if (flow->in_flight == 0 && flow->pace_ps > engine->clock.now_ps) {
        return; // the next packet sets the timer
    }
    // What waits in the sender's own port is not under way yet.
    uint64_t least_ps = flow->left_ps + timeout_ps(engine, flow);
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
        transmit(engine, id, WEFT_NONE, PACKET_RESENT);
        packet_set_timer(engine, id);
        return;
    }
    if (engine->transport.is_pulled) {
        packet_pull_timed_out(engine, id);
        packet_set_timer(engine, id);
        return;
    }
    packet_forget_cuts(engine, flow);
    flow->in_flight = 0;
    flow->lost_from = flow->acknowledged.low;
    flow->lost_until = flow->next;
    flow->recover = flow->next;
    engine->transport.timed_out(engine, flow);
    packet_send(engine, id);
    packet_set_timer(engine, id);
}

// ---- acknowledgements ----

// Once a window.
static void begin_recovery(struct packet_engine *engine, struct packet_flow *flow)
{
    if (flow->acknowledged.low >= flow->recover) {
        flow->recover = flow->next;
        flow->in_recovery = true;
        engine->transport.lost(engine, flow);
    }
}

// Packets that are lost by now leave the count of those in flight; they are sent again in order.
static void find_lost(struct packet_engine *engine, struct packet_flow *flow, uint32_t until)
{
    if (until <= flow->acknowledged.low) {
        return;
    }
    uint32_t from =
        flow->lost_until > flow->acknowledged.low ? flow->lost_until : flow->acknowledged.low;
    uint32_t lost = 0;
    for (uint32_t sequence = from; sequence < until; sequence++) {
        lost += !packet_has_come(engine, &flow->acknowledged, sequence);
    }
    if (until > flow->lost_until) {
        if (flow->lost_from >= flow->lost_until) {
            flow->lost_from = from;
        }
        flow->lost_until = until;
    }
    if (lost > 0) {
        flow->in_flight -= lost < flow->in_flight ? lost : flow->in_flight;
        begin_recovery(engine, flow);
    }
}

// A packet came as its header: it goes again at once.
static void take_cut(struct packet_engine *engine, struct packet_flow *flow, uint32_t sequence)
{
    if (!packet_note_cut(engine, flow, sequence)) {
        return;
    }
    flow->in_flight -= flow->in_flight > 0;
    if (engine->transport.trimmed != NULL) {
        engine->transport.trimmed(engine, flow);
    } else {
        begin_recovery(engine, flow);
    }
}

// Of a run in parts: all is acknowledged.
static void close_sender(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    packet_release_bits(engine, &flow->acknowledged);
    packet_forget_cuts(engine, flow);
    flow->is_open = false;
    packet_post_closed(engine, id);
}

static void take_acknowledgement(struct packet_engine *engine, const struct packet *packet)
{
    uint32_t id = packet->flow;
    struct packet_flow *flow = &engine->flows[id];
    if (packet->sequence == WEFT_NONE) {
        flow->is_connected = true;
        if (engine->transport.connected != NULL) {
            engine->transport.connected(engine, flow, (packet->flags & PACKET_MARKED) != 0);
        }
        packet_send(engine, id);
        return;
    }
    bool cut = (packet->flags & PACKET_TRIMMED) != 0;
    uint32_t newly = !cut && packet_put(engine, &flow->acknowledged, packet->sequence);
    if (newly > 0 && flow->cuts.count > 0) {
        packet_forget_cut(engine, flow, packet->sequence);
    }
    while (flow->acknowledged.low < packet->cumulative) {
        packet_forget_cut(engine, flow, flow->acknowledged.low);
        packet_put(engine, &flow->acknowledged, flow->acknowledged.low);
        newly++;
    }
    if (engine->post != NULL && flow->acknowledged.low == flow->total) {
        close_sender(engine, id);
        return;
    }
    if (flow->is_stream) {
        packet_stream_acknowledged(engine, flow);
    }
    uint32_t gone = cut || newly > 0 || (packet->flags & PACKET_RESENT) == 0 ? newly : 1;
    flow->in_flight -= gone < flow->in_flight ? gone : flow->in_flight;
    if (packet->sequence + 1 > flow->highest) {
        flow->highest = packet->sequence + 1;
    }
    flow->in_recovery = flow->acknowledged.low < flow->recover;
    uint64_t trip_ps = engine->clock.now_ps - packet->sent_ps;
    if ((packet->flags & PACKET_RESENT) == 0) {
        measure_trip(flow, trip_ps);
    }
    bool noticed = (packet->flags & PACKET_NOTICED) != 0;
    if (newly > 0 || noticed) {
        flow->backoff = 0;
        flow->heard_ps = engine->clock.now_ps;
        if (engine->transport.learns) {
            packet_learn(engine, flow, newly);
        }
        const struct packet_ack ack = {.newly = newly,
                                       .sequence = packet->sequence,
                                       .marked = (packet->flags & PACKET_MARKED) != 0,
                                       .noticed = noticed,
                                       .trip_ps = trip_ps};
        engine->transport.acknowledged(engine, flow, &ack);
    }
    uint32_t reorder = engine->options->reorder_packets;
    uint32_t until = flow->highest > reorder ? flow->highest - reorder : 0;
    if (engine->sprays != NULL) {
        until = packet_spray_until(engine, id, packet->sent_ps);
        packet_spray_heed(engine, id, packet);
    }
    if (cut) {
        take_cut(engine, flow, packet->sequence);
    } else if (!engine->ports.options->trims) { // else headers tell
        find_lost(engine, flow, until);
    }
    packet_send(engine, id);
    if (newly > 0 || cut) {
        packet_set_timer(engine, id);
    }
}

// ---- the receiver ----

static void close_flow(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    engine->jobs[flow->job].acknowledged += flow->total - flow->acknowledged.low;
    packet_release_bits(engine, &flow->acknowledged);
    packet_release_bits(engine, &flow->received);
    packet_forget_cuts(engine, flow);
    engine->ended = (struct packet_end){flow->owner, flow->path_id, flow->job};
    engine->ledger = (struct packet_ledger){
        .started_ps = flow->started_ps,
        .wire_bytes = flow->last_bytes + (double)(flow->total - 1) * engine->packet_bytes,
        .packets = flow->total + flow->resent_count,
        .resent = flow->resent_count,
        .marked = flow->marked_count,
        .timeouts = flow->timeout_count,
    };
    engine->has_ended = true;
    flow->is_open = false;
    flow->generation++;
    flow->owner = engine->flow_free;
    engine->flow_free = id;
}

bool packet_send_back(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t ack_hop = engine->flows[packet->flow].ack_hop;
    packet->flags |= PACKET_ACK;
    if (ack_hop == WEFT_NONE) {
        return false;
    }
    packet->bytes = (uint16_t)engine->ack_bytes;
    packet->hop = ack_hop;
    if (engine->sprays != NULL) {
        packet->hop += packet_spray_back(engine, packet->flow);
    }
    packet->flags |= PACKET_OWN;
    packet_enter(engine, id);
    return true;
}

// Of a run in parts: the receiver's end of a message is over, once. Its sender learns of it by the
// last acknowledgement.
static void note_whole(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    if (flow->received.low == flow->total && !flow->has_come) {
        flow->has_come = true;
        packet_release_bits(engine, &flow->received);
        engine->ended = (struct packet_end){flow->owner, flow->path_id, flow->job};
        engine->post->ended_flow = id;
        engine->has_ended = true;
    }
}

static void receive(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    struct packet_flow *flow = &engine->flows[packet->flow];
    if (packet->sequence != WEFT_NONE && (packet->flags & PACKET_TRIMMED) == 0) {
        if (packet_put(engine, &flow->received, packet->sequence)) {
            bool marked = (packet->flags & PACKET_MARKED) != 0;
            engine->counts.ecn_marks += marked;
            flow->marked_count += marked;
        }
        if (engine->post != NULL) {
            note_whole(engine, packet->flow);
        } else if (flow->is_stream) {
            packet_stream_received(engine, packet->flow);
        } else if (flow->received.low == flow->total) {
            close_flow(engine, packet->flow);
            packet_drop(engine, id);
            return;
        }
    }
    packet->cumulative = flow->received.low;
    if (engine->transport.notices && (packet->flags & PACKET_MARKED) != 0 &&
        engine->clock.now_ps >= flow->notice_ps) {
        packet->flags |= PACKET_NOTICED;
        flow->notice_ps = engine->clock.now_ps + engine->options->dcqcn.notice_ps;
    }
    if (!packet_send_back(engine, id)) {
        take_acknowledgement(engine, packet);
        packet_drop(engine, id);
    }
}

void packet_deliver(struct packet_engine *engine, uint32_t id)
{
    if (engine->transport.is_pulled) {
        packet_pull_deliver(engine, id);
        return;
    }
    struct packet *packet = &engine->packets[id];
    const struct packet_flow *flow = &engine->flows[packet->flow];
    if (packet->generation != flow->generation) {
        packet_drop(engine, id);
    } else if (packet->flags & PACKET_ACK) {
        if (flow->is_open) { // in one part its packets are gone, else they may still come
            take_acknowledgement(engine, packet);
        }
        packet_drop(engine, id);
    } else {
        receive(engine, id);
    }
}

// ---- for pulled transports ----

void packet_transmit(struct packet_engine *engine, uint32_t flow, uint32_t sequence, uint32_t flags)
{
    transmit(engine, flow, sequence, flags);
}

void packet_measure_trip(struct packet_flow *flow, uint64_t trip_ps)
{
    measure_trip(flow, trip_ps);
}

void packet_close(struct packet_engine *engine, uint32_t flow)
{
    close_flow(engine, flow);
}
