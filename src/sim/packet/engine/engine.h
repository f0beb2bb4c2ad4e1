// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_ENGINE_H
#define WEFT_SIM_PACKET_ENGINE_ENGINE_H

// The packet engine: packets in the queues of links, flows with windows or rates at their ends.
//
// A packet is one event a link. A queue serves first come, first served, so that its departure is
// known when it enters; its event is the arrival at the link's far end. A cache line holds all of a
// packet, and one a link. Packets, links and flows are indices.

#include "circuits.h"
#include "clock.h"
#include "ports.h"
#include "sim/packet/partition/mailbox.h"
#include "sim/packet/transport/congestion.h"
#include "sim/packet/transport/mlt.h"
#include "sim/packet/transport/pull.h"
#include "spray.h"
#include "weft/sim.h"

enum packet_event {
    PACKET_EVENT_ARRIVAL,    // a packet, at the far end of a link
    PACKET_EVENT_RETRANSMIT, // a flow's retransmission timer
    PACKET_EVENT_PACE,       // a flow's next packet may go
    PACKET_EVENT_PULL,       // a link's receiver may send a pull
    PACKET_EVENT_PORT,       // a link's port, with what happens to it (ports.h)
    PACKET_EVENT_SKIP,       // messages begin, or a group of them is looked at (sim/packet/skip)
    PACKET_EVENT_CIRCUIT,    // a link takes packets after the wait of its first one
};

enum packet_flag {
    PACKET_ACK = 1,
    PACKET_MARKED = 2, // met congestion (ECN); an acknowledgement: the packet that it is for did
    PACKET_RESENT = 4,
    PACKET_OWN = 8,          // in the queue of the host that made it
    PACKET_NOTICED = 16,     // an acknowledgement that asks the sender to slow down
    PACKET_DROPPABLE = 0x20, // lost where others are marked (MLT)
    PACKET_PROBE = 0x40,     // asks what is missing (MLT); these are answers to it and to data:
    PACKET_STOP = 0x80,
    PACKET_BITMAP = 0x100,
    PACKET_REPORT = 0x200,
    PACKET_PULL = 0x400,    // asks for one packet more
    PACKET_TRIMMED = 0x800, // down to its header; on an acknowledgement: of one that was
};
// A packet's priority stands above its flags.
#define PACKET_PRIORITY_SHIFT 12

struct packet {
    _Alignas(64) uint32_t next; // free one
    uint32_t generation;        // of the flow: packets of one that has ended are dropped
    uint64_t sent_ps;           // by the flow's sender; its acknowledgement brings it back
    uint64_t entered_ps;        // the queue
    uint32_t flow;
    uint32_t sequence;
    // Of an acknowledgement: the receiver has all below. Of data: those above when it was sent.
    uint32_t cumulative;
    uint32_t hop; // in the engine's `hops`: the link to enter next
    uint16_t bytes;
    uint16_t flags;
    uint32_t behind;  // the next packet in the same link
    uint32_t link;    // that it is on; in a queue by priority: that it came by
    uint32_t path;    // of its flow's spray paths
    uint64_t tail_ps; // cut-through: when its last bit is here
};

struct packet_link {
    uint64_t free_ps; // when the last packet leaves
    uint64_t latency_ps;
    uint64_t limit_ps; // packets that would make the backlog longer are lost
    uint64_t mark_ps;  // packets that find a longer backlog are marked
    double ps_per_byte;
    uint64_t bytes; // that entered
    uint64_t backlog_max_ps;
    uint32_t drops;
    uint32_t marks;
};

// The packets of a link, or of a band, for marks at departure.
struct packet_line {
    uint32_t first; // oldest packet in the queue or on the link
    uint32_t last;
    uint32_t ahead_last;  // of those that came before the first left
    uint32_t ahead_bytes; // of these
};

// Which packets have come, ahead of the first that has not.
struct packet_window {
    uint64_t *bits; // a ring; NULL until something comes out of order
    uint32_t low;   // all packets below have come
};

// Packets that were trimmed to their headers and go again.
struct packet_trimmed {
    uint64_t *bits; // a ring; NULL until there are any
    uint32_t count;
    uint32_t from; // none below
};

