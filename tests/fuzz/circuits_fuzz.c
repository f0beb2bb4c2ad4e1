// SPDX-License-Identifier: Apache-2.0
// Schedules of circuits: any bytes are either a schedule that the checker can look at, whose list
// of breaches begins with the one that it stops at, or one line of complaint.
//
// Seen to fail on corpus/circuits/busy when the list went on without its first breach.

#include "fuzz.h"
#include "weft/format.h"

static void check_file(const struct weft_circuit_file *file, struct weft_arena *arena,
                       struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_circuit_breaches breaches;
    weft_circuit_list_breaches(&breaches, &file->schedule, &file->traffic, arena, scratch);
    bool holds = weft_circuit_check_schedule(&file->schedule, &file->traffic, scratch, &error);
    WEFT_ASSERT(holds == (breaches.count == 0));
    if (!holds) {
        fuzz_check_line(&error);
        WEFT_ASSERT(strcmp(breaches.lines[0], error.message) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_circuit_file file = {.traffic = {.rate_Bps = -1}};
    if (!weft_circuit_file_read(&file, (const char *)data, size, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(file.schedule.first == NULL && file.traffic.rate_Bps == -1);
    } else {
        check_file(&file, &desk.arena, desk.scratch);
    }
    fuzz_close(&desk);
    return 0;
}
