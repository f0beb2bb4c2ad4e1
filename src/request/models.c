// SPDX-License-Identifier: Apache-2.0
// The models known by name, or one of them or of a file. Every model is built anew, operator by
// operator, which takes milliseconds for the whole zoo, so that nothing is cached. docs/models.md
// has the form of a file.

#include "weft/request/models.h"

bool weft_request_models(struct weft_models_result *result,
                         const struct weft_models_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_models_result found = {.model_count = 1};
    if (request->model == NULL) {
        found.zoo = weft_model_zoo(&found.model_count);
    }
    struct weft_model *models = WEFT_NEW(base->arena, struct weft_model, found.model_count);
    for (uint32_t i = 0; i < found.model_count; i++) {
        if (request->model != NULL
                ? !weft_request_model(&models[i], request->model, environment)
                : !weft_model_named(&models[i], found.zoo[i].name, base->arena, base->error)) {
            return false;
        }
    }
    found.models = models;
    *result = found;
    return true;
}
