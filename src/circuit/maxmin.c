// SPDX-License-Identifier: Apache-2.0
// Max-min circuits, exact, and their division into permutations of switches.
//
// A ratio r is feasible where the rows and columns of ceil(r demand) fit the ports, which each row
// and column decides alone: so the optimum is the least of what they reach, and no search over the
// whole matrix is needed. A node has at most port_count peers, hence lists of pairs, not matrices.

#include "weft/base/heap.h"
#include "weft/circuit.h"
#include "weft/graph.h"

#include <math.h>
#include <string.h>

// A pair that asks for something.
struct pair {
    uint32_t from;
    uint32_t to;
    double demand;
    uint32_t circuits;
};

struct pairs {
    uint32_t node_count;
    uint32_t port_count;
    struct pair *items; // by row
    uint32_t count;
    uint32_t *by_column; // indices of items
    uint32_t *free_out;  // ports
    uint32_t *free_in;
};

static bool refuse_node(const struct pairs *pairs, uint32_t node, const char *verb, uint32_t peers,
                        struct weft_error *error)
{
    weft_fail(error, WEFT_INFEASIBLE,
              "node %u %s %u others and has %u ports; a pair needs one of each", node, verb, peers,
              pairs->port_count);
    return weft_remedy(error, "ports", "N");
}

static bool list(struct pairs *pairs, const double *demand, struct weft_arena *arena,
                 struct weft_error *error)
{
    uint32_t n = pairs->node_count;
    uint32_t *ins = WEFT_NEW(arena, uint32_t, n + 1);
    pairs->items = WEFT_NEW(arena, struct pair, (size_t)n * pairs->port_count);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t peers = 0;
        for (uint32_t j = 0; j < n; j++) {
            double asked = i == j ? 0 : demand[(size_t)i * n + j];
            if (asked > 0 && ++peers <= pairs->port_count) {
                pairs->items[pairs->count++] = (struct pair){i, j, asked, 0};
                ins[j + 1]++;
            }
        }
        if (peers > pairs->port_count) {
            return refuse_node(pairs, i, "sends to", peers, error);
        }
    }
    for (uint32_t j = 0; j < n; j++) {
        if (ins[j + 1] > pairs->port_count) {
            return refuse_node(pairs, j, "receives from", ins[j + 1], error);
        }
        ins[j + 1] += ins[j];
    }
    pairs->by_column = WEFT_NEW(arena, uint32_t, pairs->count);
    for (uint32_t p = 0; p < pairs->count; p++) {
        pairs->by_column[ins[pairs->items[p].to]++] = p;
    }
    return pairs->count > 0 || weft_fail(error, WEFT_INPUT, "nobody asks for anything");
}

// The largest ratio that pairs of one node reach alone: each port goes to the one with the least.
// `order` lists their indices, NULL from `first` on.
static double alone(const struct pairs *pairs, const uint32_t *order, uint32_t first,
                    uint32_t count, uint32_t *shares)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = 1;
    }
    for (uint32_t used = count;; used++) {
        double ratio = (double)INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            const struct pair *pair = &pairs->items[order != NULL ? order[first + i] : first + i];
            if (shares[i] / pair->demand < ratio) {
                ratio = shares[i] / pair->demand;
                least = i;
            }
        }
        if (used == pairs->port_count) {
            return ratio;
        }
        shares[least]++;
    }
}

// The least of what rows and columns reach.
static double bound(const struct pairs *pairs, struct weft_arena scratch)
{
    uint32_t *shares = WEFT_NEW(&scratch, uint32_t, pairs->port_count);
    double least = (double)INFINITY;
    for (uint32_t first = 0, end = 0; first < pairs->count; first = end) {
        while (end < pairs->count && pairs->items[end].from == pairs->items[first].from) {
            end++;
        }
        least = fmin(least, alone(pairs, NULL, first, end - first, shares));
    }
    const uint32_t *order = pairs->by_column;
    WEFT_ASSERT(order != NULL);
    for (uint32_t first = 0, end = 0; first < pairs->count; first = end) {
        while (end < pairs->count && pairs->items[order[end]].to == pairs->items[order[first]].to) {
            end++;
        }
        least = fmin(least, alone(pairs, order, first, end - first, shares));
    }
    return least;
}

// The fewest circuits whose ratio is at least this, by the same division as above: rounding up
// ratio * demand can give one more.
static uint32_t fewest(double ratio, double demand)
{
    double circuits = fmax(1, ceil(ratio * demand));
    while (circuits > 1 && (circuits - 1) / demand >= ratio) {
        circuits--;
    }
    while (circuits / demand < ratio) {
        circuits++;
    }
    return (uint32_t)circuits;
}

// Pairs by what they have for their demand, least first; then by place.
struct needy {
    double ratio;
    uint32_t pair;
};
struct needy_heap {
    struct needy *entries;
    uint32_t count;
};

