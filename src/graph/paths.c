// SPDX-License-Identifier: Apache-2.0
// Least-cost paths. One source to all nodes: Dijkstra (Numer. Math. 1, 1959) with decrease-key,
// O((n + m) log n). The k cheapest loop-free ones of a pair: Yen (Management Science 1971) with
// Lawler's rule that no deviation is made twice (1972), each search guided by the exact remaining
// costs (A*, Hart, Nilsson and Raphael 1968), so that it visits little beside the path it finds.

#include "weft/graph.h"

#include "weft/base/heap.h"

#include <math.h>
#include <string.h>

// ---- nodes by key, with places for decrease-key ----

struct near_node {
    double key;
    uint32_t node;
};

struct node_heap {
    struct near_node *entries;
    uint32_t count;
    uint32_t *place; // node -> index in entries, WEFT_NONE when absent
};

// An empty heap with room for all nodes.
static struct node_heap build_heap(uint32_t node_count, struct weft_arena *arena)
{
    struct node_heap heap = {WEFT_NEW_RAW(arena, struct near_node, node_count), 0,
                             WEFT_NEW_RAW(arena, uint32_t, node_count)};
    memset(heap.place, 0xff, node_count * sizeof *heap.place); // WEFT_NONE
    return heap;
}

// Smaller key first; equal keys by node, so that runs are reproducible.
static inline bool is_nearer(const struct near_node *a, const struct near_node *b)
{
    return a->key < b->key || (a->key == b->key && a->node < b->node);
}

static inline void note_place(struct node_heap *heap, uint32_t place)
{
    heap->place[heap->entries[place].node] = place;
}

WEFT_HEAP(nodes, struct node_heap, struct near_node, 2, is_nearer, note_place)

// Adds a node, or moves it up after its key has fallen.
static void raise_node(struct node_heap *heap, uint32_t node, double key)
{
    uint32_t place = heap->place[node] == WEFT_NONE ? heap->count++ : heap->place[node];
    nodes_rise(heap, place, (struct near_node){key, node});
}

static uint32_t take_nearest(struct node_heap *heap)
{
    uint32_t node = nodes_pop(heap).node;
    heap->place[node] = WEFT_NONE;
    return node;
}

// The state of one search.
struct dijkstra {
    const struct weft_graph *graph;
    const double *costs;
    double *distance;
    uint32_t *last_arc; // or NULL
    struct node_heap heap;
};

static void settle(struct dijkstra *search, uint32_t v)
{
    for (uint32_t a = search->graph->first[v]; a < search->graph->first[v + 1]; a++) {
        uint32_t head = search->graph->heads[a];
        WEFT_ASSERT(search->costs[a] >= 0);
        double through = search->distance[v] + search->costs[a];
        if (through >= search->distance[head]) {
            continue;
        }
        search->distance[head] = through;
        raise_node(&search->heap, head, through);
        if (search->last_arc != NULL) {
            search->last_arc[head] = a;
        }
    }
}

void weft_graph_dijkstra(double *distance, uint32_t *last_arc, const struct weft_graph *graph,
                         const double *costs, uint32_t source, struct weft_arena scratch)
{
    uint32_t n = graph->node_count;
    WEFT_ASSERT(source < n);
    struct dijkstra search = {graph, costs, distance, last_arc, {0}};
    search.heap = build_heap(n, &scratch);
    for (uint32_t v = 0; v < n; v++) {
        distance[v] = HUGE_VAL;
        if (last_arc != NULL) {
            last_arc[v] = WEFT_NONE;
        }
    }
    distance[source] = 0;
    raise_node(&search.heap, source, 0);
    while (search.heap.count > 0) {
        settle(&search, take_nearest(&search.heap));
    }
}

// ---- Yen ----

// A candidate path: it leaves its parent path after `spur` arcs.
struct candidate {
    double cost;
    uint32_t *arcs;
    uint32_t count;
    uint32_t spur;
    bool kept;
};

struct yen {
    const struct weft_graph *graph;
    const double *costs; // NULL = hops
    const double *remaining;
    uint32_t target;
    struct node_heap heap; // by cost so far + remaining
    double *cost_to;
    uint32_t *last_arc;
    uint32_t *tail_of; // per node: where last_arc comes from
    uint32_t *touched; // nodes to reset after a search
    uint32_t touched_count;
    bool *blocked_node;
    bool *blocked_arc; // of the spur node, by offset from first[]
    struct candidate *candidates;
    uint32_t candidate_count;
};

