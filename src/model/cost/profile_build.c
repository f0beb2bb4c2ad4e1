// SPDX-License-Identifier: Apache-2.0
// A whole profile of a model: what was measured, and the roofline for the rest. Built in two runs,
// one that counts and one that stores. Operators that share a profile name but not their cost get
// names of their own. O(operators * names + splits log splits).

#include "profile.h"

#include <stdlib.h>
#include <string.h>

// A profile under construction. The first pass only counts: `all` is NULL.
struct draft {
    const struct weft_model *model;
    const struct weft_cost_options *options; // without the profile
    const struct weft_profile *given;        // NULL = none
    uint32_t server_count;
    struct weft_measurement *all;
    uint32_t count;
    uint32_t *first_of_name; // operators, one for each profile name
    uint32_t first_count;
};

static bool same_cost(const struct weft_operator *a, const struct weft_operator *b)
{
    return a->spec.kind == b->spec.kind && a->spec.dtype == b->spec.dtype &&
           a->spec.heads == b->spec.heads && a->spec.kv_heads == b->spec.kv_heads &&
           a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
           a->input_elements == b->input_elements && a->parameters == b->parameters &&
           a->forward_flops == b->forward_flops && a->backward_flops == b->backward_flops &&
           a->forward_bytes == b->forward_bytes &&
           a->parameter_bytes_read == b->parameter_bytes_read;
}

// As the artifact counts: values and gradients of inputs, outputs and parameters, on one
// accelerator.
static uint64_t memory_bytes(const struct draft *draft, const struct weft_operator *op,
                             struct weft_split split)
{
    double sharers = draft->options->accelerators_per_server;
    double samples = (double)draft->model->batch / split.sample_parts / sharers;
    double values = samples * (double)op->input_elements;
    values += samples * (double)op->output_elements / split.parameter_parts;
    values += (double)op->parameters / split.parameter_parts;
    return (uint64_t)(2 * values * weft_dtype_bytes(op->spec.dtype));
}

// Decides the name of an operator; *fresh tells whether it is not yet in the profile.
static const char *choose_name(bool *fresh, char *buffer, struct draft *draft, uint32_t index)
{
    const struct weft_operator *op = &draft->model->operators[index];
    weft_profile_name_into(buffer, draft->model, index);
    bool given = draft->given != NULL && weft_profile_has(draft->given, buffer);
    for (uint32_t i = 0; i < draft->first_count; i++) {
        uint32_t first = draft->first_of_name[i];
        char other[WEFT_PROFILE_NAME];
        if (strcmp(weft_profile_name_into(other, draft->model, first), buffer) != 0) {
            continue;
        }
        // A name that was measured stands for all operators of that name.
        *fresh = !given && !same_cost(op, &draft->model->operators[first]);
        return *fresh ? weft_profile_own_name_into(buffer, draft->model, index) : buffer;
    }
    draft->first_of_name[draft->first_count++] = index;
    *fresh = true;
    return buffer;
}

static void add_measurement(struct draft *draft, const struct weft_measurement *measurement)
{
    if (draft->all != NULL) {
        draft->all[draft->count] = *measurement;
    }
    draft->count++;
}

// What the roofline says of one split, in the file's order of dimensions.
static bool add_split(struct draft *draft, const char *name, uint32_t index,
                      struct weft_split split, struct weft_error *error)
{
    const struct weft_operator *op = &draft->model->operators[index];
    struct weft_operator_cost cost;
    if (!weft_operator_roofline(&cost, draft->model, index, split, draft->options, error)) {
        return false;
    }
    uint32_t rank = op->rank < 1 ? 2 : op->rank + 1;
    struct weft_measurement measurement = {
        .name = name,
        .rank = rank,
        .parts = {1, 1, 1, 1},
        .forward_ps = cost.forward_ps,
        .backward_ps = cost.backward_ps,
        .memory_bytes = memory_bytes(draft, op, split),
    };
    measurement.parts[weft_profile_parameter_dimension(rank)] = split.parameter_parts;
    measurement.parts[rank - 1] = split.sample_parts;
    add_measurement(draft, &measurement);
    return true;
}

// Adds what the given profile lacks of one operator.
static bool add_operator(struct draft *draft, uint32_t index, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    char buffer[WEFT_PROFILE_NAME];
    bool fresh = false;
    const char *name = choose_name(&fresh, buffer, draft, index);
    if (!fresh) {
        return true;
    }
    if (draft->all != NULL) {
        name = weft_arena_text(arena, name, strlen(name));
    }
    struct weft_split_list list;
    struct weft_environment inner = {.arena = &scratch, .error = error};
    if (!weft_operator_splits(&list, draft->model, index, draft->server_count, draft->options,
                              &inner)) {
        return false;
    }
    const struct weft_split *splits = list.splits;
    for (uint32_t i = 0; i < list.count; i++) {
        bool measured =
            draft->given != NULL && weft_profile_find(draft->given, name, splits[i].sample_parts,
                                                      splits[i].parameter_parts) != NULL;
        if (!measured && !add_split(draft, name, index, splits[i], error)) {
            return false;
        }
    }
    return true;
}

static bool add_all(struct draft *draft, struct weft_arena *arena, struct weft_arena scratch,
                    struct weft_error *error)
{
    draft->count = 0;
    draft->first_count = 0;
    for (uint32_t i = 0; draft->given != NULL && i < draft->given->count; i++) {
        add_measurement(draft, &draft->given->measurements[i]);
    }
    for (uint32_t i = 0; i < draft->model->operator_count; i++) {
        if (draft->model->operators[i].spec.kind != WEFT_OP_INPUT &&
            !add_operator(draft, i, arena, scratch, error)) {
            return false;
        }
    }
    return true;
}

static int by_name_and_parts(const void *a, const void *b)
{
    const struct weft_measurement *one = a;
    const struct weft_measurement *other = b;
    int order = weft_measurement_order(one, other);
    return order != 0
               ? order
               : (one->forward_ps > other->forward_ps) - (one->forward_ps < other->forward_ps);
}

bool weft_profile_build(struct weft_profile *profile, const struct weft_model *model,
                        uint32_t server_count, const struct weft_cost_options *options,
                        const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    struct weft_cost_options bare = *options;
    bare.profile = NULL;
    struct draft draft = {
        .model = model,
        .options = &bare,
        .given = options->profile,
        .server_count = server_count,
        .first_of_name = WEFT_NEW(&scratch, uint32_t, model->operator_count),
    };
    if (draft.given != NULL && !weft_profile_check_batch(draft.given, model, error)) {
        return false;
    }
    if (!add_all(&draft, arena, scratch, error)) {
        return false;
    }
    uint32_t room = draft.count;
    draft.all = WEFT_NEW(arena, struct weft_measurement, (size_t)room + 1);
    bool again = add_all(&draft, arena, scratch, error);
    WEFT_ASSERT(again && draft.count == room);
    qsort(draft.all, room, sizeof draft.all[0], by_name_and_parts);
    // Long names are cut and may then be the same.
    uint32_t kept = 0;
    for (uint32_t i = 0; i < room; i++) {
        if (kept == 0 || weft_measurement_order(&draft.all[kept - 1], &draft.all[i]) != 0) {
            draft.all[kept++] = draft.all[i];
        }
    }
    *profile = (struct weft_profile){model->batch, server_count, kept, draft.all};
    return true;
}
