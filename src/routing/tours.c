// SPDX-License-Identifier: Apache-2.0
// Direct reference fabrics come without rings, and the order in which a group lists its members may
// cross the fabric at every hop, which would be unfair to them. A tour that is short in hops of the
// fabric's routes is what one would configure.

#include "weft/routing.h"

#include <string.h>

// Hops of every ordered pair of the graph's servers over its first path.
static uint16_t *list_hops(const struct weft_routes *routes, const uint32_t *servers, uint32_t n,
                           struct weft_arena *arena)
{
    uint16_t *hops = WEFT_NEW(arena, uint16_t, (size_t)n * n);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            uint32_t from = servers != NULL ? servers[s] : s;
            uint32_t to = servers != NULL ? servers[t] : t;
            if (weft_routes_path_count(routes, from, to) > 0) {
                hops[(size_t)s * n + t] = (uint16_t)weft_routes_hop_count(routes, from, to, 0);
            }
        }
    }
    return hops;
}

struct weft_ring_set weft_routing_tours(const struct weft_taskgraph *graph, const uint32_t *servers,
                                        const struct weft_routes *routes, struct weft_arena *arena,
                                        struct weft_arena scratch)
{
    uint32_t n = graph->server_count;
    const uint16_t *hops = list_hops(routes, servers, n, &scratch);
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, 2 * (size_t)graph->group_count + 1);
    uint32_t count = 0;
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t k = graph->group_first[g + 1] - graph->group_first[g];
        if (k < 2) {
            continue;
        }
        uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, k);
        memcpy(order, graph->group_members + graph->group_first[g], k * sizeof *order);
        weft_routes_tour(order, k, hops, n);
        double share_ratio = k > 2 ? 0.5 : 1;
        rings[count++] = (struct weft_ring){g, k, order, share_ratio, NULL, NULL, NULL};
        if (k > 2) {
            uint32_t *back = WEFT_NEW_RAW(arena, uint32_t, k);
            for (uint32_t i = 0; i < k; i++) {
                back[i] = order[k - 1 - i];
            }
            rings[count++] = (struct weft_ring){g, k, back, share_ratio, NULL, NULL, NULL};
        }
    }
    return (struct weft_ring_set){count, rings};
}