static double cost_of(const struct yen *yen, uint32_t arc)
{
    return yen->costs == NULL ? 1 : yen->costs[arc];
}

static void relax(struct yen *yen, uint32_t from, uint32_t arc)
{
    uint32_t to = yen->graph->heads[arc];
    double cost = yen->cost_to[from] + cost_of(yen, arc);
    if (yen->blocked_node[to] || isinf(yen->remaining[to]) || cost >= yen->cost_to[to]) {
        return;
    }
    if (isinf(yen->cost_to[to])) {
        yen->touched[yen->touched_count++] = to;
    }
    yen->cost_to[to] = cost;
    yen->last_arc[to] = arc;
    yen->tail_of[to] = from;
    raise_node(&yen->heap, to, cost + yen->remaining[to]);
}

// Searches from `spur` to the target around what is blocked. Returns whether there is a path; it is
// then read backwards by last_arc.
static bool search(struct yen *yen, uint32_t spur)
{
    yen->touched_count = 0;
    yen->heap.count = 0;
    yen->cost_to[spur] = 0;
    yen->touched[yen->touched_count++] = spur;
    uint32_t first = yen->graph->first[spur];
    for (uint32_t a = first; a < yen->graph->first[spur + 1]; a++) {
        if (!yen->blocked_arc[a - first]) {
            relax(yen, spur, a);
        }
    }
    while (yen->heap.count > 0) {
        uint32_t v = take_nearest(&yen->heap);
        if (v == yen->target) {
            return true;
        }
        for (uint32_t a = yen->graph->first[v]; a < yen->graph->first[v + 1]; a++) {
            relax(yen, v, a);
        }
    }
    return false;
}

static void reset_search(struct yen *yen)
{
    for (uint32_t i = 0; i < yen->touched_count; i++) {
        yen->cost_to[yen->touched[i]] = HUGE_VAL;
        yen->heap.place[yen->touched[i]] = WEFT_NONE;
    }
}

// Records root (the first `spur` arcs of `parent`) + the path just found.
static void record(struct yen *yen, const struct candidate *parent, uint32_t spur,
                   uint32_t spur_node, struct weft_arena *arena)
{
    uint32_t length = 0;
    for (uint32_t v = yen->target; v != spur_node; v = yen->tail_of[v]) {
        length++;
    }
    struct candidate fresh = {.count = spur + length, .spur = spur};
    fresh.arcs = WEFT_NEW_RAW(arena, uint32_t, fresh.count);
    if (spur > 0) {
        memcpy(fresh.arcs, parent->arcs, spur * sizeof *fresh.arcs);
    }
    uint32_t at = fresh.count;
    for (uint32_t v = yen->target; v != spur_node; v = yen->tail_of[v]) {
        fresh.arcs[--at] = yen->last_arc[v];
    }
    for (uint32_t i = 0; i < fresh.count; i++) {
        fresh.cost += cost_of(yen, fresh.arcs[i]);
    }
    yen->candidates[yen->candidate_count++] = fresh;
}

// Blocks at `node` the arc with which every kept path that shares the first `spur` arcs goes on.
static void block_arcs(struct yen *yen, const struct candidate *path, uint32_t spur, uint32_t node)
{
    uint32_t first = yen->graph->first[node];
    memset(yen->blocked_arc, 0, yen->graph->first[node + 1] - first);
    for (uint32_t c = 0; c < yen->candidate_count; c++) {
        const struct candidate *other = &yen->candidates[c];
        if (other->kept && other->count > spur &&
            memcmp(other->arcs, path->arcs, spur * sizeof *path->arcs) == 0) {
            yen->blocked_arc[other->arcs[spur] - first] = true;
        }
    }
}

// Adds the deviations of a path that was just kept. Lawler (1972): those before its own spur were
// already made from its parent.
static void deviate(struct yen *yen, uint32_t index, uint32_t source, struct weft_arena *arena)
{
    struct candidate path = yen->candidates[index];
    uint32_t node = source;
    for (uint32_t i = 0; i < path.count; i++) {
        if (i >= path.spur) {
            block_arcs(yen, &path, i, node);
            yen->blocked_node[node] = true;
            if (search(yen, node)) {
                record(yen, &path, i, node, arena);
            }
            reset_search(yen);
        }
        yen->blocked_node[node] = true;
        node = yen->graph->heads[path.arcs[i]];
    }
    yen->blocked_node[source] = false;
    for (uint32_t i = 0; i < path.count; i++) {
        yen->blocked_node[yen->graph->heads[path.arcs[i]]] = false;
    }
}

