// SPDX-License-Identifier: Apache-2.0
// What a network gives to the exchanges of a hybrid strategy: each kind of exchange (rings of
// gradients, shifts along the pipeline, context rings, all-to-alls of experts) is laid on the
// network's routes for all ranks at once, and the most loaded link says how fast a server can send.
// Exchanges of different kinds are not laid on each other.
//
// Where a flow picks one of its pair's paths by hash (ECMP), some links get several flows and
// others none, and a round of a ring waits for its slowest hop: the mean over a few draws of the
// most loaded link is what an exchange sees, not the load of flows that were split over all paths.
// On a leaf-spine of eight rails the difference is a factor of eight and more. A tensor group's
// message is one flow, as in the task graph. O(draws * accelerators * hops) where paths are picked,
// else O(accelerators * paths * hops); of an all to all of ep ranks that many times the servers
// they are on.

#include "hybrid.h"

#include <string.h>

// Draws of the picked paths. Eight tell the mean to about a tenth on a Fat-tree of 64 servers; a
// search finds the rates of a mesh once, so that they cost it little.
#define DRAWS 8u

// Servers of a group for which a tour is looked for: a tenth of a second for a mesh of 4,096
// servers.
#define TOUR_MAX 256u

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
    uint32_t draw;      // which one
    bool drawn;         // some flow had a choice
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

// Puts bytes of a flow on the paths between two servers: on the one that this draw picks for the
// flow, or on all of them where flows are split.
static void carry(struct gauge *gauge, uint32_t source, uint32_t target, uint64_t flow,
                  double bytes)
{
    const struct weft_routes *routes = &gauge->network->routes;
    uint32_t end = weft_routes_path_count(routes, source, target);
    uint32_t begin = 0;
    bool picks = routes->spread == WEFT_SPREAD_PICK && end > 1;
    if (picks) {
        uint64_t hash = weft_hash(weft_hash(flow) ^ gauge->draw);
        begin = weft_routes_pick(routes, source, target, hash);
        end = begin + 1;
        gauge->drawn = true;
    }
    bool stated = !picks && routes->kind == WEFT_ROUTES_TABLE; // else all weigh the same
    double weight = 1.0 / (end - begin);
    for (uint32_t p = begin; p < end; p++) {
        uint32_t hops =
            weft_routes_path(routes, source, target, p, gauge->links, stated ? &weight : NULL);
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
        uint64_t group = from / gauge->mesh->size[WEFT_AXIS_TENSOR];
        gauge->sent_bytes[source] += bytes;
        carry(gauge, source, target, group << 32 | target, bytes);
    }
}

// Lays one exchange on the gauge.
typedef void (*lay_exchange)(struct gauge *gauge, const void *exchange, struct weft_arena scratch);

