// SPDX-License-Identifier: Apache-2.0
// MLT (NSDI 2024; DLCP): a message's packets are sprayed in any order, ports drop unimportant ones
// where they mark important ones, and the message ends when its receiver misses no more than the
// bound. weft/mlt.h has the state machine, its sources and its rate control; docs/transports.md
// says what of the paper is played.
//
// Which packets are unimportant comes from a hash of each, so that both classes mix in every port
// at every instant: then unimportant packets cover an overload of up to their share. For the same
// reason the first pass is in one order; what goes again goes important ones first. O(1) for each
// packet, O(packets / 8) for each bitmap.

#include "mlt.h"

#include "sim/packet/engine/engine.h"

#include <math.h>
#include <string.h>

// Trips of an empty path. From the last packet to the first PROBE: one, by which sprayed packets
// may differ. To a PROBE's repetition: four at least, and as the trips measured say; 256 at most.
#define LINGER_TRIPS 1u
#define PROBE_TRIPS 4u
#define PROBE_MAX_TRIPS 256u
// A link that loses less than all is not given up within it: with every link of a path losing half,
// one PROBE in 256 is answered, of 390,000 that go over a path of 10 us.
#define PATIENCE_PS (1000 * WEFT_PS_PER_S)
// Repetitions in a row that count as silence of the path and halve the rate. A PROBE that a full
// port lost is none: from none on to three the tail of incasts falls from 1.21 to 1.17 of what the
// port takes for nine tenths of the bytes (geometric mean of the 12 incasts of docs/mlt.md, four
// seeds), and no further.
#define SILENT_REPEATS 3u
// The slowest rate, in packets a trip: a thousand senders of one port send less than it carries.
#define RATE_MIN_PACKETS (1.0 / 64)

static const uint32_t answer_kinds = PACKET_STOP | PACKET_BITMAP | PACKET_REPORT;

static const struct weft_link *last_link(const struct packet_engine *engine,
                                         const struct packet_flow *flow)
{
    uint32_t last = flow->data_hop;
    while (engine->hops[last + 1] != WEFT_NONE) {
        last++;
    }
    return &engine->ports.fabric->links[engine->hops[last]];
}

static void init_mlts(struct packet_engine *engine, uint32_t link_count)
{
    (void)link_count;
    const struct weft_pull_options *order = &engine->options->pull;
    struct packet_mlts *mlts = WEFT_NEW(engine->arena, struct packet_mlts, 1);
    mlts->flows = WEFT_NEW(engine->arena, struct packet_mlt, engine->flow_ids.room);
    mlts->first = WEFT_NONE;
    mlts->last = WEFT_NONE;
    mlts->layer_count = 1;
    mlts->budgets = WEFT_NEW(engine->arena, struct weft_mlt_budget *, 1); // packet_mlt_jobs
    packet_step_init(mlts, engine->arena);
    for (uint32_t i = 0; order->order != NULL && i < order->count; i++) {
        if (order->order[i] != WEFT_NONE && order->order[i] >= mlts->layer_count) {
            mlts->layer_count = order->order[i] + 1;
        }
    }
    engine->mlts = mlts;
}

void packet_mlt_next(struct packet_engine *engine, struct packet_mlt_traits traits)
{
    if (engine->mlts != NULL) {
        engine->mlts->next = traits;
    }
}

// ---- budgets ----

void packet_mlt_jobs(struct packet_engine *engine, uint32_t job_count)
{
    if (engine->mlts != NULL) {
        engine->mlts->budgets = WEFT_NEW(engine->arena, struct weft_mlt_budget *, job_count);
    }
}

void packet_mlt_iteration(struct packet_engine *engine, uint32_t job)
{
    if (engine->mlts != NULL && engine->mlts->budgets[job] != NULL) {
        memset(engine->mlts->budgets[job], 0,
               engine->ports.fabric->server_count * sizeof(struct weft_mlt_budget));
    }
}

// What a message's receiver may still miss of its job in this iteration: a share of all that has
// begun, so that it grows with each message. NULL: each message's bound is all.
static struct weft_mlt_budget *take_budget(const struct packet_engine *engine,
                                           const struct packet_flow *flow,
                                           const struct weft_mlt_tensor *tensor)
{
    double ratio = engine->options->mlt.budget_ratio;
    if (ratio >= 1) {
        return NULL;
    }
    struct weft_mlt_budget **of_job = &engine->mlts->budgets[flow->end.job];
    if (*of_job == NULL) {
        *of_job =
            WEFT_NEW(engine->arena, struct weft_mlt_budget, engine->ports.fabric->server_count);
    }
    struct weft_mlt_budget *budget = &(*of_job)[last_link(engine, flow)->to];
    budget->limit_bytes += weft_mlt_bound_bytes(ratio, weft_mlt_tensor_bytes(tensor));
    return budget;
}

