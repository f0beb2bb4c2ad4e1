// SPDX-License-Identifier: Apache-2.0
// Min-max routing: link prices, hop-bounded cheapest paths, and the bounds that prices prove.
//
// For any prices, the demand times its cheapest distances, over the price of all capacity, is a
// lower bound on the largest load (the dual of the linear program; Garg and Koenemann, SIAM J.
// Comput. 2007). Paths within a number of hops come from Bellman-Ford, one layer a hop: O(hops
// * links) a source.

#include "minmax.h"

#include <math.h>
#include <string.h>

#define EXPONENT_MAX 40.0
// Idle links cost a little, so that fewer hops win where nothing else matters.
#define PRICE_FLOOR 1e-9

void minmax_price(struct minmax *m, uint32_t link)
{
    double fill = m->load_bytes[link] * m->inverse_rate[link] / m->scale_s;
    double exponent = fmin(m->alpha * (fill - 1), EXPONENT_MAX);
    m->length[link] = (exp(exponent) + PRICE_FLOOR) * m->inverse_rate[link];
}

double minmax_max_seconds(const struct minmax *m)
{
    double most = 0;
    for (uint32_t l = 0; l < m->fabric->link_count; l++) {
        most = fmax(most, m->load_bytes[l] * m->inverse_rate[l]);
    }
    return most;
}

double minmax_reprice(struct minmax *m, double alpha)
{
    double most = minmax_max_seconds(m);
    m->scale_s = most > 0 ? most : 1;
    m->alpha = alpha;
    for (uint32_t l = 0; l < m->fabric->link_count; l++) {
        minmax_price(m, l);
    }
    return most;
}

void layers_init(struct layers *layers, const struct weft_fabric *fabric, uint32_t hops_max,
                 struct weft_arena *arena)
{
    uint32_t n = fabric->node_count;
    size_t cells = (size_t)(hops_max + 1) * n;
    layers->layer_count = hops_max + 1;
    layers->price = WEFT_NEW_RAW(arena, double, cells);
    layers->via = WEFT_NEW_RAW(arena, uint32_t, cells);
    layers->tails = WEFT_NEW_RAW(arena, uint32_t, fabric->link_count);
    layers->active = WEFT_NEW_RAW(arena, uint32_t, n);
    layers->next_active = WEFT_NEW_RAW(arena, uint32_t, n);
    layers->mark = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        layers->tails[l] = fabric->links[l].from;
    }
}

// Relaxes what leaves the nodes that became cheaper in the layer before. Returns how many do now.
static uint32_t relax_layer(struct layers *layers, const struct minmax *m, uint32_t source,
                            uint32_t layer, uint32_t active_count)
{
    const struct weft_fabric *fabric = m->fabric;
    uint32_t n = fabric->node_count;
    const double *before = layers->price + (size_t)(layer - 1) * n;
    double *price = layers->price + (size_t)layer * n;
    uint32_t *via = layers->via + (size_t)layer * n;
    uint32_t count = 0;
    for (uint32_t i = 0; i < active_count; i++) {
        uint32_t v = layers->active[i];
        if (v != source && !fabric_relays(fabric, v)) {
            continue;
        }
        for (uint32_t l = fabric->first[v]; l < fabric->first[v + 1]; l++) {
            uint32_t to = fabric->links[l].to;
            double through = before[v] + m->length[l];
            if (through >= price[to]) {
                continue;
            }
            price[to] = through;
            via[to] = l;
            if (layers->mark[to] != layer) {
                layers->mark[to] = layer;
                layers->next_active[count++] = to;
            }
        }
    }
    return count;
}

void layers_search(struct layers *layers, const struct minmax *m, uint32_t source)
{
    uint32_t n = m->fabric->node_count;
    uint32_t hops_max = 0;
    for (uint32_t p = m->pair_first[source]; p < m->pair_first[source + 1]; p++) {
        hops_max = m->pairs[p].hops_max > hops_max ? m->pairs[p].hops_max : hops_max;
    }
    WEFT_ASSERT(hops_max < layers->layer_count);
    for (uint32_t v = 0; v < n; v++) {
        layers->price[v] = HUGE_VAL;
        layers->mark[v] = 0;
    }
    layers->price[source] = 0;
    layers->active[0] = source;
    uint32_t active_count = 1;
    for (uint32_t layer = 1; layer <= hops_max; layer++) {
        double *price = layers->price + (size_t)layer * n;
        memcpy(price, price - n, n * sizeof *price);
        memset(layers->via + (size_t)layer * n, 0xff, n * sizeof(uint32_t));
        active_count = relax_layer(layers, m, source, layer, active_count);
        uint32_t *swap = layers->active;
        layers->active = layers->next_active;
        layers->next_active = swap;
    }
}

