// SPDX-License-Identifier: Apache-2.0
// The electrical fabrics that SiP-ML compares with: every replica on one switch, replicas joined by
// slower ports. The released scripts cap what data parallelism gets at 200 or 400 Gbps and add its
// time; here it is played.
//
// An accelerator's port, of the full rate, ends at a node of its own; from there one link leads to
// the switch of its replica, another of the capped rate to the switch between replicas, one hop
// farther, so that the shortest way inside a replica is over its own switch.

#include "sip.h"

struct wiring {
    struct weft_link *links;
    uint32_t count;
};

static void join(struct wiring *wiring, uint32_t a, uint32_t b, double rate_Bps)
{
    wiring->links[wiring->count++] = (struct weft_link){a, b, rate_Bps, 0, 1};
    wiring->links[wiring->count++] = (struct weft_link){b, a, rate_Bps, 0, 1};
}

bool sip_electric_build(struct weft_network *network, const struct sip_fold *fold,
                        const struct weft_sip_electrical *electrical, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = fold->node_count;
    double rate_Bps = electrical->rate_Bps;
    double cap_Bps =
        electrical->cap_Bps > 0 && electrical->cap_Bps < rate_Bps ? electrical->cap_Bps : rate_Bps;
    // Servers, their ports, their ports between replicas, switches of replicas, the one between.
    uint32_t port = n;
    uint32_t outer = 2 * n;
    uint32_t inner_switch = 3 * n;
    uint32_t outer_switch = 3 * n + fold->replicas;
    struct wiring wiring = {WEFT_NEW_RAW(&scratch, struct weft_link, 8 * (size_t)n), 0};
    for (uint32_t i = 0; i < n; i++) {
        join(&wiring, i, port + i, rate_Bps);
        wiring.links[wiring.count - 2].latency_ps = fold->cluster.latency_ps;
        join(&wiring, port + i, inner_switch + i / fold->choice.mp, rate_Bps);
        join(&wiring, port + i, outer + i, cap_Bps);
        join(&wiring, outer + i, outer_switch, cap_Bps);
    }
    const struct weft_fabric_links input = {"electrical", n, outer_switch + 1, wiring.links,
                                            wiring.count};
    *network = (struct weft_network){0};
    return weft_fabric_build(&network->fabric, &input, arena, error) &&
           weft_routes_build_shortest(&network->routes, &network->fabric, arena, scratch, error);
}
