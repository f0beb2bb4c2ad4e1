// SPDX-License-Identifier: Apache-2.0
// What a network gives to the exchanges of a hybrid strategy: each kind of exchange (rings of
// gradients, shifts along the pipeline, context rings, all-to-alls of experts) is laid on the
// network's routes for all ranks at once, and the most loaded link says how fast a server can send.
// Exchanges of different kinds are not laid on each other. O(accelerators * paths * hops).

#include "hybrid.h"

#include <stdlib.h>

// Ranks of one group: along context and data (the inner one first), or along one axis.
struct axes {
    uint32_t count;
    enum weft_hybrid_axis at[2];
};

struct gauge {
    const struct weft_hybrid_mesh *mesh;
    const struct weft_network *network;
    double *load_bytes; // per link
    uint32_t *links;    // room for one path
    double *sent_bytes; // per server, what leaves it
};

static uint32_t group_size(const struct weft_hybrid_mesh *mesh, const struct axes *axes)
{
    uint32_t size = 1;
    for (uint32_t i = 0; i < axes->count; i++) {
        size *= mesh->size[axes->at[i]];
    }
    return size;
}

// The place of accelerator `rank` in its group, and the accelerator at another place of it.
static uint32_t place_of(const struct weft_hybrid_mesh *mesh, const struct axes *axes,
                         uint32_t rank)
{
    uint32_t place = 0;
    uint32_t unit = 1;
    for (uint32_t i = 0; i < axes->count; i++) {
        uint32_t size = mesh->size[axes->at[i]];
        place += rank / mesh->stride[axes->at[i]] % size * unit;
        unit *= size;
    }
    return place;
}

static uint32_t at_place(const struct weft_hybrid_mesh *mesh, const struct axes *axes,
                         uint32_t rank, uint32_t place)
{
    for (uint32_t i = 0; i < axes->count; i++) {
        uint32_t size = mesh->size[axes->at[i]];
        uint32_t stride = mesh->stride[axes->at[i]];
        rank -= rank / stride % size * stride;
        rank += place % size * stride;
        place /= size;
    }
    return rank;
}

// Puts bytes on the paths between two servers.
static void carry(struct gauge *gauge, uint32_t source, uint32_t target, double bytes)
{
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

static void send(struct gauge *gauge, uint32_t from, uint32_t to, double bytes)
{
    uint32_t source = from / gauge->mesh->per_server;
    uint32_t target = to / gauge->mesh->per_server;
    if (source != target) {
        gauge->sent_bytes[source] += bytes;
        carry(gauge, source, target, bytes);
    }
}

static struct gauge gauge_of(const struct weft_hybrid_mesh *mesh,
                             const struct weft_network *network, struct weft_arena *scratch)
{
    return (struct gauge){.mesh = mesh,
                          .network = network,
                          .load_bytes = WEFT_NEW(scratch, double, network->fabric.link_count),
                          .links = WEFT_NEW(scratch, uint32_t, network->routes.hop_max),
                          .sent_bytes = WEFT_NEW(scratch, double, mesh->server_count)};
}

// What the server that sends most sends in a second when the most loaded link is always busy.
static double server_rate(const struct gauge *gauge, double line_Bps)
{
    double seconds = 0;
    for (uint32_t link = 0; link < gauge->network->fabric.link_count; link++) {
        double link_s = gauge->load_bytes[link] / gauge->network->fabric.links[link].rate_Bps;
        seconds = link_s > seconds ? link_s : seconds;
    }
    double most_bytes = 0;
    for (uint32_t server = 0; server < gauge->mesh->server_count; server++) {
        double bytes = gauge->sent_bytes[server];
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    return seconds > 0 ? most_bytes / seconds : line_Bps;
}

// What every rank of a group sends: a byte to the next one, the last to the first only if `wraps`,
// or, with block > 0, a byte spread over all others of its block of `block` ranks.
struct pattern {
    const struct axes *axes;
    uint32_t block;
    bool wraps;
};

// The rate of one server when all groups send so at once.
static double measure(const struct weft_hybrid_mesh *mesh, const struct pattern *pattern,
                      const struct weft_network *network, double line_Bps,
                      struct weft_arena scratch)
{
    const struct axes *axes = pattern->axes;
    uint32_t block = pattern->block;
    uint32_t size = group_size(mesh, axes);
    struct gauge gauge = gauge_of(mesh, network, &scratch);
    for (uint32_t rank = 0; rank < mesh->used; rank++) {
        uint32_t place = place_of(mesh, axes, rank);
        if (block == 0) {
            double bytes = pattern->wraps || place + 1 < size ? 1 : 0;
            send(&gauge, rank, at_place(mesh, axes, rank, (place + 1) % size), bytes);
            continue;
        }
        uint32_t begin = place - place % block;
        for (uint32_t other = begin; other < begin + block; other++) {
            send(&gauge, rank, at_place(mesh, axes, rank, other), 1.0 / block);
        }
    }
    return server_rate(&gauge, line_Bps);
}

// ---- gradient rings ----

// The same for every order of the members.
static uint64_t set_hash(const uint32_t *members, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += weft_hash(members[i]);
    }
    return sum;
}

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

// The servers of the replicas first, first + step, ... of a pipeline rank, ascending, each once.
static uint32_t list_servers(uint32_t *servers, const struct weft_hybrid_mesh *mesh, uint32_t first,
                             uint32_t step, uint32_t rank)
{
    uint32_t replicas = mesh->size[WEFT_AXIS_CONTEXT] * mesh->size[WEFT_AXIS_DATA];
    uint32_t size = 0;
    for (uint32_t r = first; r < replicas; r += step) {
        servers[size++] = weft_hybrid_accelerator(mesh, r, rank) / mesh->per_server;
    }
    qsort(servers, size, sizeof *servers, compare_ids);
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++) {
        if (count == 0 || servers[count - 1] != servers[i]) {
            servers[count++] = servers[i];
        }
    }
    return count;
}

