// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_GZIP_H
#define WEFT_FORMAT_SYNTAX_GZIP_H

// Bytes that gzip compressed (RFC 1952), unpacked by zlib: traces are kept so.

#include "weft/base.h"

bool weft_gzip_is(const char *data, size_t length);
// The bytes of all members one behind the other, at most limit_bytes, in `arena`; a zero behind
// them does not count. Fails with INPUT where they are damaged or cut. O(bytes).
bool weft_gzip_unpack(const char **plain, size_t *plain_length, const char *data, size_t length,
                      size_t limit_bytes, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

#endif