// ---- slots ----

static void list_come(struct packet_mlts *mlts, uint32_t id)
{
    struct packet_mlt *mlt = &mlts->flows[id];
    mlt->has_come = true;
    mlt->before = mlts->last;
    mlt->behind = WEFT_NONE;
    if (mlts->last == WEFT_NONE) {
        mlts->first = id;
    } else {
        mlts->flows[mlts->last].behind = id;
    }
    mlts->last = id;
}

static void free_slot(struct packet_engine *engine, uint32_t id)
{
    struct packet_mlts *mlts = engine->mlts;
    struct packet_mlt *mlt = &mlts->flows[id];
    WEFT_ASSERT(mlt->has_come);
    if (mlt->before == WEFT_NONE) {
        mlts->first = mlt->behind;
    } else {
        mlts->flows[mlt->before].behind = mlt->behind;
    }
    if (mlt->behind == WEFT_NONE) {
        mlts->last = mlt->before;
    } else {
        mlts->flows[mlt->behind].before = mlt->before;
    }
    packet_free_flow(engine, id);
}

// The message that came first gives its slot away, though its STOP may not be at its sender.
static void retire_mlt(struct packet_engine *engine)
{
    if (engine->mlts->first != WEFT_NONE) {
        free_slot(engine, engine->mlts->first);
    }
}

// ---- a message begins ----

static struct weft_mlt_tensor tensor_of(const struct packet_engine *engine,
                                        const struct packet_flow *flow)
{
    uint32_t header_bytes = engine->setting.header_bytes;
    uint32_t last_bytes = (uint32_t)flow->last_bytes;
    struct weft_mlt_tensor tensor = {
        .layer = flow->priority,
        .segment_count = flow->total,
        .segment_bytes = engine->setting.packet_bytes - header_bytes,
        .last_bytes = last_bytes > header_bytes ? last_bytes - header_bytes : 1,
    };
    if (!engine->mlts->next.is_protected) {
        tensor.bound_bytes =
            weft_mlt_bound_bytes(engine->options->mlt.loss_bound, weft_mlt_tensor_bytes(&tensor));
    }
    return tensor;
}

// A queue for each share of the layers: those of a job's messages, or else of a list of flows whose
// messages have an order (pull.order), the first ones the front layers'. Without either the queue
// is that which the priorities of the options say.
static void choose_queue(const struct packet_engine *engine, struct packet_flow *flow)
{
    const struct weft_port_options *port = engine->ports.options;
    const struct weft_pull_options *order = &engine->options->pull;
    const struct packet_mlt_traits *traits = &engine->mlts->next;
    uint32_t queues = engine->options->mlt.queue_count;
    if (queues > 0 && traits->layer_count > 0) {
        flow->priority = weft_mlt_queue(queues, traits->layer, traits->layer_count);
        return;
    }
    queues = queues > 0 ? queues : port->priority_count;
    if (order->order == NULL || port->priority != NULL || queues == 0) {
        return;
    }
    uint32_t owner = flow->end.owner;
    uint32_t last = engine->mlts->layer_count - 1;
    uint32_t layer = owner < order->count ? order->order[owner] : last;
    flow->priority = weft_mlt_queue(queues, layer < last ? layer : last, last + 1);
}

static void open_rate(struct packet_mlt *mlt, const struct packet_engine *engine,
                      const struct packet_flow *flow)
{
    double trip_s = weft_seconds(flow->view.empty_rtt_ps > 0 ? flow->view.empty_rtt_ps : 1);
    double packet_Bps = engine->setting.packet_bytes / trip_s;
    double high_Bps = (double)WEFT_PS_PER_S / flow->view.ps_per_byte;
    double low_Bps = fmin(RATE_MIN_PACKETS * packet_Bps, high_Bps);
    weft_mlt_rate_open(&mlt->rate, low_Bps, high_Bps, fmin(packet_Bps, high_Bps));
}

