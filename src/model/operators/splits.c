// SPDX-License-Identifier: Apache-2.0
// The splits of an operator that a search may choose from: those that the profile measured and that
// divide the operator evenly, or, without a profile, every pair of divisors of the number of
// servers that does. O(measurements of the name) or O(divisors^2).

#include "model/cost/profile.h"

#include <string.h>

// The measured splits of at most server_count parts that divide the operator evenly.
static uint32_t measured_splits(struct weft_split *splits, const struct weft_model *model,
                                uint32_t op, uint32_t server_count,
                                const struct weft_profile *profile, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = weft_profile_first(profile, name);
         i < profile->count && strcmp(profile->measurements[i].name, name) == 0; i++) {
        struct weft_split split;
        if (!weft_measurement_split(&split, &profile->measurements[i]) ||
            (uint64_t)split.sample_parts * split.parameter_parts > server_count ||
            model->batch % split.sample_parts != 0 ||
            !weft_parameters_divide(&model->operators[op], split.parameter_parts)) {
            continue;
        }
        uint32_t at = count++;
        while (at > 0 && (splits[at - 1].sample_parts > split.sample_parts ||
                          (splits[at - 1].sample_parts == split.sample_parts &&
                           splits[at - 1].parameter_parts > split.parameter_parts))) {
            splits[at] = splits[at - 1];
            at--;
        }
        splits[at] = split;
    }
    return count;
}

// Lists the measured splits of an operator, or fails naming what the profile has instead.
static bool splits_by_profile(struct weft_split_list *list, const struct weft_model *model,
                              uint32_t op, uint32_t server_count,
                              const struct weft_profile *profile,
                              const struct weft_environment *environment)
{
    struct weft_error *error = environment->error;
    char name[WEFT_PROFILE_NAME];
    if (!weft_profile_check_batch(profile, model, error)) {
        return false;
    }
    weft_profile_key_into(name, profile, model, op);
    uint32_t room = 0;
    uint32_t first = weft_profile_first(profile, name);
    while (first + room < profile->count &&
           strcmp(profile->measurements[first + room].name, name) == 0) {
        room++;
    }
    struct weft_split *found = WEFT_NEW(environment->arena, struct weft_split, (size_t)room + 1);
    uint32_t found_count = measured_splits(found, model, op, server_count, profile, name);
    if (found_count == 0) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "in parts that fit %u servers", server_count);
        weft_profile_fail_missing(profile, name, wanted, error);
        return weft_cost_fail(model, op, error);
    }
    *list = (struct weft_split_list){found_count, found};
    return true;
}

// Ascending. O(sqrt(number)).
static const uint32_t *divisors_of(uint32_t *count, uint32_t number, struct weft_arena *arena)
{
    uint32_t low_count = 0;
    for (uint32_t i = 1; (uint64_t)i * i <= number; i++) {
        low_count += number % i == 0;
    }
    uint32_t *divisors = WEFT_NEW(arena, uint32_t, (size_t)2 * low_count);
    uint32_t low = 0;
    for (uint32_t i = 1; (uint64_t)i * i <= number; i++) {
        if (number % i == 0) {
            divisors[low++] = i;
        }
    }
    uint32_t total = low;
    for (uint32_t i = low; i-- > 0;) {
        if (divisors[i] != number / divisors[i]) {
            divisors[total++] = number / divisors[i];
        }
    }
    *count = total;
    return divisors;
}

bool weft_operator_splits(struct weft_split_list *list, const struct weft_model *model, uint32_t op,
                          uint32_t server_count, const struct weft_cost_options *options,
                          const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    WEFT_ASSERT(op < model->operator_count && server_count > 0);
    const struct weft_operator *one = &model->operators[op];
    bool input = one->spec.kind == WEFT_OP_INPUT;
    if (options->profile != NULL && !input) {
        return splits_by_profile(list, model, op, server_count, options->profile, environment);
    }
    uint32_t divisor_count = 0;
    const uint32_t *divisors = divisors_of(&divisor_count, input ? 1 : server_count, arena);
    struct weft_split *found =
        WEFT_NEW(arena, struct weft_split, (size_t)divisor_count * divisor_count);
    uint32_t found_count = 0;
    bool divide = weft_kind_divides(one->spec.kind);
    for (uint32_t i = 0; i < divisor_count; i++) {
        uint32_t s = divisors[i];
        for (uint32_t j = 0; j < (divide ? divisor_count : 1) && model->batch % s == 0; j++) {
            uint32_t p = divisors[j];
            if (server_count / s % p == 0 && weft_parameters_divide(one, p)) {
                found[found_count++] = (struct weft_split){s, p};
            }
        }
    }
    WEFT_ASSERT(found_count > 0);
    *list = (struct weft_split_list){found_count, found};
    return true;
}