// To whom the end of a message is reported, and the caller's key to its path.
struct packet_end {
    uint32_t owner;
    uint32_t path_id;
    uint32_t job;
};

// What a connection keeps of its stream: messages by index, packets by sequence number.
struct packet_stream {
    uint32_t first;             // message that is not acknowledged; WEFT_NONE: there is none
    uint32_t due;               // first message that has not come; likewise
    uint32_t last;              // message; likewise
    uint32_t next;              // slot of a connection with the same hash of path and job
    uint32_t iteration_first;   // packets below are of iterations before
    uint32_t iteration_learned; // packets of the last iteration
    uint32_t reported_end;      // packets of the messages whose end has been reported
};

// Packets that are sent again if they have not come: those in [from, until).
struct packet_lost {
    uint32_t from;
    uint32_t until;
};

// A connection: both its ends, since one engine plays both. Its memory is what an acknowledgement
// waits for when thousands of them are open, so that the fields stand in the order of their use:
// a packet at the receiver needs the first two cache lines, an acknowledgement at the sender also
// the view's two. For the same reason what every packet needs is not nested by the end that it
// belongs to: each of those lines has fields of both.
struct packet_flow {
    // What every packet at either end needs.
    _Alignas(64) bool timer_filed; // a later deadline is looked at when it fires
    bool has_come;                 // of a run in partitions: the receiver has all
    bool is_paced;                 // a PACE event is filed
    bool is_open;
    bool is_connected;
    bool is_stream; // messages follow each other; see stream.c
    uint32_t generation;
    uint32_t total;                    // packets
    struct packet_window acknowledged; // what the sender knows
    uint64_t deadline_ps;
    uint64_t left_ps; // when the last packet leaves the sender's own port
    // When the last packet begins to leave that port, so that the next may enter it; WEFT_NEVER: it
    // waits there.
    uint64_t slot_ps;
    uint64_t heard_ps;             // the last acknowledgement
    struct packet_window received; // what the receiver knows
    struct packet_trimmed trimmed;
    uint32_t highest; // one past the highest acknowledged packet
    struct packet_lost lost;
    uint32_t backoff;
    uint32_t data_hop; // in `hops`
    uint32_t ack_hop;
    uint32_t priority;
    uint32_t marked_count;
    struct packet_connection_view view; // what its congestion control sees
    // What the beginning and the end of a message need, and streams.
    struct packet_end end; // its owner, of a free slot: the next free one
    uint32_t resent_count;
    double last_bytes;
    uint64_t started_ps;
    uint64_t notice_ps; // the receiver gives no notice before
    struct packet_stream stream;
    uint32_t timeout_count;
};

// A message of a stream.
struct packet_message {
    uint32_t next;
    uint32_t end; // one past its last packet
    double last_bytes;
    uint64_t started_ps;
    uint32_t owner;
    uint32_t path_id;
};

// What flows of one job share.
struct packet_job {
    struct packet_job_setting setting;
    uint64_t acknowledged; // packets of this iteration
    uint64_t posted;
    uint64_t learned; // of the last iteration
};

// What became of a message.
struct packet_ledger {
    uint64_t started_ps;
    double wire_bytes;
    uint32_t packets;
    uint32_t resent;
    uint32_t marked;
    uint32_t timeouts;
};

// Which indices of an array are taken.
struct packet_ids {
    uint32_t free;  // the first of a list of free ones below `count`; WEFT_NONE: there are none
    uint32_t count; // those from here on were never taken
    uint32_t room;
};

// All flows' streams (stream.c).
struct packet_streams {
    uint32_t *heads; // of lists of flows by hash of path and job
    uint32_t mask;   // of the hash
    uint32_t due;    // a flow with messages that have come and whose end is not reported yet
    struct packet_message *messages;
    struct packet_ids message_ids;
};