static void open_mlt(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    struct packet_mlt *mlt = &engine->mlts->flows[id];
    uint64_t trip_ps = flow->view.empty_rtt_ps;
    choose_queue(engine, flow);
    uint8_t *bits = mlt->bits;
    uint32_t bits_room = mlt->bits_room;
    uint32_t bits_bytes = (uint32_t)weft_mlt_bitmap_bytes(flow->total);
    if (bits_bytes > bits_room) {
        bits_room = bits_bytes < bits_room * 2 ? bits_room * 2 : bits_bytes;
        bits = WEFT_NEW_RAW(engine->arena, uint8_t, 4 * (size_t)bits_room);
    }
    *mlt = (struct packet_mlt){
        .bits = bits,
        .bits_room = bits_room,
        .due_ps = WEFT_NEVER,
        .tensor = tensor_of(engine, flow),
        .step = {.epoch = flow->generation,
                 .cookie = weft_hash(engine->ports.seed ^ id),
                 .limits = {.linger_ps = LINGER_TRIPS * trip_ps,
                            .probe_ps = PROBE_TRIPS * trip_ps,
                            .probe_max_ps = PROBE_MAX_TRIPS * trip_ps,
                            .patience_ps = PATIENCE_PS}},
    };
    uint32_t part_bytes = mlt->tensor.segment_bytes > WEFT_MLT_BITMAP_HEAD_BYTES
                              ? mlt->tensor.segment_bytes - WEFT_MLT_BITMAP_HEAD_BYTES
                              : 1;
    mlt->step.limits.bitmap_bytes = part_bytes;
    flow->lost.until = 1; // there is always more to send, until the STOP: packet_wait_to_send
    open_rate(mlt, engine, flow);
    weft_mlt_sender_open(&mlt->sender, &mlt->step, &mlt->tensor, NULL, bits);
    weft_mlt_receiver_open(&mlt->receiver, &mlt->step, &mlt->tensor,
                           take_budget(engine, flow, &mlt->tensor), bits + bits_room,
                           engine->clock.now_ps);
}

// ---- the sender ----

static void file_timer(struct packet_engine *engine, uint32_t id, uint64_t due_ps)
{
    struct packet_mlt *mlt = &engine->mlts->flows[id];
    if (due_ps < mlt->due_ps) {
        mlt->due_ps = due_ps;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_RETRANSMIT << CLOCK_KIND_SHIFT | id,
                   due_ps);
    }
}

// Of a tensor of which nothing may be missing all packets are important.
static bool is_droppable(const struct packet_engine *engine, uint32_t id, uint32_t segment)
{
    uint64_t key = (uint64_t)engine->flows[id].end.owner << 32 | segment;
    double chance = (double)(weft_hash(engine->ports.seed ^ weft_hash(key)) >> 11) * 0x1p-53;
    return engine->mlts->flows[id].tensor.bound_bytes > 0 &&
           chance < engine->options->mlt.unimportant_ratio;
}

static void send_data(struct packet_engine *engine, uint32_t id,
                      const struct weft_mlt_message *message)
{
    struct packet_flow *flow = &engine->flows[id];
    const struct packet_mlt *mlt = &engine->mlts->flows[id];
    uint32_t flags = is_droppable(engine, id, message->segment) ? PACKET_DROPPABLE : 0;
    if (message->resent) {
        engine->counts.retransmits++;
        flow->resent_count++;
        flags |= PACKET_RESENT;
    }
    double bytes = packet_stream_bytes(engine, flow, message->segment);
    flow->view.next_send_ps =
        engine->clock.now_ps + (uint64_t)(bytes / mlt->rate.rate_Bps * (double)WEFT_PS_PER_S);
    packet_step_sent(engine->mlts, packet_step_kind(flags), (uint32_t)bytes, engine->clock.now_ps);
    packet_transmit_with(engine, id, message->segment, flags, 0);
}

static void send_probe(struct packet_engine *engine, uint32_t id,
                       const struct weft_mlt_message *message)
{
    struct packet_flow *flow = &engine->flows[id];
    struct packet_mlt *mlt = &engine->mlts->flows[id];
    if (mlt->sender.asked_ps != engine->clock.now_ps) { // asked again: nobody answered
        engine->counts.timeouts++;
        flow->timeout_count++;
        if (++mlt->repeats >= SILENT_REPEATS) {
            weft_mlt_rate_silent(&mlt->rate);
        }
    }
    packet_step_sent(engine->mlts, WEFT_STEP_PROBE, engine->setting.header_bytes,
                     engine->clock.now_ps);
    packet_transmit_with(engine, id, flow->total + message->segment, PACKET_PROBE, message->round);
}

