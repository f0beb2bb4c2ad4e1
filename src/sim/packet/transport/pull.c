// SPDX-License-Identifier: Apache-2.0
// NDP (Handley et al., SIGCOMM 2017, section 3.2): the receiver pulls packets at the rate of its
// link, and the sender sends one for each pull, those trimmed first.
//
// Every link into a server has a pacer with a line of flows that want pulls. A pull costs O(1); in
// an order (pull_order) it costs a walk along the line.

#include "sim/packet/engine/sequence.h"

static void init_pulls(struct packet_engine *engine, uint32_t link_count)
{
    engine->pulls.flows = WEFT_NEW_RAW(engine->arena, struct packet_pull, engine->flow_ids.room);
    engine->pulls.pacers = WEFT_NEW_RAW(engine->arena, struct packet_pacer, link_count);
    for (uint32_t link = 0; link < link_count; link++) {
        engine->pulls.pacers[link] = (struct packet_pacer){WEFT_NONE, WEFT_NONE, 0};
    }
}

static uint32_t order_of(const struct packet_engine *engine, const struct packet_flow *flow)
{
    const struct weft_packet_options *options = engine->options;
    if (options->pull.order == NULL) {
        return 0;
    }
    return flow->end.owner < options->pull.count ? options->pull.order[flow->end.owner] : WEFT_NONE;
}

// A slot's line may still hold it from the message before: it stays there, wanting nothing.
static void open_pull(struct packet_engine *engine, uint32_t id)
{
    const struct packet_flow *flow = &engine->flows[id];
    struct packet_pull *pull = &engine->pulls.flows[id];
    uint32_t window = engine->options->window.initial_packets;
    bool is_waiting = flow->generation > 0 && pull->is_waiting;
    uint32_t next = is_waiting ? pull->next : WEFT_NONE;
    *pull = (struct packet_pull){.next = next,
                                 .allowed = window < flow->total ? window : flow->total,
                                 .needed = flow->total,
                                 .order = order_of(engine, flow),
                                 .credit = window,
                                 .is_waiting = is_waiting};
}

// ---- the sender ----

// What was trimmed first, then what was never sent.
static uint32_t choose(struct packet_engine *engine, struct packet_flow *flow)
{
    uint32_t sequence = packet_take_trimmed(engine, flow);
    uint32_t sent = flow->view.snd_next - flow->acknowledged.low;
    if (sequence == WEFT_NONE && flow->view.snd_next < flow->total &&
        sent < engine->options->window.limit_packets) {
        return flow->view.snd_next++;
    }
    return sequence;
}

static void send_pulled(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    struct packet_pull *pull = &engine->pulls.flows[id];
    while (pull->credit > 0 && !packet_is_held(engine, id)) {
        uint32_t before = flow->view.snd_next;
        uint32_t sequence = choose(engine, flow);
        if (sequence == WEFT_NONE) {
            return;
        }
        pull->credit--;
        bool again = sequence < before;
        engine->counts.retransmits += again;
        packet_transmit(engine, id, sequence, again ? PACKET_RESENT : 0);
    }
}

// Nothing was heard for long: headers were lost, too. All that is not acknowledged goes again, and
// as much at once as at the start.
static void time_out_pulled(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    struct packet_pull *pull = &engine->pulls.flows[id];
    uint32_t window = engine->options->window.initial_packets;
    for (uint32_t sequence = flow->acknowledged.low; sequence < flow->view.snd_next; sequence++) {
        packet_note_trimmed(engine, flow, sequence);
    }
    pull->credit = pull->credit > window ? pull->credit : window;
    send_pulled(engine, id);
}

// An acknowledgement, a header's, or a pull is at the sender.
static void take_answer(struct packet_engine *engine, const struct packet *packet)
{
    uint32_t id = packet->flow;
    struct packet_flow *flow = &engine->flows[id];
    flow->backoff = 0;
    if (packet->flags & PACKET_PULL) {
        engine->pulls.flows[id].credit++;
    } else if (packet->flags & PACKET_TRIMMED) {
        packet_note_trimmed(engine, flow, packet->sequence);
    } else {
        packet_put(engine, &flow->acknowledged, packet->sequence);
        packet_forget_trimmed(engine, flow, packet->sequence);
        if ((packet->flags & PACKET_RESENT) == 0) {
            packet_measure_rtt(&flow->view, engine->clock.now_ps - packet->sent_ps);
        }
    }
    while (flow->acknowledged.low < packet->cumulative) {
        packet_forget_trimmed(engine, flow, flow->acknowledged.low);
        packet_put(engine, &flow->acknowledged, flow->acknowledged.low);
    }
    send_pulled(engine, id);
    packet_set_timer(engine, id);
}

// ---- the receiver ----

// Sends what a packet has become back to its sender.
static void answer(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    const struct packet_flow *flow = &engine->flows[packet->flow];
    packet->cumulative = flow->received.low;
    if (!packet_send_back(engine, id)) {
        take_answer(engine, packet);
        packet_drop(engine, id);
    }
}

static void join_line(struct packet_engine *engine, uint32_t link, uint32_t flow)
{
    struct packet_pacer *pacer = &engine->pulls.pacers[link];
    engine->pulls.flows[flow].next = WEFT_NONE;
    engine->pulls.flows[flow].is_waiting = true;
    if (pacer->last != WEFT_NONE) {
        engine->pulls.flows[pacer->last].next = flow;
        pacer->last = flow;
        return;
    }
    pacer->first = flow;
    pacer->last = flow;
    uint64_t now_ps = engine->clock.now_ps;
    clock_file(&engine->clock, (uint32_t)PACKET_EVENT_PULL << CLOCK_KIND_SHIFT | link,
               pacer->next_ps > now_ps ? pacer->next_ps : now_ps);
}

