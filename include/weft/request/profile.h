// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PROFILE_H
#define WEFT_REQUEST_PROFILE_H

// What each operator of a model costs on one server, measured or by the roofline, and how far the
// two are apart.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_profile_request {
    const char *model;        // a name of the zoo or FILE.yaml
    const char *cluster_path; // NULL = none
    const char *profile_path; // measured times, which win over the roofline; NULL = none
    uint32_t server_count;    // {servers}; 0: the cluster's, else the profile's
    uint64_t batch;           // 0 = the model's own
    const struct weft_accelerator *accelerator; // NULL: the cluster's, else A100
    uint32_t accelerators_per_server;           // 0: the cluster's, else 4
};

// One split of an operator.
struct weft_split_cost {
    struct weft_split split;
    struct weft_operator_cost cost;     // measured where it is
    struct weft_operator_cost roofline; // in any case
    double forward_flops_per_s;         // of one accelerator
    double backward_flops_per_s;
};

// Operators that cost the same.
struct weft_profile_row {
    uint32_t op; // the first of them
    uint32_t count;
    const char *profile_name;
    bool first_of_name; // the one that a profile of the artifact measured
    uint32_t split_count;
    const struct weft_split_cost *splits;
    const struct weft_split_cost *shown; // data parallelism: most sample parts, parameters whole
};

// Roofline over measured, forward and backward: 1 is right, 0.5 promises half of the time.
struct weft_profile_accuracy {
    uint32_t count; // of splits; 0: nothing was measured, the ratios say nothing
    double mean[2]; // geometric
    double low[2];
    double high[2];
};

struct weft_profile_result {
    struct weft_model model;
    struct weft_cost_options costs;
    uint32_t server_count;
    struct weft_profile full; // every operator in every split: a file to put measurements into
    uint32_t row_count;
    const struct weft_profile_row *rows;
    double forward_s; // what an average server runs, each operator in the split that is shown
    double backward_s;
    struct weft_profile_accuracy accuracy[WEFT_OP_KIND_COUNT]; // by kind of operator
};

// Fails with USAGE where nothing says how many servers share the job, with INPUT where a file is
// wrong or the profile lacks what it must have. O(operators * splits).
bool weft_request_profile(struct weft_profile_result *result,
                          const struct weft_profile_request *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.profile/1"
const char *weft_request_profile_json(const struct weft_profile_result *result,
                                      const struct weft_profile_request *request,
                                      struct weft_arena *arena);

WEFT_API_END

#endif