// The machine has lost its patience with a message: the run ends, and says with which.
static void give_up(struct packet_engine *engine, uint32_t id)
{
    const struct packet_flow *flow = &engine->flows[id];
    const struct weft_link *links = engine->ports.fabric->links;
    weft_wrap(&engine->mlts->given_up,
              "message %u, from server %u to server %u, is given up after %.9g s", flow->end.owner,
              links[engine->hops[flow->data_hop]].from, last_link(engine, flow)->to,
              weft_seconds(engine->clock.now_ps));
    engine->is_stuck = true;
    engine->has_ended = true;
}

// Sends what the machine has, at the pace of its rate; a timer wakes it for its PROBEs.
static void send_mlt(struct packet_engine *engine, uint32_t id)
{
    struct packet_mlt *mlt = &engine->mlts->flows[id];
    while (!packet_is_held(engine, id)) {
        uint64_t due_ps = weft_mlt_sender_due_ps(&mlt->sender);
        if (due_ps > engine->clock.now_ps) {
            file_timer(engine, id, due_ps);
            return;
        }
        struct weft_mlt_message message;
        if (!weft_mlt_sender_next(&message, &mlt->sender, engine->clock.now_ps,
                                  &engine->mlts->given_up)) {
            give_up(engine, id);
            return;
        }
        if (message.kind == WEFT_MLT_DATA) {
            send_data(engine, id, &message);
        } else {
            send_probe(engine, id, &message);
        }
    }
}

static void wake_mlt(struct packet_engine *engine, uint32_t id)
{
    engine->mlts->flows[id].due_ps = WEFT_NEVER;
    send_mlt(engine, id);
}

static uint32_t part_count(const struct packet_mlt *mlt, uint32_t segment)
{
    uint64_t most = 8 * (uint64_t)mlt->step.limits.bitmap_bytes;
    uint32_t left = mlt->tensor.segment_count - segment;
    return left < most ? left : (uint32_t)most;
}

// An answer's round trip sets when a PROBE is repeated, as it sets RFC 6298's timeout: behind full
// ports a trip takes many times that of an empty path, and a PROBE repeated before its answer can
// be here says nothing.
static void take_trip(struct packet_engine *engine, struct packet_mlt *mlt,
                      const struct packet *packet)
{
    struct packet_connection_view *view = &engine->flows[packet->flow].view;
    struct weft_mlt_limits *limits = &mlt->step.limits;
    packet_measure_rtt(view, engine->clock.now_ps - packet->sent_ps);
    uint64_t probe_ps = view->srtt_ps + 4 * view->rttvar_ps;
    uint64_t least_ps = PROBE_TRIPS * view->empty_rtt_ps;
    probe_ps = probe_ps > least_ps ? probe_ps : least_ps;
    limits->probe_ps = probe_ps < limits->probe_max_ps ? probe_ps : limits->probe_max_ps;
    mlt->repeats = 0;
}

// What is missing goes again, important packets first, so that a STOP leaves the others unsent.
// Where more is missing than twice the bound a port is overloaded, and the classes stay mixed as in
// the first pass: important packets alone would be lost there (tails of 64 senders of 256 kB at 100
// Gbit/s: 1.33 of what the port takes for nine tenths of the bytes, mixed 1.06).
static void order_resends(struct packet_engine *engine, uint32_t id)
{
    struct packet_mlt *mlt = &engine->mlts->flows[id];
    uint32_t count = mlt->tensor.segment_count;
    if (mlt->sender.missing > 2 * engine->options->mlt.loss_bound * count) {
        weft_mlt_sender_order(&mlt->sender, NULL);
        return;
    }
    uint8_t *important = mlt->bits + 3 * (size_t)mlt->bits_room;
    memset(important, 0, weft_mlt_bitmap_bytes(count));
    for (uint32_t segment = 0; segment < count; segment++) {
        uint32_t bit = is_droppable(engine, id, segment) ? 0 : 1u << segment % 8;
        important[segment / 8] = (uint8_t)(important[segment / 8] | bit);
    }
    weft_mlt_sender_order(&mlt->sender, important);
}

