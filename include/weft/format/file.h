// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_FILE_H
#define WEFT_FORMAT_FILE_H

// Files as a whole: read with a bound on their size, written so that no half file is ever seen.
//
// The readers of formats take bytes, so that a fuzzer reaches them without a file system; their
// *_load and *_save forms come here.

#include "weft/base.h"

WEFT_API_BEGIN

// Reads a whole file (at most limit_bytes; 0 = 4 GiB). "-" is stdin. IO or INPUT.
bool weft_file_load(const char **data, size_t *length, const char *path, size_t limit_bytes,
                    struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Writes to a temporary name beside `path`, syncs and renames, so that no half file is ever seen.
bool weft_file_save(const char *path, const void *data, size_t length, struct weft_error *error)
    WEFT_MUST_USE;
struct weft_file {
    const char *path;
    const void *data;
    size_t length;
};
// Several files of one folder, all or none: renamed only when every one is written and synced; on
// failure nothing new is left. IO.
bool weft_files_save(const struct weft_file *files, uint32_t count, struct weft_arena scratch,
                     struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
