// SPDX-License-Identifier: Apache-2.0
// The files of a compiled folder, gathered from whoever makes them: images here, hardware and its
// control by the chambers of the room photonics.

#include "request/photonic/files.h"

bool photonic_program_files(const struct weft_file **files, uint32_t *count,
                            const struct weft_photonic_program *program, struct weft_arena *arena,
                            struct weft_error *error)
{
    (void)error;
    struct weft_file *all = WEFT_NEW(arena, struct weft_file, WEFT_PHOTONIC_FILES);
    weft_photonic_program_files(all, program, arena);
    *files = all;
    *count = WEFT_PHOTONIC_FILES;
    return true;
}