uint32_t layers_path(const struct layers *layers, const struct minmax *m, uint32_t target,
                     uint32_t hops_max, uint32_t *links)
{
    uint32_t n = m->fabric->node_count;
    uint32_t count = 0;
    uint32_t v = target;
    for (uint32_t layer = hops_max; layer > 0; layer--) {
        uint32_t link = layers->via[(size_t)layer * n + v];
        if (link != WEFT_NONE) {
            links[count++] = link;
            v = layers->tails[link];
        }
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t swap = links[i];
        links[i] = links[count - 1 - i];
        links[count - 1 - i] = swap;
    }
    return count;
}

double minmax_hop_bound(const struct minmax *m, struct layers *layers)
{
    double paid = 0;
    double capacity = 0;
    for (uint32_t l = 0; l < m->fabric->link_count; l++) {
        paid += m->length[l] * m->base_bytes[l];
        capacity += m->length[l] / m->inverse_rate[l];
    }
    for (uint32_t s = 0; s < m->fabric->server_count; s++) {
        layers_search(layers, m, s);
        for (uint32_t p = m->pair_first[s]; p < m->pair_first[s + 1]; p++) {
            size_t layer = m->pairs[p].hops_max;
            paid +=
                m->pairs[p].bytes * layers->price[layer * m->fabric->node_count + m->pairs[p].to];
        }
    }
    return paid / capacity;
}

double minmax_price_bound(const struct minmax *m, const struct weft_graph *graph,
                          struct weft_arena scratch)
{
    // max u >= sum(l c u) / sum(l c) = sum(l load) / sum(l c), and any routing's sum(l load) is at
    // least the base's plus every pair's bytes at the price of its cheapest path.
    uint32_t links = m->fabric->link_count;
    double *costs = WEFT_NEW_RAW(&scratch, double, links);
    double *price = WEFT_NEW_RAW(&scratch, double, graph->node_count);
    double paid = 0;
    double capacity = 0;
    for (uint32_t l = 0; l < links; l++) {
        bool open = fabric_relays(m->fabric, m->fabric->links[l].from);
        costs[l] = open ? m->length[l] : HUGE_VAL;
        paid += m->length[l] * m->base_bytes[l];
        capacity += m->length[l] / m->inverse_rate[l];
    }
    for (uint32_t s = 0; s < m->fabric->server_count; s++) {
        if (m->pair_first[s] == m->pair_first[s + 1]) {
            continue;
        }
        uint32_t first = m->fabric->first[s];
        uint32_t count = m->fabric->first[s + 1] - first;
        bool relays = fabric_relays(m->fabric, s);
        memcpy(costs + first, m->length + first, count * sizeof *costs);
        weft_graph_dijkstra(price, NULL, graph, costs, s, scratch);
        for (uint32_t l = first; l < first + count && !relays; l++) {
            costs[l] = HUGE_VAL;
        }
        for (uint32_t p = m->pair_first[s]; p < m->pair_first[s + 1]; p++) {
            paid += m->pairs[p].bytes * price[m->pairs[p].to];
        }
    }
    return paid / capacity;
}

double minmax_port_bound(const struct minmax *m, struct weft_arena scratch)
{
    uint32_t n = m->fabric->node_count;
    double *out_bytes = WEFT_NEW(&scratch, double, n);
    double *in_bytes = WEFT_NEW(&scratch, double, n);
    double *out_Bps = WEFT_NEW(&scratch, double, n);
    double *in_Bps = WEFT_NEW(&scratch, double, n);
    double bound = 0;
    for (uint32_t l = 0; l < m->fabric->link_count; l++) {
        const struct weft_link *link = &m->fabric->links[l];
        out_bytes[link->from] += m->base_bytes[l];
        in_bytes[link->to] += m->base_bytes[l];
        out_Bps[link->from] += link->rate_Bps;
        in_Bps[link->to] += link->rate_Bps;
        bound = fmax(bound, m->base_bytes[l] * m->inverse_rate[l]);
    }
    for (uint32_t p = 0; p < m->pair_count; p++) {
        out_bytes[m->pairs[p].from] += m->pairs[p].bytes;
        in_bytes[m->pairs[p].to] += m->pairs[p].bytes;
    }
    for (uint32_t v = 0; v < n; v++) {
        bound = out_Bps[v] > 0 ? fmax(bound, out_bytes[v] / out_Bps[v]) : bound;
        bound = in_Bps[v] > 0 ? fmax(bound, in_bytes[v] / in_Bps[v]) : bound;
    }
    return bound;
}
