// SPDX-License-Identifier: Apache-2.0
// "weft.diff/1": what two plans have differently, with the ratio of numbers. "same" says what the
// exit code of weft diff says.

#include "weft/request/diff.h"
#include "request/json/json.h"

const char *weft_request_diff_json(const struct weft_diff_result *result,
                                   const struct weft_diff_request *request,
                                   struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.diff/1");
    weft_set_text(object, "a", request->paths[0]);
    weft_set_text(object, "b", request->paths[1]);
    weft_set_truth(object, "same", result->row_count == 0);
    json_t *list = weft_set_list(object, "differences");
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct weft_diff_row *row = &result->rows[i];
        json_t *one = json_object();
        weft_set_text(one, "part", row->part);
        weft_set_text(one, "name", row->name);
        if (row->is_number) {
            weft_set_real(one, "a", row->values[0]);
            weft_set_real(one, "b", row->values[1]);
            if (row->values[0] != 0) {
                weft_set_real(one, "change_ratio", row->values[1] / row->values[0] - 1);
            }
        } else {
            weft_set_text(one, "a", row->texts[0]);
            weft_set_text(one, "b", row->texts[1]);
        }
        json_array_append_new(list, one);
    }
    return weft_set_finish(object, arena);
}
