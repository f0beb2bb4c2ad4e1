// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

// Simulation: what a fabric does with an iteration or a list of flows.
//
//   taskgraph + fabric + routes + rings ──► [sim] ──► times, link bytes, timeline
//
// The flow engine gives every flow its max-min fair rate (Bertsekas and Gallager, Data Networks,
// 6.5.2) and recomputes only what an arrival or a departure can change. A transfer of S bytes puts
// W = S + header * ceil(S / (packet - header)) bytes on every link of its path; it is done when the
// last of them has passed the slowest link, plus each link's propagation and, store-and-forward,
// one packet's time on every link but the slowest. docs/flow-engine.md has the equations.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_sim_engine {
    WEFT_ENGINE_FLOW,   // rates: a fluid
    WEFT_ENGINE_PACKET, // queues, acknowledgements, losses, congestion control
};

enum weft_sim_transport {
    WEFT_TRANSPORT_IDEAL, // a fluid at max-min fair rates
    WEFT_TRANSPORT_DCTCP, // RFC 8257; in the flow engine: jobs only
    WEFT_TRANSPORT_RENO,  // RFC 5681, with RFC 6675's retransmission; packet engine, as all below
    WEFT_TRANSPORT_CUBIC, // RFC 9438
    WEFT_TRANSPORT_DCQCN, // Zhu et al., SIGCOMM 2015
    WEFT_TRANSPORT_SWIFT, // Kumar et al., SIGCOMM 2020
    WEFT_TRANSPORT_NDP,   // Handley et al., SIGCOMM 2017; for ports that trim
    WEFT_TRANSPORT_NSCC,  // Ultra Ethernet 1.0; for sprayed packets
    // MLTCP (Rajasekaran et al., arXiv 2402.09589): growth scaled by an iteration's progress.
    WEFT_TRANSPORT_MLTCP_RENO,
    WEFT_TRANSPORT_MLTCP_CUBIC,
    WEFT_TRANSPORT_MLTCP_DCTCP,
    WEFT_TRANSPORT_MLTCP_DCQCN,
    WEFT_TRANSPORT_COUNT,
};

struct packet_congestion_ops; // the packet engine's (src/sim/packet/transport/congestion.h)

struct weft_transport_entry {
    const char *name;
    enum weft_sim_transport transport;
    const char *summary;
    const struct packet_congestion_ops *congestion; // that plays it
    bool scales_growth;                             // by an iteration's progress: MLTCP
};
// All transports, in the order of the enum.
const struct weft_transport_entry *weft_transports(uint32_t *count);
// The entry of one. O(transports).
const struct weft_transport_entry *weft_transport_entry(enum weft_sim_transport transport);
const char *weft_transport_name(enum weft_sim_transport transport);
// Fails with INPUT, naming all that there are.
bool weft_transport_find(enum weft_sim_transport *transport, const char *name,
                         struct weft_error *error) WEFT_MUST_USE;

// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257).
struct weft_dctcp_options {
    double gain; // of the moving average of marked packets; in (0, 1]
    // As RFC 8257 has them if set.
    bool cuts_at_once;  // at the first mark of a window, instead of when a turn is over
    bool begins_marked; // the average begins at 1 instead of 0
    // As htsim has it (docs/packet-engine.md): a turn is as many acknowledgements as the window had
    // packets when the last one ended, 2 at first, the connection's among them; the average cuts
    // the window after each, marked or not; and no window grows that has no room.
    bool counts_turns;
};
#define WEFT_DCTCP_DEFAULTS ((struct weft_dctcp_options){.gain = 1.0 / 16})
#define WEFT_DCTCP_HTSIM ((struct weft_dctcp_options){.gain = 1.0 / 16, .counts_turns = true})

// CUBIC (RFC 9438). HyStart is off.
struct weft_cubic_options {
    double growth;         // C, packets / s^3; > 0
    double decrease_ratio; // beta: what is left after a loss; in (0, 1)
    bool reno_friendly;    // never slower than Reno would be (4.3)
    bool fast_convergence; // (4.7)
};
#define WEFT_CUBIC_DEFAULTS ((struct weft_cubic_options){0.4, 0.7, true, true})