// The cheapest candidate that is not kept; of equals the one with fewer hops, then the older.
static uint32_t cheapest(const struct yen *yen)
{
    uint32_t best = WEFT_NONE;
    for (uint32_t c = 0; c < yen->candidate_count; c++) {
        const struct candidate *one = &yen->candidates[c];
        if (one->kept) {
            continue;
        }
        const struct candidate *two = best == WEFT_NONE ? NULL : &yen->candidates[best];
        if (two == NULL || one->cost < two->cost ||
            (one->cost == two->cost && one->count < two->count)) {
            best = c;
        }
    }
    return best;
}

static void init_yen(struct yen *yen, uint32_t k, struct weft_arena *arena)
{
    uint32_t n = yen->graph->node_count;
    uint32_t degree_max = 0;
    yen->cost_to = WEFT_NEW_RAW(arena, double, n);
    yen->last_arc = WEFT_NEW_RAW(arena, uint32_t, n);
    yen->tail_of = WEFT_NEW_RAW(arena, uint32_t, n);
    yen->touched = WEFT_NEW_RAW(arena, uint32_t, n);
    yen->blocked_node = WEFT_NEW(arena, bool, n);
    yen->heap = build_heap(n, arena);
    for (uint32_t v = 0; v < n; v++) {
        yen->cost_to[v] = HUGE_VAL;
        uint32_t degree = yen->graph->first[v + 1] - yen->graph->first[v];
        degree_max = degree > degree_max ? degree : degree_max;
    }
    yen->blocked_arc = WEFT_NEW(arena, bool, degree_max);
    // A loop-free path has at most n - 1 spurs; one search each for k paths, and the first.
    yen->candidates = WEFT_NEW_RAW(arena, struct candidate, (size_t)k * n + 1);
}

static void publish(struct weft_graph_paths *paths, const struct yen *yen, const uint32_t *kept,
                    uint32_t kept_count, struct weft_arena *arena)
{
    uint32_t *first = WEFT_NEW_RAW(arena, uint32_t, (size_t)kept_count + 1);
    double *costs = WEFT_NEW_RAW(arena, double, kept_count);
    uint32_t total = 0;
    for (uint32_t i = 0; i < kept_count; i++) {
        first[i] = total;
        costs[i] = yen->candidates[kept[i]].cost;
        total += yen->candidates[kept[i]].count;
    }
    first[kept_count] = total;
    uint32_t *arcs = WEFT_NEW_RAW(arena, uint32_t, total);
    for (uint32_t i = 0; i < kept_count; i++) {
        const struct candidate *path = &yen->candidates[kept[i]];
        memcpy(arcs + first[i], path->arcs, path->count * sizeof *arcs);
    }
    *paths = (struct weft_graph_paths){kept_count, first, arcs, costs};
}

void weft_graph_k_shortest(struct weft_graph_paths *paths, const struct weft_graph *graph,
                           const struct weft_path_query *query, struct weft_arena *arena,
                           struct weft_arena scratch)
{
    uint32_t source = query->source;
    uint32_t target = query->target;
    uint32_t k = query->k;
    WEFT_ASSERT(source != target && source < graph->node_count && target < graph->node_count);
    struct yen yen = {
        .graph = graph, .costs = query->costs, .remaining = query->remaining, .target = target};
    init_yen(&yen, k, &scratch);
    uint32_t *kept = WEFT_NEW_RAW(&scratch, uint32_t, k);
    uint32_t kept_count = 0;
    yen.blocked_node[source] = true;
    if (k > 0 && search(&yen, source)) {
        record(&yen, NULL, 0, source, &scratch);
    }
    reset_search(&yen);
    yen.blocked_node[source] = false;
    while (kept_count < k) {
        uint32_t next = cheapest(&yen);
        if (next == WEFT_NONE) {
            break;
        }
        yen.candidates[next].kept = true;
        kept[kept_count++] = next;
        if (kept_count < k) {
            deviate(&yen, next, source, &scratch);
        }
    }
    publish(paths, &yen, kept, kept_count, arena);
}
