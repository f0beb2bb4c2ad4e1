// SPDX-License-Identifier: Apache-2.0
// The checksum of a line of results: what of it was changed since it was written is noticed when
// the sweep goes on or files are merged. It tells of edits and of damage; who means to forge a line
// can make its checksum, too.
//
// FNV-1a, 64 bits: Fowler, Noll, Vo, and Eastlake, "The FNV Non-Cryptographic Hash Algorithm",
// draft-eastlake-fnv.

#include "sweep.h"

#include <string.h>

enum { END_BYTES = sizeof SWEEP_LINE_ENDS - 1, DIGITS = 16 };

uint64_t sweep_hash(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
    }
    return hash;
}

// Writes the end that belongs to a line of that length.
static void make_end(char end[END_BYTES + 1], const char *text, size_t length)
{
    uint64_t sum = weft_hash(sweep_hash(SWEEP_HASH_BEGIN, text, length - END_BYTES));
    memcpy(end, SWEEP_LINE_ENDS, END_BYTES + 1);
    snprintf(end + END_BYTES - DIGITS - 2, DIGITS + 3, "%016llx\"}", (unsigned long long)sum);
}

void sweep_seal(char *text, size_t length)
{
    char end[END_BYTES + 1];
    WEFT_ASSERT(length >= END_BYTES);
    make_end(end, text, length);
    memcpy(text + length - END_BYTES, end, END_BYTES);
}

bool sweep_has_seal(const char *text, size_t length)
{
    size_t name = END_BYTES - DIGITS - 2;
    return length >= END_BYTES && memcmp(text + length - END_BYTES, SWEEP_LINE_ENDS, name) == 0;
}

bool sweep_is_sealed(const char *text, size_t length)
{
    char end[END_BYTES + 1];
    if (!sweep_has_seal(text, length)) {
        return false;
    }
    make_end(end, text, length);
    return memcmp(text + length - END_BYTES, end, END_BYTES) == 0;
}
