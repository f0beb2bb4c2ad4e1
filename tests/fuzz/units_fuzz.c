// SPDX-License-Identifier: Apache-2.0
// Quantities in words: any text is either a value within its range or one line of complaint.
//
// Seen to fail on corpus/units/rate_overflows before 1e308GB/s was refused.

#include "fuzz.h"
#include "weft/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef bool parse_real(double *value, const char *text, struct weft_error *error);
typedef bool parse_whole(uint64_t *value, const char *text, struct weft_error *error);

static void check_real(parse_real *parse, const char *text)
{
    struct weft_error error = {.code = WEFT_OK};
    double value = -7;
    if (parse(&value, text, &error)) {
        WEFT_ASSERT(isfinite(value) && value >= 0);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(value == -7);
    }
}

static void check_whole(parse_whole *parse, const char *text)
{
    struct weft_error error = {.code = WEFT_OK};
    uint64_t value = 77;
    if (!parse(&value, text, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(value == 77);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    check_real(weft_parse_rate, text);
    check_real(weft_parse_power, text);
    check_real(weft_parse_flops, text);
    check_real(weft_parse_price, text);
    check_whole(weft_parse_time, text);
    check_whole(weft_parse_bytes, text);
    struct weft_error error = {.code = WEFT_OK};
    uint64_t count = 0;
    if (weft_parse_count(&count, text, 3, 1000, &error)) {
        WEFT_ASSERT(count >= 3 && count <= 1000);
    } else {
        fuzz_check_refusal(&error);
    }
    double number = 0;
    if (weft_parse_number(&number, text, -1, 1, &error)) {
        WEFT_ASSERT(number >= -1 && number <= 1);
    } else {
        fuzz_check_refusal(&error);
    }
    free(text);
    return 0;
}
