// SPDX-License-Identifier: Apache-2.0
// One task graph on every reference fabric, and on what both planning methods find:
// weft_plan_compare builds and plays them all on the ports of one cluster. Here are the job and the
// cluster of the request.

#include "weft/request/compare.h"

// The cluster takes its number of servers from the task graph where the request leaves it open.
bool weft_request_compare(struct weft_compare_result *result,
                          const struct weft_compare_request *request,
                          struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_loaded_job job;
    if (!weft_request_refuse_published(&request->search, base->error) ||
        !weft_request_load(&job, request->path, &request->trace, environment)) {
        return false;
    }
    const struct weft_taskgraph *graph = &job.fbuf.graph;
    const struct weft_request_cluster_need need = {.server_count = graph->server_count,
                                                   .shard = true};
    struct weft_compare_result found = {.row_count = 0};
    if (!weft_request_cluster(&found.cluster, &request->hardware, &need, environment) ||
        !weft_request_afford_pairs(graph->server_count, WEFT_REQUEST_PLAN_PAIR_BYTES,
                                   environment)) {
        return false;
    }
    weft_request_step_begin(environment, "comparing", "fabrics");
    const struct weft_plan_options options = {
        .topology = weft_request_topology_options(&request->search),
        .sim = weft_request_task_packets(base->seed),
        .dark_ps = request->dark_ps,
        .log = &environment->progress.last->rows,
    };
    bool compared =
        weft_plan_compare(&found.rows, &found.row_count, graph, &found.cluster, &options, base);
    weft_request_step_end(environment);
    found.stopped = weft_stopped(base->stop);
    if (!compared) {
        return false;
    }
    *result = found;
    return true;
}
