// SPDX-License-Identifier: Apache-2.0
// A GOAL schedule while its reader fills it: the arrays of struct weft_goal, not yet const.
//
// Both readers know an upper bound of operations and edges before they begin, so each array is
// taken once and nothing grows.

#include "goal.h"

struct goal_arrays goal_arrays_init(uint32_t rank_count, uint32_t op_room, uint32_t edge_room,
                                    bool text, struct weft_arena *arena)
{
    return (struct goal_arrays){
        .rank_first = WEFT_NEW_RAW(arena, uint32_t, (size_t)rank_count + 1),
        .kind = WEFT_NEW_RAW(arena, uint8_t, op_room),
        .size = WEFT_NEW_RAW(arena, uint64_t, op_room),
        .peer = WEFT_NEW_RAW(arena, uint32_t, op_room),
        .tag = WEFT_NEW_RAW(arena, uint32_t, op_room),
        .cpu = WEFT_NEW_RAW(arena, uint8_t, op_room),
        .nic = WEFT_NEW_RAW(arena, uint8_t, op_room),
        .line = text ? WEFT_NEW_RAW(arena, uint32_t, op_room) : NULL,
        .labels = text ? WEFT_NEW_RAW(arena, const char *, op_room) : NULL,
        .before = WEFT_NEW_RAW(arena, uint32_t, edge_room),
        .after = WEFT_NEW_RAW(arena, uint32_t, edge_room),
        .at_start = WEFT_NEW_RAW(arena, bool, edge_room),
    };
}

void goal_publish(struct weft_goal *goal, const struct goal_arrays *arrays, uint32_t rank_count,
                  uint32_t edge_count)
{
    *goal = (struct weft_goal){
        .rank_count = rank_count,
        .op_count = arrays->rank_first[rank_count],
        .rank_first = arrays->rank_first,
        .kind = arrays->kind,
        .size = arrays->size,
        .peer = arrays->peer,
        .tag = arrays->tag,
        .cpu = arrays->cpu,
        .nic = arrays->nic,
        .line = arrays->line,
        .labels = arrays->labels,
        .edge_count = edge_count,
        .before = arrays->before,
        .after = arrays->after,
        .at_start = arrays->at_start,
    };
}
