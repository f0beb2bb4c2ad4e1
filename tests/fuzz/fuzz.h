// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FUZZ_H
#define WEFT_FUZZ_H

// What every fuzz target defines: libFuzzer and tests/fuzz/replay.c call it, with data in a block
// of its own size, so that a sanitizer sees a byte too far. Returns 0; a finding is a crash, a
// failed WEFT_ASSERT, a sanitizer's report or a hang. And what targets share.

#include "weft/workload.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Arenas for one input.
struct fuzz_desk {
    struct weft_arena all[2];
    struct weft_arena arena;
    struct weft_arena scratch;
};

static inline void fuzz_open(struct fuzz_desk *desk)
{
    struct weft_error error;
    for (int i = 0; i < 2; i++) {
        WEFT_ASSERT(weft_arena_init(&desk->all[i], (size_t)16 << 30, &error));
    }
    desk->arena = desk->all[0];
    desk->scratch = desk->all[1];
}

static inline void fuzz_close(struct fuzz_desk *desk)
{
    weft_arena_release(&desk->all[0]);
    weft_arena_release(&desk->all[1]);
}

// The input with a zero behind it, for parsers of words. To be freed.
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    WEFT_ASSERT(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

// One line that can be shown.
static inline void fuzz_check_line(const struct weft_error *error)
{
    WEFT_ASSERT(memchr(error->message, '\0', sizeof error->message) != NULL);
    WEFT_ASSERT(error->message[0] != '\0' && strpbrk(error->message, "\n\r\x1b") == NULL);
}

// What a reader says of bad input.
static inline void fuzz_check_refusal(const struct weft_error *error)
{
    WEFT_ASSERT(error->code == WEFT_INPUT);
    fuzz_check_line(error);
}

// Every task comes after those that it waits for.
static inline void fuzz_check_order(const struct weft_taskgraph *graph, struct weft_arena scratch)
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

#endif
