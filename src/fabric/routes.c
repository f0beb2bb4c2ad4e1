// SPDX-License-Identifier: Apache-2.0
// Paths of one pair of servers, by kind of routes. Links are sorted by from, then to, so computed
// kinds find a link by its place among its node's links and never search.
//
// shape[] of a TORUS are its sides X, Y, Z: server x + X * (y + Y * z); table[server*6 +
// 2*dimension + back] is the link to the next server that way. Those of switches are in
// routes_kinds.h.

#include "routes_kinds.h"

static uint32_t star_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t *links)
{
    const uint32_t *first = routes->fabric->first;
    links[0] = first[from];
    links[1] = first[routes->fabric->server_count] + to;
    return 2;
}

// ---- trees of switches ----

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// ---- trees ----

// Divisions are most of what a path costs, so that those by one, and by pods where there is one,
// are left out (bench_routes).
static uint32_t pod_of(const uint32_t *shape, uint32_t group)
{
    return shape[TREE_POD_GROUPS] >= shape[TREE_GROUPS] ? 0 : group / shape[TREE_POD_GROUPS];
}

static uint32_t tree_count(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    const uint32_t *shape = routes->shape;
    uint32_t from_group = from / shape[TREE_SIZE];
    uint32_t to_group = to / shape[TREE_SIZE];
    if (from_group == to_group) {
        return shape[TREE_RAILS];
    }
    uint32_t count = shape[TREE_RAILS] * shape[TREE_SPINES] * shape[TREE_MEET];
    return pod_of(shape, from_group) == pod_of(shape, to_group) ? count : count * shape[TREE_CORES];
}

static uint32_t tree_hops(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    const uint32_t *shape = routes->shape;
    uint32_t from_group = from / shape[TREE_SIZE];
    uint32_t to_group = to / shape[TREE_SIZE];
    return from_group == to_group                                 ? 2
           : pod_of(shape, from_group) == pod_of(shape, to_group) ? 4
                                                                  : 6;
}

// Divides *index by count and returns the rest.
static uint32_t digit(uint32_t *index, uint32_t count)
{
    if (count == 1) {
        return 0;
    }
    uint32_t rest = *index % count;
    *index /= count;
    return rest;
}

// Links up to the lowest common switches and down again: two hops below one leaf, four within a
// pod, six over a core.
static uint32_t tree_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t index, uint32_t *links)
{
    const uint32_t *shape = routes->shape;
    const uint32_t *first = routes->fabric->first;
    uint32_t n = routes->fabric->server_count;
    uint32_t rails = shape[TREE_RAILS];
    uint32_t size = shape[TREE_SIZE];
    uint32_t meet = shape[TREE_MEET];
    uint32_t groups = shape[TREE_GROUPS];
    uint32_t spines = shape[TREE_SPINES];
    uint32_t pod = shape[TREE_POD_GROUPS];
    uint32_t from_group = from / size;
    uint32_t to_group = to / size;
    if (from_group == to_group) {
        links[0] = first[from] + index;
        links[1] = first[n + from_group * rails + index] + (to - to_group * size);
        return 2;
    }
    uint32_t from_pod = pod_of(shape, from_group);
    uint32_t to_pod = pod_of(shape, to_group);
    uint32_t cores = shape[TREE_CORES];
    uint32_t down = digit(&index, meet); // which of the leaves that meet the path comes down by
    uint32_t core = from_pod != to_pod ? digit(&index, cores) : 0;
    uint32_t rail = 0;
    if (rails > 1) {
        rail = index / spines;
    }
    uint32_t spine = index - rail * spines;
    uint32_t plane = meet == 1 ? rail : rail / meet;
    uint32_t places = (meet == 1 ? rails : rails / meet) * spines; // spines of a pod
    uint32_t place = plane * spines + spine;
    uint32_t spine_base = n + groups * rails + place;
    uint32_t to_leaf = n + to_group * rails + plane * meet + down;
    uint32_t below = (to_group - to_pod * pod) * meet + down;
    uint32_t up = first[n + from_group * rails + rail] + least(size, n - from_group * size) + spine;
    uint32_t last = first[to_leaf] + (to - to_group * size);
    links[0] = first[from] + rail;
    if (from_pod == to_pod) {
        links[1] = up;
        links[2] = first[spine_base + from_pod * places] + below;
        links[3] = last;
        return 4;
    }
    uint32_t pod_groups = least(pod, groups - from_pod * pod);
    uint32_t top = routes->fabric->node_count - (places - place) * cores + core;
    links[1] = up;
    links[2] = first[spine_base + from_pod * places] + pod_groups * meet + core;
    links[3] = first[top] + to_pod;
    links[4] = first[spine_base + to_pod * places] + below;
    links[5] = last;
    return 6;
}

