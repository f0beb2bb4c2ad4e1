// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PHOTONIC_PLACE_H
#define WEFT_REQUEST_PHOTONIC_PLACE_H

// Inference appliances placed on a fabric, at least cost.

#include "weft/format/inference.h"
#include "weft/request.h"
#include "weft/serving/place.h"

WEFT_API_BEGIN

struct weft_photonic_place_request {
    const char *demand_path;
    struct weft_request_hardware hardware;
    const char *fabric; // {fabric}: a specification; NULL = leaf-spine
};
struct weft_photonic_place_result {
    const char *fabric;
    uint32_t server_count;
    const struct weft_serving_net *nets;
    struct weft_inference_file file;
    struct weft_serving_place_problem problem;
    struct weft_serving_placement placement;
};
// Fails with INFEASIBLE as weft_serving_place does.
bool weft_request_photonic_place(struct weft_photonic_place_result *result,
                                 const struct weft_photonic_place_request *request,
                                 struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-place/1"
const char *weft_request_photonic_place_json(const struct weft_photonic_place_result *result,
                                             struct weft_arena *arena);

WEFT_API_END

#endif
