// SPDX-License-Identifier: Apache-2.0
// Traces of experts' loads: any bytes are either a trace that holds what its header says, and that
// reads back from what is written of it, or one line of complaint.
//
// Seen to fail on corpus/experts/short when a row too few was let through.

#include "fuzz.h"
#include "weft/format/experts.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_expert_trace trace = {.steps = 77};
    if (!weft_experts_read(&trace, (const char *)data, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(trace.steps == 77);
        fuzz_close(&desk);
        return 0;
    }
    size_t count = (size_t)trace.steps * trace.layers * trace.ranks * trace.experts;
    for (size_t i = 0; i < count; i++) {
        WEFT_ASSERT(isfinite(trace.loads[i]) && trace.loads[i] >= 0);
    }
    const char *text = weft_experts_write(&trace, &desk.arena);
    struct weft_expert_trace again;
    WEFT_ASSERT(weft_experts_read(&again, text, strlen(text), &desk.arena, desk.scratch, &error));
    WEFT_ASSERT(again.experts == trace.experts && again.steps == trace.steps);
    WEFT_ASSERT(memcmp(again.loads, trace.loads, count * sizeof *again.loads) == 0);
    fuzz_close(&desk);
    return 0;
}
