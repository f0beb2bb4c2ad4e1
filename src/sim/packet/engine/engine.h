// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_ENGINE_H
#define WEFT_SIM_PACKET_ENGINE_ENGINE_H

// The packet engine: packets in the queues of links, flows with windows or rates at their ends.
//
// A packet is one event a link. A queue serves first come, first served, so that its departure is
// known when it enters; its event is the arrival at the link's far end. A cache line holds all of a
// packet, and one a link. Packets, links and flows are indices.

#include "clock.h"
#include "ports.h"
#include "sim/packet/partition/mailbox.h"
#include "sim/packet/transport/pull.h"
#include "spray.h"
#include "weft/sim.h"

enum packet_event {
    PACKET_EVENT_ARRIVAL,    // a packet, at the far end of a link
    PACKET_EVENT_RETRANSMIT, // a flow's retransmission timer
    PACKET_EVENT_PACE,       // a flow's next packet may go
    PACKET_EVENT_PULL,       // a link's receiver may send a pull
    PACKET_EVENT_PORT,       // a link's port, with what happens to it (packet_ports.h)
};

enum packet_flag {
    PACKET_ACK = 1,
    PACKET_MARKED =
        2, // congestion experienced; on an acknowledgement: of the packet that it is for
    PACKET_RESENT = 4,
    PACKET_OWN = 8,         // in the queue of the host that made it
    PACKET_NOTICED = 16,    // an acknowledgement that asks the sender to slow down
    PACKET_PULL = 0x400,    // asks for one packet more
    PACKET_TRIMMED = 0x800, // cut to its header; on an acknowledgement: of one that was
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
    uint32_t cumulative; // of an acknowledgement: the receiver has all packets below
    uint32_t hop;        // in the engine's `hops`: the link to enter next
    uint16_t bytes;
    uint16_t flags;
    uint32_t behind;  // the next packet in the same link
    uint32_t link;    // that it is on; in a queue by priority: that it came by
    uint32_t way;     // of its flow's, with spraying
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
    uint32_t first; // oldest packet in the queue or on the way
    uint32_t last;
    uint32_t ahead_last;  // of those that came before the first left
    uint32_t ahead_bytes; // of these
};

// Which packets have come, ahead of the first that has not.
struct packet_window {
    uint64_t *bits; // a ring; NULL until something comes out of order
    uint32_t low;   // all packets below have come
};

// Packets that were cut to their headers and go again.
struct packet_cuts {
    uint64_t *bits; // a ring; NULL until there are any
    uint32_t count;
    uint32_t from; // none below
};

