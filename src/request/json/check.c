// SPDX-License-Identifier: Apache-2.0
// "weft.check/1": the claims of a plan that do not hold, each as a sentence, and what could not be
// looked at with what was given. "valid" is true where all holds that was checked; the exit code of
// weft check says the same.

#include "weft/request/check.h"
#include "request/json/json.h"

const char *weft_request_check_json(const struct weft_check_result *result,
                                    const struct weft_check_request *request,
                                    struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.check/1");
    json_t *list = json_array();
    weft_set_text(object, "file", request->plan_path);
    weft_set_truth(object, "valid", result->violation_count == 0);
    weft_set(object, "violations", list);
    for (uint32_t i = 0; i < result->violation_count; i++) {
        json_t *one = json_object();
        weft_set_text(one, "text", result->violations[i].text);
        json_array_append_new(list, one);
    }
    if (result->left_out != NULL) {
        weft_set_text(object, "not_checked", result->left_out);
    }
    return weft_set_finish(object, arena);
}
