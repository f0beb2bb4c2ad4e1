// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WEFT_PROFILE_H
#define WEFT_WEFT_PROFILE_H

// weft profile: what is asked, and how it is told.

#include "cli/cli.h"
#include "weft/model.h"

struct profile_request {
    struct cli *cli;
    const char *model_name;
    const char *cluster_path;
    const char *profile_path;
    uint32_t server_count; // 0 = not said
    uint64_t batch;        // 0 = the model's
    struct weft_cost_options costs;
    struct weft_model model;
    struct weft_profile given; // if costs.profile is set
    struct weft_profile full;  // what -o writes
};

// Says the costs, as a table or JSON.
bool profile_tell(const struct profile_request *request) WEFT_MUST_USE;

#endif
