// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_TRANSPORT_CONGESTION_H
#define WEFT_SIM_PACKET_TRANSPORT_CONGESTION_H

// What a congestion control sees of its connection, and the table of functions that it is, in the
// shape of Linux' struct tcp_congestion_ops (include/net/tcp.h).
//
// A congestion control reads and sets a view of one connection and keeps its own state in a slot
// of that view. It knows nothing of packets, queues, events or the engine, so a new one is a file
// in this folder that defines a table, and a row for it in sim/transports.c.
//
//   sender (engine/) ── fills the view, calls a hook ──► congestion control ── cwnd, pacing

#include "weft/sim.h"

// Room for a congestion control's own state in each connection. NSCC needs most, 80 bytes; Linux
// gives 104 (ICSK_CA_PRIV_SIZE).
#define PACKET_CONGESTION_STATE_BYTES 96

// What is the same for all connections of a run.
struct packet_congestion_setting {
    const struct weft_packet_options *options;
    const struct weft_dctcp_options *dctcp;
    uint32_t packet_bytes; // of a full packet, its header included
    uint32_t header_bytes;
    uint32_t ack_bytes;
};

// What is the same for all connections of a job.
struct packet_job_setting {
    double weight_ratio;     // the job's share of links relative to others': scales growth
    uint64_t dcqcn_timer_ps; // the job's own rate timer; 0: the one of the options
};

// The fields stand in the order in which an acknowledgement needs them: up to the state's first 40
// bytes (all of DCTCP's) they take two cache lines.
struct packet_connection_view {
    // The congestion control sets these three; all others are read-only for it, but for what
    // packet_enter_recovery does.
    double cwnd;           // packets that may be in flight
    double ssthresh;       // packets; slow start ends here
    uint64_t next_send_ps; // pacing: no packet leaves before this instant
    // Of this instant.
    uint64_t now_ps;
    uint64_t srtt_ps; // smoothed round trip and its variation (RFC 6298); 0: not measured yet
    uint64_t rttvar_ps;
    double growth_ratio; // growth is multiplied by this: a job's weight, and MLTCP's progress
    uint32_t snd_una;    // every packet below is acknowledged
    uint32_t snd_next;   // the first packet that was never sent
    uint32_t in_flight;
    uint32_t recover;   // `snd_next` at the last reduction: one reduction for each window
    bool in_recovery;   // packets from before the last reduction are still to be acknowledged
    uint32_t hop_count; // of the path, as the two at the end
    const struct packet_congestion_setting *setting;
    _Alignas(8) char state[PACKET_CONGESTION_STATE_BYTES];
    const struct packet_job_setting *job;
    // Of the path, with `reads_path` of the table.
    double ps_per_byte;    // of the path's first link, the sender's own
    uint64_t empty_rtt_ps; // of a full packet and its acknowledgement where nothing waits
};

// What an acknowledgement says.
struct packet_ack_sample {
    uint32_t newly_acked; // packets acknowledged for the first time
    bool is_marked;       // the packet met congestion (ECN)
    bool is_notice;       // the receiver asks for less (DCQCN's congestion notification)
    uint64_t rtt_ps;
};

// A congestion control. Each function may set the view's cwnd, ssthresh and next_send_ps and its
// own state, which is all zero before `init`. Those that are not said to be optional are there,
// unless the table has ends of its own.
struct packet_congestion_ops {
    const char *name;
    uint32_t state_bytes; // at most PACKET_CONGESTION_STATE_BYTES
    // Fails with INPUT when the parameters make no sense. Optional.
    bool (*check)(const struct weft_sim_options *options, struct weft_error *error);
    // The connection opens with the options' initial window; ssthresh is infinite, or 0 without
    // slow start.
    void (*init)(struct packet_connection_view *view);
    // The header that opened the connection is back. Optional.
    void (*on_connected)(struct packet_connection_view *view, bool is_marked);
    void (*on_ack)(struct packet_connection_view *view, const struct packet_ack_sample *sample);
    // Packets are lost; called once for each window, which packet_enter_recovery has begun.
    void (*on_loss)(struct packet_connection_view *view);
    // The retransmission timer has run out: nothing counts as in flight any more.
    void (*on_timeout)(struct packet_connection_view *view);
    // A packet came as its header alone, for each. Optional: on_loss, once for each window.
    void (*on_trim)(struct packet_connection_view *view);
    // A packet of so many bytes leaves; sets next_send_ps. Optional: the window alone limits.
    void (*on_send)(struct packet_connection_view *view, uint32_t bytes);
    // A persistent connection goes on after idle_ps without anything to send. `is_restarted`: its
    // window begins anew. Optional.
    void (*on_resume)(struct packet_connection_view *view, uint64_t idle_ps, bool is_restarted);
    // The connection went on in the same way for a time that was not played: it has sent so many
    // packets more, and its instants are as much later. Optional: its state has neither packets
    // nor instants.
    void (*on_skip)(struct packet_connection_view *view, uint32_t packets, uint64_t time_ps);
    bool reads_path;    // fills the view's fields of the path
    bool wants_notices; // receivers turn marks into notices (DCQCN)
    // A packet is lost when its timer has run out and never before; the timeout is so many trips of
    // an empty path, at least the options' shortest, however often it ran out. With reads_path.
    // 0: a gap says so too, and the timeout is RFC 6298's.
    double timeout_trips;
    // What the two ends of a message do. NULL: packet_window_ends, which call the functions above;
    // others call those alone that they name.
    const struct packet_ends_ops *ends;
};

