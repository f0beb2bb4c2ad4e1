// SPDX-License-Identifier: Apache-2.0
// A topology as a network: its fabric, and its rings on links.
//
// Every lit port is a link of its own with a NIC port, a transceiver and a port of the patch panel
// (or optical switch) that holds its plane; servers forward what they relay.

#include "internal.h"

bool weft_topology_fabric(struct weft_fabric *fabric, const struct weft_topology *topology,
                          const struct weft_cluster *cluster, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = topology->server_count;
    WEFT_ASSERT(cluster->server_count == n);
    struct weft_link *links =
        WEFT_NEW_RAW(&scratch, struct weft_link, (size_t)n * topology->degree);
    uint32_t lit = 0;
    for (uint32_t p = 0; p < topology->degree; p++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = topology->planes[(size_t)p * n + i];
            if (to != i) {
                links[lit++] = (struct weft_link){i, to, cluster->rate_Bps, cluster->latency_ps, 1};
            }
        }
    }
    struct weft_fabric built;
    if (!weft_fabric_build(&built, &(struct weft_fabric_links){"optical", n, n, links, lit}, arena,
                           error)) {
        return weft_wrap(error, "the planes as a fabric");
    }
    built.forwards = true;
    built.parts = (struct weft_parts){.nics = lit,
                                      .transceivers = lit,
                                      .patch_panel_ports = lit,
                                      .rate_Bps = weft_cluster_nic_rate(cluster)};
    *fabric = built;
    return true;
}

void weft_topology_rings(struct weft_ring_set *rings, const struct weft_topology *topology,
                         const struct weft_fabric *fabric, struct weft_arena *arena)
{
    uint32_t count = topology->rings.ring_count;
    struct weft_ring *bound = WEFT_NEW_RAW(arena, struct weft_ring, count);
    for (uint32_t r = 0; r < count; r++) {
        struct weft_ring ring = topology->rings.rings[r];
        if (ring.hop_first != NULL) {
            bound[r] = ring;
            continue;
        }
        uint32_t m = ring.member_count;
        uint32_t *hop_first = WEFT_NEW_RAW(arena, uint32_t, (size_t)m + 1);
        uint32_t *hop_links = WEFT_NEW_RAW(arena, uint32_t, m);
        for (uint32_t i = 0; i < m; i++) {
            hop_first[i] = i;
            hop_links[i] =
                weft_fabric_find_link(fabric, ring.members[i], ring.members[(i + 1) % m]);
            WEFT_ASSERT(hop_links[i] != WEFT_NONE);
        }
        hop_first[m] = m;
        ring.hop_first = hop_first;
        ring.hop_links = hop_links;
        bound[r] = ring;
    }
    *rings = (struct weft_ring_set){count, bound};
}