// The state of a run. What one feature alone needs is nested (ports, spraying, pulls, streams).
// What is left stays one level deep: the arrays that packets, links and flows are indices of, and
// the few values beside them, which nearly every event reads and every file of this folder names.
struct packet_engine {
    struct packet_clock clock; // first: every event reads it
    const struct weft_packet_options *options;
    struct packet_congestion_ops congestion;
    struct packet_ends_ops ends;
    struct packet_congestion_setting setting;
    bool scales_growth; // by an iteration's progress (MLTCP)
    bool demotes;       // packets lose priority as their message goes on (PIAS)
    bool finds_losses;  // by gaps in what has come
    uint16_t ack_flags; // of what has come, that its acknowledgement keeps
    struct packet *packets;
    struct packet_link *links;
    struct packet_line *lines; // marks at departure; else NULL
    struct packet_ports ports;
    struct packet_flow *flows;
    // hop_stride for each slot of flows: the generation that it is of, since packets of one before
    // may still be in flight; the path, WEFT_NONE, the path back, WEFT_NONE. With spraying as many
    // paths each way as `sprays` says.
    uint32_t *hops;
    struct packet_sprays sprays;
    struct packet_pulls pulls;
    struct packet_mlts *mlts;
    uint32_t hop_stride;
    struct packet_ids packet_ids;
    struct packet_ids flow_ids;
    uint32_t spared_flags;   // of packets that no departure marks
    uint64_t *bits_free;     // windows of sequence numbers; the first word points to the next
    struct packet_end ended; // the message that ended last, and what became of it
    struct packet_ledger ledger;
    bool has_ended;
    // Streams.
    bool persistent;
    struct packet_streams streams;
    struct packet_job *jobs;
    bool is_stuck;                    // ports.circle says why
    struct packet_skip *skip;         // NULL: all is played packet by packet
    struct packet_circuits *circuits; // NULL: every message keeps the path that it began on
    // A run in partitions (partition/partitions.h); NULL: this engine plays all of it.
    struct packet_mailbox *mailbox;
    bool lays_out_only; // messages begin in a partition's engine
    uint32_t laid_out;  // the slot of the last one
    struct weft_packet_counts counts;
    struct weft_arena *arena;
};

// Room for flow_room messages at once on paths of at most hop_max links. `arena` must live as long.
void packet_engine_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                        const struct weft_sim_options *options, uint32_t flow_room,
                        uint32_t hop_max, struct weft_arena *arena);
// Gives the flows of each job their share. Without it all are of one job.
void packet_engine_jobs(struct packet_engine *engine, const struct weft_job_timing *timings,
                        uint32_t job_count);
// A job begins an iteration: streams count anew, and restart if the options say so.
void packet_engine_iteration(struct packet_engine *engine, uint32_t job);
// The links that a message's packets take, and those that its acknowledgements take back.
struct packet_route {
    const uint32_t *path;
    uint32_t hop_count;
    const uint32_t *back;
    uint32_t back_count; // 0: acknowledgements are at the sender at once
    bool by_packets;     // where circuits change: it takes the packet part beside them
};
// A message of wire_bytes > 0, headers included, begins now.
void packet_engine_start(struct packet_engine *engine, const struct packet_route *route,
                         double wire_bytes, struct packet_end end);
// Plays on until a message ends (true, at clock.now_ps), or nothing happens by until_ps.
bool packet_engine_run(struct packet_engine *engine, uint64_t until_ps, struct packet_end *end);
// What was skipped, and what samples say of it.
struct weft_skip_counts packet_skip_counts(const struct packet_engine *engine);
// Fails with INFEASIBLE if ports waited for each other in a circle.
bool packet_engine_check(const struct packet_engine *engine, struct weft_error *error)
    WEFT_MUST_USE;
// What happened at each link's port.
const struct weft_port_counts *packet_engine_ports(const struct packet_engine *engine,
                                                   struct weft_arena *arena);

// What a link's port holds.
static inline uint64_t packet_buffer_bytes(const struct weft_fabric *fabric, uint32_t link,
                                           const struct weft_sim_options *options)
{
    uint64_t own = fabric->buffer_bytes == NULL ? 0 : fabric->buffer_bytes[link];
    return own > 0 ? own : options->packet->buffer_bytes;
}

// What the engine cannot play; fail with INPUT (check.c).
bool packet_check_options(const struct weft_sim_options *options, struct weft_error *error)
    WEFT_MUST_USE;
bool packet_check_fabric(const struct weft_fabric *fabric, const struct weft_sim_options *options,
                         struct weft_error *error) WEFT_MUST_USE;
