// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_RECOVER_H
#define WEFT_RUNTIME_JOB_RECOVER_H

// A job over faults: iterations, a fault, who notices and when, what is left, and iterations on
// that.
//
//   experiment ──► fault ──► workers notice, end ──► [replan] ──► circuits, routes ──► experiment

#include "replan.h"

// A fault at the begin of an iteration, counted from 1.
struct lab_planned_fault {
    struct weft_lab_fault fault;
    uint32_t iteration;
};
enum { LAB_FAULTS_MAX = 4 };
// What a run goes through: its iterations, and faults[i] that do not descend in their iterations.
struct lab_fault_plan {
    const struct lab_planned_fault *faults;
    uint32_t fault_count;
    uint32_t iterations;
};

struct lab_recovery {
    struct lab_experiment before;
    struct lab_experiment after; // its first iteration is the one that the fault broke off
    struct lab_replanned replanned;
    double detection_s; // from the fault until it was noticed
    double stop_s;      // until all workers had ended
    double replan_s;    // rings and routes
    double circuits_s;  // circuits and
    double routes_s;    // routes of all servers
    double dark_s;      // what was left of it until new circuits were lit
    double reconnect_s; // until new workers were connected along their tunnels
    double first_s;     // the iteration that the fault broke off; 0 = another fault broke it off
    double recovery_s;  // the sum
};

// recoveries[i] of faults[i], whose iterations do not descend; two of the same: the second comes
// while the first one's broken iteration is repeated. options->fault and options->iterations are
// not read. Fails as lab_replan and lab_experiment_run do, for a server before anything runs.
bool lab_recover_run(struct lab_recovery *recoveries, const struct lab_experiment_options *options,
                     const struct lab_fault_plan *plan, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
