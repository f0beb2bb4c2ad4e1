// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_GOAL_H
#define WEFT_WORKLOAD_GOAL_H

// GOAL schedules (Hoefler, Siebert, Lumsdaine: "Group Operation Assembly Language", ICPP 2009):
// what each rank of an MPI program sends, receives and calculates, and in which order.
//
//   weft/format/goal.h ──► [schedule ──► task graph] ──► sim
//
// A schedule says "receive from any source"; which send that takes is decided here, not by the
// reader of the file.

#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_goal_kind { WEFT_GOAL_SEND, WEFT_GOAL_RECV, WEFT_GOAL_CALC };

// The operations of all ranks. Struct of arrays, indexed by operation; an operation's number in its
// rank is its index less rank_first[rank].
struct weft_goal {
    const char *path; // of the file, which messages begin with; NULL = from memory
    uint32_t rank_count;
    uint32_t op_count;
    const uint32_t *rank_first; // operations of rank r: rank_first[r] .. rank_first[r+1]-1
    const uint8_t *kind;        // enum weft_goal_kind
    const uint64_t *size;       // SEND, RECV: bytes; CALC: nanoseconds
    const uint32_t *peer;       // SEND: destination; RECV: source, WEFT_NONE = any
    const uint32_t *tag;        // RECV: WEFT_NONE = any
    const uint8_t *cpu;         // of the rank, that the operation runs on
    const uint8_t *nic;         // kept as the file states it; nothing in Weft uses it
    const uint32_t *line;       // of the file; NULL: the file is binary
    const char *const *labels;  // "" = none; NULL: the file is binary
    uint32_t edge_count;
    const uint32_t *before; // operation before[e] ends, or with at_start[e] starts, ...
    const uint32_t *after;  // ... before operation after[e] of the same rank starts
    const bool *at_start;
};

struct weft_goal_job {
    // A task for each operation, in order; behind them those at which operations start. A rank is
    // a server, each of its CPUs a device. A message begins when its send may, and is never held
    // up by its receive; a send ends when its bytes are there.
    struct weft_taskgraph graph;
    uint32_t open_count; // receives from any source or with any tag: matched without times
    uint32_t void_count; // sends of 0 bytes to ranks that are not there: they join what is before
};

// Matches sends with receives in an order in which the schedule could run, as MPI does: by
// destination, source and tag, first come, first served. Fails with INPUT naming the file, the rank
// and the line (or operation): a rank that is not there, a send without its receive, the reverse,
// operations that wait for each other. O((operations + edges) log operations of a rank).
bool weft_goal_lower(struct weft_goal_job *job, const struct weft_goal *goal,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

WEFT_API_END

#endif
