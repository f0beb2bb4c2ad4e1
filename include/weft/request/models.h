// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_MODELS_H
#define WEFT_REQUEST_MODELS_H

// The models known by name, or one model operator by operator.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_models_request {
    const char *model; // a name of the zoo or FILE.yaml; NULL: the whole zoo
};

struct weft_models_result {
    uint32_t model_count;
    const struct weft_model *models;
    const struct weft_zoo_entry *zoo; // of each model; NULL where one was asked for
};

bool weft_request_models(struct weft_models_result *result,
                         const struct weft_models_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.models/1"; one model that was asked for comes with its operators.
const char *weft_request_models_json(const struct weft_models_result *result,
                                     struct weft_arena *arena);

WEFT_API_END

#endif
