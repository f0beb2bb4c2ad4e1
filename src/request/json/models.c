// SPDX-License-Identifier: Apache-2.0
// "weft.models/1": models by their sums; one model that was named has each of its operators, too.
// Work and memory are those of one sample, and a multiply and an add count as two FLOPs, as in the
// literature on transformers.

#include "weft/request/models.h"
#include "request/json/json.h"

// One operator: its inputs by name, the shape of its output, and what it costs for a sample.
static json_t *operator_json(const struct weft_model *model, const struct weft_operator *op)
{
    const struct weft_operator_spec *spec = &op->spec;
    json_t *object = json_object();
    json_t *inputs = json_array();
    json_t *shape = json_array();
    json_t *tensors = json_array();
    for (uint32_t i = 0; i < spec->input_count; i++) {
        json_array_append_new(inputs, json_string(model->operators[spec->inputs[i]].spec.name));
    }
    for (uint32_t i = 0; i < op->rank; i++) {
        json_array_append_new(shape, json_integer((json_int_t)op->shape[i]));
    }
    for (uint32_t i = 0; i < op->tensor_count; i++) {
        json_array_append_new(tensors, json_integer((json_int_t)op->tensor_elements[i]));
    }
    weft_set_text(object, "name", spec->name);
    weft_set_text(object, "kind", weft_operator_kind_name(spec->kind));
    weft_set_text(object, "dtype", weft_dtype_name(spec->dtype));
    weft_set(object, "inputs", inputs);
    weft_set(object, "shape", shape);
    weft_set_count(object, "parameters", op->parameters);
    weft_set(object, "parameter_tensors", tensors);
    weft_set_real(object, "forward_flops_per_sample", op->forward_flops);
    weft_set_real(object, "backward_flops_per_sample", op->backward_flops);
    weft_set_count(object, "kept_bytes_per_sample",
                   op->kept_elements * weft_dtype_bytes(spec->dtype));
    return object;
}

static json_t *model_json(const struct weft_model *model, const char *summary)
{
    json_t *object = json_object();
    double backward = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        backward += model->operators[i].backward_flops;
    }
    weft_set_text(object, "name", model->name);
    if (summary != NULL) {
        weft_set_text(object, "summary", summary);
    }
    weft_set_text(object, "source", model->source);
    weft_set_count(object, "parameters", model->parameters);
    weft_set_count(object, "active_parameters", weft_model_active_parameters(model));
    weft_set_real(object, "forward_flops_per_sample", model->forward_flops);
    weft_set_real(object, "backward_flops_per_sample", backward);
    weft_set_real(object, "kept_bytes_per_sample", weft_model_kept_bytes(model));
    weft_set_count(object, "batch", model->batch);
    if (model->transformer != NULL) {
        weft_set_count(object, "layers", model->transformer->layers);
        weft_set_count(object, "tokens_per_sample", model->transformer->sequence);
    }
    weft_set_count(object, "operator_count", model->operator_count);
    return object;
}

static json_t *operators_json(const struct weft_model *model)
{
    json_t *operators = json_array();
    for (uint32_t i = 0; i < model->operator_count; i++) {
        json_array_append_new(operators, operator_json(model, &model->operators[i]));
    }
    return operators;
}

const char *weft_request_models_json(const struct weft_models_result *result,
                                     struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.models/1");
    json_t *list = weft_set_list(object, "models");
    for (uint32_t i = 0; i < result->model_count; i++) {
        bool alone = result->zoo == NULL;
        json_t *entry = model_json(&result->models[i], alone ? NULL : result->zoo[i].summary);
        if (alone) {
            weft_set(entry, "operators", operators_json(&result->models[i]));
        }
        json_array_append_new(list, entry);
    }
    return weft_set_finish(object, arena);
}