static void carry_ring(struct gauge *gauge, const struct weft_ring *ring, double bytes)
{
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (ring->hop_first == NULL) {
            carry(gauge, ring->members[i], ring->members[(i + 1) % ring->member_count], bytes);
            continue;
        }
        for (uint32_t h = ring->hop_first[i]; h < ring->hop_first[i + 1]; h++) {
            gauge->load_bytes[ring->hop_links[h]] += bytes;
        }
    }
}

// A group reduces on the network's rings over its servers where there are any, else round its
// servers in ascending order, as the flow engine does.
static void carry_group(struct gauge *gauge, const uint32_t *servers, uint32_t count,
                        const uint64_t *ring_hash)
{
    const struct weft_ring_set *rings = &gauge->network->rings;
    double bytes = gauge->mesh->size[WEFT_AXIS_TENSOR];
    uint64_t hash = set_hash(servers, count);
    uint32_t group = WEFT_NONE; // several groups may have one set of members: the first one's
    for (uint32_t i = 0; i < count; i++) {
        gauge->sent_bytes[servers[i]] += bytes;
    }
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        const struct weft_ring *ring = &rings->rings[r];
        bool same = ring->member_count == count && ring_hash[r] == hash;
        if (same && (group == WEFT_NONE || group == ring->group)) {
            group = ring->group;
            carry_ring(gauge, ring, bytes * ring->share_ratio);
        }
    }
    for (uint32_t i = 0; i < count && group == WEFT_NONE; i++) {
        carry(gauge, servers[i], servers[(i + 1) % count], bytes);
    }
}

// The rate of one server when all gradients of every `step`-th replica are reduced at once.
static double measure_groups(const struct weft_hybrid_mesh *mesh, uint32_t step,
                             const struct weft_network *network, double line_Bps,
                             struct weft_arena scratch)
{
    struct gauge gauge = gauge_of(mesh, network, &scratch);
    const struct weft_ring_set *rings = &network->rings;
    uint64_t *ring_hash = WEFT_NEW(&scratch, uint64_t, rings->ring_count);
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        ring_hash[r] = set_hash(rings->rings[r].members, rings->rings[r].member_count);
    }
    uint32_t replicas = mesh->size[WEFT_AXIS_CONTEXT] * mesh->size[WEFT_AXIS_DATA];
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, replicas);
    for (uint32_t rank = 0; rank < mesh->size[WEFT_AXIS_PIPELINE]; rank++) {
        for (uint32_t first = 0; first < step; first++) {
            uint32_t count = list_servers(servers, mesh, first, step, rank);
            if (count > 1) {
                carry_group(&gauge, servers, count, ring_hash);
            }
        }
    }
    return server_rate(&gauge, line_Bps);
}

struct weft_hybrid_rates weft_hybrid_rates_of(const struct weft_hybrid_mesh *mesh, uint32_t ep,
                                              const struct weft_cluster *cluster,
                                              const struct weft_network *network,
                                              struct weft_arena scratch)
{
    double line_Bps = cluster->degree * cluster->rate_Bps;
    struct weft_hybrid_rates rates = {.ring_Bps = line_Bps,
                                      .experts_Bps = line_Bps,
                                      .shift_Bps = line_Bps,
                                      .wrap_Bps = line_Bps,
                                      .exchange_Bps = line_Bps,
                                      .context_Bps = line_Bps,
                                      .latency_s = 2 * weft_seconds(cluster->latency_ps)};
    if (network == NULL) {
        return rates;
    }
    struct axes data = {.count = 2, .at = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA}};
    if (mesh->stride[WEFT_AXIS_DATA] < mesh->stride[WEFT_AXIS_CONTEXT]) {
        data.at[0] = WEFT_AXIS_DATA;
        data.at[1] = WEFT_AXIS_CONTEXT;
    }
    struct axes context = {.count = 1, .at = {WEFT_AXIS_CONTEXT}};
    struct axes pipeline = {.count = 1, .at = {WEFT_AXIS_PIPELINE}};
    if (group_size(mesh, &data) > 1) {
        rates.ring_Bps = measure_groups(mesh, 1, network, line_Bps, scratch);
        rates.experts_Bps = measure_groups(mesh, ep, network, line_Bps, scratch);
    }
    if (mesh->size[WEFT_AXIS_CONTEXT] > 1) {
        rates.context_Bps =
            measure(mesh, &(struct pattern){&context, 0, true}, network, line_Bps, scratch);
    }
    if (mesh->size[WEFT_AXIS_PIPELINE] > 1) {
        rates.shift_Bps =
            measure(mesh, &(struct pattern){&pipeline, 0, false}, network, line_Bps, scratch);
        rates.wrap_Bps =
            measure(mesh, &(struct pattern){&pipeline, 0, true}, network, line_Bps, scratch);
    }
    if (ep > 1) {
        rates.exchange_Bps =
            measure(mesh, &(struct pattern){&data, ep, true}, network, line_Bps, scratch);
    }
    return rates;
}
