// SPDX-License-Identifier: Apache-2.0
// program.json: any bytes are either a program whose rows the checker passes, which is written as
// the same program again, or one line of complaint.
//
// Seen to fail on corpus/photonic_program/negative when the writer wrote shifts without their sign.

#include "fuzz.h"
#include "weft/format/photonics.h"

static void check_again(const struct weft_photonic_program *program,
                        const struct weft_photonic_images *images, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_photonic_program again;
    struct weft_photonic_images sums;
    const char *json = weft_photonic_program_json(program, images, &desk->arena);
    WEFT_ASSERT(
        weft_photonic_program_read(&again, &sums, json, strlen(json), &desk->arena, &error));
    WEFT_ASSERT(memcmp(&sums, images, sizeof sums) == 0 && again.row_count == program->row_count);
    WEFT_ASSERT(memcmp(again.rows, program->rows, program->row_count * sizeof *again.rows) == 0);
    WEFT_ASSERT(weft_photonic_program_check(&again, desk->scratch, &error));
    // Bounded by the pixels of rows that pass, each a step of the recurrence.
    uint64_t pixels = 0;
    for (uint32_t i = 0; i < program->row_count; i++) {
        pixels += program->rows[i].pixels;
    }
    if (pixels < 1000000) {
        WEFT_ASSERT(weft_photonic_cycles(NULL, program, 163) > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_photonic_program program = {.name = NULL};
    struct weft_photonic_images images = {0, 0};
    if (!weft_photonic_program_read(&program, &images, (const char *)data, size, &desk.arena,
                                    &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(program.rows == NULL);
    } else if (!weft_photonic_program_check(&program, desk.scratch, &error)) {
        fuzz_check_refusal(&error);
    } else {
        check_again(&program, &images, &desk);
    }
    fuzz_close(&desk);
    return 0;
}
