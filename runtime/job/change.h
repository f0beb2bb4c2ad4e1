// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_CHANGE_H
#define WEFT_RUNTIME_JOB_CHANGE_H

// A job that goes on over another topology: the same processes, other circuits.
//
//   iterations ──► drain ──► circuits (dark), routes ──► verify ──► connect ──► iterations
//
// Between two iterations all connections run dry and close, so that nothing is under way when the
// circuits move. Workers stay, and go on by the other plan.

#include "runtime/experiment/experiment.h"

struct lab_change {
    struct lab_experiment before;
    struct lab_experiment after; // its first iteration is not among the measured ones
    uint32_t circuits_changed;
    uint32_t circuits_untouched;
    double drain_s;      // until all connections have run dry and are closed
    double circuits_s;   // until the last circuit was set
    double routes_s;     // until all servers had new routes
    double dark_s;       // what was left of the dark time then
    double verify_s;     // until probes had gone as planned, every pair
    double connect_s;    // until the workers were connected along their new tunnels
    double pause_s;      // the sum
    double first_s;      // the first iteration afterwards
    uint32_t pair_count; // probed, all of which were reached as planned
    // Packets that switches lost, from the drain to the end of the last iteration.
    uint64_t lost_moved;       // that came for circuits that moved
    uint64_t lost_untouched;   // for the others
    uint64_t passed_untouched; // packets over those meanwhile
};

// options[0] until options[0].iterations have been measured, then options[1], whose wiring has as
// many servers and ports: its lab and places are those of options[0]. Fails as lab_experiment_run
// and weft_lab_apply do, with INFEASIBLE where a probe does not go as planned.
bool lab_change_run(struct lab_change *change, struct lab_experiment_options options[2],
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

#endif
