// SPDX-License-Identifier: Apache-2.0
// What a file is: any bytes are of one kind, which has a name, and a kind hangs on no byte behind
// the head that is looked at.
//
// Seen to fail on corpus/kind/plan when the row of plans was gone from the names.

#include "fuzz.h"
#include "weft/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    enum weft_file_kind kind = weft_file_kind_of(text, size);
    WEFT_ASSERT(kind < WEFT_FILE_KINDS && weft_file_kind_name(kind) != NULL);
    WEFT_ASSERT(size < ((size_t)1 << 16) || weft_file_kind_of(text, (size_t)1 << 16) == kind);
    return 0;
}