bool packet_check_message(double wire_bytes, const struct weft_sim_options *options,
                          struct weft_error *error) WEFT_MUST_USE;

// ---- the store of packets ----

static inline uint32_t packet_take(struct packet_engine *engine) // a free one
{
    uint32_t id = engine->packet_ids.free;
    if (id != WEFT_NONE) {
        engine->packet_ids.free = engine->packets[id].next;
        return id;
    }
    WEFT_ASSERT(engine->packet_ids.count < engine->packet_ids.room);
    return engine->packet_ids.count++;
}

static inline void packet_drop(struct packet_engine *engine, uint32_t id)
{
    engine->packets[id].next = engine->packet_ids.free;
    engine->packet_ids.free = id;
}

// A message is over: its slot may be taken, and packets that it has left behind are dropped.
static inline void packet_free_flow(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->is_open = false;
    flow->generation++;
    flow->end.owner = engine->flow_ids.free;
    engine->flow_ids.free = id;
}

// A packet was lost at a link.
static inline void packet_lose(struct packet_engine *engine, struct packet_link *link, uint32_t id)
{
    engine->counts.drops++;
    if (engine->mlts != NULL) {
        packet_step_lost_in_port(engine, id);
    }
    link->drops++;
    packet_drop(engine, id);
}

// ---- bands ----

// The band of packets of control, if those go before all data.
#define PACKET_CONTROL_BAND 0u

static inline bool packet_has_control(const struct packet_engine *engine)
{
    return engine->ports.options->control_first || engine->ports.options->trims;
}

static inline uint32_t packet_band_of(const struct packet_engine *engine,
                                      const struct packet *packet)
{
    bool control = packet_has_control(engine);
    if (control && (packet->flags & (PACKET_ACK | PACKET_TRIMMED)) != 0) {
        return PACKET_CONTROL_BAND;
    }
    return (uint32_t)(packet->flags >> PACKET_PRIORITY_SHIFT) + control;
}

// ---- links (forward.c) ----

// A packet that waits at a server for a circuit goes on, if it can.
void packet_go_on(struct packet_engine *engine, uint32_t id, uint32_t server);

// A link has this rate from now on: so long are its buffer and its mark in time.
void packet_set_rate(struct packet_engine *engine, uint32_t link, double rate_Bps,
                     const struct weft_fabric *fabric, const struct weft_sim_options *options);
// A packet enters the queue of the link at its hop, or is lost there.
void packet_enter(struct packet_engine *engine, uint32_t id);
// Where circuits change: a packet enters the link that the present table names; returns it, and
// WEFT_NONE if the packet waits for a circuit.
uint32_t packet_depart_by_circuit(struct packet_engine *engine, uint32_t id);
bool packet_arrive_by_circuit(struct packet_engine *engine, uint32_t id);

// A packet of a flow's sender enters the first link of its path, and so does one of its receiver.
// Returns the link; WEFT_NONE: it waits for a circuit.
static inline uint32_t packet_depart(struct packet_engine *engine, uint32_t id)
{
    if (engine->circuits != NULL) {
        return packet_depart_by_circuit(engine, id);
    }
    uint32_t link = engine->hops[engine->packets[id].hop];
    packet_enter(engine, id);
    return link;
}

// ---- a flow's slot in its sender's port, and its pace (pacing.c) ----

// Files the instant when a flow's next packet may go, if it has one to send.
void packet_wait_to_send(struct packet_engine *engine, uint32_t flow, uint64_t at_ps);
// Whether a flow's next packet has to wait: for its pace, or for its slot in the sender's own port.
// The instant when it may go is filed then.
static inline bool packet_is_held(struct packet_engine *engine, uint32_t id)
{
    const struct packet_flow *flow = &engine->flows[id];
    uint64_t from_ps =
        flow->view.next_send_ps > flow->slot_ps ? flow->view.next_send_ps : flow->slot_ps;
    if (from_ps <= engine->clock.now_ps) {
        return false;
    }
    packet_wait_to_send(engine, id, from_ps);
    return true;
}
// A packet of the sender's own begins to leave a port with queues: its flow may enter the next.
void packet_open_slot(struct packet_engine *engine, const struct packet *packet);

