// SPDX-License-Identifier: Apache-2.0
// From the paths of pairs to weighted next hops of servers, without cycles.
//
// A route is a set of weighted paths; what forwards a packet sees its source and target but not the
// path it is on. If each server just used the next hops of all paths that pass it, two paths of one
// pair that pass two servers in opposite order would send packets back and forth between them. So
// the paths of a pair are merged into one graph, the heaviest first, and a path that would close a
// cycle with those before is left out: what remains is acyclic, reaches the target from everywhere
// it leads, and carries as much of the pair's weight as this order can keep. O(paths * hops *
// (edges of a pair) + steps log steps).

#include "weft/routing.h"

#include <stdlib.h>

// Linux takes weights of 1 to 256 in a multipath route (rtnh_hops is a byte).
#define WEIGHT_SUM 256.0

// ---- steps ----

// At `node`, on the way from source to target, this share of the pair's bytes goes to `next`.
struct step {
    uint32_t node;
    uint32_t source;
    uint32_t target;
    uint32_t next;
    double weight;
};

struct steps {
    size_t count;
    const struct step *steps; // by node, source, target, next; no two alike
};

// The paths of one pair as a graph: edges in lists by node.
struct edge {
    uint32_t from;
    uint32_t to;
    uint32_t sibling; // next edge of `from`
    double weight;
};

struct pair_graph {
    struct edge *edges;
    uint32_t edge_count;
    uint32_t *head;  // per node
    uint32_t *mark;  // per node: the last search that came by
    uint32_t *stack; // node_count
    uint32_t search;
};

static uint32_t find_edge(const struct pair_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t edge = graph->head[from];
    while (edge != WEFT_NONE && graph->edges[edge].to != to) {
        edge = graph->edges[edge].sibling;
    }
    return edge;
}

// Whether a walk along the edges leads from one node to the other: a depth-first search.
static bool reaches(struct pair_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t depth = 0;
    uint32_t search = ++graph->search;
    graph->stack[depth++] = from;
    graph->mark[from] = search;
    while (depth > 0) {
        uint32_t node = graph->stack[--depth];
        if (node == to) {
            return true;
        }
        for (uint32_t e = graph->head[node]; e != WEFT_NONE; e = graph->edges[e].sibling) {
            uint32_t next = graph->edges[e].to;
            if (graph->mark[next] != search) {
                graph->mark[next] = search;
                graph->stack[depth++] = next;
            }
        }
    }
    return false;
}

// Takes back the edges behind the first edge_count.
static void trim(struct pair_graph *graph, uint32_t edge_count)
{
    while (graph->edge_count > edge_count) {
        const struct edge *edge = &graph->edges[--graph->edge_count];
        graph->head[edge->from] = edge->sibling;
    }
}

// Adds a path, unless one of its links would close a cycle with those of heavier paths.
static void add_path(struct pair_graph *graph, const struct weft_fabric *fabric,
                     const uint32_t *links, uint32_t hops, double weight)
{
    uint32_t before = graph->edge_count;
    for (uint32_t h = 0; h < hops; h++) {
        const struct weft_link *link = &fabric->links[links[h]];
        if (find_edge(graph, link->from, link->to) != WEFT_NONE) {
            continue;
        }
        if (reaches(graph, link->to, link->from)) {
            trim(graph, before);
            return;
        }
        graph->edges[graph->edge_count] =
            (struct edge){link->from, link->to, graph->head[link->from], 0};
        graph->head[link->from] = graph->edge_count++;
    }
    for (uint32_t h = 0; h < hops; h++) {
        const struct weft_link *link = &fabric->links[links[h]];
        graph->edges[find_edge(graph, link->from, link->to)].weight += weight;
    }
}

// Indices of the pair's paths, heaviest first, ties by index.
struct ranked {
    double weight;
    uint32_t path;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    if (a->weight != b->weight) {
        return a->weight < b->weight ? 1 : -1;
    }
    return (a->path > b->path) - (a->path < b->path);
}

static int compare_steps(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;
    const uint32_t keys[2][4] = {{a->node, a->source, a->target, a->next},
                                 {b->node, b->source, b->target, b->next}};
    for (uint32_t i = 0; i < 4; i++) {
        if (keys[0][i] != keys[1][i]) {
            return keys[0][i] < keys[1][i] ? -1 : 1;
        }
    }
    return 0;
}

// The graph of a pair: its paths heaviest first, so that what is left out weighs little.
static void fill_pair(struct pair_graph *graph, const struct weft_routes *routes, uint32_t source,
                      uint32_t target, struct weft_arena scratch)
{
    uint32_t count = weft_routes_path_count(routes, source, target);
    uint32_t *links = WEFT_NEW(&scratch, uint32_t, (size_t)routes->hop_max + 1);
    struct ranked *ranked = WEFT_NEW(&scratch, struct ranked, count);
    for (uint32_t i = 0; i < count; i++) {
        weft_routes_path(routes, source, target, i, links, &ranked[i].weight);
        ranked[i].path = i;
    }
    qsort(ranked, count, sizeof ranked[0], compare_ranked);
    for (uint32_t i = 0; i < count; i++) {
        double weight = 0;
        uint32_t hops = weft_routes_path(routes, source, target, ranked[i].path, links, &weight);
        if (weight > 0) {
            add_path(graph, routes->fabric, links, hops, weight);
        }
    }
}

