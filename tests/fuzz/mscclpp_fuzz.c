// SPDX-License-Identifier: Apache-2.0
// Plans of MSCCL++: any bytes are either a plan, whose check comes to an end and whose transfers
// are a schedule where it is right, or one line of complaint.

#include "fuzz.h"
#include "weft/format.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_program program = {.rank_count = 7};
    if (weft_mscclpp_read(&program, (const char *)data, size, &desk.arena, desk.scratch, &error)) {
        struct weft_program_report report;
        struct weft_schedule schedule;
        uint32_t blocks;
        uint32_t steps;
        weft_program_count(&program, &blocks, &steps);
        WEFT_ASSERT(blocks <= program.block_first[program.rank_count]);
        WEFT_ASSERT(steps <= program.step_count);
        // What is small enough to be quick.
        if ((uint64_t)program.rank_count * program.chunk_count < 65536 &&
            program.step_count < 16384 &&
            weft_program_check(&report, &program, desk.scratch, &error)) {
            WEFT_ASSERT(report.valid == (report.why[0] == '\0'));
            WEFT_ASSERT(!report.valid || weft_program_lower(&schedule, &program, program.in_place,
                                                            &desk.arena, desk.scratch, &error));
        }
    } else {
        WEFT_ASSERT(error.code != WEFT_OK);
        fuzz_check_line(&error);
        WEFT_ASSERT(program.rank_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
