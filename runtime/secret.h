// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_SECRET_H
#define WEFT_RUNTIME_SECRET_H

// Secrets: read from files that nobody but their owner may read, made, and compared in constant
// time. They never stand among the arguments of a program, which every user of a machine may list.

#include "weft/base.h"

// Reads a file of at most limit_bytes, a zero behind it; /dev/fd/N is a descriptor that was
// inherited. Fails with INPUT, and does not read, where its group or others have any right to it,
// or where it is neither the user's nor root's.
bool weft_secret_load(const char **text, size_t *length, const char *path, size_t limit_bytes,
                      struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Writes a file that is not there yet and that only its owner may read.
bool weft_secret_save(const char *path, const char *text, struct weft_error *error) WEFT_MUST_USE;

enum { WEFT_SECRET_BYTES = 33 };
// 128 bits of the kernel's randomness as text.
bool weft_secret_make(char text[WEFT_SECRET_BYTES], struct weft_error *error) WEFT_MUST_USE;

// Whether two texts are the same, in a time that depends on the length of `given` alone.
bool weft_secret_is(const char *given, const char *expected);

#endif
