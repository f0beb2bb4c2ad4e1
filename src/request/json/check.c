// SPDX-License-Identifier: Apache-2.0
// "weft.check/2": the claims of a plan that do not hold, each as a sentence, and those that were
// not looked at with what was given, each with why. "holds" says what the exit code of weft check
// says.

#include "weft/request/check.h"
#include "request/json/json.h"

const char *weft_request_check_json(const struct weft_check_result *result,
                                    const struct weft_check_request *request,
                                    struct weft_arena *arena)
{
    const struct weft_verify_report *report = &result->report;
    json_t *object = weft_set_object("weft.check/2");
    json_t *violations = json_array();
    json_t *unverified = json_array();
    weft_set_text(object, "file", request->plan_path);
    weft_set_truth(object, "holds", result->holds);
    weft_set(object, "violations", violations);
    for (uint32_t i = 0; i < report->violation_count; i++) {
        json_t *one = json_object();
        weft_set_text(one, "text", report->violations[i].text);
        json_array_append_new(violations, one);
    }
    weft_set(object, "unverified", unverified);
    for (uint32_t i = 0; i < report->unverified_count; i++) {
        json_t *one = json_object();
        weft_set_text(one, "claim", report->unverified[i].claim);
        weft_set_text(one, "why", report->unverified[i].why);
        json_array_append_new(unverified, one);
    }
    return weft_set_finish(object, arena);
}
