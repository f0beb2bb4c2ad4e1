// SPDX-License-Identifier: Apache-2.0
// The paper's topology as a network: TopoOpt's TopologyFinder, its rings on their links, its
// routes.
//
// It is one of the seeds of the search and the whole of `topoopt`, so that what the search finds is
// never longer than the paper's plan.

#include "paper.h"

#include "weft/routing.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

// Adds the neighbors in groups that no ring was laid for, which take the routes of their pairs, to
// the transfers: where only pairs with demand are routed, they need some.
static void add_unlaid(double *demand, const struct weft_ring_set *rings,
                       const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    size_t n = graph->server_count;
    bool *laid = WEFT_NEW(&scratch, bool, (size_t)graph->group_count + 1);
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        laid[rings->rings[r].group] = true;
    }
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t first = graph->group_first[g];
        uint32_t count = graph->group_first[g + 1] - first;
        for (uint32_t i = 0; i < count && count > 1 && !laid[g]; i++) {
            uint32_t from = graph->group_members[first + i];
            uint32_t to = graph->group_members[first + (i + 1) % count];
            demand[from * n + to] = fmax(demand[from * n + to], DBL_MIN);
        }
    }
}

bool paper_routes(struct weft_network *network, const struct weft_topology *topology,
                  const struct search *search, uint32_t paths,
                  const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_traffic traffic = *search->traffic;
    size_t n = traffic.server_count;
    if (n > WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX) {
        double *demand = WEFT_NEW_RAW(&inner.scratch, double, n *n);
        memcpy(demand, traffic.transfer_bytes, n * n * sizeof *demand);
        add_unlaid(demand, &network->rings, search->graph, inner.scratch);
        traffic.transfer_bytes = demand;
    }
    return weft_topology_routes(&network->routes, topology, &network->fabric, &traffic, paths,
                                &inner);
}

bool paper_network(struct weft_network *network, struct weft_topology *topology,
                   const struct search *search, uint32_t paths, struct weft_arena *arena,
                   struct weft_arena scratch)
{
    struct weft_error error;
    const struct weft_environment environment = search_environment(search, arena, scratch, &error);
    return paper_topology(topology, search, arena, scratch, &error) &&
           paper_fabric(network, topology, search, arena, scratch, &error) &&
           paper_routes(network, topology, search, paths, &environment);
}
