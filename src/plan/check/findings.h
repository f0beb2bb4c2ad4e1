// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_CHECK_FINDINGS_H
#define WEFT_PLAN_CHECK_FINDINGS_H

// The list of violations that the checks fill. Private to the plan room.
//
// It lies below the checks, which all add to one list in the order of weft_plan_check.

#include "weft/plan.h"

#define VIOLATIONS_MAX 100u

struct findings {
    struct weft_violation *list; // VIOLATIONS_MAX
    uint32_t count;
    struct weft_arena *arena;
};

// Notes one violation as one printable line; those beyond the list's end are dropped.
void findings_add(struct findings *findings, const char *format, ...) WEFT_PRINTF(2, 3);

#endif