// What the server that sends most sends in a second when the most loaded link is always busy, in
// the mean over the draws; one draw is enough where no flow has a choice.
static double measure(const struct weft_hybrid_mesh *mesh, const struct weft_network *network,
                      lay_exchange lay, const void *exchange, struct weft_arena scratch)
{
    uint32_t link_count = network->fabric.link_count;
    struct gauge gauge = {.mesh = mesh,
                          .network = network,
                          .load_bytes = WEFT_NEW(&scratch, double, link_count),
                          .links = WEFT_NEW(&scratch, uint32_t, network->routes.hop_max),
                          .sent_bytes = WEFT_NEW(&scratch, double, mesh->server_count)};
    double seconds = 0;
    do {
        memset(gauge.load_bytes, 0, link_count * sizeof *gauge.load_bytes);
        memset(gauge.sent_bytes, 0, mesh->server_count * sizeof *gauge.sent_bytes);
        lay(&gauge, exchange, scratch);
        double worst_s = 0;
        for (uint32_t link = 0; link < link_count; link++) {
            double link_s = gauge.load_bytes[link] / network->fabric.links[link].rate_Bps;
            worst_s = link_s > worst_s ? link_s : worst_s;
        }
        seconds += worst_s;
    } while (++gauge.draw < DRAWS && gauge.drawn);
    double most_bytes = 0;
    for (uint32_t server = 0; server < mesh->server_count; server++) {
        double bytes = gauge.sent_bytes[server];
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    return seconds > 0 ? most_bytes * gauge.draw / seconds : 0;
}

// What every rank of a group sends: a byte to the next one, the last to the first only if `wraps`,
// or, with block > 0, a byte spread over all others of its block of `block` ranks.
struct pattern {
    const struct axes *axes;
    uint32_t block;
    bool wraps;
};

// Where the ranks of a block are: how many on each of its servers.
struct residence {
    uint32_t *ranks;   // of the block
    uint32_t *servers; // that hold some of them
    uint32_t server_count;
    uint32_t *held; // per server of the mesh; all 0 between blocks
};

// Every rank of a block sends a byte spread over all others: what goes to the ranks of one server
// goes there together, from a rank where its flows pick a path, else from all of a server.
static void lay_block(struct gauge *gauge, const struct residence *at, uint32_t block)
{
    const struct weft_hybrid_mesh *mesh = gauge->mesh;
    bool picks = gauge->network->routes.spread == WEFT_SPREAD_PICK;
    uint32_t senders = picks ? block : at->server_count;
    for (uint32_t i = 0; i < senders; i++) {
        uint32_t source = picks ? at->ranks[i] / mesh->per_server : at->servers[i];
        uint64_t group = picks ? at->ranks[i] / mesh->size[WEFT_AXIS_TENSOR] : 0;
        double share = (picks ? 1.0 : at->held[source]) / block;
        for (uint32_t t = 0; t < at->server_count; t++) {
            uint32_t target = at->servers[t];
            if (target != source) {
                double bytes = share * at->held[target];
                gauge->sent_bytes[source] += bytes;
                carry(gauge, source, target, group << 32 | target, bytes);
            }
        }
    }
}

// All blocks at once.
static void lay_blocks(struct gauge *gauge, const struct pattern *pattern,
                       struct weft_arena scratch)
{
    const struct weft_hybrid_mesh *mesh = gauge->mesh;
    uint32_t block = pattern->block;
    struct residence at = {.ranks = WEFT_NEW(&scratch, uint32_t, block),
                           .servers = WEFT_NEW(&scratch, uint32_t, block),
                           .held = WEFT_NEW(&scratch, uint32_t, mesh->server_count)};
    for (uint32_t rank = 0; rank < mesh->used; rank++) {
        uint32_t begin = place_of(mesh, pattern->axes, rank);
        if (begin % block != 0) {
            continue; // another rank begins its block
        }
        at.server_count = 0;
        for (uint32_t i = 0; i < block; i++) {
            at.ranks[i] = at_place(mesh, pattern->axes, rank, begin + i);
            uint32_t server = at.ranks[i] / mesh->per_server;
            if (at.held[server]++ == 0) {
                at.servers[at.server_count++] = server;
            }
        }
        lay_block(gauge, &at, block);
        for (uint32_t i = 0; i < at.server_count; i++) {
            at.held[at.servers[i]] = 0;
        }
    }
}

// All groups send so at once.
static void lay_pattern(struct gauge *gauge, const void *exchange, struct weft_arena scratch)
{
    const struct pattern *pattern = exchange;
    const struct weft_hybrid_mesh *mesh = gauge->mesh;
    const struct axes *axes = pattern->axes;
    uint32_t size = group_size(mesh, axes);
    if (pattern->block > 0) {
        lay_blocks(gauge, pattern, scratch);
        return;
    }
    for (uint32_t rank = 0; rank < mesh->used; rank++) {
        uint32_t place = place_of(mesh, axes, rank);
        double bytes = pattern->wraps || place + 1 < size ? 1 : 0;
        send(gauge, rank, at_place(mesh, axes, rank, (place + 1) % size), bytes);
    }
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

static void carry_ring(struct gauge *gauge, const struct weft_ring *ring, double bytes)
{
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (ring->hop_first == NULL) {
            carry(gauge, ring->members[i], ring->members[(i + 1) % ring->member_count],
                  (uint64_t)ring->group << 32 | i, bytes);
            continue;
        }
        for (uint32_t h = ring->hop_first[i]; h < ring->hop_first[i + 1]; h++) {
            gauge->load_bytes[ring->hop_links[h]] += bytes;
        }
    }
}

// Where servers relay and the network has no rings, a group has two, there and back, on a tour that
// is short in hops, as in what is played.
static void carry_tour(struct gauge *gauge, const uint32_t *servers, uint32_t count, uint64_t hash,
                       struct weft_arena scratch)
{
    const struct weft_routes *routes = &gauge->network->routes;
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, count);
    uint16_t *hops = WEFT_NEW(&scratch, uint16_t, (size_t)count * count);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        for (uint32_t j = 0; j < count; j++) {
            bool joined = i != j && weft_routes_path_count(routes, servers[i], servers[j]) > 0;
            hops[(size_t)i * count + j] =
                (uint16_t)(joined ? weft_routes_hop_count(routes, servers[i], servers[j], 0) : 0);
        }
    }
    weft_routes_tour(order, count, hops, count);
    double bytes = gauge->mesh->size[WEFT_AXIS_TENSOR] * (count > 2 ? 0.5 : 1.0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t one = servers[order[i]];
        uint32_t two = servers[order[(i + 1) % count]];
        carry(gauge, one, two, hash ^ weft_hash(i), bytes);
        if (count > 2) {
            carry(gauge, two, one, hash ^ weft_hash(~(uint64_t)i), bytes);
        }
    }
}

