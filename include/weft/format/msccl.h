// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_MSCCL_H
#define WEFT_FORMAT_MSCCL_H

// MSCCL's programs of collectives (XML): docs/msccl.md.

#include "weft/base.h"
#include "weft/collective.h"

WEFT_API_BEGIN

// Reads a program; weft_program_check proves it. Elements and attributes that the runtime does not
// read are skipped; program->defaulted says which of minBytes, maxBytes and outofplace took a
// default. Fails with INPUT naming the line: no XML, all attributes that an element lacks, a number
// out of range, a step that reads or writes no chunk, a step twice; with UNSUPPORTED for
// collectives that Weft does not know. O(length).
bool weft_msccl_read(struct weft_program *program, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// Text that reads back as the same program. It must not be one-sided.
const char *weft_msccl_write(const struct weft_program *program, struct weft_arena *arena);

WEFT_API_END

#endif
