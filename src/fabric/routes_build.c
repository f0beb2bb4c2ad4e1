// SPDX-License-Identifier: Apache-2.0
// Routes for fabrics that others made: stars, rings, shortest paths and tables of paths. Stars and
// rings are only recognised: their paths are computed when they are asked for (routes.c). Shortest
// paths are a table of distances to each server and of the number of paths (up to 255) from each
// node, by breadth-first search against the links: ECMP over all of them, O(servers * links) time
// and O(servers * nodes) memory. Tables keep explicit paths with weights, checked link by link and
// sorted by pair: O(nodes of all paths).

#include "weft/fabric.h"

// Bounds on memory, not measured: 16384 servers are 3 bytes for each pair with distances and path
// counts, and 32-bit pair numbers in tables. Weights stay exact in sums over a pair's paths.
#define SHORTEST_SERVERS_MAX 16384u
#define TABLE_SERVERS_MAX 16384u
#define WEIGHT_MAX 1e15

bool weft_routes_build_star(struct weft_routes *routes, const struct weft_fabric *fabric,
                            struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    bool star = fabric->node_count == n + 1 && fabric->link_count == 2 * n;
    for (uint32_t s = 0; star && s < n; s++) {
        star = fabric->links[fabric->first[s]].from == s &&
               fabric->links[fabric->first[s]].to == n &&
               fabric->links[fabric->first[n] + s].to == s;
    }
    if (!star) {
        return weft_fail(error, WEFT_INPUT,
                         "fabric '%s' is not one switch that joins every server both ways",
                         fabric->name);
    }
    *routes = (struct weft_routes){.kind = WEFT_ROUTES_STAR, .fabric = fabric, .hop_max = 2};
    return true;
}

bool weft_routes_build_ring(struct weft_routes *routes, const struct weft_fabric *fabric,
                            struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    bool ring = n >= 2 && fabric->node_count == n && fabric->link_count == (n == 2 ? 2 : 2 * n);
    for (uint32_t s = 0; ring && s < n; s++) {
        uint32_t next = s == n - 1 ? 0 : s + 1;
        ring = weft_fabric_find_link(fabric, s, next) != WEFT_NONE &&
               weft_fabric_find_link(fabric, next, s) != WEFT_NONE;
    }
    if (!ring) {
        return weft_fail(error, WEFT_INPUT,
                         "fabric '%s' is not a ring of its servers in order, both ways",
                         fabric->name);
    }
    *routes = (struct weft_routes){.kind = WEFT_ROUTES_RING, .fabric = fabric, .hop_max = n / 2};
    return true;
}

// ---- shortest paths ----

// Links turned round: sources of the links into node v are sources[first[v]] ...
struct incoming {
    uint32_t *first;
    uint32_t *sources;
};

static struct incoming turn_round(const struct weft_fabric *fabric, struct weft_arena *arena)
{
    uint32_t n = fabric->node_count;
    struct incoming in = {WEFT_NEW(arena, uint32_t, (size_t)n + 2),
                          WEFT_NEW_RAW(arena, uint32_t, fabric->link_count)};
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        in.first[fabric->links[i].to + 2]++;
    }
    for (uint32_t v = 0; v < n; v++) {
        in.first[v + 2] += in.first[v + 1];
    }
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        in.sources[in.first[fabric->links[i].to + 1]++] = fabric->links[i].from;
    }
    return in;
}

// What the search to one server writes, per node.
struct reach {
    uint16_t *distance;   // hops to it
    uint8_t *path_counts; // shortest paths to it, at most UINT8_MAX
    uint32_t *queue;
};

// Hops to server `to` and numbers of shortest paths, for every node, breadth first along the
// incoming links. Returns how far the farthest server is, or WEFT_NONE and the lowest unreached
// server in *lost.
static uint32_t measure(const struct reach *reach, const struct weft_fabric *fabric,
                        const struct incoming *in, uint32_t to, uint32_t *lost)
{
    uint16_t *distance = reach->distance;
    uint8_t *path_counts = reach->path_counts;
    uint32_t *queue = reach->queue;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        distance[v] = UINT16_MAX;
        path_counts[v] = 0;
    }
    uint32_t tail = 0;
    queue[tail++] = to;
    distance[to] = 0;
    path_counts[to] = 1;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t v = queue[head];
        if (v < fabric->server_count && v != to && !fabric->forwards) {
            continue;
        }
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            uint32_t w = in->sources[i];
            if (distance[w] == UINT16_MAX) {
                distance[w] = (uint16_t)(distance[v] + 1);
                queue[tail++] = w;
            }
            if (distance[w] == distance[v] + 1) {
                uint32_t sum = (uint32_t)path_counts[w] + path_counts[v];
                path_counts[w] = (uint8_t)(sum < UINT8_MAX ? sum : UINT8_MAX);
            }
        }
    }
    uint32_t farthest = 0;
    for (uint32_t s = 0; s < fabric->server_count; s++) {
        if (distance[s] == UINT16_MAX) {
            *lost = s;
            return WEFT_NONE;
        }
        farthest = distance[s] > farthest ? distance[s] : farthest;
    }
    return farthest;
}

