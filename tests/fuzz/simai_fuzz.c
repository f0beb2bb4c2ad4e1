// SPDX-License-Identifier: Apache-2.0
// Workloads of SimAI: any bytes are either a workload that lowers to a task graph, or one line of
// complaint.
//
// Seen to fail on corpus/simai/many_layers when the number of layers was not held against the
// bytes.

#include "fuzz.h"
#include "weft/format.h"

#define RANKS_MAX 256u // more are not lowered: a line may ask for any number

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct weft_error error = {.code = WEFT_OK};
    struct weft_simai workload = {.layer_count = 77};
    fuzz_open(&desk);
    if (!weft_simai_read(&workload, (const char *)data, size, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(workload.layer_count == 77);
    } else if (workload.rank_count <= RANKS_MAX) {
        struct weft_taskgraph graph;
        uint32_t ranks = workload.rank_count > 0 ? workload.rank_count : 16;
        if (!weft_simai_lower(&graph, &workload, ranks, &desk.arena, desk.scratch, &error)) {
            fuzz_check_refusal(&error);
        }
    }
    fuzz_close(&desk);
    return 0;
}
