// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_FABRICS_H
#define WEFT_REQUEST_FABRICS_H

// The reference fabrics of a cluster, counted and priced, without a job.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_fabrics_request {
    struct weft_request_hardware hardware;
};

// One fabric, or why there is none.
struct weft_fabrics_row {
    const char *name;
    const char *summary;
    const char *refusal; // NULL = built, and what follows is filled
    uint32_t node_count;
    uint32_t link_count;
    double mean_hops; // links between two servers
    uint32_t hops_max;
    struct weft_parts parts;
    struct weft_cost cost;
};

struct weft_fabrics_result {
    struct weft_cluster cluster;
    uint32_t row_count;
    const struct weft_fabrics_row
        *rows; // the last is a direct fabric of all ports on a patch panel
};

// Builds every reference fabric for the cluster, one after the other, and keeps what it is made of.
// The hops of the last row are the Moore bound, which no direct fabric can be below. Fails as
// weft_request_cluster does; a fabric that the cluster cannot carry is a row with its reason.
bool weft_request_fabrics(struct weft_fabrics_result *result,
                          const struct weft_fabrics_request *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.fabrics/1"
const char *weft_request_fabrics_json(const struct weft_fabrics_result *result,
                                      struct weft_arena *arena);

WEFT_API_END

#endif
