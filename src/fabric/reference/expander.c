// SPDX-License-Identifier: Apache-2.0
// A random regular graph of servers (Jellyfish: Singla et al., NSDI 2012; Xpander: Valadarsky et
// al., CoNEXT 2016, builds its near-optimal expanders by lifts instead). It starts as a circulant
// of the wanted degree and is mixed by switching the ends of two random cables at a time, which
// keeps every degree; that chain reaches all simple graphs of those degrees, alike in the limit
// (Cooper, Dyer and Greenhill, "Sampling regular graphs and a peer-to-peer network", 2007).
// O(cables) switches, with n^2 bits to know in O(1) whether two servers are joined.

#include "cabling.h"

#include "weft/base/sets.h"

// The bits of joined pairs take 32 MiB at this many servers.
#define SERVERS_MAX 16384u
// Switches tried per cable before the graph counts as mixed, and how often mixing is repeated until
// the graph is connected. Not measured: they trade time against closeness to the uniform
// distribution; the proven bound of the chain is far larger than what is seen to suffice.
#define SWITCHES_PER_CABLE 20u
#define ROUNDS_MAX 1000u

struct cable {
    uint32_t a;
    uint32_t b;
};

struct graph {
    uint32_t n;
    uint32_t cable_count;
    struct cable *cables;
    uint64_t *joined; // n * n bits
};

static bool is_joined(const struct graph *graph, uint32_t a, uint32_t b)
{
    size_t bit = (size_t)a * graph->n + b;
    return (graph->joined[bit / 64] >> (bit % 64) & 1) != 0;
}

static void flip_joined(struct graph *graph, uint32_t a, uint32_t b)
{
    size_t bit = (size_t)a * graph->n + b;
    size_t mirror = (size_t)b * graph->n + a;
    graph->joined[bit / 64] ^= (uint64_t)1 << (bit % 64);
    graph->joined[mirror / 64] ^= (uint64_t)1 << (mirror % 64);
}

static void add_cable(struct graph *graph, uint32_t a, uint32_t b)
{
    WEFT_ASSERT(a != b && !is_joined(graph, a, b));
    graph->cables[graph->cable_count++] = (struct cable){a, b};
    flip_joined(graph, a, b);
}

// The circulant of jumps 1 .. d/2. An odd degree adds opposite ends; where n is odd too, one server
// keeps one port dark.
static struct graph start_graph(uint32_t n, uint32_t degree, struct weft_arena *arena)
{
    struct graph graph = {
        .n = n,
        .cables = WEFT_NEW_RAW(arena, struct cable, (size_t)n * degree / 2),
        .joined = WEFT_NEW(arena, uint64_t, ((size_t)n * n + 63) / 64),
    };
    for (uint32_t jump = 1; jump <= degree / 2; jump++) {
        for (uint32_t s = 0; s < n; s++) {
            add_cable(&graph, s, (s + jump) % n);
        }
    }
    for (uint32_t s = 0; degree % 2 != 0 && s < n / 2; s++) {
        add_cable(&graph, s, s + n / 2);
    }
    return graph;
}

// Cables a-b and c-d become a-c and b-d, unless that would join a pair twice or a server to itself.
static void switch_ends(struct graph *graph, struct weft_rng *rng)
{
    struct cable *one = &graph->cables[weft_rng_below(rng, graph->cable_count)];
    struct cable *two = &graph->cables[weft_rng_below(rng, graph->cable_count)];
    bool turn = weft_rng_next(rng) >> 63 != 0;
    uint32_t a = one->a;
    uint32_t b = one->b;
    uint32_t c = turn ? two->b : two->a;
    uint32_t d = turn ? two->a : two->b;
    if (a == c || b == d || a == d || b == c || is_joined(graph, a, c) || is_joined(graph, b, d)) {
        return;
    }
    flip_joined(graph, a, b);
    flip_joined(graph, c, d);
    flip_joined(graph, a, c);
    flip_joined(graph, b, d);
    *one = (struct cable){a, c};
    *two = (struct cable){b, d};
}

static bool is_connected(const struct graph *graph, struct weft_arena scratch)
{
    struct weft_sets sets = weft_sets_build(graph->n, &scratch);
    for (uint32_t i = 0; i < graph->cable_count; i++) {
        weft_sets_join(&sets, graph->cables[i].a, graph->cables[i].b);
    }
    return sets.set_count == 1;
}

// A random cycle through all servers: what a connected graph of degree 2 is.
static void mix_cycle(struct graph *graph, struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, graph->n);
    for (uint32_t s = 0; s < graph->n; s++) {
        order[s] = s;
    }
    weft_rng_shuffle(rng, order, graph->n);
    for (uint32_t i = 0; i < graph->n; i++) {
        graph->cables[i] = (struct cable){order[i], order[i + 1 == graph->n ? 0 : i + 1]};
    }
}

static void mix(struct graph *graph, uint32_t degree, uint64_t seed, struct weft_arena scratch)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    if (degree == 2) {
        mix_cycle(graph, &rng, scratch);
        return;
    }
    uint64_t switches = (uint64_t)SWITCHES_PER_CABLE * graph->cable_count;
    for (uint32_t round = 0; round == 0 || !is_connected(graph, scratch); round++) {
        WEFT_ASSERT(round < ROUNDS_MAX); // degree 3 and more: disconnected with small odds
        for (uint64_t i = 0; i < switches; i++) {
            switch_ends(graph, &rng);
        }
    }
}

bool weft_fabric_build_expander(struct weft_network *network, const struct weft_cluster *cluster,
                                const struct weft_fabric_options *options, struct weft_arena *arena,
                                struct weft_arena scratch, struct weft_error *error)
{
    struct weft_fabric_options own = options_or_default(options);
    uint32_t n = cluster->server_count;
    uint32_t degree = cluster->degree;
    double rate_Bps = own.port_rate_Bps > 0 ? own.port_rate_Bps : cluster->rate_Bps;
    if (degree < 2 && n > 2) {
        return weft_fail(error, WEFT_INPUT,
                         "expander: 1 port a server joins pairs, not %u servers; give each at "
                         "least 2, better 3",
                         n);
    }
    if (!weft_cluster_check_direct(cluster, error)) {
        return weft_wrap(error, "expander");
    }
    if (n > SERVERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "expander: %u servers exceed %u; use fewer", n,
                         SERVERS_MAX);
    }
    if (!wiring_fits("expander", (uint64_t)n * degree / 2, error)) {
        return false;
    }
    struct graph graph = start_graph(n, degree, &scratch);
    if (n > 2) {
        mix(&graph, degree, own.seed, scratch);
    }
    struct wiring wiring = wiring_start("expander", graph.cable_count, cluster->latency_ps, arena);
    for (uint32_t i = 0; i < graph.cable_count; i++) {
        wiring_join(&wiring, graph.cables[i].a, graph.cables[i].b, 1, rate_Bps);
    }
    struct weft_fabric fabric;
    if (!wiring_finish(&fabric, &wiring, n, n, arena, error)) {
        return false;
    }
    fabric.parts = weft_fabric_direct_parts(&fabric, rate_Bps, WEFT_CABLING_FIXED, scratch);
    *network = (struct weft_network){.fabric = fabric};
    if (!weft_routes_build_shortest(&network->routes, &network->fabric, arena, scratch, error)) {
        return false;
    }
    network->routes.spread =
        cluster->balance == WEFT_BALANCE_EVEN ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK;
    return true;
}
