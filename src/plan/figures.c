// SPDX-License-Identifier: Apache-2.0
// Hops, link loads and bandwidth tax of a network under a task graph.

#include "figures.h"

#include "plan/demand/demand.h"

#include <math.h>

// Sums in the making.
struct sums {
    const struct weft_network *network;
    double *load_bytes;
    double asked_bytes;
    double hop_bytes;
    uint32_t hops_max;
};

static void add_path(struct sums *sums, const uint32_t *links, uint32_t link_count, double bytes)
{
    for (uint32_t i = 0; i < link_count; i++) {
        sums->load_bytes[links[i]] += bytes;
    }
    sums->hop_bytes += bytes * link_count;
    if (bytes > 0 && link_count > sums->hops_max) {
        sums->hops_max = link_count;
    }
}

// What no ring pins to links takes the routes of its pair.
static void add_routed(struct sums *sums, const double *matrix, uint32_t n,
                       struct weft_arena scratch)
{
    const struct weft_routes *routes = &sums->network->routes;
    uint32_t *links = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)routes->hop_max + 1);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            double bytes = matrix[(size_t)s * n + t];
            uint32_t count = bytes > 0 ? weft_routes_path_count(routes, s, t) : 0;
            for (uint32_t p = 0; p < count; p++) {
                double weight;
                uint32_t link_count = weft_routes_path(routes, s, t, p, links, &weight);
                add_path(sums, links, link_count, bytes * weight);
            }
        }
    }
}

void figures_build(struct figures *figures, double *load_bytes, const struct weft_taskgraph *graph,
                   const struct weft_network *network, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &network->fabric;
    uint32_t n = graph->server_count;
    WEFT_ASSERT(n <= fabric->server_count);
    double *own = WEFT_NEW(&scratch, double, (size_t)fabric->link_count + 1);
    struct sums sums = {.network = network, .load_bytes = own};
    double *matrix = WEFT_NEW(&scratch, double, (size_t)n *n);
    uint32_t all = fabric->server_count;
    double *transfers = WEFT_NEW(&scratch, double, (size_t)all *all);
    struct asks asks = asks_open(graph, network, &scratch);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        struct ask ask;
        for (uint32_t i = 0; asks_get(&asks, t, i, &ask); i++) {
            sums.asked_bytes += ask.bytes;
            if (graph->kind[t] == WEFT_TASK_TRANSFER) {
                transfers[(size_t)ask.from * all + ask.to] += ask.bytes;
            }
            if (ask.link_count > 0) {
                add_path(&sums, ask.links, ask.link_count, ask.bytes);
            } else {
                matrix[(size_t)ask.from * n + ask.to] += ask.bytes;
            }
        }
    }
    add_routed(&sums, matrix, n, scratch);
    double leaving = 0;
    *figures = (struct figures){
        .demand_weighted_hops = weft_fabric_demand_hops(fabric, transfers, scratch),
        .hops_max = sums.hops_max,
    };
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        leaving += fabric->links[e].from < fabric->server_count ? own[e] : 0;
        figures->max_link_load_bytes = fmax(figures->max_link_load_bytes, own[e]);
        figures->mean_link_load_bytes += own[e] / fabric->link_count;
        if (load_bytes != NULL) {
            load_bytes[e] = own[e];
        }
    }
    if (sums.asked_bytes > 0) {
        figures->mean_hops = sums.hop_bytes / sums.asked_bytes;
        figures->bandwidth_tax_ratio = leaving / sums.asked_bytes;
    }
}
