// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_CHECK_H
#define WEFT_REQUEST_CHECK_H

// Whether everything that a plan claims holds.

#include "weft/plan.h"
#include "weft/request.h"
#include "weft/verify.h"

WEFT_API_BEGIN

struct weft_check_request {
    const char *plan_path;
    const char *job_path; // the task graph that it was made for; NULL = none
    const char *model;    // that it was made for; NULL = the zoo's of the plan's name
    bool without_job;     // what depends on the job's traffic need not be looked at
};

struct weft_check_result {
    struct weft_verify_report report;
    bool holds; // no violation, and nothing unverified that the job's file would show, unless
                // without_job
};

// Fails with INPUT where a file cannot be read; what does not hold is no failure.
bool weft_request_check(struct weft_check_result *result, const struct weft_check_request *request,
                        struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.check/2"
const char *weft_request_check_json(const struct weft_check_result *result,
                                    const struct weft_check_request *request,
                                    struct weft_arena *arena);

WEFT_API_END

#endif