// All steps of all pairs, by node, source, target, next. O(paths * hops + steps log steps).
static struct steps list_steps(const struct weft_routes *routes, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = routes->fabric;
    uint32_t n = fabric->server_count;
    struct pair_graph graph = {
        .edges = WEFT_NEW(arena, struct edge, (size_t)fabric->link_count + 1),
        .head = WEFT_NEW(arena, uint32_t, fabric->node_count),
        .mark = WEFT_NEW(arena, uint32_t, fabric->node_count),
        .stack = WEFT_NEW(arena, uint32_t, fabric->node_count),
    };
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        graph.head[v] = WEFT_NONE;
    }
    // Steps grow at the arena's end while pairs use what is beyond it.
    struct step *steps = weft_arena_alloc_raw(arena, 0, sizeof steps[0]);
    size_t count = 0;
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t source = (uint32_t)(pair / n);
        uint32_t target = (uint32_t)(pair % n);
        fill_pair(&graph, routes, source, target, *arena);
        steps = weft_arena_grow(arena, steps, count * sizeof steps[0],
                                (count + graph.edge_count) * sizeof steps[0]);
        for (uint32_t e = 0; e < graph.edge_count; e++) {
            const struct edge *edge = &graph.edges[e];
            steps[count++] = (struct step){edge->from, source, target, edge->to, edge->weight};
        }
        trim(&graph, 0);
    }
    qsort(steps, count, sizeof steps[0], compare_steps);
    return (struct steps){count, steps};
}

// ---- ports ----

// Steps of one server, source and target become ports: the parallel ports to a neighbor share its
// part. Weights are whole, at least 1, and sum to about WEIGHT_SUM.
static uint32_t list_ports(struct weft_pair_hop *hops, const struct weft_port_map *ports,
                           const struct step *steps, size_t count)
{
    uint32_t n = ports->server_count;
    uint32_t hop_count = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += steps[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i];
        uint32_t width = 0;
        for (uint32_t p = 0; p < ports->port_count; p++) {
            width += ports->planes[(size_t)p * n + step->node] == step->next;
        }
        double share = width == 0 || !(sum > 0) ? 0 : step->weight / sum / width;
        uint32_t weight = (uint32_t)(share * WEIGHT_SUM + 0.5);
        for (uint32_t p = 0; p < ports->port_count; p++) {
            if (ports->planes[(size_t)p * n + step->node] == step->next) {
                hops[hop_count++] = (struct weft_pair_hop){
                    step->node, step->source, step->target, p, step->next, weight > 0 ? weight : 1};
            }
        }
    }
    return hop_count;
}

// Steps of the same node, source and target stand together.
static size_t steps_end(const struct steps *all, size_t begin)
{
    const struct step *first = &all->steps[begin];
    size_t end = begin;
    while (end < all->count && all->steps[end].node == first->node &&
           all->steps[end].source == first->source && all->steps[end].target == first->target) {
        end++;
    }
    return end;
}

static bool check_ports(const struct weft_port_map *ports, const struct weft_fabric *fabric,
                        struct weft_error *error)
{
    uint32_t n = ports->server_count;
    if (fabric->node_count != n) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the fabric '%s' has switches; next hops are for servers that forward",
                         fabric->name);
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        uint32_t width = 0;
        for (uint32_t p = 0; p < ports->port_count; p++) {
            width += ports->planes[(size_t)p * n + link->from] == link->to;
        }
        if (width == 0) {
            return weft_fail(error, WEFT_INPUT, "link %u (%u to %u) is in no plane; check the plan",
                             l, link->from, link->to);
        }
    }
    return true;
}

bool weft_routing_next_hops(struct weft_pair_hops *hops, const struct weft_routes *routes,
                            const struct weft_port_map *ports,
                            const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    if (!check_ports(ports, routes->fabric, environment->error)) {
        return false;
    }
    struct steps all = list_steps(routes, &scratch);
    // A step has at most `port_count` ports, and together no more than its node has.
    size_t runs = 0;
    for (size_t begin = 0; begin < all.count; begin = steps_end(&all, begin)) {
        runs++;
    }
    struct weft_pair_hop *built =
        WEFT_NEW(environment->arena, struct weft_pair_hop, runs * ports->port_count);
    size_t count = 0;
    for (size_t begin = 0; begin < all.count;) {
        size_t end = steps_end(&all, begin);
        count += list_ports(built + count, ports, all.steps + begin, end - begin);
        begin = end;
    }
    WEFT_ASSERT(count <= runs * ports->port_count);
    *hops = (struct weft_pair_hops){count, built};
    return true;
}