// ---- the retransmission timer and the path (timer.c) ----

// The longest that a packet can be in flight and not be lost: every port full, there and back; at
// most 1 s.
uint64_t packet_longest_trip_ps(const struct packet_engine *engine, const struct packet_flow *flow);
uint64_t packet_fixed_timeout_ps(const struct packet_engine *, const struct packet_flow *);
// RFC 6298: the timeout that the measured round trips give, doubled for each one that has run out.
static inline uint64_t packet_timeout_ps(const struct packet_engine *engine,
                                         const struct packet_flow *flow)
{
    if (engine->congestion.timeout_trips > 0) {
        return packet_fixed_timeout_ps(engine, flow);
    }
    uint64_t timeout = engine->options->loss.timeout_first_ps;
    if (flow->view.srtt_ps > 0) {
        timeout = flow->view.srtt_ps + 4 * flow->view.rttvar_ps;
    } else if (timeout == 0) {
        timeout = packet_longest_trip_ps(engine, flow);
    }
    if (timeout < engine->options->loss.timeout_min_ps) {
        timeout = engine->options->loss.timeout_min_ps;
    }
    return timeout << flow->backoff;
}
// The timer starts again. Only its deadline moves where an event is filed already.
static inline void packet_set_timer(struct packet_engine *engine, uint32_t id)
{
    struct packet_flow *flow = &engine->flows[id];
    flow->deadline_ps = engine->clock.now_ps + packet_timeout_ps(engine, flow);
    if (!flow->timer_filed) {
        flow->timer_filed = true;
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_RETRANSMIT << CLOCK_KIND_SHIFT | id,
                   flow->deadline_ps);
    }
}
// RFC 6298, 2.2 and 2.3, with gains of 1/8 and 1/4.
static inline void packet_measure_rtt(struct packet_connection_view *view, uint64_t rtt_ps)
{
    if (view->srtt_ps == 0) {
        view->srtt_ps = rtt_ps;
        view->rttvar_ps = rtt_ps / 2;
        return;
    }
    uint64_t off = rtt_ps > view->srtt_ps ? rtt_ps - view->srtt_ps : view->srtt_ps - rtt_ps;
    view->rttvar_ps = (3 * view->rttvar_ps + off) / 4;
    view->srtt_ps = (7 * view->srtt_ps + rtt_ps) / 8;
}
// Fills the view's fields of the path.
void packet_read_path(const struct packet_engine *engine, struct packet_flow *flow);

// ---- packets that either end makes (transmit.c) ----

// With what the packet says in `cumulative`. A sequence number from the message's packets on is of
// a header alone.
void packet_transmit_with(struct packet_engine *engine, uint32_t flow, uint32_t sequence,
                          uint32_t flags, uint32_t cumulative);
static inline void packet_transmit(struct packet_engine *engine, uint32_t id, uint32_t sequence,
                                   uint32_t flags)
{
    const struct packet_flow *flow = &engine->flows[id];
    packet_transmit_with(engine, id, sequence, flags, flow->total - flow->acknowledged.low);
}
// What has come goes back to its sender as an acknowledgement; false where those take no time: the
// sender has it now.
bool packet_send_back_with(struct packet_engine *engine, uint32_t id, uint32_t bytes);
static inline bool packet_send_back(struct packet_engine *engine, uint32_t id)
{
    return packet_send_back_with(engine, id, engine->setting.ack_bytes);
}
// All has come: the message ends, and its slot is free.
void packet_close(struct packet_engine *engine, uint32_t flow);

// ---- the ends of a flow that keeps a window (packet_window_ends, window_ends.c) ----

// Of a run in partitions: the sender's end of a message is over, unless it was before.
void packet_window_close(struct packet_engine *engine, uint32_t flow);

// ---- messages begin (start.c) ----

// A message takes a slot, its paths those behind it in `hops`; and begins.
uint32_t packet_lay_out(struct packet_engine *engine, const struct packet_route *route,
                        double wire_bytes, struct packet_end end);
void packet_begin(struct packet_engine *engine, uint32_t flow);

// ---- streams ----

