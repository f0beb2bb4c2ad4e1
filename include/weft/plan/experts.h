// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_EXPERTS_H
#define WEFT_PLAN_EXPERTS_H

// A described job of experts on circuits beside packets: its all-to-alls one after the other, what
// is wired at each, and how long it takes.
//
//   described job ──► loads ──► demand of servers ──► circuits, changes, shares of pairs
//
// A layer computes (attention), sends its tokens out to experts, computes (experts) and sends them
// back; layers follow each other, micro-batch by micro-batch, and the whole repeats. Every pair is
// divided over its circuits and the packet network, with no relays. docs/mixnet.md#in-the-lab.

#include "weft/plan/mixnet.h"

WEFT_API_BEGIN

struct weft_expert_job {
    const char *name;
    uint32_t servers;
    uint32_t circuits; // ports of a server on optical switches, one on each
    uint32_t experts, ranks, layers, steps;
    double skew, drift; // weft_expert_law
    uint64_t seed;
    const char *trace_path;         // of loads, instead of the law; NULL = none
    struct weft_expert_trace trace; // what it has; loads NULL = none
    uint64_t copies_bytes;          // copies of tokens that a server has, its own included
    uint64_t attention_ps, experts_ps;
    double rate_Bps; // of a port, of circuits and of packets alike
};

struct weft_expert_options {
    double rate_Bps;      // of a circuit, for bytes of the job
    double packet_ports;  // of a server, in circuits' rate
    double bytes_ratio;   // of the job's bytes that are sent
    double time_ratio;    // of the job's times of computation
    uint64_t change_ps;   // from the command until circuits carry
    uint64_t overhead_ps; // of every all-to-all
    // Loads are known when tokens are routed. In time for a change under the experts' computation,
    // which only the way back profits from; else whoever wants circuits waits for the change.
    bool ahead;
};

// One all-to-all.
struct weft_expert_exchange {
    uint32_t step, layer;
    bool back;
    const double *bytes;      // servers^2, row = sender; the diagonal stays in the server
    const uint32_t *circuits; // servers^2, duplex
    // By plane and server: whom the port sends to, itself = idle. Ports may keep peers that
    // `circuits` do not ask for.
    const uint32_t *peers;
    uint32_t moved; // ports that send to another peer than before
    uint64_t compute_ps;
    uint64_t wait_ps; // for circuits, beyond the computation
    double time_s;    // of the bytes
};
struct weft_expert_schedule {
    uint32_t exchange_count;
    const struct weft_expert_exchange *exchanges;
    uint32_t changes; // all-to-alls before which circuits move
    uint64_t iteration_ps;
    double ideal_s; // of the bytes, on one switch for all ports
    double fixed_s; // of the bytes, over circuits for their mean that never move
};

// Chooses circuits for every all-to-all by weft_circuit_split, keeping what stands, or taking those
// for the mean demand, where that ends sooner with the wait of a change; the last all-to-all's
// circuits stand before the first. `job` is as weft_expert_job_load leaves it: ranks and experts
// divide among servers. O(all-to-alls * (search + planes^2 servers)).
void weft_expert_schedule(struct weft_expert_schedule *schedule, const struct weft_expert_job *job,
                          const struct weft_expert_options *options, struct weft_arena *arena,
                          struct weft_arena scratch);

// How many of an all-to-all's bytes from one server to another go over one of its circuits, of
// which there are `circuits` between them; what is left goes over packets. All end by time_s.
double weft_expert_circuit_bytes(const struct weft_expert_exchange *exchange, uint32_t servers,
                                 uint32_t from, uint32_t to, double rate_Bps);

WEFT_API_END

#endif