// A group reduces on the network's rings over its servers where there are any, else round its
// servers in ascending order, as the flow engine does.
static void carry_group(struct gauge *gauge, const uint32_t *servers, uint32_t count,
                        const uint64_t *ring_hash, struct weft_arena scratch)
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
    if (group == WEFT_NONE && rings->ring_count == 0 && gauge->network->fabric.forwards &&
        count <= TOUR_MAX) {
        carry_tour(gauge, servers, count, hash, scratch);
        return;
    }
    for (uint32_t i = 0; i < count && group == WEFT_NONE; i++) {
        carry(gauge, servers[i], servers[(i + 1) % count], hash ^ weft_hash(i), bytes);
    }
}

// The gradients of every `step`-th replica, of all pipeline ranks at once.
struct gradients {
    const uint64_t *ring_hash; // per ring of the network, of its members
    uint32_t step;
};

static void lay_groups(struct gauge *gauge, const void *exchange, struct weft_arena scratch)
{
    const struct gradients *gradients = exchange;
    const struct weft_hybrid_mesh *mesh = gauge->mesh;
    uint32_t replicas = mesh->size[WEFT_AXIS_CONTEXT] * mesh->size[WEFT_AXIS_DATA];
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, replicas);
    for (uint32_t rank = 0; rank < mesh->size[WEFT_AXIS_PIPELINE]; rank++) {
        for (uint32_t first = 0; first < gradients->step; first++) {
            uint32_t fullest;
            uint32_t count =
                weft_hybrid_list_servers(servers, &fullest, mesh, first, gradients->step, rank);
            if (count > 1) {
                carry_group(gauge, servers, count, gradients->ring_hash, scratch);
            }
        }
    }
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
    const struct weft_ring_set *rings = &network->rings;
    uint64_t *ring_hash = WEFT_NEW(&scratch, uint64_t, (size_t)rings->ring_count + 1);
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        ring_hash[r] = set_hash(rings->rings[r].members, rings->rings[r].member_count);
    }
    const struct gradients shared = {ring_hash, 1};
    const struct gradients experts = {ring_hash, ep};
    const struct pattern ring = {&context, 0, true};
    const struct pattern shift = {&pipeline, 0, false};
    const struct pattern wrap = {&pipeline, 0, true};
    const struct pattern exchange = {&data, ep, true};
    const struct {
        double *rate_Bps;
        bool asked;
        lay_exchange lay;
        const void *exchange;
    } kinds[] = {
        {&rates.ring_Bps, group_size(mesh, &data) > 1, lay_groups, &shared},
        {&rates.experts_Bps, group_size(mesh, &data) > 1, lay_groups, &experts},
        {&rates.context_Bps, mesh->size[WEFT_AXIS_CONTEXT] > 1, lay_pattern, &ring},
        {&rates.shift_Bps, mesh->size[WEFT_AXIS_PIPELINE] > 1, lay_pattern, &shift},
        {&rates.wrap_Bps, mesh->size[WEFT_AXIS_PIPELINE] > 1, lay_pattern, &wrap},
        {&rates.exchange_Bps, ep > 1, lay_pattern, &exchange},
    };
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double rate_Bps =
            kinds[i].asked ? measure(mesh, network, kinds[i].lay, kinds[i].exchange, scratch) : 0;
        *kinds[i].rate_Bps = rate_Bps > 0 ? rate_Bps : line_Bps;
    }
    return rates;
}
