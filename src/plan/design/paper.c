// SPDX-License-Identifier: Apache-2.0
// The paper's topology as a network.

#include "paper.h"

bool paper_topology(struct weft_topology *topology, const struct search *search,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                  .simplex = search->simplex,
                                                  .seed = search->seed,
                                                  .threads = search->threads,
                                                  .stop = search->stop};
    return weft_topology_find(topology, search->traffic, search->cluster->server_count,
                              search->cluster->degree, &options, arena, scratch, error);
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
    network->rings = search_graph_rings(&rings, search, arena);
    return true;
}

bool paper_network(struct weft_network *network, struct weft_topology *topology,
                   const struct search *search, uint32_t paths, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error)
{
    return paper_topology(topology, search, arena, scratch, error) &&
           paper_fabric(network, topology, search, arena, scratch, error) &&
           weft_topology_routes(&network->routes, topology, &network->fabric, search->traffic,
                                paths, arena, scratch, error);
}
