// SPDX-License-Identifier: Apache-2.0
// Fabrics of servers joined to servers, fixed: rings and tori.

#include "wiring.h"

bool weft_fabric_build_ring(struct weft_network *network, const struct weft_cluster *cluster,
                            const struct weft_fabric_options *options, struct weft_arena *arena,
                            struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    uint32_t n = cluster->server_count;
    uint32_t width = n == 2 ? cluster->degree : cluster->degree / 2;
    if (width == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "ring: %u port a server does not go both ways; give each at least 2",
                         cluster->degree);
    }
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    struct wiring wiring = wiring_start(n, cluster->latency_ps, arena);
    for (uint32_t s = 0; s < (n == 2 ? 1 : n); s++) {
        wiring_join(&wiring, s, s == n - 1 ? 0 : s + 1, width, rate_Bps);
    }
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, "ring", n, n, arena, error)) {
        return false;
    }
    fabric.parts = weft_fabric_direct_parts(&fabric, rate_Bps, WEFT_CABLING_FIXED, *arena);
    *network = (struct weft_network){.fabric = fabric};
    return weft_routes_build_ring(&network->routes, &network->fabric, error);
}
