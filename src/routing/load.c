// SPDX-License-Identifier: Apache-2.0
// Bytes on every link under given routes and rings: what the planner minimizes and a plan
// states.
//
// Transfers spread over the paths of their pair by weight; a ring puts its group's bytes on
// each of its hops; groups without a ring go over the routes from member to member. O(n^2 paths
// * hops + members of rings).

#include "internal.h"

#include <string.h>

// Adds `bytes` from `from` to `to` over the pair's paths by their weights.
static void add_pair(double *load_bytes, const struct weft_routes *routes, uint32_t from,
                     uint32_t to, double bytes, uint32_t *links)
{
    uint32_t paths = weft_routes_path_count(routes, from, to);
    for (uint32_t p = 0; p < paths; p++) {
        double weight = 0;
        uint32_t count = weft_routes_path(routes, from, to, p, links, &weight);
        for (uint32_t i = 0; i < count; i++) {
            load_bytes[links[i]] += bytes * weight;
        }
    }
}

static void add_ring(double *load_bytes, const struct weft_routes *routes,
                     const struct weft_ring *ring, double bytes, uint32_t *links)
{
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (ring->hop_first == NULL) {
            add_pair(load_bytes, routes, ring->members[i],
                     ring->members[(i + 1) % ring->member_count], bytes, links);
            continue;
        }
        for (uint32_t l = ring->hop_first[i]; l < ring->hop_first[i + 1]; l++) {
            load_bytes[ring->hop_links[l]] += bytes;
        }
    }
}

void weft_routing_load(double *load_bytes, const struct weft_routes *routes,
                       const struct weft_ring_set *rings, const struct weft_traffic *traffic,
                       struct weft_arena scratch)
{
    uint32_t n = traffic->server_count;
    uint32_t *links = WEFT_NEW_RAW(&scratch, uint32_t, routes->hop_max);
    bool *has_ring = WEFT_NEW(&scratch, bool, traffic->group_count);
    memset(load_bytes, 0, routes->fabric->link_count * sizeof *load_bytes);
    for (uint32_t r = 0; rings != NULL && r < rings->ring_count; r++) {
        const struct weft_ring *ring = &rings->rings[r];
        WEFT_ASSERT(ring->group < traffic->group_count);
        const struct weft_traffic_group *group = &traffic->groups[ring->group];
        has_ring[ring->group] = true;
        add_ring(load_bytes, routes, ring,
                 group->wire_bytes / group->member_count * ring->share_ratio, links);
    }
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        struct weft_ring ring = {.member_count = group->member_count, .members = group->members};
        if (!has_ring[g]) {
            add_ring(load_bytes, routes, &ring, group->wire_bytes / group->member_count, links);
        }
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (traffic->transfer_bytes[(size_t)s * n + t] > 0) {
                add_pair(load_bytes, routes, s, t, traffic->transfer_bytes[(size_t)s * n + t],
                         links);
            }
        }
    }
}
