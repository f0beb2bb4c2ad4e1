// SPDX-License-Identifier: Apache-2.0
// MSCCL programs: any bytes are either a program, which is checked and reads back as it was
// written, or one line of complaint.
//
// Seen to fail on corpus/msccl/waits when the writer left out `hasdep`.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_arena_init(&arena, (size_t)8 << 30, &error));
    WEFT_ASSERT(weft_arena_init(&scratch, (size_t)32 << 30, &error));
    struct weft_arena all[2] = {arena, scratch};
    char *text = malloc(size + 1); // exact, so that the sanitizer sees a byte too far
    WEFT_ASSERT(text != NULL);
    memcpy(text, data, size);
    struct weft_program program = {.rank_count = 7};
    if (weft_msccl_read(&program, text, size, &arena, scratch, &error)) {
        const char *once = weft_msccl_write(&program, &arena);
        struct weft_program again;
        WEFT_ASSERT(weft_msccl_read(&again, once, strlen(once), &arena, scratch, &error));
        WEFT_ASSERT(strcmp(weft_msccl_write(&again, &arena), once) == 0);
        struct weft_program_report report;
        struct weft_program_report report_again;
        // What is small enough to be quick.
        if ((uint64_t)program.rank_count * program.chunk_count < 65536 &&
            weft_program_check(&report, &program, scratch, &error)) {
            WEFT_ASSERT(report.valid == (report.why[0] == '\0'));
            WEFT_ASSERT(weft_program_check(&report_again, &again, scratch, &error));
            WEFT_ASSERT(strcmp(report.why, report_again.why) == 0);
        }
    } else {
        WEFT_ASSERT(error.code != WEFT_OK && error.message[0] != '\0');
        WEFT_ASSERT(strpbrk(error.message, "\n\r\x1b") == NULL);
        WEFT_ASSERT(program.rank_count == 7);
    }
    free(text);
    weft_arena_release(&all[0]);
    weft_arena_release(&all[1]);
    return 0;
}
