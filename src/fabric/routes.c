// SPDX-License-Identifier: Apache-2.0
// Paths of one pair of servers, by kind of routes. Links are sorted by from, then to, so computed
// kinds find a link by its place among its node's links and never search.
//
// shape[] of each computed kind, n = servers:
//   FAT_TREE    {servers an edge switch h, aggregation switches a pod u, cores of each c, edges E,
//               edges a pod g}
//               nodes: servers, E edge switches, pods * u aggregation switches, u * c cores;
//               edge e holds servers e*h .., pod p holds edges p*g .., core (j, i) joins the j-th
//               aggregation switch of every pod; path index = j * c + i (j inside a pod)
//   LEAF_SPINE  {rails d, servers a group g, spines a rail S, groups G}
//               nodes: servers, leaves (group * d + rail), spines (rail * S + j);
//               path index = rail * S + j (rail inside a group)
//   TORUS       {sides X, Y, Z}; server x + X * (y + Y * z); table[server*6 + 2*dimension + back]
//               is the link to the next server that way

#include "weft/fabric.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t star_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t *links)
{
    const uint32_t *first = routes->fabric->first;
    links[0] = first[from];
    links[1] = first[routes->fabric->server_count] + to;
    return 2;
}

// ---- fat-tree ----

static uint32_t fat_tree_count(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t h = routes->shape[0];
    uint32_t from_edge = from / h;
    uint32_t to_edge = to / h;
    if (from_edge == to_edge) {
        return 1;
    }
    uint32_t u = routes->shape[1];
    uint32_t g = routes->shape[4];
    return from_edge / g == to_edge / g ? u : u * routes->shape[2];
}

// Links up to the lowest common switch and down again: two hops below one edge switch, four within
// a pod, six over a core. Nothing is searched: each link's number follows from the numbering at the
// top of this file, since a node's links are sorted and down-links come before up-links.
static uint32_t fat_tree_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                              uint32_t index, uint32_t *links)
{
    const struct weft_fabric *fabric = routes->fabric;
    const uint32_t *first = fabric->first;
    uint32_t h = routes->shape[0];
    uint32_t u = routes->shape[1];
    uint32_t c = routes->shape[2];
    uint32_t edge_count = routes->shape[3];
    uint32_t g = routes->shape[4];
    uint32_t edges = fabric->server_count;
    uint32_t aggregations = edges + edge_count;
    uint32_t from_edge = from / h;
    uint32_t to_edge = to / h;
    uint32_t down = first[edges + to_edge] + (to - to_edge * h);
    links[0] = first[from];
    if (from_edge == to_edge) {
        links[1] = down;
        return 2;
    }
    uint32_t from_pod = from_edge / g;
    uint32_t to_pod = to_edge / g;
    uint32_t edge_servers = least(h, fabric->server_count - from_edge * h);
    uint32_t up = first[edges + from_edge] + edge_servers;
    if (from_pod == to_pod) {
        links[1] = up + index;
        links[2] = first[aggregations + from_pod * u + index] + (to_edge - to_pod * g);
        links[3] = down;
        return 4;
    }
    uint32_t j = index / c;
    uint32_t i = index % c;
    uint32_t pod_edges = least(g, edge_count - from_pod * g);
    uint32_t core = fabric->node_count - u * c + index;
    links[1] = up + j;
    links[2] = first[aggregations + from_pod * u + j] + pod_edges + i;
    links[3] = first[core] + to_pod;
    links[4] = first[aggregations + to_pod * u + j] + (to_edge - to_pod * g);
    links[5] = down;
    return 6;
}

// ---- leaf-spine ----

static uint32_t leaf_spine_count(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t size = routes->shape[1];
    return routes->shape[0] * (from / size == to / size ? 1 : routes->shape[2]);
}

// Two hops over a leaf of the group that both servers hang on, else four over a spine of one rail.
// The index chooses the rail, and between groups the spine of that rail as well.
static uint32_t leaf_spine_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                                uint32_t index, uint32_t *links)
{
    const struct weft_fabric *fabric = routes->fabric;
    const uint32_t *first = fabric->first;
    uint32_t rails = routes->shape[0];
    uint32_t size = routes->shape[1];
    uint32_t from_group = from / size;
    uint32_t to_group = to / size;
    uint32_t leaves = fabric->server_count;
    if (from_group == to_group) {
        links[0] = first[from] + index;
        links[1] = first[leaves + from_group * rails + index] + (to - to_group * size);
        return 2;
    }
    uint32_t spines = routes->shape[2];
    uint32_t rail = index / spines;
    uint32_t from_leaf = leaves + from_group * rails + rail;
    uint32_t group_servers = least(size, fabric->server_count - from_group * size);
    uint32_t spine = leaves + routes->shape[3] * rails + index;
    links[0] = first[from] + rail;
    links[1] = first[from_leaf] + group_servers + index % spines;
    links[2] = first[spine] + to_group;
    links[3] = first[leaves + to_group * rails + rail] + (to - to_group * size);
    return 4;
}

