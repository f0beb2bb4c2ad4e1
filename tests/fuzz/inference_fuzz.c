// SPDX-License-Identifier: Apache-2.0
// Demand for inference: any bytes are either appliances, demands and places that a placement may be
// asked for, or one line of complaint.
//
// Seen to fail on corpus/inference/own when a place was let be a demand's server, and on
// corpus/inference/quick when a latency below the work was.

#include "fuzz.h"
#include "weft/format/inference.h"
#include "weft/serving/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_serving_net nets[WEFT_SERVING_NETS];
    static const char *const names[WEFT_SERVING_NETS] = {"AlexNet", "ResNet-18", "VGG-16", "VGG-19",
                                                         "BERT",    "GPT-2",     "DLRM"};
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        nets[n] = (struct weft_serving_net){.name = names[n]};
    }
    struct weft_inference_file file = {.kind_count = 77};
    if (!weft_inference_read(&file, (const char *)data, size, nets, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(file.kind_count == 77);
        fuzz_close(&desk);
        return 0;
    }
    WEFT_ASSERT(file.kind_count > 0 && file.kind_count <= WEFT_SERVING_KINDS_MAX);
    WEFT_ASSERT(file.rho > 0 && file.rho < 1);
    for (uint32_t k = 0; k < file.kind_count; k++) {
        WEFT_ASSERT(file.kinds[k].like != NULL || file.kinds[k].model_count > 0);
        for (uint32_t m = 0; m < file.kinds[k].model_count; m++) {
            const struct weft_inference_model *model = &file.kinds[k].models[m];
            WEFT_ASSERT(model->net < WEFT_SERVING_NETS && model->rate > 0);
            WEFT_ASSERT((double)model->latency_ps * 1e-12 >= 1 / model->rate);
        }
    }
    WEFT_ASSERT(file.demand_count > 0 && file.place_count > 0);
    for (uint32_t d = 0; d < file.demand_count; d++) {
        WEFT_ASSERT(file.demands[d].requests_per_s > 0);
        for (uint32_t p = 0; p < file.place_count; p++) {
            WEFT_ASSERT(file.places[p] != file.demands[d].server);
        }
    }
    fuzz_close(&desk);
    return 0;
}