// DCQCN (Zhu et al., SIGCOMM 2015, figures 5 and 7; section 6 for the values).
struct weft_dcqcn_options {
    uint64_t notice_ps;      // N: a receiver asks a flow to slow down this often at most
    uint64_t alpha_ps;       // K: without a notice for so long the average decays
    double gain;             // g, of the average; in (0, 1]
    uint64_t timer_ps;       // T: the rate grows this often; a shorter one takes more bandwidth
    uint64_t bytes;          // B: ... and each time that so many bytes were sent
    uint32_t recovery_count; // F: growths back to the target before the target grows
    double step_Bps;         // R_AI: of the target, additive
    double hyper_step_Bps;   // R_HAI
    double rate_min_Bps;
    uint32_t window_packets; // no more are in flight; 0: window_limit_packets
};
#define WEFT_DCQCN_DEFAULTS                                                                        \
    ((struct weft_dcqcn_options){.notice_ps = 50000000,                                            \
                                 .alpha_ps = 55000000,                                             \
                                 .gain = 1.0 / 256,                                                \
                                 .timer_ps = 55000000,                                             \
                                 .bytes = 10000000,                                                \
                                 .recovery_count = 5,                                              \
                                 .step_Bps = 5e6,                                                  \
                                 .hyper_step_Bps = 50e6,                                           \
                                 .rate_min_Bps = 1.25e6})

// Swift (Kumar et al., SIGCOMM 2020, section 3 and algorithm 1).
struct weft_swift_options {
    uint64_t base_ps;          // target of a round trip, before scaling
    uint64_t hop_ps;           // more of it for each link of the path
    uint64_t flow_ps;          // ... and at most so much more for flows with small windows,
    double flow_window_min;    // all of it at this window, in packets,
    double flow_window_max;    // and none at this one
    double step_packets;       // additive increase a round trip
    double decrease_ratio;     // beta
    double decrease_max;       // at most so much of the window at once; in (0, 1)
    double window_min_packets; // below one packet the flow is paced; > 0
    double window_max_packets;
};
#define WEFT_SWIFT_DEFAULTS                                                                        \
    ((struct weft_swift_options){.base_ps = 25000000,                                              \
                                 .hop_ps = 1000000,                                                \
                                 .flow_ps = 40000000,                                              \
                                 .flow_window_min = 0.1,                                           \
                                 .flow_window_max = 100,                                           \
                                 .step_packets = 1,                                                \
                                 .decrease_ratio = 0.8,                                            \
                                 .decrease_max = 0.5,                                              \
                                 .window_min_packets = 0.001,                                      \
                                 .window_max_packets = 8192})

// NSCC (src/sim/packet/transport/nscc.c), in uet-htsim's units: growth is scaled by the path's
// bandwidth times delay over 100 Gbit/s times 12 us.
struct weft_nscc_options {
    uint64_t base_ps;      // a round trip when nothing waits; 0 = of the path
    uint64_t target_ps;    // of queueing; 0 = base_ps, of which 3/4 where ports trim
    double window_ratio;   // the first and largest window: round trips at the first link's rate
    double missing_gain;   // packets a round trip for 12 us below the target
    double fair_gain;      // ... above it without a mark
    double even_step;      // ... always
    double fast_gain;      // of what is acknowledged, when a window found no queue
    uint64_t empty_ps;     // a queue below is none
    double decrease_ratio; // of the part of the average delay that is above the target
    double decrease_max;   // at most so much of the window at once; in (0, 1)
    double delay_gain;     // of the average delay; in (0, 1]
    double adapt_divisor;  // quick adapt when less than the largest window over this came
};
#define WEFT_NSCC_DEFAULTS                                                                         \
    ((struct weft_nscc_options){.window_ratio = 1.5,                                               \
                                .missing_gain = 4,                                                 \
                                .fair_gain = 5,                                                    \
                                .even_step = 0.15,                                                 \
                                .fast_gain = 0.25,                                                 \
                                .empty_ps = 1000000,                                               \
                                .decrease_ratio = 0.8,                                             \
                                .decrease_max = 0.5,                                               \
                                .delay_gain = 0.0125,                                              \
                                .adapt_divisor = 8})

