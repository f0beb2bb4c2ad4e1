// SPDX-License-Identifier: Apache-2.0
// SiP-OCS: circuits for what the job carries, and two hops for pairs that get none.
//
// Max-min circuits need a port for each peer. Where a node has more peers than ports, the pairs
// with the most bytes keep a circuit of their own and the others go over a third node, by the one
// whose two circuits have the least to carry. Where the largest pairs leave others without such a
// node, a skeleton of jumps 1 .. a-1 and a, 2a, .. around the ring of ids comes first: any distance
// is a sum of two of them. O(n^2 log n + relayed pairs * n).

#include "sip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    double bytes;
    uint32_t from, to;
};

// Pairs that get circuits, and how many ports are taken by that.
struct chosen {
    uint32_t n, ports;
    bool *direct; // n*n
    uint32_t *out, *in;
};

static int by_bytes(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

static void choose(struct chosen *chosen, uint32_t from, uint32_t to)
{
    bool *direct = &chosen->direct[(size_t)from * chosen->n + to];
    if (!*direct && chosen->out[from] < chosen->ports && chosen->in[to] < chosen->ports) {
        *direct = true;
        chosen->out[from]++;
        chosen->in[to]++;
    }
}

// Jumps 1 .. step-1 and step, 2 step, ... that any distance below n is a sum of two of, where that
// many ports are there.
static bool choose_skeleton(struct chosen *chosen)
{
    uint32_t n = chosen->n;
    uint32_t step = (uint32_t)ceil(sqrt(n));
    uint32_t jumps = step - 1 + (n - 1) / step;
    if (jumps > chosen->ports) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t jump = 1; jump < n; jump = jump < step ? jump + 1 : jump + step) {
            choose(chosen, i, (i + jump) % n);
        }
    }
    return true;
}

// The node over which a pair's two circuits have the least to carry; WEFT_NONE where there is none.
static uint32_t find_relay(const struct chosen *chosen, const double *demand, const struct pair *p)
{
    uint32_t n = chosen->n;
    uint32_t best = WEFT_NONE;
    double least = HUGE_VAL;
    for (uint32_t k = 0; k < n; k++) {
        size_t first = (size_t)p->from * n + k;
        size_t second = (size_t)k * n + p->to;
        if (k != p->from && k != p->to && chosen->direct[first] && chosen->direct[second] &&
            demand[first] + demand[second] < least) {
            best = k;
            least = demand[first] + demand[second];
        }
    }
    return best;
}

// Hands each pair its circuits or its relay. False where one has neither.
static bool divide(struct sip_circuits *circuits, struct chosen *chosen, const struct pair *pairs,
                   uint32_t pair_count)
{
    uint32_t n = chosen->n;
    for (uint32_t i = 0; i < pair_count; i++) {
        choose(chosen, pairs[i].from, pairs[i].to);
    }
    memset(circuits->demand, 0, (size_t)n * n * sizeof *circuits->demand);
    circuits->hop_max = 1;
    for (int relayed = 0; relayed < 2; relayed++) {
        for (uint32_t i = 0; i < pair_count; i++) {
            const struct pair *pair = &pairs[i];
            size_t at = (size_t)pair->from * n + pair->to;
            if (chosen->direct[at] == (relayed != 0)) {
                continue;
            }
            if (!relayed) {
                circuits->demand[at] += pair->bytes;
                continue;
            }
            uint32_t over = find_relay(chosen, circuits->demand, pair);
            if (over == WEFT_NONE) {
                return false;
            }
            circuits->relay[at] = over;
            circuits->demand[(size_t)pair->from * n + over] += pair->bytes;
            circuits->demand[(size_t)over * n + pair->to] += pair->bytes;
            circuits->hop_max = 2;
        }
    }
    return true;
}

