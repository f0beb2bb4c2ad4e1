// SPDX-License-Identifier: Apache-2.0
// Distances, k shortest paths and colorings of random multigraphs against plain definitions.
//
// Seen to fail: with Yen's blocked arcs taken from the parent path alone; with Lawler's rule
// starting one spur late; with LANES * 63 sources a block; with flip_chain stopping after one arc.

#include "weft/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct weft_arena arena;

static void draw_graph(struct weft_graph *graph, uint32_t n, uint32_t arc_count,
                       struct weft_rng *rng, struct weft_arena *into)
{
    uint32_t *tails = WEFT_NEW(into, uint32_t, arc_count);
    uint32_t *heads = WEFT_NEW(into, uint32_t, arc_count);
    for (uint32_t a = 0; a < arc_count; a++) {
        tails[a] = weft_rng_below(rng, n);
        heads[a] = weft_rng_below(rng, n);
    }
    weft_graph_build(graph, n, tails, heads, arc_count, into);
}

static void all_pairs_agree_with_one_search_each(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        struct weft_rng rng;
        weft_rng_init(&rng, 100 + round);
        struct weft_arena scratch = arena;
        uint32_t n =
            round % 10 == 0 ? 700 + weft_rng_below(&rng, 600) : 1 + weft_rng_below(&rng, 90);
        struct weft_graph graph;
        draw_graph(&graph, n, 1 + weft_rng_below(&rng, 4 * n), &rng, &scratch);
        uint16_t *all = WEFT_NEW(&scratch, uint16_t, (size_t)n * n);
        uint32_t *one = WEFT_NEW(&scratch, uint32_t, n);
        struct weft_graph_hops hops = weft_graph_all_hops(all, &graph, scratch);
        struct weft_graph_hops wanted = {0};
        for (uint32_t s = 0; s < n; s++) {
            weft_graph_bfs(one, &graph, s, scratch);
            for (uint32_t v = 0; v < n; v++) {
                uint32_t found = all[(size_t)s * n + v];
                if (found != (one[v] == WEFT_NONE ? WEFT_GRAPH_UNREACHED : one[v])) {
                    fail_msg("seed %u: %u to %u takes %u hops, not %u", 100 + round, s, v, one[v],
                             found);
                }
                if (one[v] != WEFT_NONE && v != s) {
                    wanted.pair_count++;
                    wanted.sum += one[v];
                    wanted.diameter = one[v] > wanted.diameter ? one[v] : wanted.diameter;
                }
            }
        }
        assert_int_equal(hops.pair_count, wanted.pair_count);
        assert_int_equal(hops.sum, wanted.sum);
        assert_int_equal(hops.diameter, wanted.diameter);
        assert_int_equal(hops.connected, wanted.pair_count == (uint64_t)n * (n - 1));
    }
}

struct enumeration {
    const struct weft_graph *graph;
    const double *costs;
    uint32_t target;
    bool visited[8];
    double found[20000];
    uint32_t count;
};