// MLTCP: growth times slope * r + intercept, r the part of an iteration's packets that has been
// acknowledged. What an iteration has is what the last one had; in the first, what it has so far.
struct weft_mltcp_options {
    double slope;     // >= 0
    double intercept; // > 0
    bool per_job;     // r of the job; else of the connection (without `persistent`: of the message)
    uint32_t restart_packets; // window and threshold at an iteration's start; 0: kept. Every window
                              // transport's, not MLTCP's alone; with `persistent`
};
#define WEFT_MLTCP_DEFAULTS ((struct weft_mltcp_options){1.75, 0.25, false, 0})

// MLTCP in the flow engine: a flow's share of a link follows F = slope * r + intercept, r as above
// (restart_packets does not apply). It changes in `steps` steps over an iteration's bytes, each of
// which has the share of its middle (docs/sharing.md).
struct weft_fluid_options {
    bool learns;
    bool square_root; // the share is sqrt(F): windows that grow by F and are cut by a factor
    uint32_t steps;   // 0 = 256
    struct weft_mltcp_options mltcp;
};

enum weft_marking {
    WEFT_MARK_STEP, // all that find more than mark_bytes
    WEFT_MARK_RAMP, // by chance, from 0 at mark_bytes to mark_max_ratio at mark_max_bytes; above it
                    // all (Zhu et al., "Congestion control for large-scale RDMA deployments",
                    // SIGCOMM 2015, figure 5)
    WEFT_MARK_RED,  // so with the moving average of the backlog, spread evenly (Floyd and Jacobson,
                    // "Random early detection gateways", 1993, section IV)
};

// What ports do besides serving first come, first served: all zero, nothing. A priority is a
// queue; urgent ones go first, a packet on its way is not broken off.
// How a packet's way is chosen among its flow's.
enum weft_spray {
    WEFT_SPRAY_TURN,
    WEFT_SPRAY_CHANCE,
    WEFT_SPRAY_MARKS, // in turn, but ways that brought marks or cut packets are passed over
    // The ways of packets that came without a mark again, in the order in which that was heard;
    // when there are none, as WEFT_SPRAY_MARKS (REPS: Bonato et al., "REPS: Recycled Entropy Packet
    // Spraying for Adaptive Load Balancing and Failure Mitigation", 2024).
    WEFT_SPRAY_REUSE,
};

struct weft_port_options {
    const uint8_t *priority; // per flow of a list, or per job; NULL = all 0
    uint32_t priority_count; // 0 the most urgent; 0 = 1; at most 7
    uint32_t control_weight; // of control_first so many in a row while data waits; 0 = any number
    uint64_t control_bytes;  // with trims: room for headers and acknowledgements; 0 = buffer_bytes
    uint64_t xoff_bytes;     // with lossless
    uint64_t xon_bytes;
    uint64_t headroom_bytes; // above xoff_bytes; 0 = what a link still brings after that
    uint64_t mark_max_bytes;
    double mark_max_ratio;
    double average_weight; // RED: of the newest backlog in the average, in (0, 1]
    enum weft_marking marking;
    // A switch sends a packet on when it has so many bytes of it, or later, so that the packet does
    // not run out on a faster link; 0 = all (store and forward). Servers that relay store.
    uint32_t cut_through_bytes;
    // Packets of a flow go over so many of its pair's ways, the flow's own among them; so do
    // acknowledgements. 0 or 1 = all over the flow's own (ECMP by hash). Ways that a ring
    // prescribes stay alone. Losses are told by time then: what was sent a smoothed round trip
    // before a packet that has come is lost (RFC 8985, 6.2), instead of reorder_packets.
    uint32_t spray_paths;
    enum weft_spray spray_by;
    // The ways are drawn by a hash of each one's number, as switches choose them by what senders
    // write into packets, so that some are the same. Off: they differ, as far as there are others.
    bool spray_hashed;
    bool queued;        // play departures too; implied by what needs it
    bool control_first; // acknowledgements go before all data
    // Packets that do not fit are cut to their headers, which go first (Handley et al.,
    // "Re-architecting datacenter networks", SIGCOMM 2017, section 3.1).
    bool trims;
    // No loss: who holds more than xoff_bytes of one priority that came by one link has that link's
    // sender pause it until xon_bytes are left (IEEE 802.1Q-2018, clause 36, "PFC"). The frame that
    // says so takes 64 bytes and the link's latency.
    bool lossless;
    bool early_drops; // lose instead of mark
};

