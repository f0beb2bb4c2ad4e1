// SPDX-License-Identifier: Apache-2.0
// From paths of pairs to steps of nodes, without cycles.

#include "ip.h"

#include <stdlib.h>

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

static void cut_back(struct pair_graph *graph, uint32_t edge_count)
{
    while (graph->edge_count > edge_count) {
        const struct edge *edge = &graph->edges[--graph->edge_count];
        graph->head[edge->from] = edge->sibling;
    }
}

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
            cut_back(graph, before);
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
    const struct weft_ip_step *a = left;
    const struct weft_ip_step *b = right;
    const uint32_t keys[2][4] = {{a->node, a->source, a->target, a->next},
                                 {b->node, b->source, b->target, b->next}};
    for (uint32_t i = 0; i < 4; i++) {
        if (keys[0][i] != keys[1][i]) {
            return keys[0][i] < keys[1][i] ? -1 : 1;
        }
    }
    return 0;
}

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

struct weft_ip_steps weft_ip_list_steps(const struct weft_routes *routes, struct weft_arena *arena)
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
    struct weft_ip_step *steps = weft_arena_alloc_raw(arena, 0, sizeof steps[0]);
    size_t count = 0;
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t source = (uint32_t)(pair / n);
        uint32_t target = (uint32_t)(pair % n);
        fill_pair(&graph, routes, source, target, *arena);
        arena->next = (char *)(steps + count + graph.edge_count);
        WEFT_ASSERT(arena->next <= arena->end);
        for (uint32_t e = 0; e < graph.edge_count; e++) {
            const struct edge *edge = &graph.edges[e];
            steps[count++] =
                (struct weft_ip_step){edge->from, source, target, edge->to, edge->weight};
        }
        cut_back(&graph, 0);
    }
    qsort(steps, count, sizeof steps[0], compare_steps);
    return (struct weft_ip_steps){count, steps};
}
