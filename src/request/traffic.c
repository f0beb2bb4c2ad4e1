// SPDX-License-Identifier: Apache-2.0
// What a job demands of the network: its file becomes a task graph, whose collectives and transfers
// are summed up by weft_traffic_build (docs/traffic.md). That is one pass over the tasks; nothing
// is searched or played.

#include "weft/request/traffic.h"

// The matrix of transfers, and the heat map's: rings of 2500, 5000 and 10000 servers took 105, 400
// and 1573 MB.
#define PAIR_BYTES 16.0

bool weft_request_traffic(struct weft_traffic_result *result,
                          const struct weft_traffic_request *request,
                          struct weft_request_environment *environment)
{
    struct weft_loaded_job job;
    if (!weft_request_load(&job, request->path, &request->trace, environment)) {
        return false;
    }
    if (!weft_request_afford_pairs(job.fbuf.graph.server_count, PAIR_BYTES, environment)) {
        return false;
    }
    struct weft_traffic_result found = {.task_count = job.fbuf.graph.task_count,
                                        .dangling_count = job.dangling_count};
    weft_traffic_build(&found.traffic, &job.fbuf.graph, environment->base.arena,
                       environment->base.scratch);
    *result = found;
    return true;
}