// ---- rings and tori ----

// Which way is shorter round a cycle of n, and how many hops it takes. Opposite ends go forward
// from even places and backward from odd ones, so that both ways carry alike.
static bool goes_forward(uint32_t n, uint32_t from, uint32_t to, uint32_t *hops)
{
    uint32_t ahead = to >= from ? to - from : to + n - from;
    bool forward = 2 * ahead < n || (2 * ahead == n && from % 2 == 0);
    *hops = forward ? ahead : n - ahead;
    return forward;
}

static uint32_t ring_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                          uint32_t *links)
{
    const uint32_t *first = routes->fabric->first;
    uint32_t n = routes->fabric->server_count;
    uint32_t hops;
    bool forward = goes_forward(n, from, to, &hops);
    uint32_t v = from;
    for (uint32_t i = 0; i < hops; i++) {
        // Of a server's two links the one to the lower server comes first; the first and the last
        // server join each other. With two servers there is only one link.
        bool inner = v != 0 && v != n - 1;
        bool second = n > 2 && forward == inner;
        links[i] = first[v] + (second ? 1 : 0);
        if (forward) {
            v = v == n - 1 ? 0 : v + 1;
        } else {
            v = v == 0 ? n - 1 : v - 1;
        }
    }
    return hops;
}

static uint32_t torus_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                           uint32_t *links)
{
    uint32_t count = 0;
    uint32_t v = from;
    uint32_t from_rest = from;
    uint32_t to_rest = to;
    for (uint32_t dimension = 0; dimension < 3; dimension++) {
        uint32_t side = routes->shape[dimension];
        uint32_t hops;
        bool forward = goes_forward(side, from_rest % side, to_rest % side, &hops);
        from_rest /= side;
        to_rest /= side;
        for (uint32_t i = 0; i < hops; i++) {
            uint32_t link = routes->table[v * 6 + 2 * dimension + (forward ? 0 : 1)];
            links[count++] = link;
            v = routes->fabric->links[link].to;
        }
    }
    return count;
}

static uint32_t circulant_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                               uint32_t *links)
{
    uint32_t n = routes->fabric->server_count;
    uint32_t left = to >= from ? to - from : to + n - from;
    uint32_t v = from;
    uint32_t count = 0;
    while (left != 0) {
        uint32_t jump = routes->table[left];
        uint32_t next = v + jump < n ? v + jump : v + jump - n;
        links[count] = weft_fabric_find_link(routes->fabric, v, next);
        WEFT_ASSERT(links[count] != WEFT_NONE && count < routes->hop_max);
        count++;
        v = next;
        left = left >= jump ? left - jump : left + n - jump;
    }
    return count;
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
    case WEFT_ROUTES_FAT_TREE:
        return fat_tree_count(routes, from, to);
    case WEFT_ROUTES_LEAF_SPINE:
        return leaf_spine_count(routes, from, to);
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
    case WEFT_ROUTES_FAT_TREE:
        return fat_tree_path(routes, from, to, index, links);
    case WEFT_ROUTES_LEAF_SPINE:
        return leaf_spine_path(routes, from, to, index, links);
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

static uint32_t torus_hops(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t dimension = 0; dimension < 3; dimension++) {
        uint32_t side = routes->shape[dimension];
        uint32_t hops;
        goes_forward(side, from % side, to % side, &hops);
        count += hops;
        from /= side;
        to /= side;
    }
    return count;
}

static uint32_t circulant_hops(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t n = routes->fabric->server_count;
    uint32_t left = to >= from ? to - from : to + n - from;
    uint32_t count = 0;
    while (left != 0) {
        uint32_t jump = routes->table[left];
        WEFT_ASSERT(jump != 0 && count < routes->hop_max);
        left = left >= jump ? left - jump : left + n - jump;
        count++;
    }
    return count;
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
    case WEFT_ROUTES_FAT_TREE: {
        uint32_t h = routes->shape[0];
        uint32_t g = routes->shape[4];
        return from / h == to / h ? 2 : from / h / g == to / h / g ? 4 : 6;
    }
    case WEFT_ROUTES_LEAF_SPINE:
        return from / routes->shape[1] == to / routes->shape[1] ? 2 : 4;
    case WEFT_ROUTES_RING:
        goes_forward(n, from, to, &hops);
        return hops;
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
