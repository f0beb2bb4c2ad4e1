// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_EXPERTS_H
#define WEFT_FORMAT_EXPERTS_H

// Traces of experts' loads: a header, then one row of numbers for each step, layer and rank
// (docs/mixnet.md).
//
//   experts 8
//   layers 32
//   ranks 8
//   steps 4
//   1368 5925 1022 3097 17959 1954 645 798     step 0, layer 0, rank 0: one number an expert
//   ...
//
// Lines that begin with '#' are left out.

#include "weft/plan/mixnet.h"

WEFT_API_BEGIN

#define WEFT_EXPERTS_MAX 1024u // of each figure of the header; experts and ranks

// Fails with INPUT, naming the line: a figure that is missing, stated twice or out of range, rows
// that are fewer or more than steps * layers * ranks, a row without experts numbers, of nothing but
// zeros. O(bytes).
bool weft_experts_read(struct weft_expert_trace *trace, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
bool weft_experts_load(struct weft_expert_trace *trace, const char *path, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The text that weft_experts_read reads back, digit for digit. In `arena`.
const char *weft_experts_write(const struct weft_expert_trace *trace, struct weft_arena *arena);

WEFT_API_END

#endif
