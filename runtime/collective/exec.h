// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_COLLECTIVE_EXEC_H
#define WEFT_RUNTIME_COLLECTIVE_EXEC_H

// Runs one rank's part of a schedule over its connections: non-blocking sockets, epoll, one thread.
//
//   ops + connections + memory ──► [exec] ──► sums, seconds
//
// A message goes in segments over `lanes` connections in turn. A segment is sent as soon as its
// needs are met, even while later segments of what it was made of are still on their way, so rounds
// overlap as far as data allow. What comes in too early for the place that it is to change is kept
// aside, a message a connection at most; so the transfers of the lowest round under way can always
// end, and no schedule that the checker accepts gets stuck.

#include "ops.h"
#include "sums.h"

struct lab_exec_options {
    enum lab_type type;
    size_t slot_elements;
    uint32_t slot_count;    // of the rank's memory
    uint32_t segment_bytes; // 0 = a quarter of a slot, within the bounds below
    uint32_t lanes;         // >= 1
    bool zero_copy;         // the connections were opened so
    // A rank's TCP hands all packets of a round on before any of a later one, so that rounds keep
    // their order on its port. The connections were opened with unsent_bytes 1.
    bool round_by_round;
};
// Short segments are passed on early, long ones cost fewer system calls. A quarter of a slot
// brought StragglAR's schedules to 0.95 to 1.00 of their model (weft-run with 8 ranks,
// docs/stragglar.md); the bounds were not measured.
#define LAB_SEGMENT_BYTES (256u << 10)
#define LAB_SEGMENT_BYTES_MIN (8u << 10)
#define LAB_SEGMENTS_LEAST 4u

struct lab_exec_counts {
    uint64_t sent_bytes;
    uint64_t received_bytes;
    uint64_t sends; // calls of the system
    uint64_t receives;
    uint64_t waits;        // epoll
    uint64_t kept_bytes;   // came too early
    uint64_t direct_bytes; // went straight into place
    uint64_t zero_copies;  // sends that the kernel did without copying,
    uint64_t copies;       // and those that it copied all the same
};

struct lab_exec;

// Everything must stay where it is until lab_exec_close.
bool lab_exec_open(struct lab_exec **exec, struct lab_peer *self,
                   const struct lab_connections *connections, const struct lab_ops *ops,
                   const struct lab_exec_options *options, struct weft_error *error) WEFT_MUST_USE;
// Runs the schedule once on `memory` (slot_count * slot_elements elements). Fails with IO, naming
// rank, peer and round, when a peer's end closes or nothing moves for the peer's timeout.
bool lab_exec_run(struct lab_exec *exec, void *memory, struct weft_error *error) WEFT_MUST_USE;
const struct lab_exec_counts *lab_exec_counts(const struct lab_exec *exec);
void lab_exec_close(struct lab_exec *exec);

#endif