// ---- shortest paths ----

// The index-th shortest path in lexicographic order of nodes. path_counts says how many go through
// each next hop, so that the walk descends like a lookup in a counted tree: O(hops * degree),
// without keeping any path.
static uint32_t shortest_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                              uint32_t index, uint32_t *links)
{
    const struct weft_fabric *fabric = routes->fabric;
    const uint16_t *distance = routes->distance + (size_t)to * fabric->node_count;
    const uint8_t *path_counts = routes->path_counts + (size_t)to * fabric->node_count;
    uint32_t hops = distance[from];
    uint32_t left = index;
    uint32_t v = from;
    for (uint32_t i = 0; i < hops; i++) {
        uint32_t link = fabric->first[v];
        for (;; link++) {
            WEFT_ASSERT(link < fabric->first[v + 1]);
            uint32_t w = fabric->links[link].to;
            if (distance[w] != hops - i - 1) {
                continue;
            }
            if (left < path_counts[w]) {
                break;
            }
            left -= path_counts[w];
        }
        links[i] = link;
        v = fabric->links[link].to;
    }
    WEFT_ASSERT(v == to);
    return hops;
}

// ---- between accelerators ----

// Two hops over the server's own switch, or out by a NIC, through the fabric of the NICs and in by
// another. Links of a node are sorted by where they lead, and nodes are, in this order:
// accelerators, the servers' own switches, NICs that accelerators share, the switches of the
// planes. So
//   accelerator: its server's switch first, then its NIC or, where that is its own, the NIC's port
//   server's switch: its accelerators in order, then ports of fabrics without switches
//   shared NIC: its accelerators in order, then its port

// Where a transfer between two servers leaves and enters.
struct crossing {
    const struct weft_routes *plane;
    const uint32_t *links; // of the plane, here
    uint32_t from;         // the accelerator that sends to the fabric: of the receiver's rail where
                           // rails do not meet
    uint32_t out;          // ends in the plane
    uint32_t in;
};

static struct crossing cross(const struct weft_scale_up_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t a = routes->accelerators;
    uint32_t source = from / a;
    uint32_t target = to / a;
    if (routes->nics == 0) {
        return (struct crossing){routes->planes, routes->links[0], from, source, target};
    }
    uint32_t share = a / routes->nics; // accelerators of a NIC
    uint32_t nic = from % a / share;
    uint32_t nic_there = to % a / share;
    uint32_t plane = routes->plane_count > 1 ? nic_there : 0;
    if (routes->plane_count > 1 && nic != nic_there) {
        from = source * a + to % a;
        nic = nic_there;
    }
    return (struct crossing){&routes->planes[plane], routes->links[plane], from,
                             routes->ends[source * routes->nics + nic],
                             routes->ends[target * routes->nics + nic_there]};
}

// Links beside those in the plane.
static uint32_t own_hops(const struct weft_scale_up_routes *routes, const struct crossing *crossing,
                         uint32_t from)
{
    if (routes->nics == 0) {
        return 2;
    }
    uint32_t relays = crossing->from != from ? 2 : 0;
    return relays + (routes->nics < routes->accelerators ? 2 : 0);
}

static uint32_t scale_up_count(const struct weft_scale_up_routes *routes, uint32_t from,
                               uint32_t to)
{
    if (from / routes->accelerators == to / routes->accelerators) {
        return 1;
    }
    const struct crossing crossing = cross(routes, from, to);
    return weft_routes_path_count(crossing.plane, crossing.out, crossing.in);
}

static uint32_t scale_up_hops(const struct weft_scale_up_routes *routes, uint32_t from, uint32_t to,
                              uint32_t index)
{
    if (from / routes->accelerators == to / routes->accelerators) {
        return 2;
    }
    const struct crossing crossing = cross(routes, from, to);
    return own_hops(routes, &crossing, from) +
           weft_routes_hop_count(crossing.plane, crossing.out, crossing.in, index);
}

// Two links over the switch of the accelerators' server.
static uint32_t inside_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                            uint32_t *links)
{
    const struct weft_fabric *fabric = routes->fabric;
    uint32_t a = routes->scale_up->accelerators;
    uint32_t up = fabric->first[from];
    links[0] = up;
    links[1] = fabric->first[fabric->links[up].to] + to % a;
    return 2;
}

