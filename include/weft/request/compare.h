// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_COMPARE_H
#define WEFT_REQUEST_COMPARE_H

// One job on every reference fabric, or models over fabrics, degrees, rates and batches.

#include "weft/plan.h"
#include "weft/request.h"

WEFT_API_BEGIN

// ---- one task graph ----

struct weft_compare_request {
    const char *path; // a job's file, as weft_request_load takes it
    struct weft_request_trace trace;
    struct weft_request_hardware hardware;
    struct weft_request_search search;
    uint64_t dark_ps; // how long the switch of ocs-reconfig turns; 0 = 10 ms
};

struct weft_compare_result {
    struct weft_cluster cluster;
    uint32_t row_count;
    const struct weft_comparison *rows; // as weft_plan_compare gives them
    bool stopped;                       // left before its end
    double wall_s;                      // the door, which has a clock, fills it
};

bool weft_request_compare(struct weft_compare_result *result,
                          const struct weft_compare_request *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.comparison/1"
const char *weft_request_compare_json(const struct weft_compare_result *result,
                                      const struct weft_compare_request *request,
                                      struct weft_arena *arena);

// ---- models ----

// Values in one list of a comparison of models.
#define WEFT_COMPARE_LIST_MAX 16u

struct weft_compare_models_request {
    const char *const *models; // each as weft_request_model takes it
    uint32_t model_count;
    struct weft_request_hardware hardware;
    struct weft_request_job job; // what holds for every model; its name and batch are not read
    struct weft_request_trace trace;
    struct weft_request_search search;
    // One comparison of each model for each degree, rate and batch; count 0 = what the cluster or
    // the model says.
    uint32_t degree_count;
    uint32_t degrees[WEFT_COMPARE_LIST_MAX];
    uint32_t rate_count;
    double rates_Bps[WEFT_COMPARE_LIST_MAX];
    uint32_t batch_count;
    uint64_t batches[WEFT_COMPARE_LIST_MAX];
    uint32_t fabric_count; // 0 = all
    const char *fabrics[WEFT_COMPARE_LIST_MAX];
    bool variants;             // measure also what searching one side alone, or neither, gives
    const char *profiles_path; // a folder of measured times; NULL = none
    const char *resume_path;   // comparisons made before, to which new ones are added; NULL = none
};

struct weft_compare_models_result {
    uint32_t comparison_count;
    const struct weft_model_comparison *comparisons; // model by model, then degree, rate and batch
};

// Makes every comparison that the file of request->resume_path does not have, and adds each to that
// file when it is made, so that nothing is lost when a later one is stopped. A model that does not
// fit on the cluster is a comparison without rows that says why. Models, clusters and names of
// fabrics are looked at before the first search begins. Fails with STOPPED at the environment's
// stop.
bool weft_request_compare_models(struct weft_compare_models_result *result,
                                 const struct weft_compare_models_request *request,
                                 struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.comparisons/1"
const char *weft_request_compare_models_json(const struct weft_compare_models_result *result,
                                             struct weft_arena *arena);

WEFT_API_END

#endif
