// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_LOWERING_GOAL_H
#define WEFT_WORKLOAD_LOWERING_GOAL_H

// What the two steps of lowering a GOAL schedule share:
//
//   schedule ──► goal_match.c: the send of each receive ──► goal_lower.c: tasks and edges

#include "weft/workload/goal.h"

// Schedgen joins operations by a send of 0 bytes to a rank that is not there: no message.
static inline bool goal_is_void(const struct weft_goal *goal, uint32_t op)
{
    return goal->kind[op] == WEFT_GOAL_SEND && goal->size[op] == 0 &&
           goal->peer[op] >= goal->rank_count;
}

// For each receive, its send, into send_of[op_count]; WEFT_NONE for other operations. Fails as
// weft_goal_lower, without the file's name.
bool goal_match(uint32_t *send_of, const struct weft_goal *goal, struct weft_arena scratch,
                struct weft_error *error) WEFT_MUST_USE;

#endif
