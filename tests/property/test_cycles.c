// SPDX-License-Identifier: Apache-2.0
// Hamiltonian cycles that share no edge (weft_graph_disjoint_cycles) of random regular graphs, and
// what an AllReduce gains by them. Every cycle is walked over the graph's own arcs, each of which
// is struck off a matrix of the test: so a node that is missing or twice, an edge that is not there
// and one that two cycles have fail alike.
//
// Mutations that made it fail: marking a cycle's arcs one way only; closing a path at any node of
// its beginning instead of the first; rotating one place too far.
//
// Usage: property_cycles [SEED [COUNT]]

#include "weft/cluster.h"
#include "weft/fabric.h"
#include "weft/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 20261125;
static uint32_t instances = 60;

// A random regular graph of servers, as the expander has it, and a matrix of its edges.
static void build(struct weft_graph *graph, uint8_t *edges, uint32_t n, uint32_t degree,
                  uint64_t which, struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_error error;
    const struct weft_cluster cluster = {.name = "test",
                                         .server_count = n,
                                         .degree = degree,
                                         .rate_Bps = 12.5e9,
                                         .latency_ps = 1000,
                                         .prices = *weft_cluster_default_prices()};
    const struct weft_fabric_options options = {.seed = which};
    struct weft_network *network = WEFT_NEW(arena, struct weft_network, 1);
    if (!weft_fabric_build_expander(network, &cluster, &options, arena, scratch, &error)) {
        fail_msg("%u servers of %u ports: %s", n, degree, error.message);
    }
    uint32_t count = network->fabric.link_count;
    uint32_t *tails = WEFT_NEW(arena, uint32_t, count);
    uint32_t *heads = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t e = 0; e < count; e++) {
        tails[e] = network->fabric.links[e].from;
        heads[e] = network->fabric.links[e].to;
        edges[tails[e] * n + heads[e]]++;
    }
    weft_graph_build(graph, n, tails, heads, count, arena);
}

static void walk(const uint32_t *cycle, uint8_t *edges, uint8_t *seen, uint32_t n)
{
    memset(seen, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = cycle[i];
        uint32_t to = cycle[(i + 1) % n];
        assert_true(from < n && to < n && !seen[from]);
        seen[from] = 1;
        assert_true(edges[from * n + to] > 0 && edges[to * n + from] > 0);
        edges[from * n + to]--;
        edges[to * n + from]--;
    }
}

static void cycles_share_no_edge(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t i = 0; i < instances; i++) {
        struct weft_arena arena;
        struct weft_arena scratch;
        struct weft_error error;
        assert_true(weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error));
        uint32_t n = 9 + weft_rng_below(&rng, 200);
        uint32_t degree = 2 + weft_rng_below(&rng, 7);
        struct weft_graph graph;
        uint8_t *edges = WEFT_NEW(&arena, uint8_t, (size_t)n * n);
        build(&graph, edges, n, degree, weft_rng_next(&rng), &arena, scratch);
        uint32_t most = degree / 2;
        uint32_t *cycles = WEFT_NEW(&arena, uint32_t, (size_t)n * most);
        uint32_t count = weft_graph_disjoint_cycles(cycles, &graph, most, &rng, scratch);
        if (count != most) {
            fail_msg("instance %u: %u cycles of %u servers with %u ports", i, count, n, degree);
        }
        uint8_t *seen = WEFT_NEW(&arena, uint8_t, n);
        for (uint32_t c = 0; c < count; c++) {
            walk(cycles + (size_t)c * n, edges, seen, n);
        }
        weft_arena_release(&arena);
        weft_arena_release(&scratch);
    }
}

static void graphs_without_cycles_have_none(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    static const uint32_t tails[] = {0, 1, 1, 2, 2, 3}; // a path of four nodes
    static const uint32_t heads[] = {1, 0, 2, 1, 3, 2};
    struct weft_arena scratch;
    assert_true(weft_arena_init(&scratch, 0, &error));
    struct weft_rng rng;
    weft_rng_init(&rng, 1);
    uint32_t cycles[8];
    struct weft_graph graph;
    weft_graph_build(&graph, 4, tails, heads, 6, &arena);
    assert_int_equal(weft_graph_disjoint_cycles(cycles, &graph, 2, &rng, scratch), 0);
    weft_graph_build(&graph, 5, tails, heads, 6, &arena); // and a node apart
    assert_int_equal(weft_graph_disjoint_cycles(cycles, &graph, 1, &rng, scratch), 0);
    weft_graph_build(&graph, 2, tails, heads, 2, &arena);
    assert_int_equal(weft_graph_disjoint_cycles(cycles, &graph, 1, &rng, scratch), 0);
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    instances = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : instances;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_share_no_edge),
        cmocka_unit_test(graphs_without_cycles_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
