// SPDX-License-Identifier: Apache-2.0
// Direct reference fabrics come without rings, and the order in which a group lists its members may
// cross the fabric at every hop, which would be unfair to them. A tour that is short in hops of the
// fabric's routes is what one would configure.

#include "tour.h"

#include <string.h>

// Hops of every ordered pair over its first path.
static uint16_t *list_hops(const struct weft_routes *routes, uint32_t n, struct weft_arena *arena)
{
    uint16_t *hops = WEFT_NEW(arena, uint16_t, (size_t)n * n);
    uint32_t *links = WEFT_NEW_RAW(arena, uint32_t, (size_t)routes->hop_max + 1);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (weft_routes_path_count(routes, s, t) > 0) {
                hops[(size_t)s * n + t] = (uint16_t)weft_routes_path(routes, s, t, 0, links, NULL);
            }
        }
    }
    return hops;
}

struct weft_ring_set tour_rings(const struct weft_taskgraph *graph,
                                const struct weft_network *network, struct weft_arena *arena,
                                struct weft_arena scratch)
{
    uint32_t n = network->fabric.server_count;
    const uint16_t *hops = list_hops(&network->routes, n, &scratch);
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
