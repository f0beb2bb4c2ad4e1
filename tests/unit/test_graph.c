// SPDX-License-Identifier: Apache-2.0
// Graphs on cases with known answers.

#include "weft/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;

static void rows_keep_the_order_of_arcs(void **state)
{
    (void)state;
    static const uint32_t tails[] = {2, 0, 2, 0};
    static const uint32_t heads[] = {1, 2, 0, 1};
    struct weft_arena kept = arena;
    struct weft_graph graph;
    weft_graph_build(&graph, 3, tails, heads, 4, &kept);
    static const uint32_t first[] = {0, 2, 2, 4};
    static const uint32_t sorted[] = {2, 1, 1, 0};
    assert_memory_equal(graph.first, first, sizeof first);
    assert_memory_equal(graph.heads, sorted, sizeof sorted);
    struct weft_graph reverse;
    const uint32_t *origin;
    weft_graph_reverse(&reverse, &origin, &graph, &kept);
    for (uint32_t v = 0; v < 3; v++) {
        for (uint32_t a = reverse.first[v]; a < reverse.first[v + 1]; a++) {
            assert_int_equal(graph.heads[origin[a]], v);
            assert_in_range(origin[a], graph.first[reverse.heads[a]],
                            graph.first[reverse.heads[a] + 1] - 1);
        }
    }
}

static void a_ring_has_half_its_length_in_mean_hops(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    uint32_t tails[4097];
    uint32_t heads[4097];
    for (uint32_t n = 1; n <= 4097; n = n * 4 + (n == 1024)) {
        for (uint32_t i = 0; i < n; i++) {
            tails[i] = i;
            heads[i] = (i + 1) % n;
        }
        struct weft_graph graph;
        weft_graph_build(&graph, n, tails, heads, n > 1025 ? 0 : n, &kept);
        struct weft_graph_hops hops = weft_graph_all_hops(NULL, &graph, scratch);
        if (n > 1025) { // without arcs
            assert_int_equal(hops.pair_count, 0);
            assert_false(hops.connected);
            continue;
        }
        assert_true(hops.connected);
        assert_int_equal(hops.diameter, n - 1);
        assert_int_equal(hops.sum, (uint64_t)n * n * (n - 1) / 2);
    }
}

static void cheapest_paths_go_round_dear_arcs(void **state)
{
    (void)state;
    static const uint32_t tails[] = {0, 0, 1, 2};
    static const uint32_t heads[] = {1, 2, 3, 1};
    static const double costs[] = {5, 1, 1, 2};
    struct weft_arena kept = arena;
    struct weft_graph graph;
    weft_graph_build(&graph, 5, tails, heads, 4, &kept);
    double distance[5];
    uint32_t last_arc[5];
    weft_graph_dijkstra(distance, last_arc, &graph, costs, 0, scratch);
    assert_true(distance[0] == 0 && distance[1] == 3 && distance[2] == 1 && distance[3] == 4);
    assert_true(isinf(distance[4]));
    assert_int_equal(last_arc[1], 3);
    assert_int_equal(last_arc[4], WEFT_NONE);
}

static void blossoms_shrink_and_open(void **state)
{
    (void)state;
    // A pentagon 0..4 with a tail at 2: the middle of the blossom is matched outside it.
    enum { N = 6 };
    int64_t weights[N * N] = {0};
    static const struct {
        uint32_t a, b;
        int64_t weight;
    } edges[] = {{0, 1, 8}, {1, 2, 9}, {2, 3, 10}, {3, 4, 7}, {4, 0, 8}, {2, 5, 6}};
    for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
        weights[edges[e].a * N + edges[e].b] = edges[e].weight;
        weights[edges[e].b * N + edges[e].a] = edges[e].weight;
    }
    uint32_t mate[N];
    assert_int_equal(weft_graph_match(mate, N, weights, scratch), 21);
    static const uint32_t wanted[N] = {1, 0, 5, 4, 3, 2};
    assert_memory_equal(mate, wanted, sizeof wanted);
}

static void without_edges_everybody_stays_single(void **state)
{
    (void)state;
    int64_t weights[9] = {0, -5, 0, -5, 0, 0, 0, 0, 0};
    uint32_t mate[3];
    assert_int_equal(weft_graph_match(mate, 3, weights, scratch), 0);
    for (uint32_t v = 0; v < 3; v++) {
        assert_int_equal(mate[v], v);
    }
    assert_int_equal(weft_graph_match(mate, 0, weights, scratch), 0);
}

static void cycles_and_permutations_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        uint32_t next[4];
        bool permutation;
        bool cycle;
    } cases[] = {
        {{1, 2, 3, 0}, true, true},   {{1, 0, 3, 2}, true, false},  {{0, 1, 2, 3}, true, false},
        {{1, 2, 0, 0}, false, false}, {{1, 2, 3, 4}, false, false}, {{1, 1, 3, 0}, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(weft_graph_is_permutation(cases[i].next, 4, scratch),
                         cases[i].permutation);
        assert_int_equal(weft_graph_is_cycle(cases[i].next, 4), cases[i].cycle);
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_keep_the_order_of_arcs),
        cmocka_unit_test(a_ring_has_half_its_length_in_mean_hops),
        cmocka_unit_test(cheapest_paths_go_round_dear_arcs),
        cmocka_unit_test(blossoms_shrink_and_open),
        cmocka_unit_test(without_edges_everybody_stays_single),
        cmocka_unit_test(cycles_and_permutations_are_told_apart),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
