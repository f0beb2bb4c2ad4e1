// SPDX-License-Identifier: Apache-2.0
// Tables of numbers: any bytes are either rows of as many numbers within bounds or one line of
// complaint. The first byte says how many columns are asked for, 0 = a square matrix.
//
// Seen to fail on corpus/numbers/matrix when a row of one number less was let through.

#include "fuzz.h"
#include "weft/format/numbers.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_numbers numbers = {.rows = 77};
    uint32_t columns = data[0] % 4u;
    if (!weft_numbers_read(&numbers, (const char *)data + 1, size - 1, columns, &desk.arena,
                           &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(numbers.rows == 77);
    } else {
        WEFT_ASSERT(numbers.rows > 0 && numbers.columns == (columns > 0 ? columns : numbers.rows));
        for (size_t i = 0; i < (size_t)numbers.rows * numbers.columns; i++) {
            WEFT_ASSERT(isfinite(numbers.values[i]) && numbers.values[i] >= 0);
        }
    }
    fuzz_close(&desk);
    return 0;
}
