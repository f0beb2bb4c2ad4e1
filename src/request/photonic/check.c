// SPDX-License-Identifier: Apache-2.0
// Whether count-action modules can go wrong: the check of the room photonics over a file, with the
// rows of a compiled program or without.

#include "request/photonic/files.h"
#include "weft/request/photonic_check.h"

#include <string.h>

static bool is_text(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".txt") == 0;
}

bool weft_request_photonic_check(struct weft_photonic_check_result *result,
                                 const struct weft_photonic_check_request *request,
                                 struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_photonic_check_result found = {.file = request->modules};
    const char *program = request->program;
    if (!is_text(request->modules)) {
        found.file = weft_arena_format(base->arena, "%s/countaction.txt", request->modules);
        program = program == NULL ? request->modules : program;
    }
    if (!photonic_modules_load(&found.modules, found.file, base)) {
        return false;
    }
    struct weft_photonic_check_options options = {.fifo = request->fifo};
    if (!weft_photonic_path_samples(&options.path_samples, &weft_photonic_path_default,
                                    base->error)) {
        return false;
    }
    found.has_program = program != NULL;
    if (program != NULL) {
        if (!weft_photonic_program_load(&found.program, program, base->arena, base->scratch,
                                        base->error)) {
            return false;
        }
        options.program = &found.program;
    }
    weft_photonic_countaction_check(&found.report, &found.modules, &options, base->arena,
                                    base->scratch);
    *result = found;
    return true;
}
