// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_FINDINGS_H
#define WEFT_VERIFY_FINDINGS_H

// What the checks find: claims that do not hold, and claims that nobody looked at.
//
// It lies below all of them, which add to one pair of lists in the order of weft_verify_plan.
// Figures are compared here, so that all of them are held to the same closeness.

#include "weft/verify.h"

#define VIOLATIONS_MAX 100u
#define UNVERIFIED_MAX 32u

struct findings {
    struct weft_violation *list; // VIOLATIONS_MAX
    uint32_t count;
    struct weft_unverified *open; // UNVERIFIED_MAX
    uint32_t open_count;
    struct weft_arena *arena;
};

void findings_init(struct findings *findings, struct weft_arena *arena);
// Notes one violation as one printable line; those beyond the list's end are dropped.
void findings_add(struct findings *findings, const char *format, ...) WEFT_PRINTF(2, 3);
// Notes a claim that is not looked at; both texts must outlive the report.
void findings_leave(struct findings *findings, const char *claim, const char *why, bool needs_job);
// Figures that are computed twice in doubles, in another order of the same sums, agree this well:
// the rounding of a million additions is below 1e-9.
bool figures_differ(double stated, double found);
// Notes where they do not.
void findings_compare(struct findings *findings, const char *name, double stated, double found);

#endif
