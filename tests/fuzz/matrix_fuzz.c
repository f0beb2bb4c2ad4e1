// SPDX-License-Identifier: Apache-2.0
// Traffic matrices of htsim: any bytes are either a task graph of as many transfers as there are
// connections, which an order of its tasks can be given for, or one line of complaint.
//
// Seen to fail on corpus/matrix/repeated when words of a connection could stand twice: more
// triggers came than there was room for.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct weft_matrix *matrix, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = &matrix->graph;
    WEFT_ASSERT(matrix->connection_count <= graph->task_count);
    for (uint32_t i = 0; i < matrix->connection_count; i++) {
        WEFT_ASSERT(graph->kind[i] == WEFT_TASK_TRANSFER || graph->kind[i] == WEFT_TASK_BARRIER);
        WEFT_ASSERT(graph->kind[i] == WEFT_TASK_BARRIER || graph->size_bytes[i] > 0);
        bool waits = matrix->start_ps[i] > 0;
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
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_arena_init(&arena, (size_t)2 << 30, &error));
    WEFT_ASSERT(weft_arena_init(&scratch, (size_t)2 << 30, &error));
    struct weft_arena all = arena;
    struct weft_arena all_scratch = scratch;
    char *text = malloc(size > 0 ? size : 1); // exact, so that the sanitizer sees a byte too far
    WEFT_ASSERT(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    struct weft_matrix matrix = {.connection_count = 77};
    if (weft_matrix_read(&matrix, text, size, &arena, scratch, &error)) {
        check(&matrix, scratch);
    } else {
        WEFT_ASSERT(error.code == WEFT_INPUT && error.message[0] != '\0');
        WEFT_ASSERT(strpbrk(error.message, "\n\r\x1b") == NULL);
        WEFT_ASSERT(matrix.connection_count == 77);
    }
    free(text);
    weft_arena_release(&all);
    weft_arena_release(&all_scratch);
    return 0;
}