// Up to the NIC of the sender's rail, along the path of the planes that the index names, down to
// the receiver; who sends to another rail of planes that do not meet passes by its own server
// first.
static uint32_t scale_up_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                              uint32_t index, uint32_t *links)
{
    const struct weft_scale_up_routes *own = routes->scale_up;
    const struct weft_fabric *fabric = routes->fabric;
    uint32_t a = own->accelerators;
    if (from / a == to / a) {
        return inside_path(routes, from, to, links);
    }
    const struct crossing crossing = cross(own, from, to);
    bool shared = own->nics > 0 && own->nics < a;
    uint32_t count = 0;
    if (own->nics == 0) {
        links[count++] = fabric->first[from];
    } else if (crossing.from != from) {
        count = inside_path(routes, from, crossing.from, links);
    }
    if (shared) {
        links[count++] = fabric->first[crossing.from] + 1;
    }
    uint32_t hops =
        weft_routes_path(crossing.plane, crossing.out, crossing.in, index, links + count, NULL);
    for (uint32_t i = count; i < count + hops; i++) {
        links[i] = crossing.links[links[i]];
    }
    count += hops;
    if (own->nics == 0 || shared) { // from the server's switch, or from the NIC, to the accelerator
        uint32_t last = fabric->links[links[count - 1]].to;
        links[count++] = fabric->first[last] + to % a % (shared ? a / own->nics : a);
    }
    return count;
}

// ---- any kind ----

uint32_t weft_routes_path_count(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t n = routes->fabric->server_count;
    WEFT_ASSERT(from < n && to < n);
    if (from == to) {
        return 0;
    }
    switch (routes->kind) {
    case WEFT_ROUTES_TABLE: {
        const uint32_t *pair = routes->pair_first + (size_t)from * n + to;
        return pair[1] - pair[0];
    }
    case WEFT_ROUTES_TREE:
        return tree_count(routes, from, to);
    case WEFT_ROUTES_DRAGONFLY:
        return dragonfly_count(routes, from, to);
    case WEFT_ROUTES_SHORTEST:
        return routes->path_counts[(size_t)to * routes->fabric->node_count + from];
    case WEFT_ROUTES_SCALE_UP:
        return scale_up_count(routes->scale_up, from, to);
    case WEFT_ROUTES_CIRCULANT:
        return routes->table[to > from ? to - from : to + n - from] != 0 ? 1 : 0;
    case WEFT_ROUTES_STAR:
    case WEFT_ROUTES_RING:
    case WEFT_ROUTES_TORUS:
        break;
    }
    return 1;
}

static uint32_t table_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                           uint32_t index, uint32_t *links, double *weight)
{
    size_t pair = (size_t)from * routes->fabric->server_count + to;
    uint32_t path = routes->pair_first[pair] + index;
    WEFT_ASSERT(path < routes->pair_first[pair + 1]);
    uint32_t begin = routes->path_first[path];
    uint32_t count = routes->path_first[path + 1] - begin;
    for (uint32_t i = 0; i < count; i++) {
        links[i] = routes->path_links[begin + i];
    }
    if (weight != NULL) {
        *weight = routes->path_weight[path];
    }
    return count;
}

uint32_t weft_routes_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t index, uint32_t *links, double *weight)
{
    if (routes->kind == WEFT_ROUTES_TABLE) {
        return table_path(routes, from, to, index, links, weight);
    }
    if (weight != NULL) {
        *weight = 1.0 / weft_routes_path_count(routes, from, to);
    }
    switch (routes->kind) {
    case WEFT_ROUTES_STAR:
        return star_path(routes, from, to, links);
    case WEFT_ROUTES_TREE:
        return tree_path(routes, from, to, index, links);
    case WEFT_ROUTES_DRAGONFLY:
        return dragonfly_path(routes, from, to, index, links);
    case WEFT_ROUTES_RING:
        return ring_path(routes, from, to, links);
    case WEFT_ROUTES_TORUS:
        return torus_path(routes, from, to, links);
    case WEFT_ROUTES_CIRCULANT:
        return circulant_path(routes, from, to, links);
    case WEFT_ROUTES_SHORTEST:
        return shortest_path(routes, from, to, index, links);
    case WEFT_ROUTES_SCALE_UP:
        return scale_up_path(routes, from, to, index, links);
    case WEFT_ROUTES_TABLE:
        break;
    }
    WEFT_ASSERT(false);
    return 0;
}