void packet_streams_init(struct packet_engine *engine);
// The connection that a message takes, with the message at its end; WEFT_NONE: open one.
uint32_t packet_stream_join(struct packet_engine *engine, struct packet_end end, double wire_bytes);
void packet_stream_open(struct packet_engine *engine, uint32_t flow, struct packet_end end);
// Bytes of a packet of a stream that holds several messages, but not of its very last.
uint32_t packet_stream_bytes_within(const struct packet_engine *engine,
                                    const struct packet_flow *flow, uint32_t sequence);
// Bytes of a packet.
static inline uint32_t packet_stream_bytes(const struct packet_engine *engine,
                                           const struct packet_flow *flow, uint32_t sequence)
{
    if (sequence + 1 == flow->total) {
        return (uint32_t)flow->last_bytes;
    }
    return flow->is_stream ? packet_stream_bytes_within(engine, flow, sequence)
                           : engine->setting.packet_bytes;
}
// Forgets messages that are acknowledged.
void packet_stream_acknowledged(struct packet_engine *engine, struct packet_flow *flow);
// Tells of the next message that has come: `ended` and `has_ended`.
void packet_stream_received(struct packet_engine *engine, uint32_t flow);
// Brings the view's growth_ratio up to date: the job's weight, and with MLTCP the iteration's
// progress, of which newly_acked packets are new.
void packet_scale_growth(struct packet_engine *engine, struct packet_flow *flow,
                         uint32_t newly_acked);

// When a packet begins to leave through a port that is free from free_ps on: cut-through, so late
// that its last bit is there in time.
static inline uint64_t packet_begins(const struct packet_engine *engine,
                                     const struct packet_link *link, const struct packet *packet,
                                     uint64_t free_ps)
{
    if (engine->ports.cuts_through == NULL) {
        return free_ps;
    }
    uint64_t end_ps = free_ps + (uint64_t)(packet->bytes * link->ps_per_byte + 0.5);
    return end_ps < packet->tail_ps ? free_ps + packet->tail_ps - end_ps : free_ps;
}

// When what the far end waits for is there: all of the packet, or cut-through its head.
static inline uint64_t packet_arrives(const struct packet_engine *engine, uint32_t link_id,
                                      struct packet *packet, uint64_t begins_ps)
{
    const struct packet_link *link = &engine->links[link_id];
    uint64_t serial_ps = (uint64_t)(packet->bytes * link->ps_per_byte + 0.5);
    uint64_t tail_ps = begins_ps + serial_ps + link->latency_ps;
    if (engine->ports.cuts_through == NULL) {
        return tail_ps;
    }
    packet->tail_ps = tail_ps;
    uint32_t head_bytes = engine->ports.options->cut_through_bytes;
    if (!engine->ports.cuts_through[link_id] || head_bytes >= packet->bytes) {
        return tail_ps;
    }
    return begins_ps + (uint64_t)(head_bytes * link->ps_per_byte + 0.5) + link->latency_ps;
}

// A packet is at the far end of a link at arrives_ps; its `hop` is what comes then.
static inline void packet_file_arrival(struct packet_engine *engine, uint32_t id, uint32_t link_id,
                                       uint64_t arrives_ps)
{
    if (engine->mailbox == NULL || !packet_mail_away(engine, id, link_id, arrives_ps)) {
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
                   arrives_ps);
    }
}

// The view of a flow, as of now.
static inline struct packet_connection_view *packet_view(const struct packet_engine *engine,
                                                         struct packet_flow *flow)
{
    flow->view.now_ps = engine->clock.now_ps;
    flow->view.snd_una = flow->acknowledged.low;
    return &flow->view;
}

// A packet is at the far end of a link and enters the next. True: that was the last one of its
// path, and it is the caller's. Every second event or more is one of these, so that it is in line.
static inline bool packet_arrive(struct packet_engine *engine, uint32_t id)
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
    if (engine->ports.is_lossy && packet_corrupts(engine, id)) {
        return false;
    }
    if (engine->circuits != NULL) {
        return packet_arrive_by_circuit(engine, id);
    }
    if (engine->hops[packet->hop] == WEFT_NONE) {
        return true;
    }
    packet_enter(engine, id);
    return false;
}

#endif
