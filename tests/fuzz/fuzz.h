// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FUZZ_H
#define WEFT_FUZZ_H

// What every fuzz target defines: libFuzzer and tests/fuzz/replay.c call it. Returns 0; a finding
// is a crash, a failed WEFT_ASSERT, a sanitizer's report or a hang.

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
