// SPDX-License-Identifier: Apache-2.0
// What a part of an operator costs: its measurement where there is a profile, else the roofline. A
// profile that lacks the split is an error that names the splits it has; times are never
// interpolated, since kernels change with the shape. O(log measurements + splits of the name).

#include "profile.h"

#include <string.h>

const char *weft_cost_source_name(enum weft_cost_source source)
{
    return source == WEFT_COST_MEASURED ? "measured" : "roofline";
}

const char *weft_cost_limit_name(enum weft_cost_limit limit)
{
    static const char *const names[] = {
        [WEFT_LIMIT_NONE] = "none",
        [WEFT_LIMIT_FLOPS] = "flops",
        [WEFT_LIMIT_MEMORY] = "memory",
        [WEFT_LIMIT_LAUNCH] = "launch",
    };
    WEFT_ASSERT((size_t)limit < sizeof names / sizeof names[0]);
    return names[limit];
}

// Lists the splits that a profile has for a name, "4x1, 8x1", cut short with "...".
static void list_splits(char *buffer, size_t room, const struct weft_profile *profile,
                        const char *name)
{
    size_t length = 0;
    buffer[0] = '\0';
    for (uint32_t i = weft_profile_first(profile, name);
         i < profile->count && strcmp(profile->measurements[i].name, name) == 0; i++) {
        struct weft_split split;
        if (!weft_measurement_split(&split, &profile->measurements[i])) {
            continue;
        }
        if (length + 40 > room) {
            snprintf(buffer + length, room - length, ", ...");
            return;
        }
        length +=
            (size_t)snprintf(buffer + length, room - length, "%s%ux%u", length == 0 ? "" : ", ",
                             split.sample_parts, split.parameter_parts);
    }
}

bool weft_profile_fail_missing(const struct weft_profile *profile, const char *name,
                               const char *wanted, struct weft_error *error)
{
    char splits[160];
    list_splits(splits, sizeof splits, profile, name);
    if (splits[0] == '\0') {
        weft_fail(error, WEFT_INPUT,
                  "the profile has no %s; measure it, or fill the gap from the roofline", name);
        return weft_remedy(error, "full-profile", "%s", "");
    }
    return weft_fail(error, WEFT_INPUT,
                     "the profile has %s in %s (sample x parameter) parts, not %s; measure that, "
                     "or choose one of them",
                     name, splits, wanted);
}

bool weft_profile_check_batch(const struct weft_profile *profile, const struct weft_model *model,
                              struct weft_error *error)
{
    if (profile->batch == model->batch) {
        return true;
    }
    weft_fail(error, WEFT_INPUT,
              "the profile was measured with a batch of %llu, the model has %llu; use that of the "
              "profile, or another profile",
              (unsigned long long)profile->batch, (unsigned long long)model->batch);
    return weft_remedy(error, "batch", "%llu", (unsigned long long)profile->batch);
}

static bool measured_time(struct weft_operator_cost *cost, const struct weft_model *model,
                          uint32_t op, struct weft_split split, const struct weft_profile *profile,
                          struct weft_error *error)
{
    char name[WEFT_PROFILE_NAME];
    if (!weft_profile_check_batch(profile, model, error)) {
        return false;
    }
    weft_profile_key_into(name, profile, model, op);
    const struct weft_measurement *found =
        weft_profile_find(profile, name, split.sample_parts, split.parameter_parts);
    if (found == NULL) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%ux%u", split.sample_parts, split.parameter_parts);
        weft_profile_fail_missing(profile, name, wanted, error);
        return weft_cost_fail(model, op, error);
    }
    *cost = (struct weft_operator_cost){
        .forward_ps = found->forward_ps,
        .backward_ps = found->backward_ps,
        .source = WEFT_COST_MEASURED,
    };
    return true;
}

bool weft_operator_time(struct weft_operator_cost *cost, const struct weft_model *model,
                        uint32_t op, struct weft_split split,
                        const struct weft_cost_options *options, struct weft_error *error)
{
    WEFT_ASSERT(op < model->operator_count);
    if (options->profile == NULL || model->operators[op].spec.kind == WEFT_OP_INPUT) {
        return weft_operator_roofline(cost, model, op, split, options, error);
    }
    return weft_split_check(model, op, split, error) &&
           measured_time(cost, model, op, split, options->profile, error);
}
