// SPDX-License-Identifier: Apache-2.0
// Which strategies of a comparison both methods plan for.

#include "compare.h"

#include <math.h>

#define PLAIN 3u
#define PROMISING 2u
#define DIRECT 1u

_Static_assert(PLAIN + PROMISING + DIRECT == COMPARE_TRIALS_MAX, "all have room");

static bool is_taken(const uint32_t *trials, uint32_t count, uint32_t entry)
{
    for (uint32_t i = 0; i < count; i++) {
        if (trials[i] == entry) {
            return true;
        }
    }
    return false;
}

uint32_t compare_trials(uint32_t *trials, const struct compare_promise *promises,
                        uint32_t field_count, uint32_t entry_count)
{
    uint32_t count = 0;
    for (; count < entry_count && count < PLAIN; count++) {
        trials[count] = count;
    }
    for (uint32_t i = 0; i < PROMISING + DIRECT; i++) {
        uint32_t best = WEFT_NONE;
        double best_s = HUGE_VAL;
        for (uint32_t f = 0; f < field_count; f++) {
            bool asked = i < PROMISING || promises[f].direct;
            for (uint32_t e = 0; asked && e < entry_count; e++) {
                if (promises[f].quick_s[e] < best_s && !is_taken(trials, count, e)) {
                    best_s = promises[f].quick_s[e];
                    best = e;
                }
            }
        }
        if (best != WEFT_NONE) {
            trials[count++] = best;
        }
    }
    return count;
}