// Takes out of the line who is pulled next. In an order: O(those that wait).
static uint32_t leave_line(struct packet_engine *engine, struct packet_pacer *pacer)
{
    struct packet_pull *pulls = engine->pulls.flows;
    uint32_t flow = pacer->first;
    uint32_t before = WEFT_NONE;
    if (engine->options->pull.order != NULL) {
        for (uint32_t last = flow; pulls[last].next != WEFT_NONE; last = pulls[last].next) {
            if (pulls[pulls[last].next].order < pulls[flow].order) {
                before = last;
                flow = pulls[last].next;
            }
        }
    }
    uint32_t behind = pulls[flow].next;
    if (before == WEFT_NONE) {
        pacer->first = behind;
    } else {
        pulls[before].next = behind;
    }
    if (behind == WEFT_NONE) {
        pacer->last = before;
    }
    pulls[flow].is_waiting = false;
    return flow;
}

// One packet more may come, if one more has to.
static void want(struct packet_engine *engine, uint32_t flow, uint32_t link)
{
    struct packet_pull *pull = &engine->pulls.flows[flow];
    if (pull->allowed >= pull->needed) {
        return;
    }
    pull->allowed++;
    pull->wanted++;
    pull->link = link;
    if (!pull->is_waiting) {
        join_line(engine, link, flow);
    }
}

static void send_pull(struct packet_engine *engine, uint32_t flow_id)
{
    const struct packet_flow *flow = &engine->flows[flow_id];
    uint32_t id = packet_take(engine);
    struct packet *packet = &engine->packets[id];
    packet->generation = flow->generation;
    packet->sent_ps = engine->clock.now_ps;
    packet->flow = flow_id;
    packet->sequence = WEFT_NONE;
    packet->flags = (uint16_t)(PACKET_PULL | flow->priority << PACKET_PRIORITY_SHIFT);
    answer(engine, id);
}

// A receiver's link may send a pull: the first flow in the pacer's line sends one and goes to the
// line's end if it wants more. Pulls are a full packet's time apart, so that what they call for
// fills the link and no more. Flows that have gone, or whose last link is another now, are passed
// over.
void packet_pull_event(struct packet_engine *engine, uint32_t link)
{
    struct packet_pacer *pacer = &engine->pulls.pacers[link];
    bool sent = false;
    while (!sent && pacer->first != WEFT_NONE) {
        uint32_t flow = leave_line(engine, pacer);
        struct packet_pull *pull = &engine->pulls.flows[flow];
        if (pull->wanted == 0) {
            continue;
        }
        if (pull->link == link) {
            pull->wanted--;
            sent = true;
            double serial_ps = engine->setting.packet_bytes * engine->links[link].ps_per_byte;
            pacer->next_ps = engine->clock.now_ps + (uint64_t)(serial_ps + 0.5);
            send_pull(engine, flow);
        }
        if (pull->wanted > 0 && !pull->is_waiting) {
            bool alone = pull->link == link && pacer->first == WEFT_NONE;
            join_line(engine, pull->link, flow);
            if (alone) {
                return; // that filed the next event
            }
        }
    }
    if (pacer->first != WEFT_NONE) {
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_PULL << CLOCK_KIND_SHIFT | link,
                   pacer->next_ps);
    }
}

static void close_pulled(struct packet_engine *engine, uint32_t id)
{
    engine->pulls.flows[id].wanted = 0;
    packet_close(engine, id);
}

static void deliver_pulled(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t flow_id = packet->flow;
    struct packet_flow *flow = &engine->flows[flow_id];
    if (packet->generation != flow->generation) {
        packet_drop(engine, id);
        return;
    }
    if (packet->flags & PACKET_ACK) {
        take_answer(engine, packet);
        packet_drop(engine, id);
        return;
    }
    if (packet->flags & PACKET_TRIMMED) {
        bool is_new = !packet_has_come(engine, &flow->received, packet->sequence);
        engine->pulls.flows[flow_id].needed += is_new;
    } else if (packet_put(engine, &flow->received, packet->sequence)) {
        engine->counts.ecn_marks += (packet->flags & PACKET_MARKED) != 0;
    }
    if (flow->received.low == flow->total) {
        close_pulled(engine, flow_id);
        packet_drop(engine, id);
        return;
    }
    want(engine, flow_id, engine->hops[packet->hop - 1]);
    answer(engine, id);
}

static bool ndp_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_packet_options *packet = options->packet;
    if (packet->handshake) {
        return weft_fail(error, WEFT_INPUT,
                         "ndp: its first window goes at once; leave the handshake out");
    }
    if (options->persistent) {
        return weft_fail(error, WEFT_INPUT,
                         "ndp: every message is its own connection; leave persistent ones out");
    }
    return true;
}

static const struct packet_ends_ops pulled_ends = {
    .init = init_pulls,
    .open = open_pull,
    .send = send_pulled,
    .deliver = deliver_pulled,
    .timed_out = time_out_pulled,
};

const struct packet_congestion_ops packet_ndp_ops = {
    .name = "ndp",
    .check = ndp_check,
    .ends = &pulled_ends,
};
