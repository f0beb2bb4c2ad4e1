// SPDX-License-Identifier: Apache-2.0
// Routes without loads: CoinChangeMod of TopoOpt (NSDI 2023, appendix), single shortest paths,
// and k shortest paths (Yen, Management Science 1971).
//
// On a circulant fabric all pairs of one difference have the same route, so CoinChangeMod needs
// one breadth-first search over residues, O(n * generators); the others search from every
// target.

#include "internal.h"

#include <math.h>

bool weft_routing_coin_change(struct weft_routes *routes, const struct weft_fabric *fabric,
                              const uint32_t *generators, uint32_t generator_count,
                              const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    uint32_t n = fabric->server_count;
    WEFT_ASSERT(n > 0);
    for (uint32_t g = 0; g < generator_count; g++) {
        if (generators[g] == 0 || generators[g] >= n) {
            return weft_fail(error, WEFT_INPUT, "generator %u with %u servers; give 1 to %u",
                             generators[g], n, n - 1);
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = (uint32_t)(((uint64_t)i + generators[g]) % n);
            if (weft_fabric_find_link(fabric, i, to) == WEFT_NONE) {
                return weft_fail(error, WEFT_INPUT,
                                 "generator %u needs a link from server %u to server %u",
                                 generators[g], i, to);
            }
        }
    }
    WEFT_ASSERT(n > 0);
    uint32_t *coin = WEFT_NEW(environment->arena, uint32_t, n); // 0 = not reached
    uint32_t *level = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, n);
    queue[0] = 0;
    uint32_t filled = 1;
    uint32_t hop_max = 0;
    for (uint32_t i = 0; i < filled; i++) {
        for (uint32_t g = 0; g < generator_count; g++) {
            uint32_t residue = (uint32_t)(((uint64_t)queue[i] + generators[g]) % n);
            if (residue != 0 && coin[residue] == 0) {
                coin[residue] = generators[g];
                level[residue] = level[queue[i]] + 1;
                hop_max = level[residue];
                queue[filled++] = residue;
            }
        }
    }
    if (filled < n) {
        uint32_t missing = 1;
        while (coin[missing] != 0) {
            missing++;
        }
        return fabric_no_path(fabric, 0, missing, error);
    }
    *routes = (struct weft_routes){.kind = WEFT_ROUTES_CIRCULANT,
                                   .spread = WEFT_SPREAD_PICK,
                                   .fabric = fabric,
                                   .hop_max = hop_max,
                                   .table = coin};
    return true;
}

void path_list_shortest(struct path_list *list, const struct weft_fabric *fabric,
                        const uint32_t *hops, uint32_t source, uint64_t hash)
{
    path_list_start(list, source, 1);
    for (uint32_t v = source; hops[v] > 0;) {
        uint32_t choices = 0;
        for (uint32_t l = fabric->first[v]; l < fabric->first[v + 1]; l++) {
            uint32_t to = fabric->links[l].to;
            choices += hops[to] + 1 == hops[v] && (hops[to] == 0 || fabric_relays(fabric, to));
        }
        WEFT_ASSERT(choices > 0);
        hash = weft_hash(hash);
        uint32_t choice = (uint32_t)(hash % choices);
        uint32_t next = WEFT_NONE;
        for (uint32_t l = fabric->first[v]; next == WEFT_NONE; l++) {
            uint32_t to = fabric->links[l].to;
            if (hops[to] + 1 == hops[v] && (hops[to] == 0 || fabric_relays(fabric, to)) &&
                choice-- == 0) {
                next = to;
            }
        }
        path_list_node(list, next);
        v = next;
    }
}