// What the two ends of a message do, each function for a slot of the engine's flows. The ends see
// the engine, which a congestion control does not.
struct packet_engine;
struct packet_ends_ops {
    // Lays out what the ends keep beside the engine's flows, for a run on so many links. Optional.
    void (*init)(struct packet_engine *engine, uint32_t link_count);
    void (*open)(struct packet_engine *engine, uint32_t flow); // a message begins
    void (*send)(struct packet_engine *engine, uint32_t flow); // what may go, goes
    // A packet is at the end of its path; it is dropped or sent back.
    void (*deliver)(struct packet_engine *engine, uint32_t packet);
    void (*timed_out)(struct packet_engine *engine, uint32_t flow); // nothing was heard for long
    // The timer of a slot has run out. Optional: instead of the retransmission timer and timed_out.
    void (*wake)(struct packet_engine *engine, uint32_t flow);
    // All slots are taken; gives one back whose message has come, if there is one. Optional: slots
    // are free when their messages have come.
    void (*retire)(struct packet_engine *engine);
};
extern const struct packet_ends_ops packet_window_ends; // engine/window_ends.c

static inline void *packet_congestion_state(struct packet_connection_view *view)
{
    return view->state;
}

// Begins a recovery. False: the window already has been reduced for what is in flight.
static inline bool packet_enter_recovery(struct packet_connection_view *view)
{
    if (view->snd_una < view->recover) {
        return false;
    }
    view->recover = view->snd_next;
    view->in_recovery = true;
    return true;
}

// The transports of this folder, one a file; sim/transports.c names them.
extern const struct packet_congestion_ops packet_reno_ops;
extern const struct packet_congestion_ops packet_dctcp_ops;
extern const struct packet_congestion_ops packet_cubic_ops;
extern const struct packet_congestion_ops packet_dcqcn_ops;
extern const struct packet_congestion_ops packet_swift_ops;
extern const struct packet_congestion_ops packet_nscc_ops;
extern const struct packet_congestion_ops packet_ndp_ops;
extern const struct packet_congestion_ops packet_pfabric_ops;
extern const struct packet_congestion_ops packet_mlt_ops;

// Reno's growth (RFC 5681, 3.1): by a packet for each acknowledged below ssthresh, above it by a
// packet for each round trip, times the view's growth_ratio.
void packet_reno_grow(struct packet_connection_view *view, uint32_t newly_acked);
// Reno's reductions: to half the window; and to one packet, when the timer has run out.
void packet_reno_on_loss(struct packet_connection_view *view);
void packet_reno_on_timeout(struct packet_connection_view *view);
// CUBIC's K: how long a window takes from `from` to `peak` packets (RFC 9438, figure 2).
double packet_cubic_period_s(const struct weft_cubic_options *options, double peak, double from);
// Swift's target of a round trip (SIGCOMM 2020, 3.1 and 3.5).
uint64_t packet_swift_target_ps(const struct weft_swift_options *options, uint32_t hop_count,
                                double cwnd);

// MLTCP (Rajasekaran et al., "MLTCP: A Distributed Technique to Approximate Centralized Flow
// Scheduling for Machine Learning", arXiv 2402.09589), a modifier of any window or rate above:
// what a connection's growth is multiplied by when progress_ratio of its iteration has been
// acknowledged. The sender keeps the view's growth_ratio at it.
static inline double packet_mltcp_growth(const struct weft_mltcp_options *options,
                                         double progress_ratio)
{
    return options->slope * progress_ratio + options->intercept;
}

#endif
