// SPDX-License-Identifier: Apache-2.0
// GOAL schedules in: text as LogGOPSim's "txt2bin" takes it, or the binary form that it writes
// (spcl/LogGOPSim; Hoefler, Siebert, Lumsdaine, ICPP 2009). The first bytes tell which of them it
// is. What the operations mean is not decided here: weft_goal_lower makes the task graph.

#include "goal.h"

#include <string.h>

#define BYTES_MAX ((size_t)4 << 30) // positions in the file and counts of operations fit uint32_t

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

bool weft_goal_load(struct weft_goal *goal, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_goal read;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, &scratch, error)) {
        return false;
    }
    if (!weft_goal_read(&read, data, length, arena, scratch, error)) {
        return weft_file_mistaken(error, path, WEFT_FILE_GOAL);
    }
    read.path = weft_arena_text(arena, path, strlen(path));
    *goal = read;
    return true;
}
