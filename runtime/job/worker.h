// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_WORKER_H
#define WEFT_RUNTIME_JOB_WORKER_H

// Workers: a process for each server, which runs its operations of a task graph iteration by
// iteration.
//
//   program + connections ──► [workers] ──► times of tasks, TCP's counts
//
// Compute sleeps for its runtime on its device, one task at a time; collectives go round their
// rings with real float32 sums; transfers send bytes. What the runtimes and sizes of the graph are
// is what runs: scaling is the caller's.

#include "program.h"

// When tasks began and ended, by task, on the machine's clock: in memory that all processes share.
// A task begins with the first of its operations and ends with the last.
struct lab_times {
    _Atomic uint64_t *start_ns;
    _Atomic uint64_t *end_ns;
};

struct lab_rail_part;

struct lab_work_options {
    struct lab_connection_options connections;
    const char *const *netns;         // by server; NULL = the caller's own
    const uint32_t *addresses;        // by server; NULL = 127.0.0.1
    bool check;                       // sums of the first iteration's collectives
    bool check_all;                   // and of all others'
    bool check_transfers;             // bytes of transfers, too
    const struct lab_rail_part *rail; // operations go over the circuits of a rail; NULL = none
    uint32_t stall_ms;  // bytes that a peer does not take for so long are a failure; 0 = never
    bool watch_carrier; // a port of the server that loses its carrier is a failure, too
    const uint64_t *dark_interfaces; // by server: bits of those that are dark already; NULL = none
    bool real_time;                  // SCHED_FIFO, where permitted
};

// What all workers share; the context of lab_worker_main.
struct lab_work {
    const struct lab_program *program;
    const struct lab_program *next_program; // after LAB_WORK_CHANGE; NULL = none
    struct lab_work_options options;
    struct lab_times times;
};

// A worker's answer to LAB_MESSAGE_GO (struct lab_work_order).
#define LAB_WORK_CHANGE                                                                            \
    UINT32_MAX // drain and close connections, say READY, open those of next_play
struct lab_work_order {
    uint32_t iteration;
};
struct lab_work_report {
    struct lab_tcp_counts tcp; // since the connections were made
    // Elements whose sums were held against direct ones, bytes of transfers against those sent.
    uint64_t checked_count;
    uint64_t sent_bytes;     // in this iteration
    uint64_t received_bytes; // likewise, all of messages that have ended
    uint32_t silent_count;   // of a rail: orders of the controller that did not come
};

// Shared memory for times of so many tasks; ends with the process. UNSUPPORTED.
bool lab_times_open(struct lab_times *times, uint32_t task_count, struct weft_error *error)
    WEFT_MUST_USE;
void lab_times_reset(struct lab_times *times, uint32_t task_count);

int lab_worker_main(struct lab_peer *self, void *context);

#endif