// A STOP, BITMAP or REPORT is at the sender.
static void take_answer(struct packet_engine *engine, const struct packet *packet)
{
    uint32_t id = packet->flow;
    struct packet_mlt *mlt = &engine->mlts->flows[id];
    struct weft_mlt_message message = {.epoch = mlt->step.epoch, .cookie = mlt->step.cookie};
    take_trip(engine, mlt, packet);
    if (packet->flags & PACKET_REPORT) {
        message.kind = WEFT_MLT_REPORT;
        message.received = packet->sequence;
        message.marked = packet->cumulative;
        // One a round trip, as DCTCP reduces once a window: what was sent at the rate before is
        // still to be reported. Counts are sums, so that those between are not missed.
        uint64_t now_ps = engine->clock.now_ps;
        if (now_ps >= mlt->heed_ps) {
            weft_mlt_rate_report(&mlt->rate, &message);
            mlt->heed_ps = now_ps + (now_ps - packet->sent_ps);
        }
    } else if (packet->flags & PACKET_STOP) {
        message.kind = WEFT_MLT_STOP;
        weft_mlt_sender_take(&mlt->sender, &message, engine->clock.now_ps);
        free_slot(engine, id);
        return;
    } else {
        message.kind = WEFT_MLT_BITMAP;
        message.segment = packet->sequence;
        message.round = packet->cumulative;
        message.count = part_count(mlt, message.segment);
        message.data_bytes = (uint32_t)weft_mlt_bitmap_bytes(message.count);
        message.data = mlt->bits + 2 * (size_t)mlt->bits_room + message.segment / 8;
        enum weft_mlt_verdict verdict =
            weft_mlt_sender_take(&mlt->sender, &message, engine->clock.now_ps);
        if (verdict == WEFT_MLT_NEW && mlt->sender.state == WEFT_MLT_RESENDING) {
            order_resends(engine, id);
            weft_mlt_rate_lost(&mlt->rate, (double)mlt->sender.missing / mlt->tensor.segment_count,
                               engine->options->mlt.loss_bound);
        }
    }
    send_mlt(engine, id);
}

// ---- the receiver ----

// The message has come as far as it must: it ends, and what of it came is counted.
static void end_message(struct packet_engine *engine, uint32_t id)
{
    const struct packet_flow *flow = &engine->flows[id];
    const struct packet_mlt *mlt = &engine->mlts->flows[id];
    double of_bytes = (double)weft_mlt_tensor_bytes(&mlt->tensor);
    double bytes = of_bytes - (double)mlt->receiver.missing_bytes;
    double least = engine->counts.delivered.min_ratio;
    engine->counts.delivered.bytes += bytes;
    engine->counts.delivered.of_bytes += of_bytes;
    engine->counts.delivered.min_ratio =
        least > 0 && least < bytes / of_bytes ? least : bytes / of_bytes;
    list_come(engine->mlts, id);
    engine->ended = flow->end;
    engine->ledger = (struct packet_ledger){
        .started_ps = flow->started_ps,
        .wire_bytes = flow->last_bytes + (double)(flow->total - 1) * engine->setting.packet_bytes,
        .packets = mlt->sender.sent + mlt->sender.resent,
        .resent = mlt->sender.resent,
        .marked = flow->marked_count,
        .timeouts = flow->timeout_count,
    };
    engine->has_ended = true;
}

// Sends what a packet has become back to its sender.
static void answer_with(struct packet_engine *engine, uint32_t id,
                        const struct weft_mlt_message *answer)
{
    struct packet *packet = &engine->packets[id];
    struct packet_mlt *mlt = &engine->mlts->flows[packet->flow];
    uint32_t bytes = engine->setting.ack_bytes;
    uint32_t kind = answer->kind == WEFT_MLT_STOP     ? PACKET_STOP
                    : answer->kind == WEFT_MLT_BITMAP ? PACKET_BITMAP
                                                      : PACKET_REPORT;
    packet->flags =
        (uint16_t)((packet->flags >> PACKET_PRIORITY_SHIFT << PACKET_PRIORITY_SHIFT) | kind);
    packet->sequence = answer->segment;
    packet->cumulative = answer->round;
    if (answer->kind == WEFT_MLT_BITMAP) {
        bytes += answer->data_bytes;
        memcpy(mlt->bits + 2 * (size_t)mlt->bits_room + answer->segment / 8, answer->data,
               answer->data_bytes);
    } else if (answer->kind == WEFT_MLT_REPORT) {
        packet->sequence = mlt->received;
        packet->cumulative = mlt->marked;
        mlt->report_ps = engine->clock.now_ps + engine->flows[packet->flow].view.empty_rtt_ps;
    }
    packet_step_sent(engine->mlts, packet_step_kind(kind | PACKET_ACK), bytes,
                     engine->clock.now_ps);
    if (!packet_send_back_with(engine, id, bytes)) {
        take_answer(engine, packet);
        packet_drop(engine, id);
    }
}

