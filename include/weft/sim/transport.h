// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_TRANSPORT_H
#define WEFT_SIM_TRANSPORT_H

// Transports: congestion controls by name, and what may be set of each.
//
// The packet engine plays them, one a file in src/sim/packet/transport/; the flow engine knows the
// ideal one alone, and MLTCP as shares (weft_fluid_options of weft/sim.h). Each set of defaults is
// that of the source named above it. docs/transports.md has their equations.

#include "weft/base.h"

WEFT_API_BEGIN

enum weft_sim_transport {
    WEFT_TRANSPORT_IDEAL,   // a fluid at max-min fair rates
    WEFT_TRANSPORT_DCTCP,   // RFC 8257; packet engine, as all below
    WEFT_TRANSPORT_RENO,    // RFC 5681, with RFC 6675's retransmission
    WEFT_TRANSPORT_CUBIC,   // RFC 9438
    WEFT_TRANSPORT_DCQCN,   // Zhu et al., SIGCOMM 2015
    WEFT_TRANSPORT_SWIFT,   // Kumar et al., SIGCOMM 2020
    WEFT_TRANSPORT_NDP,     // Handley et al., SIGCOMM 2017; for ports that trim
    WEFT_TRANSPORT_NSCC,    // Ultra Ethernet 1.0; for sprayed packets
    WEFT_TRANSPORT_PIAS,    // Bai et al., NSDI 2015: DCTCP; for ports with priorities
    WEFT_TRANSPORT_PFABRIC, // Alizadeh et al., SIGCOMM 2013; for ports by remaining bytes
    WEFT_TRANSPORT_MLT,     // NSDI 2024: a bounded share may be lost; for sprayed packets
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
    bool demotes; // packets lose priority as their message goes on: PIAS
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
    bool reduces_at_once; // at the first mark, instead of when its observation window is over
    bool begins_marked;   // the average begins at 1 instead of 0
    // As htsim has it (docs/packet-engine.md): an observation window is as many acknowledgements as
    // the congestion window had packets when the last one ended, 2 at first, the connection's among
    // them; the average reduces the congestion window after each, marked or not; and no congestion
    // window grows that is not used up.
    bool counts_acks;
};
#define WEFT_DCTCP_DEFAULTS ((struct weft_dctcp_options){.gain = 1.0 / 16})
#define WEFT_DCTCP_HTSIM ((struct weft_dctcp_options){.gain = 1.0 / 16, .counts_acks = true})

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
    uint32_t window_packets; // no more are in flight; 0: window.limit_packets
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

// PIAS (Bai et al., NSDI 2015): a message's packets have priority 0 until it has sent as many bytes
// as the first threshold says, then 1, and so on. Not with `persistent`. The defaults are those of
// the authors' simulations at a load of 0.9 of web searches and data mining together (run_heter.py
// of github.com/HKUST-SING/PIAS-NS2, in packets of 1460 bytes).
#define WEFT_PIAS_THRESHOLDS 7u
struct weft_pias_options {
    uint64_t threshold_bytes[WEFT_PIAS_THRESHOLDS]; // rising
};
#define WEFT_PIAS_DEFAULTS                                                                         \
    ((struct weft_pias_options){{759 * 1460, 1132 * 1460, 1456 * 1460, 1737 * 1460, 2010 * 1460,   \
                                 2199 * 1460, 2325 * 1460}})

// MLT (weft/mlt.h): of each message's bytes the share loss_bound may be missing at its end. The
// share unimportant_ratio of its packets, by a hash of each, is dropped where others are marked;
// DLCP's default is the median.
struct weft_mlt_options {
    double loss_bound;        // in [0, 1); 0: all comes
    double unimportant_ratio; // in [0, 1]
    // Of what a server receives of a job in an iteration, or of a list of flows, so much may be
    // missing in all, whatever loss_bound allows of each message. 1: no such limit.
    double budget_ratio;
    // A port has so many queues, and messages take that of their layer, front layers the first
    // (weft_mlt_queue): of a job those whose transfers come last. 0: no queues by layer.
    uint32_t queue_count;
};
#define WEFT_MLT_DEFAULTS                                                                          \
    ((struct weft_mlt_options){.loss_bound = 0.1, .unimportant_ratio = 0.5, .budget_ratio = 1})

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

WEFT_API_END

#endif
