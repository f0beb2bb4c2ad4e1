// SPDX-License-Identifier: Apache-2.0
// Both ends of a message: what to send, what has come, what was lost.
//
// Every packet is acknowledged by itself, with the receiver's first gap. A packet is lost when one
// reorder_packets above it has come (Mathis and Mahdavi, "Forward acknowledgement", SIGCOMM 1996;
// RFC 6675 counts likewise), or when the timer ends (RFC 6298).

#include "sequence.h"

#include <string.h>

// ---- sending ----

// What to send again first, then what was never sent; WEFT_NONE if nothing may go.
static uint32_t choose(struct packet_engine *engine, struct packet_flow *flow)
{
    if (flow->trimmed.count > 0) {
        return packet_take_trimmed(engine, flow);
    }
    if (flow->lost.from < flow->acknowledged.low) {
        flow->lost.from = flow->acknowledged.low;
    }
    while (flow->lost.from < flow->lost.until) {
        uint32_t sequence = flow->lost.from++;
        if (!packet_has_come(engine, &flow->acknowledged, sequence)) {
            return sequence;
        }
    }
    uint32_t limit = engine->options->window.limit_packets;
    if (flow->view.snd_next < flow->total && flow->view.snd_next - flow->acknowledged.low < limit) {
        return flow->view.snd_next++;
    }
    return WEFT_NONE;
}

// Sends while the window has room; with nothing in flight one packet goes in any case, so that a
// window below one packet cannot stop a flow.
static void send_window(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    while (flow->view.in_flight + 1 <= flow->view.cwnd || flow->view.in_flight == 0) {
        if (packet_is_held(engine, id)) {
            return;
        }
        uint32_t before = flow->view.snd_next;
        uint32_t sequence = choose(engine, flow);
        if (sequence == WEFT_NONE) {
            return;
        }
        bool again = sequence < before;
        engine->counts.retransmits += again;
        flow->resent_count += again;
        if (engine->congestion.on_send != NULL) {
            if (flow->view.in_flight == 0) { // it may have waited longer than a timeout
                packet_set_timer(engine, id);
            }
            engine->congestion.on_send(packet_view(engine, flow),
                                       packet_stream_bytes(engine, flow, sequence));
        }
        flow->view.in_flight++;
        packet_transmit(engine, id, sequence, again ? PACKET_RESENT : 0);
    }
}

static void time_out_window(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    packet_forget_all_trimmed(engine, flow);
    flow->view.in_flight = 0;
    flow->lost.from = flow->acknowledged.low;
    flow->lost.until = flow->view.snd_next;
    flow->view.recover = flow->view.snd_next;
    engine->congestion.on_timeout(packet_view(engine, flow));
    send_window(engine, id);
}

// ---- acknowledgements ----

// Once a window.
static void begin_recovery(struct packet_engine *engine, struct packet_flow *flow)
{
    struct packet_connection_view *view = packet_view(engine, flow);
    if (packet_enter_recovery(view)) {
        engine->congestion.on_loss(view);
    }
}

// Packets that are lost by now leave the count of those in flight; they are sent again in order.
static void find_lost(struct packet_engine *engine, struct packet_flow *flow, uint32_t until)
{
    if (until <= flow->acknowledged.low) {
        return;
    }
    uint32_t from =
        flow->lost.until > flow->acknowledged.low ? flow->lost.until : flow->acknowledged.low;
    uint32_t lost = 0;
    for (uint32_t sequence = from; sequence < until; sequence++) {
        lost += !packet_has_come(engine, &flow->acknowledged, sequence);
    }
    if (until > flow->lost.until) {
        if (flow->lost.from >= flow->lost.until) {
            flow->lost.from = from;
        }
        flow->lost.until = until;
    }
    if (lost > 0) {
        flow->view.in_flight -= lost < flow->view.in_flight ? lost : flow->view.in_flight;
        begin_recovery(engine, flow);
    }
}

// A packet came as its header: it goes again at once.
static void take_trimmed(struct packet_engine *engine, struct packet_flow *flow, uint32_t sequence)
{
    if (!packet_note_trimmed(engine, flow, sequence)) {
        return;
    }
    flow->view.in_flight -= flow->view.in_flight > 0;
    if (engine->congestion.on_trim != NULL) {
        engine->congestion.on_trim(packet_view(engine, flow));
    } else {
        begin_recovery(engine, flow);
    }
}

// Of a run in partitions: all is acknowledged, or known to have come.
void packet_window_close(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    if (!flow->is_open) {
        return;
    }
    packet_release_bits(engine, &flow->acknowledged);
    packet_forget_all_trimmed(engine, flow);
    flow->is_open = false;
    packet_mail_closed(engine, id);
}

