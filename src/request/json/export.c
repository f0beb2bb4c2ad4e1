// SPDX-License-Identifier: Apache-2.0
// "weft.export/1": what was written where. The document itself goes to its file as it is, since
// most of its forms are not JSON; this object is the receipt for scripts, printed where --json is
// given together with an output.

#include "weft/request/export.h"
#include "request/json/json.h"

const char *weft_request_export_json(const struct weft_export_request *request, const char *output,
                                     struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.export/1");
    weft_set_text(object, "file", request->path);
    weft_set_text(object, "kind", weft_export_kind_name(request->kind));
    weft_set_text(object, "output", output);
    return weft_set_finish(object, arena);
}
