// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PACKETS_H
#define WEFT_REQUEST_PACKETS_H

// Which engine plays a run and, where packets are played, what they, their ports and their
// transport are like: what is asked of a preset, to which it is applied once the load is known.
//
// weft/sim.h says what each quantity does in the engine (weft_sim_options, weft_packet_options).

#include "weft/request/parameter.h"
#include "weft/sim.h"

WEFT_API_BEGIN

enum weft_packet_preset {
    WEFT_PRESET_PLAIN = 0,
    WEFT_PRESET_TOPOOPT = 1, // as the simulator of TopoOpt's authors has it
};

struct weft_request_packets {
    struct weft_given_word engine;    // enum weft_sim_engine; else as the transport says
    struct weft_given_word transport; // enum weft_sim_transport; else dctcp for packets
    struct weft_given_word preset;    // enum weft_packet_preset; else topoopt for task graphs
    struct {
        struct weft_given_count mtu; // bytes of a packet with its header
        struct weft_given_count header;
        struct weft_given_count ack;
    } size;
    struct {                               // what senders and receivers do
        struct weft_given_word ack;        // 0: known at once, 1: through the network
        struct weft_given_word host_queue; // 0: flows take turns, 1: all that windows allow
        struct weft_given_count initial_window;
        struct weft_given_count window_limit;
        struct weft_given_count reorder;
        struct weft_given_time rto_min;
        struct weft_given_time rto_first;
        bool slow_start;
        bool no_slow_start;
        bool handshake;
        bool no_handshake;
    } host;
    struct { // what ports do
        struct weft_given_bytes buffer;
        struct weft_given_bytes ecn_kmin;
        struct weft_given_bytes ecn_kmax;
        struct weft_given_number ecn_pmax;
        struct weft_given_word mark_at;      // 0: arrival, 1: departure
        struct weft_given_number red_weight; // of the newest length in the average queue
        struct weft_given_bytes lossless;    // the length that begins a pause
        struct weft_given_bytes xon;
        struct weft_given_bytes headroom;
        struct weft_given_bytes control; // room for headers and acknowledgements
        struct weft_given_count cut_through;
        bool trim;
        bool ack_priority;
        bool early_drops;
        struct weft_given_number link_loss;
        struct weft_given_count lossy_link; // else every link
    } port;
    struct { // paths of one message
        struct weft_given_count paths;
        struct weft_given_word by; // enum weft_spray
        bool hashed;
    } spray;
    struct { // of persistent jobs
        bool persistent;
        struct weft_given_count count;
        bool idle_restart;
        struct weft_given_count restart_window;
    } connection;
    struct { // constants of transports
        struct weft_given_number mltcp_slope;
        struct weft_given_number mltcp_intercept;
        bool mltcp_per_job;
        struct weft_time_list dcqcn_timer; // for all jobs, or one for each
        struct weft_given_rate dcqcn_step;
        struct weft_given_number dctcp_gain;
        bool dctcp_rfc;
        struct weft_given_time target_delay;
        struct weft_given_number loss_bound;
        struct weft_given_number unimportant;
        struct weft_given_number loss_budget;
        struct weft_given_count layer_queues;
    } control;
    struct weft_given_count partitions;       // that one run is played in
    const struct weft_partition_peers *peers; // processes that play it together; NULL: this one
    bool skip;                                // steady states are skipped
};

enum { WEFT_PACKET_PARAMETERS = 54 };
extern const struct weft_parameter weft_packet_parameters[WEFT_PACKET_PARAMETERS];

// What the load is.
enum {
    WEFT_LOAD_TASKGRAPH = 1, // its preset is topoopt, unless another is asked for
    WEFT_LOAD_LEARNS = 2,    // shares of the flow engine follow MLTCP's constants
};

// Whether a load that nothing else says the engine of is played in packets.
bool weft_request_plays_packets(const struct weft_request_packets *asked);
// Fills in engine, transport and packets. *sim says what packets are like unless the request does;
// *packet, to which it then points, gets the preset and what the request changes of it. Fails with
// USAGE where what is asked does not fit together.
bool weft_request_packets(struct weft_sim_options *sim, struct weft_packet_options *packet,
                          const struct weft_request_packets *asked, unsigned load,
                          const struct weft_environment *environment) WEFT_MUST_USE;
// MLTCP's constants by the request; those that it does not give stay.
void weft_request_mltcp(struct weft_mltcp_options *mltcp, const struct weft_request_packets *asked);

WEFT_API_END

#endif
