// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_COMPARISONS_H
#define WEFT_FORMAT_COMPARISONS_H

// Comparisons of models, kept in a file so that a long study can go on where it was stopped (JSON,
// weft.comparisons/1): docs/compare.md.

#include "weft/base.h"
#include "weft/plan.h"

WEFT_API_BEGIN

const char *weft_comparisons_write(const struct weft_model_comparison *comparisons, uint32_t count,
                                   struct weft_arena *arena);
// *comparisons and their texts live in `arena`. Fails with INPUT naming the key at fault. O(bytes).
bool weft_comparisons_read(struct weft_model_comparison **comparisons, uint32_t *count,
                           const char *data, size_t length, struct weft_arena *arena,
                           struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
