// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_GOAL_GOAL_H
#define WEFT_FORMAT_GOAL_GOAL_H

// What the reader of GOAL text (text.c) and that of the binary form (binary.c) share with
// goal.c, which chooses between them.
//
// The language is that of Hoefler, Siebert and Lumsdaine (ICPP 2009) as LogGOPSim and Schedgen
// write it.

#include "weft/format.h"

// The number that a binary file begins with, as 8 bytes (LogGOPSim).
#define GOAL_MAGIC 4223u
// More than any schedule has, and few enough for indices of 32 bits with room to spare.
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

#endif
