// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_CONTROLLER_H
#define WEFT_RUNTIME_RAILS_CONTROLLER_H

// The controller of a rail: one process, any number of ranks.
//
//   ranks (shim) ──TCP──► [controller] ──► phases ──► the rail's switch
//
// It waits by epoll for all ranks and for the switch, to which one thread speaks, so that a switch
// that does not answer holds nobody up. Ranks are those that prove the run's key before the run
// begins; then nobody listens any more.

#include "lying.h"
#include "phases.h"
#include "runtime/process/coordinator.h"

#include <stdatomic.h>

enum { LAB_NOTICES_MAX = 256, LAB_NOTICE_TEXT = 256 };
struct lab_told_notice {
    struct lab_notice notice;
    uint32_t iteration;
    char text[LAB_NOTICE_TEXT]; // of the switch; "" = none
};
// What the controller tells the run, in memory that all processes share.
struct lab_rail_log {
    _Atomic uint64_t fault_ns;  // when the switch's fault begins; 0 = not yet
    _Atomic uint32_t iteration; // that is under way
    _Atomic uint32_t notice_count;
    struct lab_told_notice notices[LAB_NOTICES_MAX];
    _Atomic uint64_t changes, lit, fallen, port_ns;
};
// Zeroed; ends with the process. UNSUPPORTED.
bool lab_rail_log_open(struct lab_rail_log **log, struct weft_error *error) WEFT_MUST_USE;

struct lab_control {
    struct lab_phases_options phases;
    int listener;
    struct lab_key key;
    struct weft_ocs ocs; // of the lab: what is true
    struct lab_lie lie;
    uint64_t dark_ns;
    uint32_t answer_ms; // of the switch, for those who wait for it
    struct lab_rail_log *log;
};
// A lab_peer_main; its context is the struct lab_control. Ends when its coordinator says so.
int lab_controller_main(struct lab_peer *self, void *context);

#endif
