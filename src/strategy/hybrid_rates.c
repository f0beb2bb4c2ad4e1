// SPDX-License-Identifier: Apache-2.0
// What a network gives to the exchanges of a hybrid strategy: the rate at which a server can send
// when all servers do the same exchange at once, by the most loaded link of its routes.

#include "hybrid.h"

// Ranks of one group: along context and data (the inner one first), or along one axis.
struct axes {
    uint32_t count;
    enum weft_hybrid_axis at[2];
};

struct gauge {
    const struct weft_hybrid_layout *layout;
    const struct weft_network *network;
    double *load_bytes; // per link
    uint32_t *links;    // room for one path
    double sent;        // bytes that left servers
};

static uint32_t group_size(const struct weft_hybrid_layout *layout, const struct axes *axes)
{
    uint32_t size = 1;
    for (uint32_t i = 0; i < axes->count; i++) {
        size *= layout->size[axes->at[i]];
    }
    return size;
}

// The place of accelerator `rank` in its group, and the accelerator at another place of it.
static uint32_t place_of(const struct weft_hybrid_layout *layout, const struct axes *axes,
                         uint32_t rank)
{
    uint32_t place = 0;
    uint32_t unit = 1;
    for (uint32_t i = 0; i < axes->count; i++) {
        uint32_t size = layout->size[axes->at[i]];
        place += rank / layout->stride[axes->at[i]] % size * unit;
        unit *= size;
    }
    return place;
}

static uint32_t at_place(const struct weft_hybrid_layout *layout, const struct axes *axes,
                         uint32_t rank, uint32_t place)
{
    for (uint32_t i = 0; i < axes->count; i++) {
        uint32_t size = layout->size[axes->at[i]];
        uint32_t stride = layout->stride[axes->at[i]];
        rank -= rank / stride % size * stride;
        rank += place % size * stride;
        place /= size;
    }
    return rank;
}

static void send(struct gauge *gauge, uint32_t from, uint32_t to, double bytes)
{
    uint32_t per_server = gauge->layout->per_server;
    uint32_t source = from / per_server;
    uint32_t target = to / per_server;
    if (source == target) {
        return;
    }
    gauge->sent += bytes;
    const struct weft_routes *routes = &gauge->network->routes;
    uint32_t paths = weft_routes_path_count(routes, source, target);
    for (uint32_t p = 0; p < paths; p++) {
        double weight = 0;
        uint32_t hops = weft_routes_path(routes, source, target, p, gauge->links, &weight);
        for (uint32_t h = 0; h < hops; h++) {
            gauge->load_bytes[gauge->links[h]] += bytes * weight;
        }
    }
}

// The rate of one server when every rank sends a byte to the next of its group (ring), or one
// spread over all others of its block of `block` ranks (block > 0).
static double measure(const struct weft_hybrid_layout *layout, const struct axes *axes,
                      uint32_t block, const struct weft_network *network, double line_Bps,
                      struct weft_arena scratch)
{
    uint32_t size = group_size(layout, axes);
    uint32_t link_count = network->fabric.link_count;
    struct gauge gauge = {.layout = layout,
                          .network = network,
                          .load_bytes = WEFT_NEW(&scratch, double, link_count),
                          .links = WEFT_NEW(&scratch, uint32_t, network->routes.hop_max)};
    for (uint32_t rank = 0; rank < layout->used; rank++) {
        uint32_t place = place_of(layout, axes, rank);
        if (block == 0) {
            send(&gauge, rank, at_place(layout, axes, rank, (place + 1) % size), 1);
            continue;
        }
        uint32_t begin = place - place % block;
        for (uint32_t other = begin; other < begin + block; other++) {
            send(&gauge, rank, at_place(layout, axes, rank, other), 1.0 / block);
        }
    }
    double seconds = 0;
    for (uint32_t link = 0; link < link_count; link++) {
        double link_s = gauge.load_bytes[link] / network->fabric.links[link].rate_Bps;
        seconds = link_s > seconds ? link_s : seconds;
    }
    return seconds > 0 ? gauge.sent / layout->server_count / seconds : line_Bps;
}

struct weft_hybrid_rates weft_hybrid_rates_of(const struct weft_hybrid_layout *layout, uint32_t ep,
                                              const struct weft_cluster *cluster,
                                              const struct weft_network *network,
                                              struct weft_arena scratch)
{
    double line_Bps = cluster->degree * cluster->rate_Bps;
    struct weft_hybrid_rates rates = {.ring_Bps = line_Bps,
                                      .shift_Bps = line_Bps,
                                      .exchange_Bps = line_Bps,
                                      .context_Bps = line_Bps,
                                      .latency_s = 2 * weft_seconds(cluster->latency_ps)};
    if (network == NULL) {
        return rates;
    }
    struct axes data = {.count = 2, .at = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA}};
    if (layout->stride[WEFT_AXIS_DATA] < layout->stride[WEFT_AXIS_CONTEXT]) {
        data.at[0] = WEFT_AXIS_DATA;
        data.at[1] = WEFT_AXIS_CONTEXT;
    }
    struct axes context = {.count = 1, .at = {WEFT_AXIS_CONTEXT}};
    struct axes pipeline = {.count = 1, .at = {WEFT_AXIS_PIPELINE}};
    if (group_size(layout, &data) > 1) {
        rates.ring_Bps = measure(layout, &data, 0, network, line_Bps, scratch);
    }
    if (layout->size[WEFT_AXIS_CONTEXT] > 1) {
        rates.context_Bps = measure(layout, &context, 0, network, line_Bps, scratch);
    }
    if (layout->size[WEFT_AXIS_PIPELINE] > 1) {
        rates.shift_Bps = measure(layout, &pipeline, 0, network, line_Bps, scratch);
    }
    if (ep > 1) {
        rates.exchange_Bps = measure(layout, &data, ep, network, line_Bps, scratch);
    }
    return rates;
}
