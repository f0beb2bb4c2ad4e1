// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_LAB_RECOVER_H
#define WEFT_LAB_RECOVER_H

// A job over a fault: iterations, the fault, who notices and when, new ways over what is left, and
// iterations on those.
//
//   trial ──► fault ──► workers notice and end ──► [re-plan] ──► circuits, routes ──► trial
//
// Circuits that have lost an end are given up. Hops of rings that went over them go round by
// shortest paths, the rest of the rings stays; transfers are routed anew by least link load.

#include "trial.h"

// What is left of a plan's network, with rings and routes of its own. Does not move.
struct lab_rest {
    struct weft_network network;
    struct weft_lab_wiring wiring;
    uint32_t circuits_lost;
    uint32_t detours; // hops of rings that go round
};
struct lab_recovery {
    struct lab_trial before;
    struct lab_trial after; // its first iteration is the one that the fault broke off
    struct lab_rest rest;
    double detection_s; // from the fault until a worker noticed
    double stop_s;      // until all workers had ended
    double replan_s;    // until rings and routes were chosen
    double circuits_s;  // until circuits and
    double routes_s;    // routes of all servers were set
    double reconnect_s; // until new workers were connected along their ways
    double first_s;     // until the iteration had ended
    double recovery_s;  // all of that
};

// Fails with UNSUPPORTED for a server, whose tasks nobody else can do, and with INFEASIBLE where
// what is left does not join all servers.
bool lab_replan(struct lab_rest *rest, const struct lab_trial_options *options,
                const struct weft_lab_fault *fault, struct weft_arena *arena,
                struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// options->fault at the begin of the iteration after options->iterations; then `after_iterations`.
bool lab_recover_run(struct lab_recovery *recovery, const struct lab_trial_options *options,
                     uint32_t after_iterations, struct weft_arena *arena, struct weft_arena scratch,
                     struct weft_error *error) WEFT_MUST_USE;

#endif
