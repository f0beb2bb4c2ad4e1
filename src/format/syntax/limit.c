// SPDX-License-Identifier: Apache-2.0
// How large a file may be: low where nobody says otherwise, so that a file that is not what it
// seems, or that was compressed a thousandfold, does not take the memory of the machine.
//
// What raises the limits is a state of the whole program, as its RLIMITs are: readers of formats do
// not hand it down.

#include "limit.h"
#include "weft/format.h"

static uint64_t raised_bytes;

void weft_file_raise_limit(uint64_t limit_bytes)
{
    raised_bytes = limit_bytes;
}

size_t file_limit(size_t limit_bytes)
{
    size_t limit = limit_bytes == 0 ? WEFT_FILE_BYTES : limit_bytes;
    return raised_bytes > limit ? raised_bytes : limit;
}

bool file_too_large(struct weft_error *error, const char *how, size_t limit_bytes)
{
    const size_t mebibyte = (size_t)1 << 20;
    bool mebi = limit_bytes >= mebibyte && limit_bytes % mebibyte == 0;
    bool kibi = !mebi && limit_bytes >= 1024 && limit_bytes % 1024 == 0;
    weft_fail(error, WEFT_INPUT,
              "%s %zu %s, the limit for such a file; if it is to be so large, raise the limit", how,
              limit_bytes / (mebi   ? mebibyte
                             : kibi ? 1024
                                    : 1),
              mebi   ? "MiB"
              : kibi ? "KiB"
                     : "bytes");
    return weft_remedy(error, "limit", "%zuMiB",
                       limit_bytes / (mebibyte / 4) + (limit_bytes < mebibyte / 4));
}
