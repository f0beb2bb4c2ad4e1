// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_GOAL_H
#define WEFT_FORMAT_GOAL_H

// GOAL schedules (Hoefler, Siebert, Lumsdaine: "Group Operation Assembly Language", ICPP 2009), the
// input of LogGOPSim, in its text and its binary form: docs/loads.md.

#include "weft/base.h"
#include "weft/workload/goal.h"

WEFT_API_BEGIN

// Reads text, or the binary form, which begins with its magic number; weft_goal_lower makes the
// task graph. Fails with INPUT naming line, or rank and operation. O(bytes log labels of a rank).
bool weft_goal_read(struct weft_goal *goal, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_goal_load(struct weft_goal *goal, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// A task graph as GOAL text: a rank for each server, a CPU for each of its devices, a message of
// one byte for each dependency between servers that no transfer carries, which are counted.
// Runtimes are rounded to ns. Fails with UNSUPPORTED where collectives send
// (weft_taskgraph_expand makes them transfers), a server has more than 255 devices, or tasks need
// some of their predecessors only. O(tasks + edges).
bool weft_goal_write(const char **text, uint32_t *signal_count, const struct weft_taskgraph *graph,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

WEFT_API_END

#endif
