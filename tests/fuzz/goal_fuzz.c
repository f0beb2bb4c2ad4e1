// SPDX-License-Identifier: Apache-2.0
// GOAL schedules, text and binary: any bytes are either a task graph, which an order of its tasks
// can be given for and which comes back from what is written of it, or one line of complaint.
//
// Seen to fail on corpus/goal/successors_shared when lists of successors could overlap: more
// dependencies came than there was room for.

#include "fuzz.h"
#include "weft/format.h"

#include <string.h>

static bool read_job(struct weft_goal_job *job, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_goal goal;
    return weft_goal_read(&goal, data, length, arena, scratch, error) &&
           weft_goal_lower(job, &goal, arena, scratch, error);
}

// Reading adds tasks that wait for messages, so that counts of tasks are not the same.
struct sums {
    uint64_t transfers;
    uint64_t bytes;
    uint64_t compute_ps;
};

static struct sums sum_tasks(const struct weft_taskgraph *graph)
{
    struct sums sums = {0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            sums.transfers++;
            sums.bytes += graph->size_bytes[t];
        } else {
            sums.compute_ps += graph->runtime_ps[t];
        }
    }
    return sums;
}

static void check_writing(const struct weft_taskgraph *graph, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    const char *text = NULL;
    uint32_t signals = 0;
    struct weft_goal_job again;
    struct weft_error error;
    if (!weft_goal_write(&text, &signals, graph, arena, scratch, &error)) {
        WEFT_ASSERT(error.code == WEFT_UNSUPPORTED);
        return;
    }
    WEFT_ASSERT(read_job(&again, text, strlen(text), arena, scratch, &error));
    WEFT_ASSERT(again.graph.server_count == graph->server_count);
    WEFT_ASSERT(again.graph.task_count >= graph->task_count);
    const struct sums one = sum_tasks(graph);
    const struct sums two = sum_tasks(&again.graph);
    WEFT_ASSERT(two.transfers == one.transfers + signals);
    WEFT_ASSERT(two.bytes == one.bytes + signals);
    WEFT_ASSERT(two.compute_ps == one.compute_ps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_goal_job job = {.open_count = 77, .void_count = 78};
    if (read_job(&job, text, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_order(&job.graph, desk.scratch);
        if (job.graph.server_count <= 4096) {
            check_writing(&job.graph, &desk.arena, desk.scratch);
        }
    } else {
        // One-sided operations are known and not played.
        WEFT_ASSERT(error.code == WEFT_INPUT || error.code == WEFT_UNSUPPORTED);
        fuzz_check_line(&error);
        WEFT_ASSERT(job.open_count == 77 && job.void_count == 78);
    }
    fuzz_close(&desk);
    return 0;
}