static bool choose_pairs(struct sip_circuits *circuits, const double *bytes,
                         struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = circuits->node_count;
    size_t cells = (size_t)n * n;
    struct pair *pairs = WEFT_NEW_RAW(&scratch, struct pair, cells);
    uint32_t count = 0;
    for (size_t at = 0; at < cells; at++) {
        if (bytes[at] > 0 && at / n != at % n) {
            pairs[count++] = (struct pair){bytes[at], (uint32_t)(at / n), (uint32_t)(at % n)};
        }
    }
    qsort(pairs, count, sizeof *pairs, by_bytes);
    for (int skeleton = 0; skeleton < 2; skeleton++) {
        struct weft_arena trial = scratch;
        struct chosen chosen = {n, circuits->port_count, WEFT_NEW(&trial, bool, cells),
                                WEFT_NEW(&trial, uint32_t, n), WEFT_NEW(&trial, uint32_t, n)};
        for (size_t at = 0; at < cells; at++) {
            circuits->relay[at] = WEFT_NONE;
        }
        if ((!skeleton || choose_skeleton(&chosen)) && divide(circuits, &chosen, pairs, count)) {
            return true;
        }
    }
    weft_fail(error, WEFT_INFEASIBLE,
              "%u ports of an accelerator are too few for its peers, over two hops too; take more "
              "switches",
              circuits->port_count);
    return weft_remedy(error, "switches", "%u", 2 * (uint32_t)ceil(sqrt(n)));
}

bool sip_circuits_build(struct sip_circuits *circuits, const double *bytes, uint32_t node_count,
                        uint32_t port_count, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    size_t cells = (size_t)node_count * node_count;
    *circuits = (struct sip_circuits){
        .node_count = node_count,
        .port_count = port_count,
        .bytes = bytes,
        .demand = WEFT_NEW(arena, double, cells),
        .relay = WEFT_NEW(arena, uint32_t, cells),
        .circuits = WEFT_NEW(arena, uint32_t, cells),
        .permutations = WEFT_NEW(arena, uint32_t, (size_t)port_count * node_count),
    };
    if (!choose_pairs(circuits, bytes, scratch, error)) {
        return false;
    }
    bool any = false;
    for (size_t at = 0; at < cells; at++) {
        any |= circuits->demand[at] > 0;
    }
    if (any && !weft_circuit_maxmin(circuits->circuits, &circuits->ratio, circuits->demand,
                                    node_count, port_count, scratch, error)) {
        return false;
    }
    weft_circuit_decompose(circuits->permutations, circuits->circuits, node_count, port_count,
                           scratch);
    return true;
}

bool sip_network_build(struct weft_network *network, const double *rate_Bps, const uint32_t *relay,
                       const struct weft_cluster *cluster, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    size_t cells = (size_t)n * n;
    struct weft_link *links = WEFT_NEW_RAW(&scratch, struct weft_link, cells);
    uint32_t *first = WEFT_NEW_RAW(&scratch, uint32_t, cells + 1);
    uint32_t *nodes = WEFT_NEW_RAW(&scratch, uint32_t, 3 * cells);
    uint32_t link_count = 0;
    uint32_t paths = 0;
    uint32_t at = 0;
    for (size_t pair = 0; pair < cells; pair++) {
        uint32_t from = (uint32_t)(pair / n);
        uint32_t to = (uint32_t)(pair % n);
        bool direct = rate_Bps[pair] > 0 && from != to;
        if (direct) {
            links[link_count++] =
                (struct weft_link){from, to, rate_Bps[pair], cluster->latency_ps, 1};
        }
        if (!direct && (relay == NULL || relay[pair] == WEFT_NONE)) {
            continue;
        }
        first[paths++] = at;
        nodes[at++] = from;
        if (!direct) {
            nodes[at++] = relay[pair];
        }
        nodes[at++] = to;
    }
    first[paths] = at;
    const struct weft_route_table table = {paths, first, nodes, NULL, true};
    const struct weft_fabric_links input = {"light", n, n, links, link_count};
    *network = (struct weft_network){0};
    return weft_fabric_build(&network->fabric, &input, arena, error) &&
           weft_routes_build_table(&network->routes, &network->fabric, &table, arena, scratch,
                                   error);
}
