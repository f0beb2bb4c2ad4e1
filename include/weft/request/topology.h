// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_TOPOLOGY_H
#define WEFT_REQUEST_TOPOLOGY_H

// A topology for uniform demand or a job's traffic, and how far apart the servers are in it.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_topology_request {
    const char *path;                      // a TopoOpt task graph; NULL with `uniform`
    bool uniform;                          // every pair asks the same
    bool links;                            // the JSON lists the planes, too
    struct weft_request_hardware hardware; // servers (of uniform demand) and degree alone
    struct weft_request_search search;
};

struct weft_topology_result {
    struct weft_topology topology;
    double demand_hops;     // of a job's transfers, by shortest paths, weighted by bytes
    double moore_mean_hops; // what no network with as many ports can be below
    uint32_t moore_diameter;
    uint64_t seed;
    double wall_s; // how long it took; the door, which has a clock, fills it
};

// Searches for as long as request->search says, or until the environment's stop. Fails with USAGE
// where demand, ports or servers are not said.
bool weft_request_topology(struct weft_topology_result *result,
                           const struct weft_topology_request *request,
                           struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.topology/1"
const char *weft_request_topology_json(const struct weft_topology_result *result,
                                       const struct weft_topology_request *request,
                                       struct weft_arena *arena);

WEFT_API_END

#endif
