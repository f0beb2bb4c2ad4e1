// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML: any bytes are either a cluster that passes its check or one line of complaint.
//
// Seen to fail on corpus/cluster/contradiction when the cluster was published before its check.

#include "fuzz.h"
#include "weft/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_cluster cluster = {.server_count = 7};
    if (weft_cluster_read(&cluster, text, size, &desk.arena, &error)) {
        WEFT_ASSERT(weft_cluster_check(&cluster, &error));
        WEFT_ASSERT(cluster.name != NULL && cluster.prices.source != NULL);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(cluster.server_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
