// SPDX-License-Identifier: Apache-2.0
// NCCL's files: any bytes are a topology, graphs or tuner rows that read back as they were written,
// or one line of complaint.
//
// Seen to fail on corpus/nccl/graph when devs above 9 were written in decimal.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

static void complained(const struct weft_error *error)
{
    WEFT_ASSERT(error->code != WEFT_OK && error->message[0] != '\0');
    WEFT_ASSERT(strpbrk(error->message, "\n\r\x1b") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_arena all[2];
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_arena_init(&all[0], (size_t)4 << 30, &error));
    WEFT_ASSERT(weft_arena_init(&all[1], (size_t)4 << 30, &error));
    struct weft_arena arena = all[0];
    char *text = malloc(size + 1); // exact, so that the sanitizer sees a byte too far
    WEFT_ASSERT(text != NULL);
    memcpy(text, data, size);
    struct weft_nccl_topology topology;
    if (weft_nccl_topology_read(&topology, text, size, &arena, all[1], &error)) {
        struct weft_cluster cluster;
        weft_nccl_cluster(&cluster, &topology, 4);
        const char *once = weft_nccl_topology_write(&topology, &arena);
        WEFT_ASSERT(weft_nccl_topology_read(&topology, once, strlen(once), &arena, all[1], &error));
    } else {
        complained(&error);
    }
    struct weft_nccl_graphs graphs;
    if (weft_nccl_graphs_read(&graphs, text, size, &arena, all[1], &error)) {
        const char *once = weft_nccl_graphs_write(&graphs, NULL, &arena);
        WEFT_ASSERT(weft_nccl_graphs_read(&graphs, once, strlen(once), &arena, all[1], &error));
        WEFT_ASSERT(strcmp(weft_nccl_graphs_write(&graphs, NULL, &arena), once) == 0);
    } else {
        complained(&error);
    }
    struct weft_nccl_choice *choices = NULL;
    uint32_t count = 0;
    if (weft_nccl_tuner_read(&choices, &count, text, size, &arena, &error)) {
        const char *once = weft_nccl_tuner_write(choices, count, &arena);
        WEFT_ASSERT(weft_nccl_tuner_read(&choices, &count, once, strlen(once), &arena, &error));
        WEFT_ASSERT(strcmp(weft_nccl_tuner_write(choices, count, &arena), once) == 0);
    } else {
        complained(&error);
    }
    free(text);
    weft_arena_release(&all[0]);
    weft_arena_release(&all[1]);
    return 0;
}
