// SPDX-License-Identifier: Apache-2.0
// Models in YAML: any bytes are either a model whose counts hold together or one line of complaint.
//
// Seen to fail on corpus/model/overflow with the check of counts taken out of the operators'
// inference.

#include "fuzz.h"
#include "weft/format.h"

#include <math.h>

#define COUNT_MAX (1ull << 50)

static void check(const struct weft_model *model)
{
    uint64_t parameters = 0;
    WEFT_ASSERT(model->name != NULL && model->source != NULL);
    WEFT_ASSERT(model->batch > 0 && model->operator_count > 0);
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator *op = &model->operators[i];
        uint64_t elements = 1;
        uint64_t tensors = 0;
        for (uint32_t k = 0; k < op->rank; k++) {
            elements *= op->shape[k];
        }
        for (uint32_t k = 0; k < op->tensor_count; k++) {
            tensors += op->tensor_elements[k];
        }
        for (uint32_t k = 0; k < op->spec.input_count; k++) {
            WEFT_ASSERT(op->spec.inputs[k] < i);
        }
        WEFT_ASSERT(op->rank > 0 && op->rank <= WEFT_SHAPE_MAX && elements > 0);
        WEFT_ASSERT(elements == op->output_elements && elements <= COUNT_MAX);
        WEFT_ASSERT(tensors == op->parameters && tensors <= COUNT_MAX);
        WEFT_ASSERT(isfinite(op->forward_flops) && op->forward_flops >= 0);
        WEFT_ASSERT(isfinite(op->forward_bytes) &&
                    op->forward_bytes >= (double)op->parameter_bytes_read);
        parameters += op->parameters;
    }
    WEFT_ASSERT(parameters == model->parameters);
    WEFT_ASSERT(weft_model_active_parameters(model) <= parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_model model = {.batch = 7};
    if (weft_model_read(&model, text, size, &desk.arena, &error)) {
        check(&model);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(model.batch == 7);
    }
    fuzz_close(&desk);
    return 0;
}
