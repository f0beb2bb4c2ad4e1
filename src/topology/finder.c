// SPDX-License-Identifier: Apache-2.0
// The entry of the room: checks what is asked and calls the method that answers.
//
// weft_topology_find gives one topology by the paper's TopologyFinder (topoopt/) or by the search
// over cycles (search/); weft_topology_candidates gives several mixed ones of the search, for the
// planner to simulate. docs/topologyfinder.md and docs/weft-topology.md describe the methods.

#include "internal.h"

static bool check_request(const struct weft_topology_request *request, struct weft_error *error)
{
    uint32_t n = request->server_count;
    uint32_t degree = request->options->degree;
    if (n < 2 || n >= WEFT_GRAPH_UNREACHED) {
        return weft_fail(error, WEFT_INPUT, "a topology of %u servers; give 2 to %d", n,
                         WEFT_GRAPH_UNREACHED - 1);
    }
    if (degree == 0 || degree >= n) {
        return weft_fail(error, WEFT_INPUT,
                         "a degree of %u with %u servers; give 1 to %u ports a server", degree, n,
                         n - 1);
    }
    if (!request->options->simplex && degree < 2 && n > 2) {
        return weft_fail(error, WEFT_INPUT,
                         "a duplex ring takes 2 ports a server and the degree is 1; raise the "
                         "degree or choose simplex");
    }
    if (request->traffic != NULL && request->traffic->server_count != n) {
        return weft_fail(error, WEFT_INPUT, "the traffic is of %u servers and the cluster has %u",
                         request->traffic->server_count, n);
    }
    return true;
}

bool weft_topology_find(struct weft_topology *topology, const struct weft_traffic *traffic,
                        uint32_t server_count, const struct weft_topology_options *options,
                        const struct weft_environment *environment)
{
    const struct weft_topology_request request = {traffic, server_count, options};
    if (!check_request(&request, environment->error)) {
        return false;
    }
    switch (options->method) {
    case WEFT_TOPOLOGY_TOPOOPT:
        return weft_topology_find_topoopt(topology, &request, environment);
    case WEFT_TOPOLOGY_WEFT:
        return weft_topology_find_weft(topology, &request, environment);
    default:
        WEFT_ASSERT(false);
        return false;
    }
}

bool weft_topology_candidates(struct weft_topology_candidate_list *candidates,
                              uint32_t candidate_max, const struct weft_traffic *traffic,
                              const struct weft_topology_options *options,
                              const struct weft_environment *environment)
{
    WEFT_ASSERT(candidate_max > 0);
    uint32_t n = traffic->server_count;
    const struct weft_topology_request request = {traffic, n, options};
    if (!check_request(&request, environment->error)) {
        return false;
    }
    if (traffic->group_count > 0 || traffic->transfer_total_bytes > 0) {
        return weft_topology_find_mixed(candidates, candidate_max, &request, environment);
    }
    struct weft_topology_candidate *one =
        WEFT_NEW(environment->arena, struct weft_topology_candidate, 1);
    one->design = weft_design_open(n, options->degree, 1, 0, environment->arena);
    one->design.simplex = options->simplex;
    *candidates = (struct weft_topology_candidate_list){1, one};
    return weft_topology_find_weft(&one->topology, &request, environment);
}
