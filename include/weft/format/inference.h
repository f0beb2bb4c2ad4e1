// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_INFERENCE_H
#define WEFT_FORMAT_INFERENCE_H

// Demand for inference and the appliances that may serve it, as users write them (YAML,
// docs/lightning.md).

#include "weft/serving.h"

WEFT_API_BEGIN

// What an appliance says of one model.
struct weft_inference_model {
    uint32_t net;
    double rate;         // requests a second
    uint64_t latency_ps; // of one alone
};
struct weft_inference_kind {
    const char *name;
    const char *like; // a processor of the study; NULL: its models are all there is
    double usd, watts;
    bool watts_given; // else the processor's
    uint32_t model_count;
    const struct weft_inference_model *models; // win over the processor's
};
struct weft_inference_demand {
    uint32_t server;
    uint32_t net;
    double requests_per_s;
    uint64_t objective_ps;
};
struct weft_inference_file {
    double rho;
    uint32_t kind_count;
    const struct weft_inference_kind *kinds;
    uint32_t demand_count;
    const struct weft_inference_demand *demands;
    uint32_t place_count;
    const uint32_t *places; // servers of the fabric whose ports are free
};
// Fails with INPUT, "line N: ...; remedy": unknown keys or models, no appliance, demand or place,
// the same place twice, figures that are not above 0. O(bytes + keys^2).
bool weft_inference_read(struct weft_inference_file *file, const char *data, size_t length,
                         const struct weft_serving_net *nets, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;
bool weft_inference_load(struct weft_inference_file *file, const char *path,
                         const struct weft_serving_net *nets, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