struct packet_flow {
    bool timer_filed; // a later deadline is looked at when it fires
    bool has_come;    // of a run in parts: the receiver has all
    bool is_paced;    // a PACE event is filed
    bool in_recovery;
    bool is_open;
    bool is_connected;
    bool is_stream; // messages follow each other; see packet_stream.c
    uint32_t generation;
    uint32_t owner; // of a free slot: the next one
    uint32_t path_id;
    // What the sender knows.
    double window;    // packets in flight that it may have
    double threshold; // slow start ends
    uint64_t deadline_ps;
    uint64_t left_ps;   // when the last packet leaves the sender's own port
    uint64_t turn_ps;   // ... begins to, and the next may enter it; WEFT_NEVER: it waits there
    uint64_t smooth_ps; // round trip (RFC 6298)
    uint64_t vary_ps;
    uint32_t next; // packet that was never sent
    uint32_t total;
    uint32_t in_flight;
    uint32_t highest;   // one past the highest acknowledged packet
    uint32_t lost_from; // packets in [lost_from, lost_until) that have not come are sent again
    uint32_t lost_until;
    uint32_t recover; // `next` when the window was last cut: one cut a window
    uint32_t backoff;
    struct packet_window acknowledged;
    struct packet_cuts cuts;
    struct packet_window received; // what the receiver knows
    double last_bytes;
    uint64_t started_ps;
    uint64_t pace_ps;   // the next packet may not go before
    uint64_t notice_ps; // the receiver gives no notice before
    // A stream's: messages that are not acknowledged, the first that has not come, the last.
    uint32_t message_first;
    uint32_t message_due;
    uint32_t message_last;
    uint32_t stream_next;       // of the same hash
    uint32_t iteration_first;   // packets below are of iterations before
    uint32_t iteration_learned; // packets of the last one
    uint64_t heard_ps;          // the last acknowledgement
    uint32_t data_hop;          // in `hops`
    uint32_t ack_hop;
    uint32_t job;
    uint32_t priority;
    uint32_t resent_count;
    uint32_t marked_count;
    uint32_t timeout_count;
    uint32_t told_end; // of a stream: packets of the messages that have come
    // The transport's own.
    double gain_ratio; // of windows' growth (MLTCP, static shares)
    union {
        struct {
            double marked_ratio;
            double turn_packets; // acknowledgements that make one, if counted
            uint32_t turn_end;   // packets below make a turn
            uint32_t seen;
            uint32_t marked;
            uint32_t cut_end; // marks of packets below have been answered
        } dctcp;
        struct {
            double peak;        // W_max
            double before;      // the last cut: cwnd_prior
            double reno_window; // W_est
            double period_s;    // K
            uint64_t began_ps;  // this epoch; WEFT_NEVER: none yet
        } cubic;
        struct {
            double rate_Bps;
            double target_Bps;
            double alpha;
            double bytes_left; // of the byte counter's turn
            uint64_t alpha_ps; // timers' ends
            uint64_t grow_ps;
            uint32_t timer_count;
            uint32_t byte_count;
        } dcqcn;
        struct {
            uint32_t credit; // packets that may go
        } ndp;
        struct {
            uint64_t cut_ps;
            uint32_t hop_count;
            uint32_t timeouts;
        } swift;
        struct {
            uint64_t network_ps; // a round trip when nothing waits, as the path has it
            uint64_t base_ps;    // ... the shortest seen
            double delay_ps;     // average of queues
            double growth;       // to come, times the window
            uint64_t adapt_ps;   // this period of quick adapt ends; 0: none has begun
            uint64_t cut_ps;
            uint64_t settled_ps; // when the even step was taken
            uint32_t settled;    // packets acknowledged since growth was added
            uint32_t achieved;   // ... in this period
            uint32_t ignored;    // ... since the last quick adapt
            uint32_t to_ignore;
            uint32_t empty_count; // ... that found no queue, in a row
            bool is_fast;
            bool is_alarmed; // a packet was cut
        } nscc;
    } cc;
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
    double weight_ratio;
    uint64_t dcqcn_timer_ps; // 0: the options'
    uint64_t acknowledged;   // packets of this iteration
    uint64_t posted;
    uint64_t learned; // of the last iteration
};

// What an acknowledgement tells a transport.
struct packet_ack {
    uint32_t newly; // packets acknowledged for the first time
    uint32_t sequence;
    bool marked;
    bool noticed;
    uint64_t trip_ps;
};