// What the packet engine plays with besides the packet sizes of weft_sim_options. A host's own
// packets wait in its own queue without limit or marks; what it relays is treated as in a switch.
struct weft_packet_options {
    uint32_t ack_bytes; // an acknowledgement's; 0 = a header
    bool ack_at_once;   // acknowledgements take no time and load nothing
    // A server's own port gets all that windows allow at once. Off: a flow's next packet when its
    // last one begins to leave, so that flows take turns and acknowledgements wait for a packet of
    // each at most (Linux: small queues and fq; adapters: rounds of their queue pairs).
    bool own_at_once;
    uint32_t initial_window_packets;
    uint32_t window_limit_packets; // no more are in flight; a power of two >= 64
    uint64_t buffer_bytes;         // of a port: what would not fit is lost; a link's own wins
    uint64_t mark_bytes;           // a port marks what finds a queue above this
    bool mark_at_departure;        // ... or leaves one, itself included
    bool mark_own; // at departure, on fabrics without switches: a host's own packets, too
    struct weft_port_options port;
    bool whole_packets; // the last one of a message is as large as the others
    bool handshake;     // a header goes there and back before the first packet
    bool slow_start;    // off: windows begin in congestion avoidance
    uint64_t timeout_min_ps;
    uint64_t timeout_first_ps; // before there is a round trip to go by; 0 = what the path takes
                               // there and back when all its ports are full, at most 1 s
    uint32_t reorder_packets;  // a packet is lost when one this far above it has come
    // With `persistent` of weft_sim_options:
    uint32_t connection_count; // of a job and path; messages beyond wait for those before them
    bool idle_restart;         // idle for a timeout, a window begins small again (RFC 5681, 4.1)
    // NDP: a receiver pulls the message with the smallest of these first, equal ones in turn. Of
    // the first pull_order_count flows of a list or tasks of a job; others come behind them. NULL =
    // all are equal.
    const uint32_t *pull_order;
    uint32_t pull_order_count;
    struct weft_cubic_options cubic;
    struct weft_dcqcn_options dcqcn;
    struct weft_swift_options swift;
    struct weft_nscc_options nscc;
    struct weft_mltcp_options mltcp;
};
#define WEFT_PACKET_DEFAULTS                                                                       \
    ((struct weft_packet_options){.initial_window_packets = 10,                                    \
                                  .window_limit_packets = 8192,                                    \
                                  .buffer_bytes = 1 << 20,                                         \
                                  .mark_bytes = 1 << 17,                                           \
                                  .slow_start = true,                                              \
                                  .timeout_min_ps = 1000000000,                                    \
                                  .reorder_packets = 3,                                            \
                                  .connection_count = 1,                                           \
                                  .cubic = WEFT_CUBIC_DEFAULTS,                                    \
                                  .dcqcn = WEFT_DCQCN_DEFAULTS,                                    \
                                  .swift = WEFT_SWIFT_DEFAULTS,                                    \
                                  .nscc = WEFT_NSCC_DEFAULTS,                                      \
                                  .mltcp = WEFT_MLTCP_DEFAULTS})

// As the TopoOpt authors' simulator and their published runs have it (docs/packet-engine.md). It
// counts a packet's 8936 bytes of payload as its size, and no header.
#define WEFT_PACKET_TOPOOPT_BYTES 8936u
#define WEFT_PACKET_TOPOOPT                                                                        \
    ((struct weft_packet_options){.ack_at_once = true,                                             \
                                  .own_at_once = true,                                             \
                                  .initial_window_packets = 100,                                   \
                                  .window_limit_packets = 16384,                                   \
                                  .buffer_bytes = 50000ull * WEFT_PACKET_TOPOOPT_BYTES,            \
                                  .mark_bytes = 50ull * WEFT_PACKET_TOPOOPT_BYTES,                 \
                                  .mark_at_departure = true,                                       \
                                  .mark_own = true,                                                \
                                  .whole_packets = true,                                           \
                                  .handshake = true,                                               \
                                  .slow_start = true,                                              \
                                  .timeout_min_ps = 10000000000,                                   \
                                  .timeout_first_ps = 10000000000,                                 \
                                  .reorder_packets = 3,                                            \
                                  .connection_count = 1,                                           \
                                  .cubic = WEFT_CUBIC_DEFAULTS,                                    \
                                  .dcqcn = WEFT_DCQCN_DEFAULTS,                                    \
                                  .swift = WEFT_SWIFT_DEFAULTS,                                    \
                                  .nscc = WEFT_NSCC_DEFAULTS,                                      \
                                  .mltcp = WEFT_MLTCP_DEFAULTS})

