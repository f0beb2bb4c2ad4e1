// SPDX-License-Identifier: Apache-2.0
// "weft.photonic-check/1".

#include "request/json/json.h"
#include "weft/request/photonic_check.h"

static json_t *verdict_json(const struct weft_photonic_verdict *verdict)
{
    json_t *object = json_object();
    weft_set_text(object, "module", verdict->module);
    weft_set_text(object, "verdict", weft_photonic_flaw_name(verdict->flaw));
    weft_set_text(object, "count", verdict->subject);
    weft_set_index(object, "line", verdict->subject == NULL ? WEFT_NONE : verdict->line);
    weft_set_index(object, "layer", verdict->row);
    weft_set_text(object, "message", verdict->message);
    return object;
}

static json_t *occurrence_json(const struct weft_photonic_check_result *result,
                               const struct weft_photonic_occurrence *occurrence)
{
    const struct weft_photonic_module *module = &result->modules.modules[occurrence->module];
    json_t *object = json_object();
    weft_set_count(object, "layer", occurrence->row);
    weft_set_text(object, "module", module->name);
    weft_set_text(object, "count", module->counts[occurrence->count].name);
    weft_set_count(object, "index", occurrence->index);
    weft_set_count(object, "events", occurrence->events);
    weft_set_count(object, "target", occurrence->target);
    weft_set_count(object, "times", occurrence->times);
    return object;
}

const char *weft_request_photonic_check_json(const struct weft_photonic_check_result *result,
                                             struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.photonic-check/1");
    weft_set_truth(object, "sound", result->report.sound);
    json_t *modules = weft_set_list(object, "modules");
    for (uint32_t i = 0; i < result->report.verdict_count; i++) {
        json_array_append_new(modules, verdict_json(&result->report.verdicts[i]));
    }
    json_t *events = weft_set_list(object, "events");
    for (uint32_t i = 0; i < result->report.occurrence_count; i++) {
        json_array_append_new(events, occurrence_json(result, &result->report.occurrences[i]));
    }
    return weft_set_finish(object, arena);
}
