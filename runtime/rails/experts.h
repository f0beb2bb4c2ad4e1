// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_EXPERTS_H
#define WEFT_RUNTIME_RAILS_EXPERTS_H

// A described job of experts as a rail of a lab: its all-to-alls over circuits that are re-wired
// between them, and beside them over the management network, which is the packet network here.
//
//   described job ──► weft_expert_schedule (circuits, shares) ──► struct lab_rail ──► replay
//
// Of each pair's bytes every circuit gets as many as it carries in the all-to-all's time, or an
// equal share, and packets the rest.

#include "run.h"

#include "weft/plan/experts.h"

// From one server to another and into its process, and from an end to what begins then, in round
// numbers of a lab on two cores.
#define LAB_EXPERTS_OVERHEAD_PS UINT64_C(100000000)

struct lab_experts {
    const struct weft_expert_job *job;
    struct weft_expert_schedule schedule; // scaled
    double circuit_Bps;                   // payload of a circuit
    double packet_ports;                  // of the packet port, in circuits
    const uint32_t *compute, *end;        // tasks by all-to-all and server
    const uint32_t *turned;               // by phase: ports that turn; others have their peer
    const double *ends_s; // by all-to-all: when the last server has all, as replayed
};
// options->job is not looked at; DEMAND waits for circuits, PROVISION changes them under the
// experts' computation.
bool lab_experts_prepare(struct lab_rail *rail, struct lab_experts *experts,
                         const struct lab_rail_options *options,
                         const struct weft_environment *environment) WEFT_MUST_USE;

// ---- experts_replay.c ----

// Plays a prepared job by the lab's rules in the flow engine: ends_s[exchange_count].
bool lab_experts_replay(double *ends_s, const struct lab_rail *rail,
                        const struct lab_experts *experts,
                        const struct weft_environment *environment) WEFT_MUST_USE;

#endif