bool weft_routes_build_shortest(struct weft_routes *routes, const struct weft_fabric *fabric,
                                struct weft_arena *arena, struct weft_arena scratch,
                                struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    if (n > SHORTEST_SERVERS_MAX || fabric->node_count > UINT16_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "fabric '%s' has %u servers and %u nodes; shortest paths are kept for at "
                         "most %u servers and %u nodes",
                         fabric->name, n, fabric->node_count, SHORTEST_SERVERS_MAX, UINT16_MAX);
    }
    size_t size = (size_t)n * fabric->node_count;
    uint16_t *distance = WEFT_NEW_RAW(arena, uint16_t, size);
    uint8_t *path_counts = WEFT_NEW_RAW(arena, uint8_t, size);
    struct incoming in = turn_round(fabric, &scratch);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    uint32_t hop_max = 0;
    for (uint32_t t = 0; t < n; t++) {
        size_t row = (size_t)t * fabric->node_count;
        uint32_t lost = 0;
        uint32_t farthest = measure(&(struct reach){distance + row, path_counts + row, queue},
                                    fabric, &in, t, &lost);
        if (farthest == WEFT_NONE) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "fabric '%s' is disconnected: no path from server %u to server %u; "
                             "add links between their parts",
                             fabric->name, lost, t);
        }
        hop_max = farthest > hop_max ? farthest : hop_max;
    }
    *routes = (struct weft_routes){
        .kind = WEFT_ROUTES_SHORTEST,
        .fabric = fabric,
        .hop_max = hop_max,
        .distance = distance,
        .path_counts = path_counts,
    };
    return true;
}

// ---- tables ----

static double weight_of(const struct weft_route_table *table, uint32_t path)
{
    return table->weights == NULL ? 1.0 : table->weights[path];
}

// `seen[v]` holds the last path that visited v, plus one.
static bool check_path(const struct weft_fabric *fabric, const struct weft_route_table *table,
                       uint32_t path, uint32_t *seen, struct weft_error *error)
{
    const uint32_t *nodes = table->path_nodes + table->node_first[path];
    uint32_t count = table->node_first[path + 1] - table->node_first[path];
    if (count < 2) {
        return weft_fail(error, WEFT_INPUT, "%u nodes are no path; give at least two", count);
    }
    if (nodes[0] >= fabric->server_count || nodes[count - 1] >= fabric->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "from node %u to node %u; paths begin and end at servers 0 to %u",
                         nodes[0], nodes[count - 1], fabric->server_count - 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i] >= fabric->node_count) {
            return weft_fail(error, WEFT_INPUT, "node %u does not exist", nodes[i]);
        }
        if (seen[nodes[i]] == path + 1) {
            return weft_fail(error, WEFT_INPUT, "node %u stands twice; paths may not loop",
                             nodes[i]);
        }
        seen[nodes[i]] = path + 1;
        if (i > 0 && weft_fabric_find_link(fabric, nodes[i - 1], nodes[i]) == WEFT_NONE) {
            return weft_fail(error, WEFT_INPUT, "there is no link from node %u to node %u",
                             nodes[i - 1], nodes[i]);
        }
    }
    if (!(weight_of(table, path) > 0 && weight_of(table, path) <= WEIGHT_MAX)) {
        return weft_fail(error, WEFT_INPUT,
                         "weight %g is not above 0 and at most %g; leave unused paths out",
                         weight_of(table, path), WEIGHT_MAX);
    }
    return true;
}

static size_t pair_of(const struct weft_route_table *table, uint32_t path, uint32_t server_count)
{
    const uint32_t *nodes = table->path_nodes + table->node_first[path];
    uint32_t count = table->node_first[path + 1] - table->node_first[path];
    return (size_t)nodes[0] * server_count + nodes[count - 1];
}

