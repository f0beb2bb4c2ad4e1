// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PHOTONIC_CHECK_H
#define WEFT_REQUEST_PHOTONIC_CHECK_H

// Count-action modules of a file, alone or with a compiled program.

#include "weft/format/photonics.h"
#include "weft/request.h"

WEFT_API_BEGIN

struct weft_photonic_check_request {
    const char *modules; // a text (.txt), or the folder of a compiled program, whose text it is
    const char *program; // {program}: such a folder; NULL = that of `modules`, if it is one
    uint32_t fifo;       // {fifo}: entries beside the light; 0 = WEFT_PHOTONIC_FIFO_ENTRIES
};
struct weft_photonic_check_result {
    const char *file; // that was read
    struct weft_photonic_countaction modules;
    bool has_program;
    struct weft_photonic_program program;
    struct weft_photonic_countaction_report report;
};
// Fails where files cannot be read or are no modules; what is wrong with modules is a result.
bool weft_request_photonic_check(struct weft_photonic_check_result *result,
                                 const struct weft_photonic_check_request *request,
                                 struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-check/1"
const char *weft_request_photonic_check_json(const struct weft_photonic_check_result *result,
                                             struct weft_arena *arena);

WEFT_API_END

#endif