uint32_t weft_routes_hop_count(const struct weft_routes *routes, uint32_t from, uint32_t to,
                               uint32_t index)
{
    uint32_t n = routes->fabric->server_count;
    uint32_t hops = 2; // STAR
    switch (routes->kind) {
    case WEFT_ROUTES_TABLE: {
        uint32_t path = routes->pair_first[(size_t)from * n + to] + index;
        return routes->path_first[path + 1] - routes->path_first[path];
    }
    case WEFT_ROUTES_TREE:
        return tree_hops(routes, from, to);
    case WEFT_ROUTES_DRAGONFLY:
        return dragonfly_hops(routes, from, to, index);
    case WEFT_ROUTES_RING:
        return ring_hops(routes, from, to);
    case WEFT_ROUTES_TORUS:
        return torus_hops(routes, from, to);
    case WEFT_ROUTES_CIRCULANT:
        return circulant_hops(routes, from, to);
    case WEFT_ROUTES_SHORTEST:
        return routes->distance[(size_t)to * routes->fabric->node_count + from];
    case WEFT_ROUTES_SCALE_UP:
        return scale_up_hops(routes->scale_up, from, to, index);
    case WEFT_ROUTES_STAR:
        break;
    }
    return hops;
}

// The upper half of the mixed hash, scaled to the count.
uint32_t weft_routes_pick_equal(uint32_t count, uint64_t hash)
{
    WEFT_ASSERT(count > 0);
    return (uint32_t)(((weft_hash(hash) >> 32) * count) >> 32);
}

uint32_t weft_routes_pick(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint64_t hash)
{
    uint32_t count = weft_routes_path_count(routes, from, to);
    WEFT_ASSERT(count > 0);
    if (count == 1) {
        return 0;
    }
    if (routes->kind != WEFT_ROUTES_TABLE) {
        return weft_routes_pick_equal(count, hash);
    }
    uint64_t mixed = weft_hash(hash) >> 32;
    size_t pair = (size_t)from * routes->fabric->server_count + to;
    const double *weights = routes->path_weight + routes->pair_first[pair];
    double left = (double)mixed * 0x1p-32;
    uint32_t index = 0;
    while (index + 1 < count && left >= weights[index]) {
        left -= weights[index];
        index++;
    }
    return index;
}

// ---- transfers ----

// Of a server, whose paths from each stand together; 1 where routes do not tell.
static uint32_t count_nics(const struct weft_routes *routes)
{
    switch (routes->kind) {
    case WEFT_ROUTES_TREE:
        return routes->shape[TREE_RAILS];
    case WEFT_ROUTES_DRAGONFLY:
        return routes->shape[DRAGONFLY_RAILS];
    case WEFT_ROUTES_TABLE:
    case WEFT_ROUTES_STAR:
    case WEFT_ROUTES_RING:
    case WEFT_ROUTES_TORUS:
    case WEFT_ROUTES_CIRCULANT:
    case WEFT_ROUTES_SHORTEST:
    case WEFT_ROUTES_SCALE_UP:
        break;
    }
    return 1;
}

// The first of a NIC's paths (tree_path, dragonfly_path), and how many it has.
static uint32_t find_nic_paths(uint32_t *count, const struct weft_routes *routes, uint32_t from,
                               uint32_t to, uint32_t nic)
{
    if (routes->kind == WEFT_ROUTES_DRAGONFLY) {
        return dragonfly_rail(count, routes, from, to, nic);
    }
    *count = weft_routes_path_count(routes, from, to) / count_nics(routes);
    return nic * *count;
}

uint32_t weft_routes_part_count(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t count = weft_routes_path_count(routes, from, to);
    switch (routes->spread) {
    case WEFT_SPREAD_PICK:
        return count > 0 ? 1 : 0;
    case WEFT_SPREAD_NICS:
        return count > 0 ? count_nics(routes) : 0;
    case WEFT_SPREAD_SPLIT:
        break;
    }
    return count;
}

uint32_t weft_routes_part(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t part, uint64_t hash)
{
    switch (routes->spread) {
    case WEFT_SPREAD_PICK:
        return weft_routes_pick(routes, from, to, hash);
    case WEFT_SPREAD_NICS: {
        uint32_t own;
        uint32_t first = find_nic_paths(&own, routes, from, to, part);
        return first + weft_routes_pick_equal(own, hash ^ weft_hash(part));
    }
    case WEFT_SPREAD_SPLIT:
        break;
    }
    return part;
}

void weft_routes_divide_by_nics(struct weft_routes *routes)
{
    if (count_nics(routes) > 1) {
        routes->spread = WEFT_SPREAD_NICS;
    }
}