struct weft_packet_counts {
    uint64_t packets; // of data that senders sent, with those sent again
    uint64_t events;
    uint64_t drops;
    uint64_t ecn_marks; // packets of data that came marked
    uint64_t retransmits;
    uint64_t timeouts;
    uint64_t trims;
    uint64_t pauses;
};

// What happened at a link's port.
struct weft_port_counts {
    uint64_t drops;
    uint64_t marks;
    uint64_t trims;
    uint64_t pauses;            // times that the far end paused it
    uint64_t paused_ps;         // of all priorities together
    uint64_t backlog_max_bytes; // with the packet on its way
};

// How a job repeats itself and shares links.
struct weft_sim_pace {
    uint64_t start_ps;   // of its first iteration
    double jitter_ratio; // standard deviation of an iteration's compute times, all by one factor
    // Flow engine: its flows' share of a link, relative to others'. Packet engine: its windows' or
    // rates' growth times this. 0 = 1.
    double weight_ratio;
    uint64_t dcqcn_timer_ps; // 0 = the options'
    // Keeping in step: a job is late by as much as an iteration ends after start_ps plus so many
    // times period_ps. One that is ahead of the latest of its step_group by more than stray_ratio
    // of its period waits for the difference before its next iteration. 0 = it never does.
    uint64_t period_ps;
    double stray_ratio;
    uint32_t step_group;
    uint32_t iterations; // of this job, at most the options'; 0 = as many
};

// A message of the packet engine, from its start to its end at the receiver.
struct weft_flow_record {
    uint64_t start_ps;
    uint64_t end_ps;
    uint64_t size_bytes; // without headers
    uint32_t from;       // servers of the fabric
    uint32_t to;
    uint32_t job;  // of a list of flows: 0
    uint32_t task; // of the job, or the flow's place in the list; a message of one of its rounds
    uint32_t packets;
    uint32_t retransmits; // among them
    uint32_t ecn_marks;   // packets that came marked
    uint32_t timeouts;
};

// A link, in the sample_ps before time_ps. In the flow engine `bytes` is the rate at time_ps times
// sample_ps, and there is no backlog.
struct weft_link_sample {
    uint64_t time_ps;
    uint64_t bytes;         // that left
    uint64_t backlog_bytes; // at time_ps; of samples joined into one, the longest
    uint32_t link;
    uint32_t drops;
};

// What a run records besides its result. Zero: nothing.
struct weft_record_options {
    uint32_t flow_limit;   // records of flows; those beyond are counted; packet engine
    uint32_t sample_limit; // of links; at it two in a row become one of twice the time
    uint64_t sample_ps;    // between samples
};

struct weft_records {
    const struct weft_flow_record *flows; // in order of their ends
    uint32_t flow_count;
    uint64_t flows_left_out;
    // In order of time, then of link. Links that did nothing have none.
    const struct weft_link_sample *samples;
    uint32_t sample_count;
    uint64_t sample_ps; // in the end
};

// Where a run under way is, for others to look at; what `stop` says ends it.
struct weft_sim_progress {
    weft_atomic_u64 now_ps;
    weft_atomic_u64 events;
};

// ---- circuits that change while the simulation runs ----

// What a circuit controller sees when it is asked.
struct weft_circuit_demand {
    uint64_t now_ps;
    uint32_t server_count;
    const double *unserved_bytes; // [from * server_count + to]: begun and not yet carried
};