// Who is told when a message ends, and the caller's key to its path.
struct packet_end {
    uint32_t owner;
    uint32_t path_id;
    uint32_t job;
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

struct packet_engine;

// A congestion control. Every function may change the flow's window, threshold and own state.
struct packet_transport {
    const char *name;
    void (*open)(struct packet_engine *engine, struct packet_flow *flow);
    // The connection's header is back, marked or not; or NULL.
    void (*connected)(struct packet_engine *engine, struct packet_flow *flow, bool marked);
    void (*acknowledged)(struct packet_engine *engine, struct packet_flow *flow,
                         const struct packet_ack *ack);
    void (*lost)(struct packet_engine *engine, struct packet_flow *flow); // once a window
    void (*timed_out)(struct packet_engine *engine, struct packet_flow *flow);
    // A packet was cut to its header. May be NULL: `lost`, once a window.
    void (*trimmed)(struct packet_engine *engine, struct packet_flow *flow);
    // May be NULL. A packet goes: sets pace_ps, before which no other does.
    void (*sent)(struct packet_engine *engine, struct packet_flow *flow, uint32_t bytes);
    // May be NULL. A stream goes on after a pause; `restarted`: with a window that begins again.
    void (*resumed)(struct packet_engine *engine, struct packet_flow *flow, uint64_t idle_ps,
                    bool restarted);
    bool notices;   // receivers turn marks into notices
    bool is_pulled; // receivers say when to send (packet_pull.h)
    bool learns;    // growth follows an iteration's progress (MLTCP)
};

struct packet_engine {
    struct packet_clock clock; // first: every event reads it
    const struct weft_packet_options *options;
    struct packet_transport transport;
    struct packet *packets;
    struct packet_link *links;
    struct packet_line *lines; // marks at departure; else NULL
    struct packet_ports ports;
    struct packet_flow *flows;
    // hop_stride for each slot of flows: the generation that it is of, since packets of one before
    // may still be on their way; the path, WEFT_NONE, the way back, WEFT_NONE.
    uint32_t *hops;
    uint32_t way_room; // with spraying as many paths each way, way_stride apart
    uint32_t way_stride;
    struct packet_spray *sprays; // per slot; NULL: one way each
    uint8_t *skips;              // per slot, way_room each: WEFT_SPRAY_MARKS, WEFT_SPRAY_REUSE
    uint8_t *goods;              // per slot, SPRAY_GOOD_MAX each: WEFT_SPRAY_REUSE
    uint32_t *offers;            // ways of the message that starts next, as in `hops`
    uint32_t offer_counts[2];    // there and back, besides the first
    struct packet_pull *pulls;   // per slot; pulled transports
    struct packet_pacer *pacers; // per link; likewise
    uint32_t hop_stride;
    uint32_t packet_free; // a list
    uint32_t packet_count;
    uint32_t packet_room;
    uint32_t flow_free;
    uint32_t flow_count;
    uint32_t flow_room;
    uint32_t packet_bytes;
    uint32_t header_bytes;
    uint32_t ack_bytes;
    uint32_t spared_flags; // of packets that no departure marks
    const struct weft_dctcp_options *dctcp;
    uint64_t *bits_free;         // windows of sequence numbers; the first word points to the next
    struct packet_end ended;     // the message that ended last
    struct packet_ledger ledger; // its
    bool has_ended;
    // Streams.
    bool persistent;
    uint32_t *streams; // heads of lists of flows by hash of path and job
    uint32_t stream_mask;
    uint32_t stream_due; // a stream with messages that have come and were not told of
    struct packet_message *messages;
    uint32_t message_free;
    uint32_t message_count;
    uint32_t message_room;
    struct packet_job *jobs;
    bool is_stuck; // ports.circle says why
    // A run in parts (packet_parts.h): NULL: this engine plays all of it.
    struct packet_post *post;
    bool lays_out_only; // messages begin elsewhere
    uint32_t laid_out;  // the slot of the last one
    struct weft_packet_counts counts;
    struct weft_arena *arena;
};

// Room for flow_room messages at once on paths of at most hop_max links. `arena` must live as long.
void packet_engine_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                        const struct weft_sim_options *options, uint32_t flow_room,
                        uint32_t hop_max, struct weft_arena *arena);
// Gives the flows of each job their share. Without it all are of one job.
void packet_engine_jobs(struct packet_engine *engine, const struct weft_sim_pace *paces,
                        uint32_t job_count);
// A job begins an iteration: streams count anew, and restart if the options say so.
void packet_engine_iteration(struct packet_engine *engine, uint32_t job);
// A message of wire_bytes > 0, headers included, begins now. Without a way back (back_count = 0)
// acknowledgements are at the sender at once.
void packet_engine_start(struct packet_engine *engine, const uint32_t *path, uint32_t hop_count,
                         const uint32_t *back, uint32_t back_count, double wire_bytes,
                         struct packet_end end);
// Plays on until a message ends (true, at clock.now_ps), or nothing happens by until_ps.
bool packet_engine_run(struct packet_engine *engine, uint64_t until_ps, struct packet_end *end);
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

// What the engine cannot play; fail with INPUT (packet_check.c).
bool packet_check_options(const struct weft_sim_options *options, struct weft_error *error)
    WEFT_MUST_USE;
bool packet_check_fabric(const struct weft_fabric *fabric, const struct weft_sim_options *options,
                         struct weft_error *error) WEFT_MUST_USE;
bool packet_check_message(double wire_bytes, const struct weft_sim_options *options,
                          struct weft_error *error) WEFT_MUST_USE;

// ---- between the files of the engine ----

// A packet enters the queue of the link at its hop, or is lost there.
void packet_enter(struct packet_engine *engine, uint32_t id);
// What has come goes back to its sender as an acknowledgement; false where those take no time: the
// sender has it now.
bool packet_send_back(struct packet_engine *engine, uint32_t id);
uint32_t packet_take(struct packet_engine *engine); // a free one
static inline void packet_drop(struct packet_engine *engine, uint32_t id)
{
    engine->packets[id].next = engine->packet_free;
    engine->packet_free = id;
}
// A packet is the last to wait in a line.
void packet_line_join(struct packet_engine *engine, uint32_t line, uint32_t id);
// A packet was lost at a link.
void packet_lose(struct packet_engine *engine, struct packet_link *link, uint32_t id);
// A packet is at the end of its path (packet_flow.c).
void packet_deliver(struct packet_engine *engine, uint32_t id);
void packet_retransmit_timer(struct packet_engine *engine, uint32_t flow);
void packet_send(struct packet_engine *engine, uint32_t flow);
// Whether a flow's next packet has to wait: for its pace, or for its turn in the sender's own port.
// It is filed then.
bool packet_is_held(struct packet_engine *engine, uint32_t flow);
// A packet of the sender's own begins to leave a port with queues: its flow has its turn.
void packet_turn(struct packet_engine *engine, const struct packet *packet);