static bool check_table(const struct weft_fabric *fabric, const struct weft_route_table *table,
                        struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    if (n > TABLE_SERVERS_MAX || table->path_count == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "%u servers are too many for a table of paths", n);
    }
    uint32_t *seen = WEFT_NEW(&scratch, uint32_t, fabric->node_count);
    for (uint32_t path = 0; path < table->path_count; path++) {
        if (!check_path(fabric, table, path, seen, error)) {
            return weft_wrap(error, "path %u", path);
        }
    }
    return true;
}

// Every pair of distinct servers has a path. pair_first as in weft_routes.
static bool check_complete(const struct weft_fabric *fabric, const uint32_t *pair_first,
                           struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            size_t pair = (size_t)s * n + t;
            if (s != t && pair_first[pair] == pair_first[pair + 1]) {
                return weft_fail(error, WEFT_INPUT,
                                 "no path is given from server %u to server %u; add one", s, t);
            }
        }
    }
    return true;
}

// Links and weights of the paths in the order of their pairs; `order` lists the table's paths so.
static void fill_table(struct weft_routes *routes, const struct weft_route_table *table,
                       const uint32_t *order, struct weft_arena *arena)
{
    uint32_t count = table->path_count;
    const struct weft_fabric *fabric = routes->fabric;
    uint32_t *path_first = WEFT_NEW_RAW(arena, uint32_t, (size_t)count + 1);
    double *path_weight = WEFT_NEW_RAW(arena, double, count);
    uint32_t hop_sum = count == 0 ? 0 : table->node_first[count] - table->node_first[0] - count;
    uint32_t *path_links = WEFT_NEW_RAW(arena, uint32_t, hop_sum);
    uint32_t filled = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t *nodes = table->path_nodes + table->node_first[order[k]];
        uint32_t hops = table->node_first[order[k] + 1] - table->node_first[order[k]] - 1;
        path_first[k] = filled;
        path_weight[k] = weight_of(table, order[k]);
        for (uint32_t i = 0; i < hops; i++) {
            path_links[filled++] = weft_fabric_find_link(fabric, nodes[i], nodes[i + 1]);
        }
        routes->hop_max = hops > routes->hop_max ? hops : routes->hop_max;
    }
    path_first[count] = filled;
    WEFT_ASSERT(filled == hop_sum);
    size_t pair_count = (size_t)fabric->server_count * fabric->server_count;
    for (size_t pair = 0; pair < pair_count; pair++) {
        double sum = 0;
        for (uint32_t k = routes->pair_first[pair]; k < routes->pair_first[pair + 1]; k++) {
            sum += path_weight[k];
        }
        for (uint32_t k = routes->pair_first[pair]; k < routes->pair_first[pair + 1]; k++) {
            path_weight[k] /= sum;
        }
    }
    routes->path_first = path_first;
    routes->path_links = path_links;
    routes->path_weight = path_weight;
}

bool weft_routes_build_table(struct weft_routes *routes, const struct weft_fabric *fabric,
                             const struct weft_route_table *table, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error)
{
    if (!check_table(fabric, table, scratch, error)) {
        return false;
    }
    uint32_t n = fabric->server_count;
    size_t pair_count = (size_t)n * n;
    uint32_t *pair_first = WEFT_NEW(arena, uint32_t, pair_count + 1);
    for (uint32_t path = 0; path < table->path_count; path++) {
        pair_first[pair_of(table, path, n) + 1]++;
    }
    for (size_t pair = 0; pair < pair_count; pair++) {
        pair_first[pair + 1] += pair_first[pair];
    }
    if (!table->partial && !check_complete(fabric, pair_first, error)) {
        return false;
    }
    uint32_t *next = WEFT_NEW_RAW(&scratch, uint32_t, pair_count);
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, table->path_count);
    for (size_t pair = 0; pair < pair_count; pair++) {
        next[pair] = pair_first[pair];
    }
    for (uint32_t path = 0; path < table->path_count; path++) {
        order[next[pair_of(table, path, n)]++] = path;
    }
    struct weft_routes built = {
        .kind = WEFT_ROUTES_TABLE, .fabric = fabric, .pair_first = pair_first};
    fill_table(&built, table, order, arena);
    *routes = built;
    return true;
}
