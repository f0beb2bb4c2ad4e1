// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_GOAL_GOAL_H
#define WEFT_FORMAT_GOAL_GOAL_H

// GOAL schedules: what their readers, the matching of messages and the lowering share.

#include "weft/format.h"

#define GOAL_MAGIC 4223u
#define GOAL_RANKS_MAX (1u << 20)
#define GOAL_OPS_MAX (1u << 30)

// What a reader fills; weft_goal with arrays that may be written.
struct goal_arrays {
    uint32_t *rank_first;
    uint8_t *kind;
    uint64_t *size;
    uint32_t *peer;
    uint32_t *tag;
    uint8_t *cpu;
    uint8_t *nic;
    uint32_t *line;
    const char **labels;
    uint32_t *before;
    uint32_t *after;
    bool *at_start;
};
struct goal_arrays goal_arrays_init(uint32_t rank_count, uint32_t op_room, uint32_t edge_room,
                                    bool text, struct weft_arena *arena);
void goal_publish(struct weft_goal *goal, const struct goal_arrays *arrays, uint32_t rank_count,
                  uint32_t edge_count);

bool goal_read_text(struct weft_goal *goal, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool goal_read_binary(struct weft_goal *goal, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// The rank of an operation. O(log ranks).
uint32_t goal_rank(const struct weft_goal *goal, uint32_t op);
// "rank 3, line 17 (l5)" or "rank 3, operation 4", in `arena`.
const char *goal_place(const struct weft_goal *goal, uint32_t op, struct weft_arena *arena);
// A send of nothing to a rank that is not there: Schedgen's way to join operations.
static inline bool goal_is_void(const struct weft_goal *goal, uint32_t op)
{
    return goal->kind[op] == WEFT_GOAL_SEND && goal->size[op] == 0 &&
           goal->peer[op] >= goal->rank_count;
}

// For each receive, its send, into send_of[op_count]; WEFT_NONE for other operations.
bool goal_match(uint32_t *send_of, const struct weft_goal *goal, struct weft_arena scratch,
                struct weft_error *error) WEFT_MUST_USE;

// Successors by operation: edges of operation i are list[first[i]] .. list[first[i+1]-1].
struct goal_next {
    uint32_t *first;
    uint32_t *list;
};
struct goal_next goal_next_build(const struct weft_goal *goal, struct weft_arena *arena);

#endif
