// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_MOVING_H
#define WEFT_PLAN_MOVING_H

// Plans whose circuits move while the job runs: what every such fabric answers for a model.
//
//   study + delays ──► rails, mixnet, sip ──► [moving plan] ──► request, report, lab
//
// A planner of each fabric stands in a header beside this one and fills the same struct.

#include "weft/circuit.h"
#include "weft/plan.h"

WEFT_API_BEGIN

enum weft_moving_fabric {
    WEFT_MOVING_RAILS,    // Opus: an optical switch a rail, re-wired between phases
    WEFT_MOVING_MIXNET,   // circuits of a region beside a packet fabric, re-wired for experts
    WEFT_MOVING_SIP_OCS,  // SiP-ML: parallel switches, wavelengths in bundles
    WEFT_MOVING_SIP_RING, // SiP-ML: wavelengths on fiber rings
    WEFT_MOVING_COUNT,
};
// "photonic-rails", "mixnet", "sip-ocs", "sip-ring".
const char *weft_moving_name(enum weft_moving_fabric fabric);
// The fabric of that name; WEFT_MOVING_COUNT: none has it.
enum weft_moving_fabric weft_moving_named(const char *name);

struct weft_moving_options {
    struct weft_circuit_delays delays;
    const struct weft_strategy *given; // this strategy; NULL = the planner chooses
    // Effort of replaying candidates, of rails; the others rank all theirs by formula. 0 = 10.
    double seconds;
};

struct weft_rail_alone;
struct weft_moving_plan {
    enum weft_moving_fabric fabric;
    struct weft_strategy strategy;
    double iteration_s;
    double still_s;        // the same circuits, were changes to take no time
    double dark_share;     // of the time of all ports that moved or could have
    uint64_t change_count; // commands to switches in an iteration
    bool estimate;         // iteration_s is by formula; else an engine or a replay gave it
    struct weft_certificate certificate;
    struct weft_parts parts;               // of all servers
    struct weft_cost cost;                 // by the cluster's book of prices
    const char *price_note;                // what of it has no price; NULL = all has
    struct weft_circuit_schedule schedule; // of one switch's domain over an iteration
    const struct weft_rail_alone *alone;   // of photonic rails one (weft/plan/rails.h); else NULL
};

WEFT_API_END

#endif