static void enumerate(struct enumeration *e, uint32_t v, double cost)
{
    if (v == e->target) {
        e->found[e->count++] = cost;
        return;
    }
    e->visited[v] = true;
    for (uint32_t a = e->graph->first[v]; a < e->graph->first[v + 1]; a++) {
        if (!e->visited[e->graph->heads[a]]) {
            enumerate(e, e->graph->heads[a], cost + e->costs[a]);
        }
    }
    e->visited[v] = false;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void expect_loop_free(const struct weft_graph_paths *paths, const struct weft_graph *graph,
                             const uint32_t *tails, const double *costs, uint32_t source,
                             uint32_t target)
{
    for (uint32_t p = 0; p < paths->count; p++) {
        bool visited[8] = {false};
        uint32_t v = source;
        double cost = 0;
        for (uint32_t i = paths->first[p]; i < paths->first[p + 1]; i++) {
            assert_int_equal(tails[paths->arcs[i]], v);
            assert_false(visited[v]);
            visited[v] = true;
            v = graph->heads[paths->arcs[i]];
            cost += costs[paths->arcs[i]];
        }
        assert_int_equal(v, target);
        assert_false(visited[v]);
        assert_true(fabs(cost - paths->costs[p]) < 1e-9);
        for (uint32_t q = 0; q < p; q++) {
            bool same =
                paths->first[q + 1] - paths->first[q] == paths->first[p + 1] - paths->first[p];
            for (uint32_t i = 0; same && i < paths->first[p + 1] - paths->first[p]; i++) {
                same = paths->arcs[paths->first[q] + i] == paths->arcs[paths->first[p] + i];
            }
            assert_false(same);
        }
    }
}

static void k_shortest_paths_are_the_cheapest_of_all(void **state)
{
    (void)state;
    struct enumeration *e = malloc(sizeof *e);
    assert_non_null(e);
    for (uint32_t round = 0; round < 4000; round++) {
        struct weft_rng rng;
        weft_rng_init(&rng, 500 + round);
        struct weft_arena scratch = arena;
        uint32_t n = 2 + weft_rng_below(&rng, 6);
        struct weft_graph graph;
        draw_graph(&graph, n, 1 + weft_rng_below(&rng, 3 * n), &rng, &scratch);
        uint32_t *tails = WEFT_NEW(&scratch, uint32_t, graph.arc_count);
        double *costs = WEFT_NEW(&scratch, double, graph.arc_count);
        double *back_costs = WEFT_NEW(&scratch, double, graph.arc_count);
        double *remaining = WEFT_NEW(&scratch, double, n);
        for (uint32_t v = 0; v < n; v++) {
            for (uint32_t a = graph.first[v]; a < graph.first[v + 1]; a++) {
                tails[a] = v;
                costs[a] = round % 2 == 0 ? 1 : (double)weft_rng_below(&rng, 5);
            }
        }
        struct weft_graph reverse;
        const uint32_t *origin;
        weft_graph_reverse(&reverse, &origin, &graph, &scratch);
        for (uint32_t a = 0; a < graph.arc_count; a++) {
            back_costs[a] = costs[origin[a]];
        }
        uint32_t target = weft_rng_below(&rng, n);
        uint32_t source = (target + 1 + weft_rng_below(&rng, n - 1)) % n;
        weft_graph_dijkstra(remaining, NULL, &reverse, back_costs, target, scratch);
        uint32_t k = 1 + weft_rng_below(&rng, 12);
        struct weft_graph_paths paths;
        struct weft_arena inner = weft_arena_split(&scratch);
        weft_graph_k_shortest(
            &paths, &graph,
            &(struct weft_path_query){round % 2 == 0 ? NULL : costs, remaining, source, target, k},
            &scratch, inner);
        *e = (struct enumeration){.graph = &graph, .costs = costs, .target = target};
        enumerate(e, source, 0);
        qsort(e->found, e->count, sizeof(double), by_value);
        if (paths.count != (k < e->count ? k : e->count)) {
            fail_msg("seed %u: %u paths of %u, k = %u", 500 + round, paths.count, e->count, k);
        }
        for (uint32_t p = 0; p < paths.count; p++) {
            if (paths.costs[p] != e->found[p]) {
                fail_msg("seed %u: path %u costs %g, not %g", 500 + round, p, paths.costs[p],
                         e->found[p]);
            }
        }
        expect_loop_free(&paths, &graph, tails, costs, source, target);
    }
    free(e);
}

static void colors_are_partial_permutations(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        struct weft_rng rng;
        weft_rng_init(&rng, 900 + round);
        struct weft_arena scratch = arena;
        uint32_t n = 1 + weft_rng_below(&rng, 60);
        uint32_t degree = 1 + weft_rng_below(&rng, 8);
        struct weft_graph graph;
        uint32_t *tails = WEFT_NEW(&scratch, uint32_t, n * degree);
        uint32_t *heads = WEFT_NEW(&scratch, uint32_t, n * degree);
        uint32_t arc_count = 0;
        for (uint32_t d = 0; d < degree; d++) {
            for (uint32_t v = 0; v < n; v++) {
                heads[d * n + v] = v;
            }
            weft_rng_shuffle(&rng, heads + d * n, n);
            for (uint32_t v = 0; v < n; v++) {
                tails[arc_count] = v;
                heads[arc_count] = heads[d * n + v];
                arc_count += round % 2 == 0 || weft_rng_below(&rng, 4) > 0 ? 1 : 0;
            }
        }
        weft_graph_build(&graph, n, tails, heads, arc_count, &scratch);
        uint32_t *color = WEFT_NEW(&scratch, uint32_t, arc_count);
        weft_graph_color(color, &graph, degree, scratch);
        bool *sends = WEFT_NEW(&scratch, bool, n *degree);
        bool *receives = WEFT_NEW(&scratch, bool, n *degree);
        for (uint32_t v = 0; v < n; v++) {
            for (uint32_t a = graph.first[v]; a < graph.first[v + 1]; a++) {
                bool *sent = &sends[color[a] * n + v];
                bool *received = &receives[color[a] * n + graph.heads[a]];
                if (color[a] >= degree || *sent || *received) {
                    fail_msg("seed %u: two arcs of node %u share color %u", 900 + round, v,
                             color[a]);
                }
                *sent = true;
                *received = true;
            }
        }
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_agree_with_one_search_each),
        cmocka_unit_test(k_shortest_paths_are_the_cheapest_of_all),
        cmocka_unit_test(colors_are_partial_permutations),
    };
    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
