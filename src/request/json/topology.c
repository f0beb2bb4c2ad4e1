// SPDX-License-Identifier: Apache-2.0
// "weft.topology/1": a topology, how far apart the servers are in it, and the Moore bounds of that;
// where they are requested also the planes, each as the list of the servers that the servers' ports
// of that plane send to.

#include "weft/request/topology.h"
#include "request/json/json.h"

static json_t *planes_of(const struct weft_topology *topology)
{
    json_t *planes = json_array();
    for (uint32_t p = 0; p < topology->degree; p++) {
        const uint32_t *to = topology->planes + (size_t)p * topology->server_count;
        json_array_append_new(planes, weft_counts(to, topology->server_count));
    }
    return planes;
}

const char *weft_request_topology_json(const struct weft_topology_result *result,
                                       const struct weft_topology_request *request,
                                       struct weft_arena *arena)
{
    const struct weft_topology *topology = &result->topology;
    json_t *object = weft_set_object("weft.topology/1");
    weft_set_count(object, "servers", topology->server_count);
    weft_set_count(object, "degree", topology->degree);
    weft_set_text(object, "method",
                  request->search.method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft");
    weft_set_truth(object, "simplex", topology->simplex);
    weft_set_count(object, "seed", result->seed);
    weft_set_real(object, "mean_hops", topology->mean_hops);
    weft_set_count(object, "diameter", topology->diameter);
    if (!request->uniform) {
        weft_set_real(object, "demand_weighted_hops", result->demand_hops);
    }
    weft_set_real(object, "moore_mean_hops", result->moore_mean_hops);
    weft_set_count(object, "moore_diameter", result->moore_diameter);
    weft_set_count(object, "allreduce_degree", topology->allreduce_degree);
    weft_set_counts(object, "generators", topology->generators, topology->generator_count);
    if (request->links) {
        weft_set(object, "planes", planes_of(topology));
    }
    weft_set_count(object, "steps", topology->steps);
    weft_set_truth(object, "stopped", topology->stopped);
    weft_set_real(object, "wall_s", result->wall_s);
    return weft_set_finish(object, arena);
}