// An acknowledgement is at its sender. In this order, since each step reads what the one before has
// set: what it acknowledges; the packets in flight; the round trip; the congestion control; what is
// lost by now; what may be sent; the timer.
static void take_acknowledgement(struct packet_engine *engine, const struct packet *packet)
{
    uint32_t id = packet->flow;
    struct packet_flow *flow = &engine->flows[id];
    if (packet->sequence == WEFT_NONE) {
        flow->is_connected = true;
        if (engine->congestion.on_connected != NULL) {
            engine->congestion.on_connected(packet_view(engine, flow),
                                            (packet->flags & PACKET_MARKED) != 0);
        }
        send_window(engine, id);
        return;
    }
    bool is_trimmed = (packet->flags & PACKET_TRIMMED) != 0;
    uint32_t newly = !is_trimmed && packet_put(engine, &flow->acknowledged, packet->sequence);
    if (newly > 0 && flow->trimmed.count > 0) {
        packet_forget_trimmed(engine, flow, packet->sequence);
    }
    while (flow->acknowledged.low < packet->cumulative) {
        packet_forget_trimmed(engine, flow, flow->acknowledged.low);
        packet_put(engine, &flow->acknowledged, flow->acknowledged.low);
        newly++;
    }
    if (engine->mailbox != NULL && flow->acknowledged.low == flow->total) {
        packet_window_close(engine, id);
        return;
    }
    if (flow->is_stream) {
        packet_stream_acknowledged(engine, flow);
    }
    uint32_t gone = is_trimmed || newly > 0 || (packet->flags & PACKET_RESENT) == 0 ? newly : 1;
    flow->view.in_flight -= gone < flow->view.in_flight ? gone : flow->view.in_flight;
    if (packet->sequence + 1 > flow->highest) {
        flow->highest = packet->sequence + 1;
    }
    flow->view.in_recovery = flow->acknowledged.low < flow->view.recover;
    uint64_t rtt_ps = engine->clock.now_ps - packet->sent_ps;
    if ((packet->flags & PACKET_RESENT) == 0) {
        packet_measure_rtt(&flow->view, rtt_ps);
    }
    bool noticed = (packet->flags & PACKET_NOTICED) != 0;
    if (newly > 0 || noticed) {
        flow->backoff = 0;
        flow->heard_ps = engine->clock.now_ps;
        if (engine->scales_growth) {
            packet_scale_growth(engine, flow, newly);
        }
        const struct packet_ack_sample sample = {.newly_acked = newly,
                                                 .is_marked = (packet->flags & PACKET_MARKED) != 0,
                                                 .is_notice = noticed,
                                                 .rtt_ps = rtt_ps};
        engine->congestion.on_ack(packet_view(engine, flow), &sample);
    }
    uint32_t reorder = engine->options->loss.reorder_packets;
    uint32_t until = flow->highest > reorder ? flow->highest - reorder : 0;
    if (engine->sprays.flows != NULL) {
        until = packet_spray_until(engine, id, packet->sent_ps);
        packet_spray_feedback(engine, id, packet);
    }
    if (is_trimmed) {
        take_trimmed(engine, flow, packet->sequence);
    } else if (engine->finds_losses) {
        find_lost(engine, flow, until);
    }
    send_window(engine, id);
    if (newly > 0 || is_trimmed) {
        packet_set_timer(engine, id);
    }
}

// ---- the receiver ----

// Of a run in partitions: the receiver's end of a message is over, once. Its sender learns of it by
// the last acknowledgement.
static void note_whole(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    if (flow->received.low == flow->total && !flow->has_come) {
        flow->has_come = true;
        packet_release_bits(engine, &flow->received);
        engine->ended = flow->end;
        engine->mailbox->ended_flow = id;
        engine->has_ended = true;
    }
}

// A packet of data, or the header that opens the connection, is at its receiver, which acknowledges
// it with the same packet. The last one of a message ends it; what is still in flight to the sender
// then has a generation that is over, and is dropped where it arrives.
static void receive(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    struct packet_flow *flow = &engine->flows[packet->flow];
    if (packet->sequence != WEFT_NONE && (packet->flags & PACKET_TRIMMED) == 0) {
        bool is_new = packet_put(engine, &flow->received, packet->sequence);
        if (is_new) {
            bool marked = (packet->flags & PACKET_MARKED) != 0;
            engine->counts.ecn_marks += marked;
            flow->marked_count += marked;
        }
        if (engine->mailbox != NULL) {
            packet_mail_came(engine, packet->flow, is_new);
            note_whole(engine, packet->flow);
        } else if (flow->is_stream) {
            packet_stream_received(engine, packet->flow);
        } else if (flow->received.low == flow->total) {
            packet_close(engine, packet->flow);
            packet_drop(engine, id);
            return;
        }
    }
    packet->cumulative = flow->received.low;
    if (engine->congestion.wants_notices && (packet->flags & PACKET_MARKED) != 0 &&
        engine->clock.now_ps >= flow->notice_ps) {
        packet->flags |= PACKET_NOTICED;
        flow->notice_ps = engine->clock.now_ps + engine->options->dcqcn.notice_ps;
    }
    if (!packet_send_back(engine, id)) {
        take_acknowledgement(engine, packet);
        packet_drop(engine, id);
    }
}

static void deliver_window(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    const struct packet_flow *flow = &engine->flows[packet->flow];
    if (packet->generation != flow->generation) {
        packet_drop(engine, id);
    } else if (packet->flags & PACKET_ACK) {
        if (flow->is_open) { // one engine has dropped its packets; with partitions they may still
                             // come
            take_acknowledgement(engine, packet);
        }
        packet_drop(engine, id);
    } else {
        receive(engine, id);
    }
}

static void open_window(struct packet_engine *engine, uint32_t id)
{
    engine->congestion.init(&engine->flows[id].view);
}

const struct packet_ends_ops packet_window_ends = {
    .open = open_window,
    .send = send_window,
    .deliver = deliver_window,
    .timed_out = time_out_window,
};
