// SPDX-License-Identifier: Apache-2.0
// Models from operators: checks each spec, copies it into the model's arena, infers its shape and
// counts, and sums them up. Operators stand after their inputs, so one run over them is enough, and
// cycles cannot be written down. O(operators).

#include "infer.h"

#include <string.h>

#define BATCH_MAX (1ull << 40)

static bool check_spec(const struct weft_operator_spec *spec, uint32_t index,
                       struct weft_error *error)
{
    if ((unsigned)spec->kind >= WEFT_OP_KIND_COUNT || (unsigned)spec->dtype >= WEFT_DTYPE_COUNT) {
        return weft_fail(error, WEFT_INPUT, "operator %u: no kind or dtype that there is", index);
    }
    for (uint32_t i = 0; i < spec->input_count; i++) {
        if (spec->inputs[i] >= index) {
            return weft_fail(error, WEFT_INPUT,
                             "operator %u: input %u comes not before it; order operators so that "
                             "each follows its inputs",
                             index, spec->inputs[i]);
        }
    }
    return true;
}

// A copy that does not need the builder's memory.
static struct weft_operator_spec copy_spec(const struct weft_operator_spec *spec, uint32_t index,
                                           struct weft_arena *arena)
{
    struct weft_operator_spec copy = *spec;
    if (spec->name != NULL) {
        copy.name = weft_arena_text(arena, spec->name, strlen(spec->name));
    } else {
        copy.name = weft_arena_format(arena, "%s_%u", weft_operator_kind_name(spec->kind), index);
    }
    uint32_t *inputs = WEFT_NEW(arena, uint32_t, spec->input_count);
    if (spec->input_count > 0) {
        memcpy(inputs, spec->inputs, spec->input_count * sizeof inputs[0]);
    }
    copy.inputs = inputs;
    return copy;
}

static bool check_model(uint64_t batch, uint32_t count, struct weft_error *error)
{
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "no operators; give at least an input and one more");
    }
    if (count > WEFT_OPERATORS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u operators; at most %u", count, WEFT_OPERATORS_MAX);
    }
    if (batch == 0 || batch > BATCH_MAX) {
        return weft_fail(error, WEFT_INPUT, "a batch of %llu samples; give 1 to 2^40",
                         (unsigned long long)batch);
    }
    return true;
}

bool weft_model_build(struct weft_model *model, const struct weft_model_head *head,
                      const struct weft_operator_spec *specs, uint32_t count,
                      struct weft_arena *arena, struct weft_error *error)
{
    if (!check_model(head->batch, count, error)) {
        return false;
    }
    struct weft_operator *operators = WEFT_NEW(arena, struct weft_operator, count);
    uint64_t parameters = 0;
    double flops = 0;
    bool works = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!check_spec(&specs[i], i, error)) {
            return false;
        }
        operators[i].spec = copy_spec(&specs[i], i, arena);
        if (!weft_operator_infer(&operators[i], operators, error)) {
            return weft_wrap(error, "operator '%.80s'", operators[i].spec.name);
        }
        parameters += operators[i].parameters;
        if (parameters > WEFT_MODEL_COUNT_MAX) {
            return weft_fail(error, WEFT_INPUT, "more than 2^50 parameters; make it smaller");
        }
        flops += operators[i].forward_flops;
        works = works || operators[i].spec.kind != WEFT_OP_INPUT;
    }
    if (!works) { // there is nothing to place on servers
        return weft_fail(error, WEFT_INPUT, "inputs alone; add an operator that takes them");
    }
    *model = (struct weft_model){
        .name = weft_arena_text(arena, head->name, strlen(head->name)),
        .source = weft_arena_text(arena, head->source, strlen(head->source)),
        .batch = head->batch,
        .operator_count = count,
        .operators = operators,
        .parameters = parameters,
        .forward_flops = flops,
    };
    return true;
}

bool weft_model_set_batch(struct weft_model *model, uint64_t batch, struct weft_error *error)
{
    if (!check_model(batch, model->operator_count, error)) {
        return false;
    }
    model->batch = batch;
    return true;
}

uint64_t weft_model_active_parameters(const struct weft_model *model)
{
    uint64_t active = model->parameters;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator *op = &model->operators[i];
        if (op->spec.kind == WEFT_OP_EXPERTS) {
            // The second tensor holds the experts, all of one size.
            uint64_t one = op->tensor_elements[1] / op->spec.experts;
            active -= one * (op->spec.experts - op->spec.experts_active);
        }
    }
    return active;
}

double weft_model_kept_bytes(const struct weft_model *model)
{
    double kept_bytes = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator *op = &model->operators[i];
        kept_bytes += (double)op->kept_elements * weft_dtype_bytes(op->spec.dtype);
    }
    return kept_bytes;
}
