// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_MSCCLPP_H
#define WEFT_FORMAT_MSCCLPP_H

// Execution plans of MSCCL++ (JSON): docs/mscclpp.md.

#include "weft/base.h"
#include "weft/collective.h"

WEFT_API_BEGIN

// Reads a plan as a one-sided program; weft_program_check proves it. Keys that the executor does
// not read are skipped. Fails with INPUT naming gpu, thread block and op: no JSON, a key that is
// missing or out of range, what the executor would do nothing for in silence; with UNSUPPORTED for
// what is not modelled (switch channels, pipelines, semaphores that begin above 0, a channel of two
// thread blocks) and plans in the form of an older MSCCL++. O(length).
bool weft_mscclpp_read(struct weft_program *program, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// A program from a file: MSCCL++'s where it begins with a brace, else MSCCL's.
bool weft_program_load(struct weft_program *program, const char *path, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// How far a plan goes; MSCCL++'s executor has limits (docs/mscclpp.md).
struct weft_mscclpp_size {
    uint32_t block_max; // thread blocks of a gpu
    uint32_t op_max;    // operations of a thread block
};
// A program of weft_program_build as a plan: what is received lands in scratch of its own, from
// where it is copied or added. Over ports, or else memory channels. Protocol LL sends packets; it
// fails with UNSUPPORTED over ports, and where the program has scratch of its own. O(steps).
bool weft_mscclpp_write(const char **text, struct weft_mscclpp_size *size,
                        const struct weft_program *program, bool ports, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
