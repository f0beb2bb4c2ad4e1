// SPDX-License-Identifier: Apache-2.0
// Comparisons as JSON: any bytes are either comparisons that are written and read back the same,
// and drawn, or one line of complaint.
//
// Seen to fail on corpus/comparisons/two when add_row left out max_hops.

#include "fuzz.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

static void check_round_trip(const struct weft_model_comparison *comparisons, uint32_t count,
                             struct weft_arena arena, struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    const char *text = weft_comparisons_write(comparisons, count, &arena);
    struct weft_model_comparison *again = NULL;
    uint32_t again_count = 0;
    WEFT_ASSERT(weft_comparisons_read(&again, &again_count, text, strlen(text), &arena, &error));
    WEFT_ASSERT(again_count == count);
    WEFT_ASSERT(strcmp(text, weft_comparisons_write(again, count, &arena)) == 0);
    const char *svg = weft_report_svg_sweep(
        comparisons, count, &(struct weft_sweep_view){WEFT_SWEEP_RATE, WEFT_SWEEP_TIME, false},
        &arena, scratch);
    WEFT_ASSERT(strstr(svg, "</svg>") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_model_comparison *comparisons = NULL;
    uint32_t count = 7;
    if (!weft_comparisons_read(&comparisons, &count, text, size, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(count == 7);
    } else {
        check_round_trip(comparisons, count, desk.arena, desk.scratch);
    }
    fuzz_close(&desk);
    return 0;
}
