// SPDX-License-Identifier: Apache-2.0
// Measured profiles: any bytes are either a profile, sorted and without twins, whose measurements
// are found and which is written and read back the same, or one line of complaint.
//
// Seen to fail on corpus/profile/twice when neighbors that are equal were let through, and on
// corpus/profile/images when the search compared the innermost part of images with the channels'.

#include "fuzz.h"
#include "weft/format.h"

#include <string.h>

// The search finds what divides only samples and the dimension of parameters.
static void check_found(const struct weft_profile *profile, const struct weft_measurement *one)
{
    uint32_t last = one->rank - 1;
    uint32_t dimension = one->rank == 4 ? 2 : 0;
    bool plain = true;
    for (uint32_t i = 0; i < last; i++) {
        plain = plain && (i == dimension || one->parts[i] == 1);
    }
    const struct weft_measurement *found =
        weft_profile_find(profile, one->name, one->parts[last], one->parts[dimension]);
    // Two ranks of one name may hold the same split; either answer is right.
    WEFT_ASSERT(!plain || (found != NULL && strcmp(found->name, one->name) == 0));
}

static void check_profile(const struct weft_profile *profile, struct weft_arena *arena)
{
    WEFT_ASSERT(profile->batch > 0 && profile->server_count > 0 && profile->count > 0);
    for (uint32_t i = 0; i < profile->count; i++) {
        const struct weft_measurement *one = &profile->measurements[i];
        WEFT_ASSERT(i == 0 || weft_measurement_order(one - 1, one) < 0);
        WEFT_ASSERT(one->rank >= 2 && one->rank <= 4);
        WEFT_ASSERT(one->forward_ps <= 3600 * WEFT_PS_PER_S);
        WEFT_ASSERT(one->backward_ps <= 3600 * WEFT_PS_PER_S);
        check_found(profile, one);
    }
    struct weft_error error = {.code = WEFT_OK};
    const char *text = weft_profile_write(profile, arena);
    struct weft_profile again;
    WEFT_ASSERT(weft_profile_read(&again, text, strlen(text), arena, &error));
    WEFT_ASSERT(again.count == profile->count && again.batch == profile->batch);
    WEFT_ASSERT(strcmp(text, weft_profile_write(&again, arena)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_profile profile = {.batch = 7};
    if (!weft_profile_read(&profile, text, size, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(profile.batch == 7);
    } else {
        check_profile(&profile, &desk.arena);
    }
    fuzz_close(&desk);
    return 0;
}
