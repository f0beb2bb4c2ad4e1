// SPDX-License-Identifier: Apache-2.0
// Hops, link loads and bandwidth tax of a network under a task graph.
//
// Bytes are followed over links: those of rings over the links that the rings are bound to, all
// others over the paths of their routes by weight. What servers send beyond what was demanded of
// them is what they relay: the bandwidth tax.

#include "metrics.h"

#include "plan/demand/demand.h"

#include <math.h>

// Sums over the items so far.
struct sums {
    const struct weft_network *network;
    double *load_bytes;
    double demanded_bytes;
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

void metrics_build(struct metrics *metrics, double *load_bytes, const struct weft_taskgraph *graph,
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
    struct demand demand = demand_open(graph, network, &scratch);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        struct demand_item item;
        for (uint32_t i = 0; demand_get(&demand, t, i, &item); i++) {
            sums.demanded_bytes += item.bytes;
            if (graph->kind[t] == WEFT_TASK_TRANSFER) {
                transfers[(size_t)item.from * all + item.to] += item.bytes;
            }
            if (item.link_count > 0) {
                add_path(&sums, item.links, item.link_count, item.bytes);
            } else {
                matrix[(size_t)item.from * n + item.to] += item.bytes;
            }
        }
    }
    add_routed(&sums, matrix, n, scratch);
    double leaving = 0;
    *metrics = (struct metrics){
        .demand_weighted_hops = weft_fabric_demand_hops(fabric, transfers, scratch),
        .hops_max = sums.hops_max,
    };
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        leaving += fabric->links[e].from < fabric->server_count ? own[e] : 0;
        metrics->max_link_load_bytes = fmax(metrics->max_link_load_bytes, own[e]);
        metrics->mean_link_load_bytes += own[e] / fabric->link_count;
        if (load_bytes != NULL) {
            load_bytes[e] = own[e];
        }
    }
    if (sums.demanded_bytes > 0) {
        metrics->mean_hops = sums.hop_bytes / sums.demanded_bytes;
        metrics->bandwidth_tax_ratio = leaving / sums.demanded_bytes;
    }
}