static void receive(struct packet_engine *engine, uint32_t id)
{
    struct packet *packet = &engine->packets[id];
    uint32_t flow_id = packet->flow;
    struct packet_flow *flow = &engine->flows[flow_id];
    struct packet_mlt *mlt = &engine->mlts->flows[flow_id];
    struct weft_mlt_message message = {.epoch = mlt->step.epoch, .cookie = mlt->step.cookie};
    if (packet->flags & PACKET_PROBE) {
        message.kind = WEFT_MLT_PROBE;
        message.segment = packet->sequence - flow->total;
        message.round = packet->cumulative;
    } else {
        bool marked = (packet->flags & PACKET_MARKED) != 0;
        mlt->received++;
        mlt->marked += marked;
        engine->counts.ecn_marks += marked;
        flow->marked_count += marked;
        message.kind = WEFT_MLT_DATA;
        message.segment = packet->sequence;
        message.layer = mlt->tensor.layer;
        message.important = (packet->flags & PACKET_DROPPABLE) == 0;
        message.resent = (packet->flags & PACKET_RESENT) != 0;
        message.data_bytes = weft_mlt_segment_bytes(&mlt->tensor, message.segment);
    }
    struct weft_mlt_message answer;
    weft_mlt_receiver_take(&answer, &mlt->receiver, &message, engine->clock.now_ps);
    if (mlt->receiver.state == WEFT_MLT_SATISFIED && !mlt->has_come) {
        end_message(engine, flow_id);
    }
    if (answer.kind == WEFT_MLT_NONE && mlt->received > 0 &&
        engine->clock.now_ps >= mlt->report_ps) {
        answer.kind = WEFT_MLT_REPORT;
    }
    if (answer.kind == WEFT_MLT_NONE) {
        packet_drop(engine, id);
    } else {
        answer_with(engine, id, &answer);
    }
}

static void deliver_mlt(struct packet_engine *engine, uint32_t id)
{
    const struct packet *packet = &engine->packets[id];
    if (packet->generation != engine->flows[packet->flow].generation) {
        packet_drop(engine, id);
    } else if (packet->flags & PACKET_ACK) {
        WEFT_ASSERT((packet->flags & answer_kinds) != 0);
        take_answer(engine, packet);
        packet_drop(engine, id);
    } else {
        receive(engine, id);
    }
}

static bool mlt_check(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_packet_options *packet = options->packet;
    const struct {
        bool is_there;
        const char *what;
    } rows[] = {
        {packet->handshake, "a handshake"},
        {options->persistent, "persistent connections"},
        {packet->port.trims, "ports that trim"},
        {packet->port.lossless, "lossless ports"},
        {packet->mark_at_departure, "marks at departure"},
        {options->circuits != NULL, "circuits that change"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].is_there) {
            return weft_fail(error, WEFT_INPUT, "mlt has no use for %s; leave it out",
                             rows[i].what);
        }
    }
    if (!(packet->mlt.loss_bound >= 0 && packet->mlt.loss_bound < 1)) {
        return weft_fail(error, WEFT_INPUT, "mlt: a loss bound of %g; write one in [0, 1)",
                         packet->mlt.loss_bound);
    }
    if (!(packet->mlt.budget_ratio >= 0 && packet->mlt.budget_ratio <= 1)) {
        return weft_fail(error, WEFT_INPUT, "mlt: a loss budget of %g; write a share in [0, 1]",
                         packet->mlt.budget_ratio);
    }
    if (packet->mlt.queue_count > 0 &&
        (packet->mlt.queue_count != packet->port.priority_count || packet->port.priority != NULL)) {
        return weft_fail(error, WEFT_INPUT,
                         "mlt: %u queues by layer in ports of %u priorities; give them as many, "
                         "and no priorities of jobs",
                         packet->mlt.queue_count, packet->port.priority_count);
    }
    double ratio = packet->mlt.unimportant_ratio;
    return (ratio >= 0 && ratio <= 1) ||
           weft_fail(error, WEFT_INPUT, "mlt: unimportant packets of %g; write a share in [0, 1]",
                     ratio);
}

static const struct packet_ends_ops mlt_ends = {
    .init = init_mlts,
    .open = open_mlt,
    .send = send_mlt,
    .deliver = deliver_mlt,
    .wake = wake_mlt,
    .retire = retire_mlt,
};

const struct packet_congestion_ops packet_mlt_ops = {
    .name = "mlt",
    .check = mlt_check,
    .reads_path = true,
    .ends = &mlt_ends,
};