// The longest that a packet can be on its way and not be lost: every port full, there and back; at
// most 1 s.
uint64_t packet_longest_trip_ps(const struct packet_engine *engine, const struct packet_flow *flow);

// For packet_pull.c.
void packet_transmit(struct packet_engine *engine, uint32_t flow, uint32_t sequence,
                     uint32_t flags);
void packet_measure_trip(struct packet_flow *flow, uint64_t trip_ps);
void packet_close(struct packet_engine *engine, uint32_t flow);

// A message takes a slot, its paths those behind it in `hops`; and begins (packet_start.c).
uint32_t packet_lay_out(struct packet_engine *engine, const uint32_t *path, uint32_t hop_count,
                        const uint32_t *back, uint32_t back_count, double wire_bytes,
                        struct packet_end end);
void packet_begin(struct packet_engine *engine, uint32_t flow);
void packet_set_timer(struct packet_engine *engine, uint32_t flow);

// ---- streams ----

void packet_streams_init(struct packet_engine *engine);
// The connection that a message takes, with the message at its end; WEFT_NONE: open one.
uint32_t packet_stream_join(struct packet_engine *engine, struct packet_end end, double wire_bytes);
void packet_stream_open(struct packet_engine *engine, uint32_t flow, struct packet_end end);
// Bytes of a packet.
uint32_t packet_stream_bytes(const struct packet_engine *engine, const struct packet_flow *flow,
                             uint32_t sequence);
// Forgets messages that are acknowledged.
void packet_stream_acknowledged(struct packet_engine *engine, struct packet_flow *flow);
// Tells of the next message that has come: `ended` and `has_ended`.
void packet_stream_received(struct packet_engine *engine, uint32_t flow);
// When a packet begins to leave through a port that is free from free_ps on: cut-through, so late
// that its last bit is there in time.
static inline uint64_t packet_begins(const struct packet_engine *engine,
                                     const struct packet_link *link, const struct packet *packet,
                                     uint64_t free_ps)
{
    if (engine->ports.cuts == NULL) {
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
    if (engine->ports.cuts == NULL) {
        return tail_ps;
    }
    packet->tail_ps = tail_ps;
    uint32_t head_bytes = engine->ports.options->cut_through_bytes;
    if (!engine->ports.cuts[link_id] || head_bytes >= packet->bytes) {
        return tail_ps;
    }
    return begins_ps + (uint64_t)(head_bytes * link->ps_per_byte + 0.5) + link->latency_ps;
}

// A packet is at the far end of a link at arrives_ps; its `hop` is what comes then.
static inline void packet_file_arrival(struct packet_engine *engine, uint32_t id, uint32_t link_id,
                                       uint64_t arrives_ps)
{
    if (engine->post == NULL || !packet_post_away(engine, id, link_id, arrives_ps)) {
        clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
                   arrives_ps);
    }
}

// ---- transports ----

struct packet_transport packet_transport_of(enum weft_sim_transport transport);
// Fails with INPUT when the parameters of the options' transport make no sense.
bool packet_check_transport(const struct weft_sim_options *options, struct weft_error *error)
    WEFT_MUST_USE;
// MLTCP: the gain of a flow's growth from here on.
void packet_learn(struct packet_engine *engine, struct packet_flow *flow, uint32_t newly);
struct packet_transport packet_reno(void);
struct packet_transport packet_dctcp(void);
struct packet_transport packet_cubic(void);
struct packet_transport packet_dcqcn(void);
struct packet_transport packet_swift(void);
struct packet_transport packet_ndp(void);
struct packet_transport packet_nscc(void);
// CUBIC's K: how long a window takes from `from` to `peak` packets (RFC 9438, figure 2).
double packet_cubic_period_s(const struct weft_cubic_options *options, double peak, double from);
// Swift's target of a round trip.
uint64_t packet_swift_target_ps(const struct weft_swift_options *options, uint32_t hop_count,
                                double window);
// Reno's growth by `newly` packets (RFC 5681, 3.1), scaled by the flow's gain.
void packet_grow(struct packet_flow *flow, uint32_t newly);

#endif
