// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_DIFF_H
#define WEFT_REQUEST_DIFF_H

// What differs between two plans.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_diff_request {
    const char *paths[2]; // of plans
};

// One thing that the plans have differently. Texts where it is no number.
struct weft_diff_row {
    const char *part; // "cluster", "fabric", "rings", "strategy", "times", "bill"
    const char *name; // "iteration_s": as the plan's file calls it, the unit last
    bool is_number;
    double values[2];
    const char *texts[2]; // for people; NULL = there is none
};

struct weft_diff_result {
    uint32_t row_count; // 0: the plans are the same in all that is compared
    const struct weft_diff_row *rows;
};

// Compares cluster, method, fabric, links, rings, strategy, times, loads and bill of two plans, by
// value. Fails with INPUT where a file is no plan. O(links log degree + rings + operators).
bool weft_request_diff(struct weft_diff_result *result, const struct weft_diff_request *request,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.diff/1".
const char *weft_request_diff_json(const struct weft_diff_result *result,
                                   const struct weft_diff_request *request,
                                   struct weft_arena *arena);

WEFT_API_END

#endif
