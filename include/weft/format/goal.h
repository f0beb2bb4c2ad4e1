// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_GOAL_H
#define WEFT_FORMAT_GOAL_H

// GOAL schedules (Hoefler, Siebert, Lumsdaine: "Group Operation Assembly Language", ICPP 2009), the
// input of LogGOPSim, in its text and its binary form: docs/loads.md.

#include "weft/base.h"
#include "weft/workload.h"

WEFT_API_BEGIN

enum weft_goal_kind { WEFT_GOAL_SEND, WEFT_GOAL_RECV, WEFT_GOAL_CALC };
struct weft_goal {
    uint32_t rank_count;
    uint32_t op_count;
    const uint32_t *rank_first; // operations of rank r: rank_first[r] .. rank_first[r+1]-1
    const uint8_t *kind;        // enum weft_goal_kind
    const uint64_t *size;       // bytes; of a CALC: ns
    const uint32_t *peer;       // WEFT_NONE = any (RECV)
    const uint32_t *tag;        // the same
    const uint8_t *cpu;
    const uint8_t *nic;        // nothing in Weft uses it
    const uint32_t *line;      // NULL: the file is binary
    const char *const *labels; // "" = none; NULL: the file is binary
    uint32_t edge_count;
    const uint32_t *before; // operation before[e] ends, or starts, ...
    const uint32_t *after;  // ... before operation after[e] of its rank starts
    const bool *at_start;
};
// Reads text, or the binary form, which begins with its magic number. Fails with INPUT naming line,
// or rank and operation. O(bytes log labels of a rank).
bool weft_goal_read(struct weft_goal *goal, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

struct weft_goal_job {
    // A task for each operation, in order; behind them those at which operations start. A rank is
    // a server, each of its CPUs a device. A message begins when its send may, and is never held
    // up by its receive; a send ends when its bytes are there.
    struct weft_taskgraph graph;
    uint32_t open_count; // receives from any source or with any tag: matched without times
    uint32_t void_count; // sends of 0 bytes to ranks that are not there: they join what is before
};
// Matches sends with receives in an order in which the schedule could run, as MPI does: by
// destination, source and tag, first come, first served. Fails with INPUT naming rank and line (or
// operation): a rank that is not there, a send without its receive, the reverse, operations that
// wait for each other. O(operations + edges).
bool weft_goal_lower(struct weft_goal_job *job, const struct weft_goal *goal,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_goal_load(struct weft_goal_job *job, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// A task graph as GOAL text: a rank for each server, a CPU for each of its devices, a message of
// one byte for each dependency between servers that no transfer carries. Runtimes are rounded to
// ns. Fails with UNSUPPORTED where there are collectives, more than 256 devices in a server, or
// tasks that need some of their predecessors only. O(tasks + edges).
bool weft_goal_write(const char **text, const struct weft_taskgraph *graph,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

WEFT_API_END

#endif