// What it answers. The arrays are the controller's own and hold until it is asked again.
struct weft_circuit_answer {
    const double *rate_Bps;    // per link of the fabric; 0: no circuit makes this link
    const uint32_t *next_link; // [at * server_count + to]: the link towards `to`; WEFT_NONE: no way
    uint64_t dark_ps;          // from now on, changed links carry nothing for so long
    bool stops_all;    // so do those that do not change: a switch that only turns as a whole
    uint64_t until_ps; // it is asked again then, after the dark time; WEFT_NEVER: never
};

// A circuit controller: sees demand and time, and answers with circuits and dark intervals. A
// fabric's links are the circuits that there may ever be, between servers; the controller says
// which of them there are, at what rate, and by which of them each server sends on. It is first
// asked at time 0. In the flow engine a flow whose path changes goes on with what is left of it; in
// the packet engine a link that changes first drains, so that nothing is in flight over it, and
// packets wait at the server before it until it is there again.
struct weft_circuit_controller {
    void *state; // handed to `decide`
    // Fails with what shall end the run. `scratch` is gone on return.
    bool (*decide)(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error);
};

struct weft_circuit_counts {
    uint64_t answer_count; // times that the controller was asked
    uint64_t dark_ps;      // of all dark intervals together
    uint32_t hop_max;      // links of the longest path that a flow took
};

struct weft_sim_options {
    uint32_t packet_bytes; // MTU; 0 = fluid: no header, cut-through, only propagation latency
    uint32_t header_bytes; // of every packet
    uint64_t seed;         // ECMP choices
    bool timeline;         // record task start and end times
    // A transfer counts as done when its sender knows: one more trip of a header, back. Also the
    // cost of opening a connection for each message. Off: done when the receiver has it.
    bool acknowledged;
    // An AllReduce of less than one packet for each member takes one round of 2(k-1)/k of its bytes
    // instead of 2(k-1) rounds of 1/k, as libraries do for latency's sake.
    bool small_in_one_round;
    // Every AllReduce does so: all hops of a ring stream side by side. A stand-in for planners that
    // costs 2(k-1) times fewer flows; it leaves out the rounds' latency and barriers.
    bool one_round;
    enum weft_sim_engine engine;
    enum weft_sim_transport transport;
    struct weft_fluid_options fluid;          // of the flow engine's jobs; zero: fair
    struct weft_dctcp_options dctcp;          // read with WEFT_TRANSPORT_DCTCP
    const struct weft_packet_options *packet; // NULL = defaults
    uint32_t iterations;               // of each job, each when the one before has ended; 0 = 1
    const struct weft_sim_pace *paces; // per job; NULL = all at 0, without jitter, alike
    // Packet engine: messages of one job on one path are one stream, which keeps its congestion
    // control from one to the next. Off: each is a connection of its own.
    bool persistent;
    // Packet engine, lists of flows: the run is cut into so many parts by the fabric (0 or 1: it is
    // not), which `threads` play side by side. The parts, not the threads, may decide which of two
    // packets comes first that come to a port at one picosecond; and acknowledgements of a
    // message's last packets go on to its sender, where in one part they are gone. What cannot be
    // cut, by its options or its fabric, is played in one (docs/packet-engine.md).
    uint32_t parts;                                 // at most 16
    uint32_t threads;                               // 0 = 1
    const struct weft_circuit_controller *circuits; // NULL = the fabric's links stay as they are
    struct weft_record_options records;
    struct weft_sim_progress *progress; // NULL = nobody looks
    weft_stop stop;                     // the run then fails with STOPPED
};

// One job: a task graph, which cluster server each of its servers is (NULL = the same), and rings
// for its groups (index = task graph group; a group without rings uses its own order).
struct weft_sim_job {
    const struct weft_taskgraph *graph;
    const uint32_t *servers;
    struct weft_ring_set rings;
};

struct weft_sim_result {
    const uint64_t *iteration_ps;            // per job; of several iterations: their mean
    const uint64_t *const *iteration_end_ps; // per job, per iteration
    uint64_t end_ps;
    uint64_t flow_count; // flows played
    uint64_t event_count;
    uint64_t solve_count;              // rate recomputations
    uint64_t work_count;               // flows looked at by them: what the engine's time grows with
    uint64_t share_count;              // steps of shares that follow progress
    uint64_t wait_count;               // iterations that began later, to keep in step
    const double *link_bytes;          // per link, on the wire
    struct weft_packet_counts packets; // packet engine
    const struct weft_port_counts *ports; // packet engine: per link
    uint32_t part_count;                  // that it was played in
    uint64_t window_count;                // of a run in parts, that they played side by side
    uint64_t crossing_count;              // packets from one part to another
    uint64_t part_events;                 // of the part with the most
    struct weft_circuit_counts circuits;
    struct weft_records records;
    const uint64_t *const *task_start_ps; // per job, per task, if timeline; of the last iteration
    const uint64_t *const *task_end_ps;
};

