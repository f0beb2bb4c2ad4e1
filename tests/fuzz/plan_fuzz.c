// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: any bytes are either a plan that can be checked and is written and read back the
// same, or one line of complaint.
//
// Seen to fail on corpus/plan/no_such_link when read_path kept links that were not found.

#include "fuzz.h"
#include "weft/format.h"
#include "weft/verify.h"

#include <string.h>

// Flaws are what a plan cannot hold, so only a plan without any comes back the same.
static void check_round_trip(const struct weft_plan *plan, struct weft_arena arena,
                             struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    const char *text = weft_plan_write(plan, &arena);
    struct weft_plan again;
    WEFT_ASSERT(weft_plan_read(&again, text, strlen(text), &arena, scratch, &error));
    WEFT_ASSERT(again.flaws.count == 0);
    WEFT_ASSERT(strcmp(text, weft_plan_write(&again, &arena)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_plan plan = {.seed = 7};
    if (!weft_plan_read(&plan, text, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(plan.seed == 7);
    } else {
        const struct weft_verify_input input = {
            .plan = &plan, .graph = plan.job != NULL ? &plan.job->graph : NULL};
        struct weft_verify_report report;
        if (plan.collective_count == 0) {
            weft_verify_plan(&report, &input, &desk.arena, desk.scratch);
            WEFT_ASSERT(report.violation_count >= (plan.flaws.count > 0 ? 1 : 0));
        }
        if (plan.flaws.count == 0) {
            check_round_trip(&plan, desk.arena, desk.scratch);
        }
    }
    fuzz_close(&desk);
    return 0;
}
