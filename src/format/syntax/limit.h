// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_LIMIT_H
#define WEFT_FORMAT_SYNTAX_LIMIT_H

// How large a file may be.

#include "weft/base.h"

// What a file of that limit may have now; 0 = WEFT_FILE_BYTES.
size_t file_limit(size_t limit_bytes);
// Fails with INPUT: "is larger than 64 MiB, the limit for such a file", and the remedy "limit".
// Returns false.
bool file_too_large(struct weft_error *error, const char *how, size_t limit_bytes);

#endif