// Plays one iteration of each job from 0 on, or several as the options say. A device runs its ready
// tasks one at a time, in the order in which they became ready; transfers and AllReduces start when
// ready. An AllReduce of S bytes over k members runs on each ring of its group, with its share:
// 2(k-1) rounds, in each of which every member sends S/k of the share to its next; a ring's round
// begins when its last has ended. Fails with INPUT when a pair has no route, a ring is none, a
// header fills its packet or simulated time overflows; with INFEASIBLE when packets get
// nowhere any more; with STOPPED when `stop` says so. O((flows + tasks) log) and what the solves
// take.
//
// Of the network the fabric and its routes are read: rings are the jobs'. Of the environment the
// arenas and the error are used; the seed, the threads and `stop` are the options', which say what
// is simulated.
bool weft_sim_run_jobs(struct weft_sim_result *result, const struct weft_network *network,
                       const struct weft_sim_job *jobs, uint32_t job_count,
                       const struct weft_sim_options *options,
                       const struct weft_environment *environment) WEFT_MUST_USE;

// ---- where the time goes ----

// What a server does with the time of an iteration, the first that applies. Of a server with
// several devices: the mean of theirs.
enum weft_time_use {
    WEFT_TIME_COMPUTE,    // forward, backward, update or local work
    WEFT_TIME_TRANSFER,   // its device is free, bytes are on their way to it
    WEFT_TIME_COLLECTIVE, // its device is free, a collective that it takes part in runs
    WEFT_TIME_IDLE,       // neither: others are at work
    WEFT_TIME_USE_COUNT,
};
const char *weft_time_use_name(enum weft_time_use use); // "compute", "transfer", ...

struct weft_breakdown {
    // [server * WEFT_TIME_USE_COUNT + use]; those of a server add up to the iteration, up to
    // rounding by its number of devices. A server without a device is idle.
    const uint64_t *use_ps;
    // One chain of tasks that the iteration had to wait for, from its end back: each task's
    // predecessor, or the task before it on its device, that ended last. Time by kind of task;
    // together with path_gap_ps, where nothing of the chain ran, the iteration.
    uint64_t path_ps[WEFT_TASK_KIND_COUNT];
    uint64_t path_gap_ps;
    uint32_t path_length; // tasks
};

// When the tasks of one iteration ran: a job's of a result with a timeline.
struct weft_task_times {
    const uint64_t *start_ps; // by task
    const uint64_t *end_ps;
    uint64_t iteration_ps;
};
// Takes an iteration apart by its tasks' times. Tasks that never ran do not count.
// O((tasks + edges + members of collectives) log).
void weft_sim_breakdown(struct weft_breakdown *breakdown, const struct weft_taskgraph *graph,
                        const struct weft_task_times *tasks, struct weft_arena *arena,
                        struct weft_arena scratch);

// A list of flows, in order of start.
struct weft_flow_list {
    uint32_t count;
    const uint32_t *from;
    const uint32_t *to;
    const uint64_t *size_bytes;
    const uint64_t *start_ps;
};
// Plays a list of flows; completion_ps[count], if not NULL, gets each flow's end. A flow of 0 bytes
// takes its path's latency, one to its own server no time. Under PICK flow i takes the path that
// weft_routes_pick gives for weft_hash(seed ^ weft_hash(i)). Fails with INPUT, naming the flow,
// when it has no route, its server does not exist, the starts fall, or simulated time overflows.
// Reads the network and the environment as weft_sim_run_jobs does.
bool weft_sim_run_flows(struct weft_sim_result *result, uint64_t *completion_ps,
                        const struct weft_network *network, const struct weft_flow_list *flows,
                        const struct weft_sim_options *options,
                        const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
