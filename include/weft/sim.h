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
#include "weft/sim/circuits.h"
#include "weft/sim/transport.h"
#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_sim_engine {
    WEFT_ENGINE_FLOW,   // rates: a fluid
    WEFT_ENGINE_PACKET, // queues, acknowledgements, losses, congestion control
};

// MLTCP in the flow engine: a flow's share of a link follows F = slope * r + intercept, r as above
// (restart_packets does not apply). It changes in `steps` steps over an iteration's bytes, each of
// which has the share of its middle (docs/sharing.md).
struct weft_fluid_options {
    bool learns;
    bool square_root; // the share is sqrt(F): windows that grow by F and shrink by a factor
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

// How the next packet's path is chosen among its flow's.
enum weft_spray {
    WEFT_SPRAY_ROUND_ROBIN,
    WEFT_SPRAY_CHANCE, // any path, each with the same chance
    WEFT_SPRAY_MARKS,  // round robin, passing over paths that brought marks or trimmed packets
    // The paths of packets that came without a mark again, in the order in which the sender learns
    // of it; when there are none, as WEFT_SPRAY_MARKS (REPS: Bonato et al., "REPS: Recycled Entropy
    // Packet Spraying for Adaptive Load Balancing and Failure Mitigation", 2024).
    WEFT_SPRAY_REUSE,
};

// What ports do besides serving first come, first served: all zero, nothing. Each priority has a
// queue; the most urgent one with a packet is served, and a packet that has begun to leave is not
// broken off.
struct weft_port_options {
    const uint8_t *priority; // per flow of a list, or per job; NULL = all 0
    uint32_t priority_count; // 0 the most urgent; 0 = 1; at most 7
    // With control_first or trims: so many packets of control go in a row while data waits; 0 = any
    // number.
    uint32_t control_weight;
    uint64_t control_bytes; // with trims: room for headers and acknowledgements; 0 = buffer_bytes
    uint64_t xoff_bytes;    // with lossless
    uint64_t xon_bytes;
    uint64_t headroom_bytes; // above xoff_bytes; 0 = what a link still brings after that
    uint64_t mark_max_bytes;
    double mark_max_ratio;
    double average_weight; // RED: of the newest backlog in the average, in (0, 1]
    enum weft_marking marking;
    // A switch sends a packet on when it has so many bytes of it, or later, so that the packet does
    // not run out on a faster link; 0 = all (store and forward). Servers that relay store.
    uint32_t cut_through_bytes;
    // Packets of a flow go over so many of its pair's paths, the flow's own among them; so do
    // acknowledgements. 0 or 1 = all over the flow's own (ECMP by hash). A path that a ring
    // prescribes is the only one of its flow. Losses are detected by time then: what was sent a
    // smoothed round trip before a packet that has come is lost (RFC 8985, 6.2), instead of
    // loss.reorder_packets.
    uint32_t spray_paths;
    enum weft_spray spray_by;
    // The paths are drawn by a hash of each one's number, as switches choose them by what senders
    // write into packets, so that some are the same. Off: they differ, as far as there are others.
    bool spray_hashed;
    bool queued;        // play departures too; implied by what needs it
    bool control_first; // acknowledgements go before all data
    // Packets that do not fit are trimmed to their headers, which go first (Handley et al.,
    // "Re-architecting datacenter networks", SIGCOMM 2017, section 3.1).
    bool trims;
    // No loss: who holds more than xoff_bytes of one priority that came by one link has that link's
    // sender pause it until xon_bytes are left (IEEE 802.1Q-2018, clause 36, "PFC"). The frame that
    // says so takes 64 bytes and the link's latency.
    bool lossless;
    bool early_drops; // lose instead of mark
    // With priorities: what waits in all of the port decides a mark, not what waits in the packet's
    // priority (PIAS).
    bool mark_by_port;
    // A full port loses the packet whose message has most left, and sends first of the message that
    // has least left (pFabric, SIGCOMM 2013, 4.1). With control_first, and no priorities besides.
    bool by_remaining;
    // Every packet that takes a link is lost with this chance, whatever it is: a link that fails
    // now and then without saying so. On one link, or with WEFT_NONE on each.
    double loss_ratio;
    uint32_t loss_link;
};

// How much a sender may have in flight.
struct weft_window_options {
    uint32_t initial_packets;
    uint32_t limit_packets; // no more are in flight; a power of two >= 64
    bool slow_start;        // off: windows begin in congestion avoidance
    // Idle for a timeout, a window begins small again (RFC 5681, 4.1); with `persistent` of
    // weft_sim_options.
    bool idle_restart;
};

// When a packet counts as lost.
struct weft_loss_options {
    uint64_t timeout_min_ps;
    uint64_t timeout_first_ps; // before there is a round trip to go by; 0 = what the path takes
                               // there and back when all its ports are full, at most 1 s
    uint32_t reorder_packets;  // a packet is lost when one this far above it has come
};

// NDP: a receiver pulls the message with the smallest of these first, equal ones round robin. Of
// the first `count` flows of a list or tasks of a job; others come behind them.
struct weft_pull_options {
    const uint32_t *order; // NULL = all are equal
    uint32_t count;
};

// What the packet engine plays with besides the packet sizes of weft_sim_options. A host's own
// packets wait in its own queue without limit or marks; what it relays is treated as in a switch.
struct weft_packet_options {
    uint32_t ack_bytes; // an acknowledgement's; 0 = a header
    bool ack_at_once;   // acknowledgements take no time and load nothing
    // A server's own port gets all that windows allow at once. Off: a flow's next packet when its
    // last one begins to leave, so that flows alternate and acknowledgements wait for a packet of
    // each at most (Linux: small queues and fq; adapters: rounds of their queue pairs).
    bool own_at_once;
    struct weft_window_options window;
    uint64_t buffer_bytes;  // of a port: what would not fit is lost; a link's own wins
    uint64_t mark_bytes;    // a port marks what finds a queue above this
    bool mark_at_departure; // ... or leaves one, itself included
    bool mark_own;          // at departure, on fabrics without switches: a host's own packets, too
    struct weft_port_options port;
    bool whole_packets; // the last one of a message is as large as the others
    bool handshake;     // a header goes there and back before the first packet
    bool starts_listed; // a job's first tasks begin in the order of its list, where it has one
    // What repeats is skipped: what comes of it is an estimate, with samples that say how good
    // (docs/packet-engine.md). Not with `persistent`, partitions, circuits, series of samples,
    // MLTCP, ndp, pfabric, spraying, marks at departure, RED, or ports with queues.
    bool skip;
    struct weft_loss_options loss;
    // With `persistent` of weft_sim_options: how many connections a job has on a path at most.
    // While all are busy, a message waits behind those of the one with least to send.
    uint32_t connection_count;
    struct weft_pull_options pull;
    struct weft_cubic_options cubic;
    struct weft_dcqcn_options dcqcn;
    struct weft_swift_options swift;
    struct weft_nscc_options nscc;
    struct weft_mltcp_options mltcp;
    struct weft_pias_options pias;
    struct weft_mlt_options mlt;
};
#define WEFT_PACKET_DEFAULTS                                                                       \
    ((struct weft_packet_options){                                                                 \
        .window = {.initial_packets = 10, .limit_packets = 8192, .slow_start = true},              \
        .buffer_bytes = 1 << 20,                                                                   \
        .mark_bytes = 1 << 17,                                                                     \
        .loss = {.timeout_min_ps = 1000000000, .reorder_packets = 3},                              \
        .connection_count = 1,                                                                     \
        .cubic = WEFT_CUBIC_DEFAULTS,                                                              \
        .dcqcn = WEFT_DCQCN_DEFAULTS,                                                              \
        .swift = WEFT_SWIFT_DEFAULTS,                                                              \
        .nscc = WEFT_NSCC_DEFAULTS,                                                                \
        .mltcp = WEFT_MLTCP_DEFAULTS,                                                              \
        .pias = WEFT_PIAS_DEFAULTS,                                                                \
        .mlt = WEFT_MLT_DEFAULTS})

// As the TopoOpt authors' simulator and their published runs have it (docs/packet-engine.md). It
// counts a packet's 8936 bytes of payload as its size, and no header.
#define WEFT_PACKET_TOPOOPT_BYTES 8936u
#define WEFT_PACKET_TOPOOPT                                                                        \
    ((struct weft_packet_options){                                                                 \
        .ack_at_once = true,                                                                       \
        .own_at_once = true,                                                                       \
        .window = {.initial_packets = 100, .limit_packets = 16384, .slow_start = true},            \
        .buffer_bytes = 50000ull * WEFT_PACKET_TOPOOPT_BYTES,                                      \
        .mark_bytes = 50ull * WEFT_PACKET_TOPOOPT_BYTES,                                           \
        .mark_at_departure = true,                                                                 \
        .mark_own = true,                                                                          \
        .whole_packets = true,                                                                     \
        .handshake = true,                                                                         \
        .starts_listed = true,                                                                     \
        .loss = {.timeout_min_ps = 10000000000,                                                    \
                 .timeout_first_ps = 10000000000,                                                  \
                 .reorder_packets = 3},                                                            \
        .connection_count = 1,                                                                     \
        .cubic = WEFT_CUBIC_DEFAULTS,                                                              \
        .dcqcn = WEFT_DCQCN_DEFAULTS,                                                              \
        .swift = WEFT_SWIFT_DEFAULTS,                                                              \
        .nscc = WEFT_NSCC_DEFAULTS,                                                                \
        .mltcp = WEFT_MLTCP_DEFAULTS,                                                              \
        .pias = WEFT_PIAS_DEFAULTS,                                                                \
        .mlt = WEFT_MLT_DEFAULTS})

struct weft_packet_counts {
    uint64_t packets; // of data that senders sent, with those sent again
    uint64_t events;
    uint64_t drops;
    uint64_t ecn_marks; // packets of data that came marked
    uint64_t retransmits;
    uint64_t timeouts;
    uint64_t trims;
    uint64_t pauses;
    uint64_t corrupted; // lost on a link by chance (loss_ratio); not among `drops`
    // Packets of data that ports lost although they were to be marked instead (MLT).
    uint64_t important_lost;
    // Messages that have come, and how much of each did: all but with MLT.
    struct {
        double bytes;
        double of_bytes;
        double min_ratio; // of the message with the least; 0: none has come
    } delivered;
};

// What MLT sends: data of either class, for the first time and again, and control.
enum weft_step_kind {
    WEFT_STEP_IMPORTANT,
    WEFT_STEP_UNIMPORTANT,
    WEFT_STEP_RESENT_IMPORTANT,
    WEFT_STEP_RESENT_UNIMPORTANT,
    WEFT_STEP_PROBE,
    WEFT_STEP_BITMAP,
    WEFT_STEP_STOP,
    WEFT_STEP_REPORT,
    WEFT_STEP_KINDS,
};
const char *weft_step_kind_name(enum weft_step_kind kind); // "resent_unimportant"

struct weft_step_span {
    uint64_t bytes[WEFT_STEP_KINDS];
};

// A trace of a run of MLT: all that its messages' ends sent, by kind.
struct weft_step_trace {
    struct {
        uint64_t packets;
        uint64_t bytes; // on the wire, with headers
        uint64_t lost;  // packets, in ports and on links
    } sent[WEFT_STEP_KINDS];
    // Bytes by the instant at which their sender's port took them, in spans of equal length.
    uint64_t span_ps;
    uint32_t span_count;
    struct weft_step_span *spans;
};

// What was skipped of a run, and how far windows that were played after a skip are from what the
// skip expected of them, as shares of the expected packets.
struct weft_skip_counts {
    double bytes;      // on the wire, with headers
    double of_bytes;   // of all messages
    uint64_t spans;    // of time that a group of messages stood still
    uint64_t repeated; // messages that took as long as before
    uint64_t rewinds;  // groups that were to repeat, and were played after all
    uint64_t samples;  // windows and repetitions played to check them
    double error_max_ratio;
    double error_mean_ratio;
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

// A job's timing: when its iterations begin, how they vary, and how it shares links meanwhile.
struct weft_job_timing {
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
    struct weft_tally tally; // messages of the flow engine, packets of the packet engine: about
};

// Processes, of one machine or several, that play one run together: all call the same function with
// the same arguments, each plays some of the partitions, and each has the whole result, the same
// bytes as one process alone. What they play in one partition each of them plays.
struct weft_partition_peers {
    uint32_t rank;
    uint32_t count; // at most as many as partitions
    void *context;
    // Hands `length` bytes (a multiple of 8) to all processes: all[i] are lengths[i] bytes of
    // process i, aligned to 8, until the next call. Collective, as in MPI; does not return where
    // another process is gone.
    void (*gather)(void *context, const uint8_t *own, size_t length, uint8_t **all,
                   size_t *lengths);
};

// How one run of the packet engine is divided by its fabric. The partitions, not the threads or the
// processes, may decide which of two packets comes first that come to a port at one picosecond; and
// acknowledgements of a message's last packets go on to its sender, where in one partition they are
// dropped. What cannot be divided, by its options or its fabric, is played in one
// (docs/packet-engine.md).
struct weft_partition_options {
    uint32_t count;                           // at most 16; 0 or 1: the run is not divided
    uint32_t threads;                         // of this process, that play them side by side; 0 = 1
    const struct weft_partition_peers *peers; // NULL: this process plays alone
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
    uint32_t iterations;                   // of each job, each when the one before has ended; 0 = 1
    const struct weft_job_timing *timings; // per job; NULL = all at 0, without jitter, alike
    // Packet engine: messages of one job on one path are one stream, which keeps its congestion
    // control from one to the next. Off: each is a connection of its own.
    bool persistent;
    struct weft_partition_options partitions;
    const struct weft_circuit_controller *circuits; // NULL = the fabric's links stay as they are
    bool unfolded; // what must have equal rates is played one by one all the same, and each round
    struct weft_record_options records;
    struct weft_sim_progress *progress; // NULL = nobody looks
    weft_stop stop;                     // the run then fails with STOPPED
};

// Has a simulation of task graphs play as the TopoOpt authors' simulator does: packets with DCTCP
// by WEFT_PACKET_TOPOOPT (docs/packet-engine.md). *packet is filled, and must live as long as *sim.
void weft_sim_as_recorded(struct weft_sim_options *sim, struct weft_packet_options *packet);

// One job: a task graph, which cluster server each of its servers is (NULL = the same), and rings
// for its groups (index = task graph group; a group without rings uses its own order).
struct weft_sim_job {
    const struct weft_taskgraph *graph;
    const uint32_t *servers;
    struct weft_ring_set rings;
    const uint32_t *listed; // all tasks, for starts_listed; NULL = by index
};

// How a run was divided, and what that came to.
struct weft_partition_counts {
    uint32_t count;          // partitions that it was played in
    uint64_t window_count;   // spans of time that they played side by side; 0 of a single one
    uint64_t crossing_count; // packets from one partition to another
    uint64_t events_max;     // of the partition with the most
};

struct weft_sim_result {
    const uint64_t *iteration_ps;            // per job; of several iterations: their mean
    const uint64_t *const *iteration_end_ps; // per job, per iteration
    uint64_t end_ps;
    bool folded; // what has equal rates for good was played as one, or rounds that repeat, once
    uint64_t flow_count; // flows played, of those that were played as one each
    uint64_t event_count;
    uint64_t solve_count;              // rate recomputations
    uint64_t work_count;               // flows looked at by them: what the engine's time grows with
    uint64_t share_count;              // steps of shares that follow progress
    uint64_t wait_count;               // iterations that began later, to keep in step
    const double *link_bytes;          // per link, on the wire
    struct weft_packet_counts packets; // packet engine
    struct weft_skip_counts skips;     // packet engine, with `skip`
    const struct weft_step_trace *step;   // MLT; else NULL
    const struct weft_port_counts *ports; // packet engine: per link
    struct weft_partition_counts partitions;
    struct weft_circuit_counts circuits;
    struct weft_records records;
    const uint64_t *const *task_start_ps; // per job, per task, if timeline; of the last iteration
    const uint64_t *const *task_end_ps;
};

// Plays one iteration of each job from 0 on, or several as the options say. A device runs its ready
// tasks one at a time, in the order in which they became ready; transfers and AllReduces start when
// ready. An AllReduce of S bytes over k members runs on each ring of its group, with its share:
// 2(k-1) rounds, in each of which every member sends S/k of the share to its next; a ring's round
// begins when its last has ended; in the flow engine rounds that repeat with nothing else going on
// are skipped where there are 256 and more (docs/flow-engine.md). Fails with INPUT when a pair has
// no route, a ring is none, a header fills its packet or simulated time overflows; with INFEASIBLE
// when packets get nowhere any more; with STOPPED when `stop` says so. O((flows + tasks) log) and
// what the solves take.
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
//
// In the flow engine, flows that must have equal rates for good, by the symmetry of the list and
// the fabric, are played as one where that leaves a quarter of them or fewer: O(flows * hops) a
// round of color refinement, four rounds as a rule, and what their classes take. The ends are those
// of the flows played one by one (`unfolded`), up to rounding (docs/flow-engine.md).
bool weft_sim_run_flows(struct weft_sim_result *result, uint64_t *completion_ps,
                        const struct weft_network *network, const struct weft_flow_list *flows,
                        const struct weft_sim_options *options,
                        const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
