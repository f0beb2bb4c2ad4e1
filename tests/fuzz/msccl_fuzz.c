// SPDX-License-Identifier: Apache-2.0
// MSCCL programs: any bytes are either a program, which is checked and reads back as it was
// written, or one line of complaint.
//
// Seen to fail on corpus/msccl/waits when the writer left out `hasdep`.

#include "fuzz.h"
#include "weft/format.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_program program = {.rank_count = 7};
    if (weft_msccl_read(&program, text, size, &desk.arena, desk.scratch, &error)) {
        const char *once = weft_msccl_write(&program, &desk.arena);
        struct weft_program again;
        WEFT_ASSERT(weft_msccl_read(&again, once, strlen(once), &desk.arena, desk.scratch, &error));
        WEFT_ASSERT(strcmp(weft_msccl_write(&again, &desk.arena), once) == 0);
        struct weft_program_report report;
        struct weft_program_report report_again;
        // What is small enough to be quick.
        if ((uint64_t)program.rank_count * program.chunk_count < 65536 &&
            weft_program_check(&report, &program, desk.scratch, &error)) {
            WEFT_ASSERT(report.valid == (report.why[0] == '\0'));
            WEFT_ASSERT(weft_program_check(&report_again, &again, desk.scratch, &error));
            WEFT_ASSERT(strcmp(report.why, report_again.why) == 0);
        }
    } else {
        WEFT_ASSERT(error.code != WEFT_OK);
        fuzz_check_line(&error);
        WEFT_ASSERT(program.rank_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