bool weft_routing_shortest(struct weft_routes *routes, const struct weft_fabric *fabric,
                           const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_graph graph;
    struct weft_graph reverse;
    struct path_list list;
    fabric_graph(&graph, fabric, &scratch);
    weft_graph_reverse(&reverse, NULL, &graph, &scratch);
    uint32_t n = fabric->server_count;
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    path_list_init(&list, &scratch);
    for (uint32_t t = 0; t < n; t++) {
        hops_to_target(hops, fabric, &reverse, t, scratch);
        for (uint32_t s = 0; s < n; s++) {
            if (s == t) {
                continue;
            }
            if (hops[s] == WEFT_NONE) {
                return fabric_no_path(fabric, s, t, environment->error);
            }
            uint64_t pair = (uint64_t)s << 32 | t;
            path_list_shortest(&list, fabric, hops, s, weft_hash(environment->seed ^ pair));
        }
    }
    return path_list_build(routes, &list, fabric, environment->arena, scratch, environment->error);
}

// A hop costs 1 and a whit that a hash of the target and the link decides, so that of paths with
// equal hops different targets take different ones and no link is everybody's first choice.
#define WHIT 0x1p-40
static void price_hops(double *costs, uint32_t link_count, uint32_t target)
{
    for (uint32_t l = 0; l < link_count; l++) {
        costs[l] = 1 + WHIT * (double)(weft_hash((uint64_t)target << 32 | l) >> 44);
    }
}

// The search for k paths from any server to one target.
struct search {
    const struct weft_graph *graph;
    const double *costs;     // by link
    const double *remaining; // by node: hops to the target; HUGE_VAL = no path goes on there
    uint32_t target;
};

// Adds up to k paths of a pair. Returns whether there was one.
static bool add_k_shortest(struct path_list *list, const struct search *search, uint32_t source,
                           uint32_t k, struct weft_arena scratch)
{
    struct weft_graph_paths paths;
    const struct weft_graph *graph = search->graph;
    struct weft_arena work = weft_arena_split(&scratch);
    weft_graph_k_shortest(
        &paths, graph,
        &(struct weft_path_query){search->costs, search->remaining, source, search->target, k},
        &scratch, work);
    for (uint32_t p = 0; p < paths.count; p++) {
        path_list_start(list, source, 1);
        for (uint32_t i = paths.first[p]; i < paths.first[p + 1]; i++) {
            path_list_node(list, graph->heads[paths.arcs[i]]);
        }
    }
    return paths.count > 0;
}

bool weft_routing_k_shortest(struct weft_routes *routes, const struct weft_fabric *fabric,
                             uint32_t k, const double *demand,
                             const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    if (k == 0) {
        return weft_fail(error, WEFT_INPUT, "0 paths a pair; give 1 or more");
    }
    struct weft_graph graph;
    struct weft_graph reverse;
    fabric_graph(&graph, fabric, &scratch);
    weft_graph_reverse(&reverse, NULL, &graph, &scratch);
    uint32_t n = fabric->server_count;
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    double *remaining = WEFT_NEW_RAW(&scratch, double, fabric->node_count);
    double *costs = WEFT_NEW_RAW(&scratch, double, fabric->link_count);
    // The list grows at the front of the scratch; each pair works in the back half.
    struct weft_arena work = weft_arena_split(&scratch);
    struct path_list list;
    path_list_init(&list, &scratch);
    for (uint32_t t = 0; t < n; t++) {
        hops_to_target(hops, fabric, &reverse, t, work);
        price_hops(costs, fabric->link_count, t);
        for (uint32_t v = 0; v < fabric->node_count; v++) {
            bool blocked = hops[v] == WEFT_NONE || (v != t && !fabric_relays(fabric, v));
            remaining[v] = blocked ? HUGE_VAL : hops[v];
        }
        const struct search search = {&graph, costs, remaining, t};
        for (uint32_t s = 0; s < n; s++) {
            if (s == t) {
                continue;
            }
            bool wanted = demand == NULL || demand[(size_t)s * n + t] > 0;
            if (!wanted && !routes_all_pairs(fabric)) {
                continue;
            }
            if (!add_k_shortest(&list, &search, s, wanted ? k : 1, work)) {
                return fabric_no_path(fabric, s, t, error);
            }
        }
    }
    return path_list_build(routes, &list, fabric, environment->arena, work, error);
}
