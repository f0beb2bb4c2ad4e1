// SPDX-License-Identifier: Apache-2.0
// Measured profiles as the TopoOpt artifact writes them (docs/costs.md, "Measured profiles"): what
// they call an operator, in which order measurements stand, and the search for one by name and
// split. O(log measurements).

#include "profile.h"

#include <string.h>

int weft_measurement_order(const struct weft_measurement *a, const struct weft_measurement *b)
{
    int by_name = strcmp(a->name, b->name);
    if (by_name != 0) {
        return by_name;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->parts[i] != b->parts[i]) {
            return a->parts[i] < b->parts[i] ? -1 : 1;
        }
    }
    return 0;
}

// The last dimension of an operator's first input.
static uint64_t input_features(const struct weft_model *model, const struct weft_operator *op)
{
    WEFT_ASSERT(op->spec.input_count > 0);
    const struct weft_operator *input = &model->operators[op->spec.inputs[0]];
    WEFT_ASSERT(input->rank > 0);
    return input->shape[input->rank - 1];
}

// The shorter names: those without sizes.
static const char *plain_name(enum weft_operator_kind kind)
{
    switch (kind) {
    case WEFT_OP_INPUT:
        return "Input";
    case WEFT_OP_FLAT:
        return "Flat";
    case WEFT_OP_CONCAT:
        return "Concat_1";
    case WEFT_OP_ADD:
        return "ElementBinary_31";
    case WEFT_OP_MULTIPLY:
        return "ElementBinary_32";
    case WEFT_OP_UNARY:
        return "ElementUnary_13";
    case WEFT_OP_NORM:
        return "Norm";
    case WEFT_OP_SOFTMAX:
        return "Softmax";
    case WEFT_OP_CONV2D:
    case WEFT_OP_POOL2D:
    case WEFT_OP_DENSE:
    case WEFT_OP_EMBEDDING:
    case WEFT_OP_ATTENTION:
    case WEFT_OP_EXPERTS:
    case WEFT_OP_KIND_COUNT:
        break;
    }
    WEFT_ASSERT(false);
}

const char *weft_profile_name_into(char *buffer, const struct weft_model *model, uint32_t index)
{
    WEFT_ASSERT(index < model->operator_count);
    const struct weft_operator *op = &model->operators[index];
    const struct weft_operator_spec *spec = &op->spec;
    const size_t room = WEFT_PROFILE_NAME;
    typedef unsigned long long wide;
    switch (spec->kind) {
    case WEFT_OP_CONV2D:
        snprintf(buffer, room, "Conv2D_%u_%u_%llu", spec->kernel[0], spec->kernel[1],
                 (wide)spec->units);
        break;
    case WEFT_OP_POOL2D:
        snprintf(buffer, room, "Pool2D_%u_%u", spec->kernel[0], spec->kernel[1]);
        break;
    case WEFT_OP_DENSE:
        snprintf(buffer, room, "Dense_%llu_%llu", (wide)input_features(model, op),
                 (wide)spec->units);
        break;
    case WEFT_OP_EMBEDDING:
        snprintf(buffer, room, "Embed_%llux%llu", (wide)spec->rows, (wide)spec->units);
        break;
    case WEFT_OP_ATTENTION:
        snprintf(buffer, room, "MultiHeadAttention_%llu%u", (wide)input_features(model, op),
                 spec->heads);
        break;
    case WEFT_OP_EXPERTS:
        snprintf(buffer, room, "Experts_%u_%llu_%llu", spec->experts,
                 (wide)input_features(model, op), (wide)spec->expert_units);
        break;
    case WEFT_OP_INPUT:
    case WEFT_OP_FLAT:
    case WEFT_OP_CONCAT:
    case WEFT_OP_ADD:
    case WEFT_OP_MULTIPLY:
    case WEFT_OP_UNARY:
    case WEFT_OP_NORM:
    case WEFT_OP_SOFTMAX:
    case WEFT_OP_KIND_COUNT:
        snprintf(buffer, room, "%s", plain_name(spec->kind));
        break;
    }
    return buffer;
}

const char *weft_profile_name(const struct weft_model *model, uint32_t op, struct weft_arena *arena)
{
    char buffer[WEFT_PROFILE_NAME];
    weft_profile_name_into(buffer, model, op);
    return weft_arena_text(arena, buffer, strlen(buffer));
}

const char *weft_profile_own_name_into(char *buffer, const struct weft_model *model, uint32_t index)
{
    char name[WEFT_PROFILE_NAME];
    weft_profile_name_into(name, model, index);
    snprintf(buffer, WEFT_PROFILE_NAME, "%.120s@%.120s", model->operators[index].spec.name, name);
    return buffer;
}

bool weft_profile_has(const struct weft_profile *profile, const char *name)
{
    uint32_t first = weft_profile_first(profile, name);
    return first < profile->count && strcmp(profile->measurements[first].name, name) == 0;
}

const char *weft_profile_key_into(char *buffer, const struct weft_profile *profile,
                                  const struct weft_model *model, uint32_t index)
{
    weft_profile_own_name_into(buffer, model, index);
    return weft_profile_has(profile, buffer) ? buffer
                                             : weft_profile_name_into(buffer, model, index);
}

uint32_t weft_profile_parameter_dimension(uint32_t rank)
{
    WEFT_ASSERT(rank >= 2 && rank <= 4);
    return rank == 4 ? 2 : 0;
}

uint32_t weft_profile_first(const struct weft_profile *profile, const char *name)
{
    uint32_t low = 0;
    uint32_t high = profile->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(profile->measurements[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool weft_measurement_split(struct weft_split *split, const struct weft_measurement *measurement)
{
    uint32_t samples = measurement->rank - 1;
    uint32_t parameters = weft_profile_parameter_dimension(measurement->rank);
    for (uint32_t i = 0; i < samples; i++) {
        if (i != parameters && measurement->parts[i] != 1) {
            return false;
        }
    }
    *split = (struct weft_split){measurement->parts[samples], measurement->parts[parameters]};
    return true;
}

const struct weft_measurement *weft_profile_find(const struct weft_profile *profile,
                                                 const char *name, uint32_t sample_parts,
                                                 uint32_t parameter_parts)
{
    for (uint32_t i = weft_profile_first(profile, name);
         i < profile->count && strcmp(profile->measurements[i].name, name) == 0; i++) {
        struct weft_split split;
        if (weft_measurement_split(&split, &profile->measurements[i]) &&
            split.sample_parts == sample_parts && split.parameter_parts == parameter_parts) {
            return &profile->measurements[i];
        }
    }
    return NULL;
}
