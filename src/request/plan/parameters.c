// SPDX-License-Identifier: Apache-2.0
// The parameters of a plan by name: what options of the command line and scenarios of a sweep are
// called. Those that are for models alone also set model.given, so that a request for a task graph
// that has one is refused instead of planned without it.

#include "weft/request/parameter.h"
#include "weft/request/plan.h"

#include <string.h>

static bool read_variant(void *field, const struct weft_parameter *parameter, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_plan_request_model *model = field;
    model->given = true;
    model->all_variants = strcmp(text, "all") == 0;
    model->variant = WEFT_COPLAN_BOTH;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        if (strcmp(text, weft_coplan_variant_name(v)) == 0) {
            model->variant = v;
            return true;
        }
    }
    return model->all_variants ||
           weft_fail(error, WEFT_USAGE,
                     "'%.40s' is none; write both, strategy, topology, data-parallel or all", text);
}

static bool read_rounds(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    struct weft_plan_request_model *model = field;
    model->given = true;
    return weft_read_count(&model->rounds, parameter, text, arena, error);
}

static bool read_strategy(void *field, const struct weft_parameter *parameter, const char *text,
                          struct weft_arena *arena, struct weft_error *error)
{
    struct weft_plan_request_model *model = field;
    model->given = true;
    return weft_read_text(&model->strategy, parameter, text, arena, error);
}

static const char *const collectives[] = {
    [WEFT_PLAN_RINGS] = "rings", [WEFT_PLAN_BEST] = "best", NULL};

static const char *const engines[] = {
    [WEFT_ENGINE_FLOW] = "flow", [WEFT_ENGINE_PACKET] = "packet", NULL};

#define FIELD(path) offsetof(struct weft_plan_request, path)
_Static_assert(sizeof(enum weft_plan_collectives) == sizeof(uint32_t), "weft_read_word writes it");
_Static_assert(sizeof(enum weft_sim_engine) == sizeof(uint32_t), "so does it this");
static const struct weft_parameter own_rows[] = {
    {"variant", read_variant, FIELD(model), 0, 0, NULL}, // of a model: that it was given, too
    {"rounds", read_rounds, FIELD(model), 1, 1000, NULL},
    {"collectives", weft_read_word, FIELD(collectives), 0, 0, collectives},
    {"judge", weft_read_word, FIELD(last_engine), 0, 0, engines},
    {"strategy", read_strategy, FIELD(model), 0, 0, NULL},
};

const struct weft_parameter_group weft_plan_parameters[] = {
    {own_rows, sizeof own_rows / sizeof own_rows[0], 0},
    {weft_job_parameters, WEFT_JOB_PARAMETERS, FIELD(job)},
    {weft_hardware_parameters, WEFT_HARDWARE_PARAMETERS, FIELD(hardware)},
    {weft_search_parameters, WEFT_SEARCH_PARAMETERS, FIELD(search)},
    {weft_trace_parameters, WEFT_TRACE_PARAMETERS, FIELD(trace)},
    {NULL, 0, 0},
};
