// SPDX-License-Identifier: Apache-2.0
// The algorithm side alone: a topology for uniform demand or for a job's traffic, by
// weft_topology_find, and the Moore bound beside it, which no network of as many ports can be
// below.

#include "weft/request/topology.h"
#include "weft/format.h"
#include "weft/request/parameter.h"
#include "weft/workload.h"

// Hops that the transfers of a job need at least on the links of a topology. Hops do not depend on
// the rate of a port, so that any will do.
static bool count_demand_hops(double *hops, const struct weft_topology *topology,
                              const struct weft_traffic *traffic,
                              const struct weft_environment *environment)
{
    const double any_rate_Bps = 125e6;
    struct weft_arena scratch = environment->scratch;
    struct weft_arena arena = weft_arena_split(&scratch);
    struct weft_cluster cluster;
    struct weft_fabric fabric;
    if (!weft_cluster_build(&cluster, topology->server_count, topology->degree, any_rate_Bps,
                            environment->error) ||
        !weft_topology_fabric(&fabric, topology, &cluster, &arena, scratch, environment->error)) {
        return false;
    }
    *hops = weft_fabric_demand_hops(&fabric, traffic->transfer_bytes, scratch);
    return true;
}

static bool check_request(const struct weft_topology_request *request, struct weft_error *error)
{
    if (request->uniform == (request->path != NULL)) {
        return weft_fail(error, WEFT_USAGE,
                         "for which demand? write {uniform}, or name a task graph");
    }
    bool stated = request->hardware.cluster_path != NULL;
    if (request->hardware.degree == 0 && !stated) {
        return weft_fail(error, WEFT_USAGE,
                         "how many ports has a server? write {degree=4} or {cluster=FILE}");
    }
    if (request->uniform && request->hardware.server_count == 0 && !stated) {
        return weft_fail(error, WEFT_USAGE,
                         "how many servers? write {servers=128} or {cluster=FILE}");
    }
    if (stated && request->hardware.degree > 0 &&
        (!request->uniform || request->hardware.server_count > 0)) {
        return weft_fail(error, WEFT_USAGE,
                         "{cluster}: a topology needs servers and ports alone, and both are said; "
                         "leave it or {degree} out");
    }
    const struct weft_stated rows[] = {
        {!request->uniform && request->hardware.server_count > 0, "servers"},
        {NULL},
    };
    return weft_refuse_stated(rows, error, "is what the task graph says; leave it out");
}

bool weft_request_topology(struct weft_topology_result *result,
                           const struct weft_topology_request *request,
                           struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    uint32_t server_count = request->hardware.server_count;
    uint32_t degree = request->hardware.degree;
    struct weft_traffic traffic;
    if (!check_request(request, base->error)) {
        return false;
    }
    if (!request->uniform) {
        struct weft_fbuf fbuf;
        if (!weft_fbuf_load(&fbuf, request->path, base->arena, base->scratch, base->error)) {
            return false;
        }
        weft_traffic_build(&traffic, &fbuf.graph, base->arena, base->scratch);
        server_count = fbuf.graph.server_count;
    }
    if (request->hardware.cluster_path != NULL) {
        const struct weft_request_cluster_need need = {
            .server_count = server_count, .shard = !request->uniform, .bought = true};
        struct weft_cluster cluster;
        if (!weft_request_cluster(&cluster, &request->hardware, &need, environment)) {
            return false;
        }
        server_count = cluster.server_count;
        degree = cluster.degree;
    }
    struct weft_topology_result found = {.seed = base->seed};
    if (request->hardware.rate_given || request->hardware.latency_given ||
        request->hardware.host_given || request->hardware.balance_given) {
        return weft_fail(
            base->error, WEFT_USAGE,
            "a topology is searched by hops and loads, for any rate; leave out {rate}, "
            "{latency}, {host-rate} and {balance}");
    }
    if (!weft_request_refuse_published(&request->search, base->error)) {
        return false;
    }
    struct weft_topology_options search = weft_request_topology_options(&request->search);
    search.degree = degree;
    weft_request_step_begin(environment, "searching", NULL);
    bool made = weft_topology_find(&found.topology, request->uniform ? NULL : &traffic,
                                   server_count, &search, base);
    weft_request_step_end(environment);
    if (!made || (!request->uniform &&
                  !count_demand_hops(&found.demand_hops, &found.topology, &traffic, base))) {
        return false;
    }
    weft_fabric_moore(server_count, degree, found.topology.simplex, &found.moore_mean_hops,
                      &found.moore_diameter);
    *result = found;
    return true;
}
