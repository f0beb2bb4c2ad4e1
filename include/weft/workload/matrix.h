// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_MATRIX_H
#define WEFT_WORKLOAD_MATRIX_H

// Traffic matrices of htsim (Broadcom/csg-htsim, sim/datacenter/connection_matrix.cpp): connections
// that start at a time or when others have been sent or received.
//
//   weft/format/htsim.h ──► [matrix ──► task graph] ──► sim

#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// How often a trigger fires: once; at each activation, for the next connection that waits; or once
// `need` activations have come.
enum weft_matrix_shot {
    WEFT_MATRIX_UNDESCRIBED, // named by connections, but by no line of its own
    WEFT_MATRIX_ONESHOT,
    WEFT_MATRIX_MULTISHOT,
    WEFT_MATRIX_BARRIER,
};

struct weft_matrix_trigger {
    uint64_t id;
    uint32_t line; // of its description, or where it was first named
    enum weft_matrix_shot shot;
    uint32_t need; // BARRIER: activations
};

struct weft_matrix_connection {
    uint32_t line;
    uint32_t from;
    uint32_t to;
    uint64_t size_bytes;
    uint64_t start_ps;           // WEFT_NEVER = by a trigger
    uint32_t started_by;         // index of a trigger, or WEFT_NONE
    uint32_t fires_when_sent;    // the same
    uint32_t fires_on_reception; // the same
};

struct weft_matrix {
    const char *path; // of the file, which messages begin with; NULL = from memory
    uint32_t node_count;
    uint32_t connection_count;
    const struct weft_matrix_connection *connections; // in the file's order
    uint32_t trigger_count;
    const struct weft_matrix_trigger *triggers;
    // Connections that state a `prio`, and that of each connection: the smaller the more urgent,
    // WEFT_NONE = not stated. It is the receiver's, of pulls (weft_pull_options), and
    // says nothing to ports.
    uint32_t priority_count;
    const uint32_t *priority;
    uint32_t failure_count;
    const struct weft_tier_failure *failures;
    // Words of newer readers that say nothing to what is played here, "addon, msgid"; "" = none.
    const char *skipped;
};

// A transfer for each connection, in the file's order; behind them the tasks that wait for starts
// and triggers. Fails with INPUT naming file and line: a trigger that is nowhere described, fires
// never, or more often than it can; a cycle of triggers; multishot triggers that join more than
// 2^26 pairs. O(connections log connections + edges).
bool weft_matrix_lower(struct weft_taskgraph *graph, const struct weft_matrix *matrix,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
