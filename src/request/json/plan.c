// SPDX-License-Identifier: Apache-2.0
// A plan as its file, "weft.plan/2", with how long a model's took: the file itself cannot hold
// that, since the same plan gives the same file. Where a model is too large to simulate, the
// strategies of the estimate stand instead.

#include "weft/request/plan.h"
#include "request/json/json.h"
#include "weft/format.h"

#include <string.h>

// "weft.bounds/1": what the certificate of a plan says of its bounds, without one.
static const char *bounds_json(const struct weft_certificate *bounds, struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.bounds/1");
    weft_set_truth(object, "finished", false);
    weft_set(object, "bounds", weft_bounds_list(bounds));
    return weft_set_finish(object, arena);
}

const char *weft_request_plan_json(const struct weft_plan_result *result, struct weft_arena *arena)
{
    if (result->bounds != NULL) {
        return bounds_json(result->bounds, arena);
    }
    if (result->plan == NULL) {
        return weft_request_strategy_json(result->estimate, arena);
    }
    const char *text = weft_plan_write(result->plan, arena);
    if (result->plan->job == NULL) {
        return text;
    }
    size_t length = strlen(text);
    WEFT_ASSERT(length > 3 && strcmp(text + length - 3, "\n}\n") == 0);
    return weft_arena_format(arena, "%.*s,\n  \"wall_s\": %.3f\n}\n", (int)(length - 3), text,
                             result->wall_s);
}
