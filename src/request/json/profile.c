// SPDX-License-Identifier: Apache-2.0
// "weft.profile/1": the cost of every operator in every split, measured or by the roofline, and the
// accuracy of the roofline for each kind of operator, as geometric mean and range over the splits
// that were measured (docs/costs.md).

#include "weft/request/profile.h"
#include "request/json/json.h"

static json_t *split_json(const struct weft_split_cost *cost)
{
    json_t *object = json_object();
    weft_set_count(object, "sample_parts", cost->split.sample_parts);
    weft_set_count(object, "parameter_parts", cost->split.parameter_parts);
    weft_set_text(object, "source", weft_cost_source_name(cost->cost.source));
    weft_set_real(object, "forward_s", weft_seconds(cost->cost.forward_ps));
    weft_set_real(object, "backward_s", weft_seconds(cost->cost.backward_ps));
    weft_set_real(object, "forward_flops_per_s", cost->forward_flops_per_s);
    weft_set_real(object, "backward_flops_per_s", cost->backward_flops_per_s);
    weft_set_real(object, "roofline_forward_s", weft_seconds(cost->roofline.forward_ps));
    weft_set_real(object, "roofline_backward_s", weft_seconds(cost->roofline.backward_ps));
    weft_set_text(object, "forward_limit", weft_cost_limit_name(cost->roofline.forward_limit));
    weft_set_text(object, "backward_limit", weft_cost_limit_name(cost->roofline.backward_limit));
    return object;
}

static json_t *row_json(const struct weft_profile_row *row, const struct weft_model *model)
{
    const struct weft_operator *op = &model->operators[row->op];
    json_t *object = json_object();
    weft_set_text(object, "name", op->spec.name);
    weft_set_count(object, "count", row->count);
    weft_set_text(object, "profile_name", row->profile_name);
    weft_set_text(object, "kind", weft_operator_kind_name(op->spec.kind));
    weft_set_text(object, "dtype", weft_dtype_name(op->spec.dtype));
    json_t *splits = weft_set_list(object, "splits");
    for (uint32_t i = 0; i < row->split_count; i++) {
        json_array_append_new(splits, split_json(&row->splits[i]));
    }
    return object;
}

static json_t *accuracy_json(const struct weft_profile_accuracy *accuracy,
                             enum weft_operator_kind kind)
{
    static const char *const passes[] = {"forward", "backward"};
    json_t *object = json_object();
    weft_set_text(object, "kind", weft_operator_kind_name(kind));
    weft_set_count(object, "splits", accuracy->count);
    for (uint32_t i = 0; i < 2; i++) {
        json_t *pass = json_object();
        weft_set_real(pass, "mean_ratio", accuracy->mean[i]);
        weft_set_real(pass, "min_ratio", accuracy->low[i]);
        weft_set_real(pass, "max_ratio", accuracy->high[i]);
        weft_set(object, passes[i], pass);
    }
    return object;
}

const char *weft_request_profile_json(const struct weft_profile_result *result,
                                      const struct weft_profile_request *request,
                                      struct weft_arena *arena)
{
    const struct weft_model *model = &result->model;
    json_t *object = weft_set_object("weft.profile/1");
    weft_set_text(object, "model", model->name);
    weft_set_count(object, "batch", model->batch);
    weft_set_count(object, "servers", result->server_count);
    weft_set_text(object, "accelerator", result->costs.accelerator->name);
    weft_set_count(object, "accelerators_per_server", result->costs.accelerators_per_server);
    if (request->profile_path != NULL) {
        weft_set_text(object, "profile", request->profile_path);
    }
    weft_set_real(object, "forward_s", result->forward_s);
    weft_set_real(object, "backward_s", result->backward_s);
    json_t *operators = weft_set_list(object, "operators");
    for (uint32_t i = 0; i < result->row_count; i++) {
        json_array_append_new(operators, row_json(&result->rows[i], model));
    }
    json_t *accuracy = weft_set_list(object, "accuracy");
    for (uint32_t kind = 0; kind < WEFT_OP_KIND_COUNT; kind++) {
        if (result->accuracy[kind].count > 0) {
            json_array_append_new(accuracy, accuracy_json(&result->accuracy[kind], kind));
        }
    }
    return weft_set_finish(object, arena);
}
