// SPDX-License-Identifier: Apache-2.0
// The files of a compiled folder, gathered from whoever makes them: images by the format, the
// datapath in Verilog and its count-action modules by the chambers of the room photonics.

#include "request/photonic/files.h"

#include "weft/photonics/verilog.h"

#include <string.h>

bool photonic_program_files(const struct weft_file **files, uint32_t *count,
                            const struct weft_photonic_program *program, struct weft_arena *arena,
                            struct weft_error *error)
{
    struct weft_photonic_verilog_files verilog;
    if (!weft_photonic_verilog_write(&verilog, program, arena, error)) {
        return false;
    }
    uint32_t first = WEFT_PHOTONIC_FILES + 1;
    struct weft_file *all = WEFT_NEW(arena, struct weft_file, (size_t)first + verilog.count);
    weft_photonic_program_files(all, program, arena);
    all[WEFT_PHOTONIC_FILES] = (struct weft_file){"countaction.txt", weft_photonic_countaction_text,
                                                  strlen(weft_photonic_countaction_text)};
    for (uint32_t i = 0; i < verilog.count; i++) {
        all[first + i] = (struct weft_file){verilog.files[i].name, verilog.files[i].data,
                                            verilog.files[i].length};
    }
    *files = all;
    *count = first + verilog.count;
    return true;
}

bool photonic_modules_load(struct weft_photonic_countaction *modules, const char *path,
                           const struct weft_environment *base)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, base->arena, base->error) &&
           (weft_photonic_countaction_parse(modules, data, length, base->arena, base->error) ||
            weft_wrap(base->error, "%s", path));
}
