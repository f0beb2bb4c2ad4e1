// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_SHIM_H
#define WEFT_RUNTIME_JOB_SHIM_H

// The shim of a rail in a worker: between the operations of its collectives and transfers and the
// connections that take their bytes.
//
//   operations ──ready──► [shim] ──announce──► controller
//              ◄──begin──        ◄──order────
//
// An operation begins when its ports are free of the operations before and, where its circuits are
// new, when the controller has said over what. A port is free when its operation has ended and TCP
// holds no byte for the circuit any more: the ports drain before they turn. On demand a rank
// announces a phase when its operation is ready, else as soon as its ports are free, also for the
// first phases of the iteration that follows.

#include "runtime/process/rendezvous.h"
#include "runtime/rails/schedule.h"

// What the ranks of a rail share.
struct lab_rail_part {
    const struct lab_rail_schedule *schedule;
    struct lab_rendezvous controller;
    bool demand;
    uint32_t iterations; // of all, so that nothing is announced for one that never comes
    uint32_t order_ms;   // an order that does not come within this is taken as "go elsewhere"
    uint32_t stall_ms;   // so does a circuit that moves no byte for so long
};

struct lab_worker;
struct lab_shim;
// Connects to the controller, and sets the way of bytes by the circuits that the rail begins with.
// The worker's connections stand. Fails with IO.
bool lab_shim_open(struct lab_shim **shim, struct lab_worker *worker,
                   const struct lab_rail_part *part) WEFT_MUST_USE;
void lab_shim_close(struct lab_shim *shim);
int lab_shim_socket(const struct lab_shim *shim); // -1 = the controller is gone
void lab_shim_begin(struct lab_shim *shim, uint32_t iteration);
// Whether an operation that is ready has to wait; lab_shim_next tells when it may begin.
bool lab_shim_holds(struct lab_shim *shim, uint32_t operation);
void lab_shim_ended(struct lab_shim *shim, uint32_t operation);
// Does what can be done. False with worker->error.
bool lab_shim_advance(struct lab_shim *shim, uint64_t now_ns, bool *moved) WEFT_MUST_USE;
// The next operation that may begin now; WEFT_NONE = none.
uint32_t lab_shim_next(struct lab_shim *shim);
// All operations of the iteration have ended and drained; when to look again at the latest.
bool lab_shim_has_settled(const struct lab_shim *shim);
uint64_t lab_shim_due_ns(const struct lab_shim *shim, uint64_t now_ns);
// Generations that went over the management network because no order came.
uint32_t lab_shim_silent_count(const struct lab_shim *shim);

#endif
