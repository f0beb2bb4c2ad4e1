// SPDX-License-Identifier: Apache-2.0
// Traffic matrices of htsim: any bytes are either a task graph of as many transfers as there are
// connections, which an order of its tasks can be given for, or one line of complaint.
//
// Seen to fail on corpus/matrix/repeated when words of a connection could stand twice: more
// triggers came than there was room for.

#include "fuzz.h"
#include "weft/format.h"

static void check(const struct weft_matrix *matrix, const struct weft_taskgraph *graph,
                  struct weft_arena scratch)
{
    WEFT_ASSERT(matrix->connection_count <= graph->task_count);
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        WEFT_ASSERT(graph->kind[i] == WEFT_TASK_TRANSFER || graph->kind[i] == WEFT_TASK_BARRIER);
        WEFT_ASSERT(graph->kind[i] == WEFT_TASK_BARRIER || graph->size_bytes[i] > 0);
        bool waits = matrix->connections[i].start_ps > 0;
        WEFT_ASSERT((graph->prev_count[i] > 0) == waits);
    }
    for (uint32_t t = 0; graph->need != NULL && t < graph->task_count; t++) {
        WEFT_ASSERT(graph->need[t] <= graph->prev_count[t]);
    }
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    weft_taskgraph_order(graph, order, scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_matrix matrix = {.connection_count = 77};
    struct weft_taskgraph graph = {.task_count = 78};
    if (!weft_matrix_read(&matrix, text, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(matrix.connection_count == 77);
    } else if (weft_matrix_lower(&graph, &matrix, &desk.arena, desk.scratch, &error)) {
        check(&matrix, &graph, desk.scratch);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(graph.task_count == 78);
    }
    fuzz_close(&desk);
    return 0;
}
