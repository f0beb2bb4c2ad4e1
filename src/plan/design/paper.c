// SPDX-License-Identifier: Apache-2.0
// The paper's topology as a network: TopoOpt's TopologyFinder, its rings on their links, its
// routes.
//
// It is one of the seeds of the search and the whole of `topoopt`, so that what the search finds is
// never longer than the paper's plan.

#include "paper.h"

struct weft_ring_set rings_by_graph_group(const struct weft_ring_set *rings,
                                          const struct weft_taskgraph *graph,
                                          const struct weft_traffic *traffic,
                                          struct weft_arena *arena)
{
    uint32_t group_count = graph->group_count;
    uint32_t count = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        for (uint32_t r = 0; r < rings->ring_count; r++) {
            count += rings->rings[r].group == traffic->group_of[g] ? 1 : 0;
        }
    }
    struct weft_ring *copies = WEFT_NEW(arena, struct weft_ring, (size_t)count + 1);
    uint32_t at = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        for (uint32_t r = 0; r < rings->ring_count; r++) {
            if (rings->rings[r].group == traffic->group_of[g]) {
                copies[at] = rings->rings[r];
                copies[at++].group = g;
            }
        }
    }
    return (struct weft_ring_set){count, copies};
}

bool paper_topology(struct weft_topology *topology, const struct search *search,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                  .degree = search->cluster->degree,
                                                  .simplex = search->simplex};
    const struct weft_environment environment = search_environment(search, arena, scratch, error);
    return weft_topology_find(topology, search->traffic, search->cluster->server_count, &options,
                              &environment);
}

bool paper_fabric(struct weft_network *network, const struct weft_topology *topology,
                  const struct search *search, struct weft_arena *arena, struct weft_arena scratch,
                  struct weft_error *error)
{
    if (!weft_topology_fabric(&network->fabric, topology, search->cluster, arena, scratch, error)) {
        return false;
    }
    struct weft_ring_set rings;
    weft_topology_rings(&rings, topology, &network->fabric, arena);
    network->rings = rings_by_graph_group(&rings, search->graph, search->traffic, arena);
    return true;
}

bool paper_network(struct weft_network *network, struct weft_topology *topology,
                   const struct search *search, uint32_t paths, struct weft_arena *arena,
                   struct weft_arena scratch)
{
    struct weft_error error;
    const struct weft_environment environment = search_environment(search, arena, scratch, &error);
    return paper_topology(topology, search, arena, scratch, &error) &&
           paper_fabric(network, topology, search, arena, scratch, &error) &&
           weft_topology_routes(&network->routes, topology, &network->fabric, search->traffic,
                                paths, &environment);
}
