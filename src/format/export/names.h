// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_EXPORT_NAMES_H
#define WEFT_FORMAT_EXPORT_NAMES_H

// How hosts are called that count on from server 0: a prefix and a number with leading zeros, as
// node001 for 1 of three digits. Slurm's topology, node lists and hostfiles name servers so where
// nobody says each one's name.

#include "weft/base.h"

struct names {
    const char *prefix;
    uint32_t first;  // the number of server 0
    uint32_t digits; // at least
};

// Splits the name of server 0. Fails with INPUT where it is no name of a host.
bool names_parse(struct names *names, const char *text, struct weft_arena *arena,
                 struct weft_error *error) WEFT_MUST_USE;

#endif
