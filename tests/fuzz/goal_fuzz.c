// SPDX-License-Identifier: Apache-2.0
// GOAL schedules, text and binary: any bytes are either a task graph, which an order of its tasks
// can be given for and which comes back from what is written of it, or one line of complaint.
//
// Seen to fail on corpus/goal/successors_shared when lists of successors could overlap: more
// dependencies came than there was room for.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

static bool read_job(struct weft_goal_job *job, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_goal goal;
    return weft_goal_read(&goal, data, length, arena, scratch, error) &&
           weft_goal_lower(job, &goal, arena, scratch, error);
}

static void check_order(const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    uint32_t *place = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    weft_taskgraph_order(graph, order, scratch);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        place[order[i]] = i;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            WEFT_ASSERT(place[t] < place[graph->next[e]]);
        }
    }
}

static void check_writing(const struct weft_taskgraph *graph, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    const char *text = NULL;
    struct weft_goal_job again;
    struct weft_error error;
    if (!weft_goal_write(&text, graph, arena, scratch, &error)) {
        WEFT_ASSERT(error.code == WEFT_UNSUPPORTED);
        return;
    }
    WEFT_ASSERT(read_job(&again, text, strlen(text), arena, scratch, &error));
    WEFT_ASSERT(again.graph.server_count == graph->server_count);
    WEFT_ASSERT(again.graph.task_count >= graph->task_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_arena_init(&arena, (size_t)8 << 30, &error));
    WEFT_ASSERT(weft_arena_init(&scratch, (size_t)8 << 30, &error));
    struct weft_arena all = arena;
    struct weft_arena all_scratch = scratch;
    char *text = malloc(size > 0 ? size : 1); // exact, so that the sanitizer sees a byte too far
    WEFT_ASSERT(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    struct weft_goal_job job = {.open_count = 77, .void_count = 78};
    if (read_job(&job, text, size, &arena, scratch, &error)) {
        check_order(&job.graph, scratch);
        if (job.graph.server_count <= 4096) {
            check_writing(&job.graph, &arena, scratch);
        }
    } else {
        WEFT_ASSERT(error.code == WEFT_INPUT && error.message[0] != '\0');
        WEFT_ASSERT(strpbrk(error.message, "\n\r\x1b") == NULL);
        WEFT_ASSERT(job.open_count == 77 && job.void_count == 78);
    }
    free(text);
    weft_arena_release(&all);
    weft_arena_release(&all_scratch);
    return 0;
}
