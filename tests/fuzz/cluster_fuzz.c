// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML: any bytes are either a cluster that passes its check or one line of complaint.
//
// Seen to fail on corpus/cluster/contradiction when the cluster was published before its check.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_arena arena;
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_arena_init(&arena, (size_t)1 << 30, &error));
    struct weft_arena all = arena;
    char *text = malloc(size + 1); // exact, so that the sanitizer sees a byte too far
    WEFT_ASSERT(text != NULL);
    memcpy(text, data, size);
    struct weft_cluster cluster = {.server_count = 7};
    if (weft_cluster_read(&cluster, text, size, &arena, &error)) {
        WEFT_ASSERT(weft_cluster_check(&cluster, &error));
        WEFT_ASSERT(cluster.name != NULL && cluster.prices.source != NULL);
    } else {
        WEFT_ASSERT(error.code == WEFT_INPUT && error.message[0] != '\0');
        WEFT_ASSERT(strpbrk(error.message, "\n\r\x1b") == NULL);
        WEFT_ASSERT(cluster.server_count == 7);
    }
    free(text);
    weft_arena_release(&all);
    return 0;
}
