// SPDX-License-Identifier: Apache-2.0
// Flows in words: any text is either no flows, flows within their ranges, or one line of complaint.
//
// Seen to fail on corpus/flows/zero when a size of 0 was let through.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    struct weft_flows_spec spec = {.count = 7};
    struct weft_error error = {.code = WEFT_OK};
    bool matches = false;
    if (!weft_flows_parse(&spec, &matches, text, &error)) {
        WEFT_ASSERT(matches);
        fuzz_check_refusal(&error);
        WEFT_ASSERT(spec.count == 7);
    } else if (matches) {
        WEFT_ASSERT(spec.size_bytes > 0);
        bool poisson = spec.kind == WEFT_FLOWS_POISSON;
        WEFT_ASSERT(!poisson || (spec.load_ratio > 0 && spec.load_ratio <= 1 && spec.count > 0));
    }
    free(text);
    return 0;
}
