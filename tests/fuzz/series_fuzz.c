// SPDX-License-Identifier: Apache-2.0
// Series of what links carried: any bytes are either series in equal steps, whose demand makes a
// snapshot that is read back the same, or one line of complaint.
//
// Seen to fail on corpus/series/one when times were summed instead of bytes, and on
// corpus/series/odd when names were not asked to be UTF-8.

#include "fuzz.h"
#include "weft/format.h"

#include <math.h>

enum { MEASURED_MAX = 512 }; // samples; finding an iteration takes their square

static double check_series(const struct weft_series_set *set)
{
    double sum = 0;
    WEFT_ASSERT(set->link_count > 0);
    for (uint32_t l = 0; l < set->link_count; l++) {
        WEFT_ASSERT(set->series[l].count >= 4 && set->series[l].count == set->series[0].count);
        WEFT_ASSERT(set->series[l].step_ps > 0);
        WEFT_ASSERT(set->series[l].step_ps == set->series[0].step_ps);
        WEFT_ASSERT(set->capacity_Bps[l] >= 0 && isfinite(set->capacity_Bps[l]));
        WEFT_ASSERT(l == 0 || strcmp(set->names[l - 1], set->names[l]) < 0);
        double of_link = 0;
        for (uint32_t i = 0; i < set->series[l].count; i++) {
            WEFT_ASSERT(set->series[l].bytes[i] >= 0 && isfinite(set->series[l].bytes[i]));
            of_link += set->series[l].bytes[i];
        }
        sum += of_link;
    }
    return sum;
}

// The bytes of all samples, from a text of two columns that the reader took; else -1.
static double sum_bytes(const char *text, size_t size)
{
    double sum = 0;
    const char *end = text + size;
    bool plain = size > 13 && memcmp(text, "time_s,bytes\n", 13) == 0;
    const char *at = plain ? text + 12 : NULL;
    while (at != NULL && at + 1 < end) {
        char number[64] = {0};
        const char *comma = memchr(at + 1, ',', (size_t)(end - at - 1));
        if (comma == NULL) {
            break;
        }
        size_t room = (size_t)(end - comma - 1);
        memcpy(number, comma + 1, room < sizeof number - 1 ? room : sizeof number - 1);
        sum += strtod(number, NULL);
        at = memchr(comma, '\n', (size_t)(end - comma));
    }
    return plain ? sum : -1;
}

static void check_demand(const struct weft_series_set *set, struct weft_arena *arena,
                         struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_measured_demand measured;
    struct weft_job_set found;
    if (!weft_demand_measure(
            &measured, set->series, set->link_count, 0,
            &(struct weft_environment){.arena = arena, .scratch = scratch, .error = &error})) {
        fuzz_check_refusal(&error);
        return;
    }
    if (!weft_snapshot_of_series(&found, set, &measured, "job", 0,
                                 &(struct weft_environment){.arena = arena, .error = &error})) {
        fuzz_check_refusal(&error);
        return;
    }
    const char *text = weft_snapshot_write(&found, arena);
    struct weft_job_set again;
    bool fine = weft_snapshot_read(&again, text, strlen(text), arena, scratch, &error);
    WEFT_ASSERT(fine);
    WEFT_ASSERT(again.snapshot.link_count == set->link_count);
    WEFT_ASSERT(strcmp(text, weft_snapshot_write(&again, arena)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_series_set set = {.series = NULL};
    if (!weft_series_read(&set, text, size, &desk.arena, desk.scratch, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(set.series == NULL);
    } else {
        double sum = check_series(&set);
        double expected = sum_bytes(text, size);
        WEFT_ASSERT(expected < 0 || fabs(sum - expected) <= 1e-9 * (sum + expected));
        if ((uint64_t)set.series[0].count * set.link_count <= MEASURED_MAX) {
            check_demand(&set, &desk.arena, desk.scratch);
        }
    }
    fuzz_close(&desk);
    return 0;
}