static inline bool needier(const struct needy *a, const struct needy *b)
{
    return a->ratio != b->ratio ? a->ratio < b->ratio : a->pair < b->pair;
}

WEFT_HEAP(needy_heap, struct needy_heap, struct needy, 2, needier, weft_heap_no_places)

static void give_rest(struct pairs *pairs, struct weft_arena scratch)
{
    struct needy_heap heap = {WEFT_NEW(&scratch, struct needy, pairs->count), 0};
    for (uint32_t p = 0; p < pairs->count; p++) {
        const struct pair *pair = &pairs->items[p];
        needy_heap_push(&heap, (struct needy){pair->circuits / pair->demand, p});
    }
    while (heap.count > 0) {
        uint32_t p = needy_heap_pop(&heap).pair;
        struct pair *pair = &pairs->items[p];
        if (pairs->free_out[pair->from] > 0 && pairs->free_in[pair->to] > 0) {
            pairs->free_out[pair->from]--;
            pairs->free_in[pair->to]--;
            pair->circuits++;
            needy_heap_push(&heap, (struct needy){pair->circuits / pair->demand, p});
        }
    }
}

bool weft_circuit_maxmin(uint32_t *circuits, double *ratio, const double *demand,
                         uint32_t node_count, uint32_t port_count, struct weft_arena scratch,
                         struct weft_error *error)
{
    struct pairs pairs = {
        .node_count = node_count,
        .port_count = port_count,
        .free_out = WEFT_NEW(&scratch, uint32_t, node_count),
        .free_in = WEFT_NEW(&scratch, uint32_t, node_count),
    };
    if (!list(&pairs, demand, &scratch, error)) {
        return false;
    }
    *ratio = bound(&pairs, scratch);
    for (uint32_t i = 0; i < node_count; i++) {
        pairs.free_out[i] = port_count;
        pairs.free_in[i] = port_count;
    }
    for (uint32_t p = 0; p < pairs.count; p++) {
        struct pair *pair = &pairs.items[p];
        pair->circuits = fewest(*ratio, pair->demand);
        WEFT_ASSERT(pair->circuits <= pairs.free_out[pair->from]);
        WEFT_ASSERT(pair->circuits <= pairs.free_in[pair->to]);
        pairs.free_out[pair->from] -= pair->circuits;
        pairs.free_in[pair->to] -= pair->circuits;
    }
    give_rest(&pairs, scratch);
    memset(circuits, 0, (size_t)node_count * node_count * sizeof *circuits);
    for (uint32_t p = 0; p < pairs.count; p++) {
        const struct pair *pair = &pairs.items[p];
        circuits[(size_t)pair->from * node_count + pair->to] = pair->circuits;
    }
    return true;
}

// ---- permutations ----

// Adds circuits until every row and column has port_count, those from a node to itself last: they
// are idle ports.
static void fill_up(uint32_t *circuits, uint32_t *out, uint32_t *in, uint32_t n)
{
    uint32_t j = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (out[i] > 0) {
            while (in[j] == 0) {
                j++;
            }
            uint32_t added = out[i] < in[j] ? out[i] : in[j];
            circuits[(size_t)i * n + j] += added;
            out[i] -= added;
            in[j] -= added;
        }
    }
}

void weft_circuit_decompose(uint32_t *permutations, uint32_t *circuits, uint32_t node_count,
                            uint32_t port_count, struct weft_arena scratch)
{
    size_t n = node_count;
    uint32_t arc_count = node_count * port_count;
    uint32_t *out = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *in = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *tails = WEFT_NEW(&scratch, uint32_t, arc_count);
    uint32_t *heads = WEFT_NEW(&scratch, uint32_t, arc_count);
    uint32_t *switches = WEFT_NEW(&scratch, uint32_t, arc_count);
    for (size_t i = 0; i < n; i++) {
        circuits[i * n + i] = 0;
        out[i] += port_count;
        in[i] += port_count;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            uint32_t count = circuits[i * n + j];
            WEFT_ASSERT(count <= out[i] && count <= in[j]);
            out[i] -= count;
            in[j] -= count;
        }
    }
    fill_up(circuits, out, in, node_count);
    uint32_t arcs = 0;
    for (uint32_t i = 0; i < node_count; i++) {
        for (uint32_t j = 0; j < node_count; j++) {
            for (uint32_t c = 0; c < circuits[i * n + j]; c++) {
                tails[arcs] = i;
                heads[arcs++] = j;
            }
        }
        circuits[i * n + i] = 0;
    }
    WEFT_ASSERT(arcs == arc_count);
    struct weft_graph graph;
    weft_graph_build(&graph, node_count, tails, heads, arc_count, &scratch);
    weft_graph_color(switches, &graph, port_count, scratch);
    for (uint32_t i = 0; i < node_count; i++) {
        for (uint32_t a = graph.first[i]; a < graph.first[i + 1]; a++) {
            permutations[switches[a] * n + i] = graph.heads[a];
        }
    }
}
