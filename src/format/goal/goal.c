// SPDX-License-Identifier: Apache-2.0
// GOAL schedules: what text and binary have in common.

#include "goal.h"

#define BYTES_MAX ((size_t)4 << 30)

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

uint32_t goal_rank(const struct weft_goal *goal, uint32_t op)
{
    uint32_t low = 0;
    uint32_t high = goal->rank_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (goal->rank_first[middle + 1] <= op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const char *goal_place(const struct weft_goal *goal, uint32_t op, struct weft_arena *arena)
{
    uint32_t rank = goal_rank(goal, op);
    if (goal->line == NULL) {
        return weft_arena_format(arena, "rank %u, operation %u", rank, op - goal->rank_first[rank]);
    }
    const char *label = goal->labels[op];
    return label[0] == '\0'
               ? weft_arena_format(arena, "rank %u, line %u", rank, goal->line[op])
               : weft_arena_format(arena, "rank %u, line %u (%.40s)", rank, goal->line[op], label);
}

struct goal_next goal_next_build(const struct weft_goal *goal, struct weft_arena *arena)
{
    struct goal_next next = {
        .first = WEFT_NEW(arena, uint32_t, (size_t)goal->op_count + 2),
        .list = WEFT_NEW_RAW(arena, uint32_t, goal->edge_count),
    };
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        next.first[goal->before[e] + 2]++;
    }
    for (uint32_t op = 0; op < goal->op_count; op++) {
        next.first[op + 2] += next.first[op + 1];
    }
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        next.list[next.first[goal->before[e] + 1]++] = e;
    }
    return next;
}

// The magic number, or what stands before text that begins with a letter or a comment.
static bool is_binary(const char *data, size_t length)
{
    return length > 0 && (unsigned char)data[0] == (GOAL_MAGIC & 0xff) &&
           (length < 2 || (unsigned char)data[1] == GOAL_MAGIC >> 8);
}

static bool check_magic(const char *data, size_t length, struct weft_error *error)
{
    for (size_t i = 2; i < 8 && i < length; i++) {
        if (data[i] != 0) {
            return weft_fail(error, WEFT_INPUT,
                             "its first 8 bytes are not the number %u that a "
                             "binary schedule begins with",
                             GOAL_MAGIC);
        }
    }
    return true;
}

bool weft_goal_read(struct weft_goal *goal, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (length >= BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT, "larger than %zu bytes", BYTES_MAX);
    }
    if (!is_binary(data, length)) {
        return goal_read_text(goal, data, length, arena, scratch, error);
    }
    return check_magic(data, length, error) &&
           goal_read_binary(goal, data, length, arena, scratch, error);
}

bool weft_goal_load(struct weft_goal_job *job, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_goal goal;
    // The schedule itself lives in the scratch memory, beside its file.
    struct weft_arena own;
    if (!weft_file_load(&data, &length, path, BYTES_MAX, &scratch, error)) {
        return false;
    }
    if (!weft_arena_init(&own, 0, error)) {
        return false;
    }
    struct weft_arena all = own;
    bool good = weft_goal_read(&goal, data, length, &own, scratch, error) &&
                weft_goal_lower(job, &goal, arena, scratch, error);
    weft_arena_release(&all);
    return good || weft_wrap(error, "%s", path);
}
