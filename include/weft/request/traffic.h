// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_TRAFFIC_H
#define WEFT_REQUEST_TRAFFIC_H

// What a job demands of the network.

#include "weft/request.h"
#include "weft/workload.h"

WEFT_API_BEGIN

struct weft_traffic_request {
    const char *path; // a job's file, as weft_request_load takes it
    struct weft_request_trace trace;
    bool matrix; // the JSON has the transfer matrix, too
};

struct weft_traffic_result {
    uint32_t task_count;
    uint64_t dangling_count; // of a lenient trace: dependencies that were taken for done
    struct weft_traffic traffic;
};

bool weft_request_traffic(struct weft_traffic_result *result,
                          const struct weft_traffic_request *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.traffic/1"
const char *weft_request_traffic_json(const struct weft_traffic_result *result,
                                      const struct weft_traffic_request *request,
                                      struct weft_arena *arena);

WEFT_API_END

#endif
