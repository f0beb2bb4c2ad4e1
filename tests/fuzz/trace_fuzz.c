// SPDX-License-Identifier: Apache-2.0
// Traces of jobs in YAML: any bytes are one line of complaint or a trace; one whose classes need no
// other file passes its check or is refused in one line, and its arrivals then rise.
//
// Seen to fail on corpus/trace/mixed when listed jobs were merged behind later arrivals.

#include "fuzz.h"
#include "weft/format.h"

static void check_trace(struct weft_job_trace *trace, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_job_trace full;
    for (uint32_t c = 0; c < trace->class_count; c++) {
        WEFT_ASSERT(trace->classes[c].name != NULL);
        if (trace->classes[c].job_path != NULL || trace->classes[c].plan_path != NULL) {
            return;
        }
    }
    if (!weft_job_trace_check(trace, &error)) {
        fuzz_check_refusal(&error);
        return;
    }
    trace->poisson.count = trace->poisson.count > 1000 ? 1000 : trace->poisson.count;
    weft_job_trace_expand(&full, trace, arena, scratch);
    WEFT_ASSERT(full.job_count == trace->job_count + trace->poisson.count);
    for (uint32_t j = 0; j < full.job_count; j++) {
        WEFT_ASSERT(full.jobs[j].iterations > 0 && full.jobs[j].class_id < full.class_count);
        WEFT_ASSERT(j == 0 || full.jobs[j].arrival_ps >= full.jobs[j - 1].arrival_ps);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_job_trace trace = {.class_count = 7};
    if (weft_job_trace_read(&trace, text, size, &desk.arena, &error)) {
        check_trace(&trace, &desk.arena, desk.scratch);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(trace.class_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
