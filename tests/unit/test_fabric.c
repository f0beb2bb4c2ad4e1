// SPDX-License-Identifier: Apache-2.0
// Fabrics from links, their routes, and the reference fabrics.

#include "../fresh_arenas.h"
#include "weft/fabric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GBPS 125e6

static struct weft_error error;

static int begin(void **state)
{
    error = (struct weft_error){.code = WEFT_OK};
    return open_arenas(state);
}

static struct weft_cluster cluster_of(uint32_t server_count, uint32_t degree, double rate_Bps)
{
    struct weft_cluster cluster;
    assert_true(weft_cluster_build(&cluster, server_count, degree, rate_Bps, &error));
    return cluster;
}

// ---- hops ----

// A one-way ring of 4: from s to t it is (t - s) mod 4 hops. Mutation seen to fail: weighing the
// transposed demand.
static void demand_hops_are_shortest_paths_weighted_by_demand(void **state)
{
    (void)state;
    const struct weft_link links[] = {
        {0, 1, 10, 5, 1}, {1, 2, 10, 5, 1}, {2, 3, 10, 5, 1}, {3, 0, 10, 5, 1}};
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"test", 4, 4, links, 4},
                                  &arena, &error));
    double demand[16] = {[0 * 4 + 1] = 3, [1 * 4 + 0] = 1, [2 * 4 + 2] = 100};
    assert_true(weft_fabric_demand_hops(&fabric, demand, scratch) == (3 * 1 + 1 * 3) / 4.0);
    demand[0 * 4 + 1] = 0;
    demand[1 * 4 + 0] = 0;
    assert_true(weft_fabric_demand_hops(&fabric, demand, scratch) == 0);
}

// ---- building ----

static void links_are_sorted_and_parallel_ones_joined(void **state)
{
    (void)state;
    const struct weft_link links[] = {
        {2, 0, 10, 5, 1}, {0, 2, 10, 5, 1}, {0, 1, 10, 5, 2}, {0, 1, 30, 9, 1}, {1, 2, 7, 0, 1},
    };
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"test", 3, 3, links, 5},
                                  &arena, &error));
    assert_int_equal(fabric.link_count, 4);
    assert_true(fabric.forwards);
    assert_int_equal(fabric.first[0], 0);
    assert_int_equal(fabric.first[1], 2);
    assert_int_equal(fabric.first[3], 4);
    uint32_t joined = weft_fabric_find_link(&fabric, 0, 1);
    assert_int_equal(joined, 0);
    assert_int_equal(fabric.links[joined].width, 3);
    assert_int_equal(fabric.links[joined].latency_ps, 9);
    assert_true(fabric.links[joined].rate_Bps == 40);
    assert_int_equal(weft_fabric_find_link(&fabric, 0, 2), 1);
    assert_int_equal(weft_fabric_find_link(&fabric, 2, 1), WEFT_NONE);
    assert_int_equal(weft_fabric_find_link(&fabric, 9, 1), WEFT_NONE);
}

static void bad_links_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct weft_link link;
        const char *word;
    } cases[] = {
        {{0, 3, 1, 0, 1}, "does not exist"},  {{7, 0, 1, 0, 1}, "does not exist"},
        {{1, 1, 1, 0, 1}, "itself"},          {{0, 1, 0, 0, 1}, "no capacity"},
        {{0, 1, -1, 0, 1}, "no capacity"},    {{0, 1, 1, 0, 0}, "no capacity"},
        {{0, 1, 1e300, 0, 1}, "no capacity"}, {{0, 1, 5e-324, 0, 1}, "no capacity"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_fabric fabric;
        const struct weft_link links[] = {{0, 1, 1, 0, 1}, cases[i].link};
        assert_false(weft_fabric_build(&fabric, &(struct weft_fabric_links){"test", 3, 3, links, 2},
                                       &arena, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, "link 1: "));
        assert_non_null(strstr(error.message, cases[i].word));
    }
    struct weft_link not_a_number = {0, 1, (double)NAN, 0, 1};
    struct weft_fabric fabric;
    assert_false(weft_fabric_build(
        &fabric, &(struct weft_fabric_links){"test", 2, 2, &not_a_number, 1}, &arena, &error));
    assert_false(weft_fabric_build(&fabric, &(struct weft_fabric_links){"test", 0, 0, NULL, 0},
                                   &arena, &error));
    assert_false(weft_fabric_build(&fabric, &(struct weft_fabric_links){"test", 3, 2, NULL, 0},
                                   &arena, &error));
}

static void disconnected_fabrics_name_a_pair(void **state)
{
    (void)state;
    struct weft_fabric fabric;
    // Servers 0 and 1 reach 2, but nothing comes back.
    const struct weft_link one_way[] = {{0, 1, 1, 0, 1}, {1, 0, 1, 0, 1}, {1, 2, 1, 0, 1}};
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"one-way", 3, 3, one_way, 3},
                                  &arena, &error));
    assert_false(weft_fabric_check_connected(&fabric, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "from server 2 to server 0"));
    // Two switches that share only server 1, which does not forward.
    const struct weft_link split[] = {
        {0, 3, 1, 0, 1}, {3, 0, 1, 0, 1}, {1, 3, 1, 0, 1}, {3, 1, 1, 0, 1},
        {1, 4, 1, 0, 1}, {4, 1, 1, 0, 1}, {2, 4, 1, 0, 1}, {4, 2, 1, 0, 1},
    };
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"split", 3, 5, split, 8},
                                  &arena, &error));
    assert_false(fabric.forwards);
    assert_false(weft_fabric_check_connected(&fabric, scratch, &error));
    assert_non_null(strstr(error.message, "from server 0 to server 2"));
    struct weft_routes routes;
    assert_false(weft_routes_build_shortest(&routes, &fabric, &arena, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    fabric.forwards = true;
    assert_true(weft_fabric_check_connected(&fabric, scratch, &error));
    assert_true(weft_routes_build_shortest(&routes, &fabric, &arena, scratch, &error));
    assert_true(weft_routes_check(&routes, scratch, &error));
    assert_int_equal(routes.hop_max, 4);
}

// ---- routes ----

static void tables_hold_weighted_paths(void **state)
{
    (void)state;
    const struct weft_link links[] = {
        {0, 1, 1, 0, 1}, {1, 0, 1, 0, 1}, {1, 2, 1, 0, 1},
        {2, 1, 1, 0, 1}, {0, 2, 1, 0, 1}, {2, 0, 1, 0, 1},
    };
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"triangle", 3, 3, links, 6},
                                  &arena, &error));
    const uint32_t nodes[] = {2, 1, 0, 1, 0, 2, 1, 0, 1, 1, 0, 1, 2, 2, 0, 2, 1};
    const uint32_t first[] = {0, 2, 4, 7, 9, 11, 13, 15, 17};
    const double weights[] = {1, 1, 1, 3, 1, 1, 1, 1};
    struct weft_routes routes;
    // 2->1, 0->1, 0->2->1, 0->1 again, 1->0, 1->2, 2->0, 2->1 again: no path from 0 to 2.
    assert_false(weft_routes_build_table(
        &routes, &fabric, &(struct weft_route_table){8, first, nodes, weights, false}, &arena,
        scratch, &error));
    assert_non_null(strstr(error.message, "from server 0 to server 2"));
    assert_true(weft_routes_build_table(&routes, &fabric,
                                        &(struct weft_route_table){8, first, nodes, weights, true},
                                        &arena, scratch, &error));
    assert_int_equal(weft_routes_path_count(&routes, 0, 1), 3);
    assert_int_equal(weft_routes_path_count(&routes, 0, 2), 0);
    assert_int_equal(weft_routes_path_count(&routes, 2, 1), 2);
    uint32_t path[2];
    double weight = 0;
    assert_int_equal(weft_routes_path(&routes, 0, 1, 1, path, &weight), 2);
    assert_true(fabs(weight - 0.2) < 1e-12);
    assert_int_equal(fabric.links[path[0]].to, 2);
    assert_int_equal(fabric.links[path[1]].from, 2);
    uint32_t picked[3] = {0};
    for (uint64_t hash = 0; hash < 10000; hash++) {
        picked[weft_routes_pick(&routes, 0, 1, hash)]++;
    }
    assert_in_range(picked[0], 1850, 2150);
    assert_in_range(picked[1], 1850, 2150);
    assert_in_range(picked[2], 5850, 6150);
    assert_false(weft_routes_check(&routes, scratch, &error)); // partial
    double mean_hops = 0;
    uint32_t hops_max = 0;
    double demand[9] = {0, 1, 0, 0, 0, 1};
    weft_routes_hops(&routes, demand, &mean_hops, &hops_max);
    assert_true(fabs(mean_hops - (1.2 + 1) / 2) < 1e-12);
    assert_int_equal(hops_max, 2);
}

static void bad_paths_are_refused(void **state)
{
    (void)state;
    const struct weft_link links[] = {{0, 1, 1, 0, 1}, {1, 0, 1, 0, 1}, {1, 2, 1, 0, 1}};
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"line", 3, 3, links, 3},
                                  &arena, &error));
    static const struct {
        uint32_t nodes[4];
        uint32_t count;
        double weight;
        const char *word;
    } cases[] = {
        {{0, 2}, 2, 1, "no link from node 0 to node 2"},
        {{0, 1, 0, 1}, 4, 1, "twice"},
        {{0}, 1, 1, "at least two"},
        {{0, 5}, 2, 1, "servers 0 to 2"},
        {{0, 5, 1}, 3, 1, "node 5 does not exist"},
        {{0, 1}, 2, 0, "weight 0"},
        {{0, 1}, 2, -2, "weight -2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_routes routes;
        uint32_t first[] = {0, cases[i].count};
        assert_false(weft_routes_build_table(
            &routes, &fabric,
            &(struct weft_route_table){1, first, cases[i].nodes, &cases[i].weight, true}, &arena,
            scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, cases[i].word));
        assert_non_null(strstr(error.message, "path 0: "));
    }
}

static void circulant_paths_follow_the_table(void **state)
{
    (void)state;
    // Jumps 1 and 3 of 8: the table by hand.
    struct weft_link links[16];
    for (uint32_t s = 0; s < 8; s++) {
        links[2 * s] = (struct weft_link){s, (s + 1) % 8, 1, 0, 1};
        links[2 * s + 1] = (struct weft_link){s, (s + 3) % 8, 1, 0, 1};
    }
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(
        &fabric, &(struct weft_fabric_links){"circulant", 8, 8, links, 16}, &arena, &error));
    static const uint32_t table[8] = {0, 1, 1, 3, 1, 1, 3, 1};
    struct weft_routes routes = {
        .kind = WEFT_ROUTES_CIRCULANT, .fabric = &fabric, .hop_max = 3, .table = table};
    assert_true(weft_routes_check(&routes, scratch, &error));
    double mean_hops = 0;
    uint32_t hops_max = 0;
    weft_routes_hops(&routes, NULL, &mean_hops, &hops_max);
    assert_int_equal(hops_max, 3);
    assert_true(fabs(mean_hops - (1 + 2 + 1 + 2 + 3 + 2 + 3) / 7.0) < 1e-12);
}

static void broken_routes_are_found(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(6, 2, GBPS);
    struct weft_network network;
    assert_true(weft_fabric_build_ring(&network, &cluster, NULL, &arena, &error));
    assert_true(weft_routes_check(&network.routes, scratch, &error));
    struct weft_routes routes = network.routes;
    routes.hop_max = 2;
    assert_false(weft_routes_check(&routes, scratch, &error));
    network.fabric.forwards = false;
    assert_false(weft_routes_check(&network.routes, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "from server 0 to server 2"));
}

// ---- reference fabrics ----

static void ideal_switch_has_one_hop_each_way(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(16, 4, 100 * GBPS);
    struct weft_network network;
    assert_true(weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error));
    assert_int_equal(network.fabric.node_count, 17);
    assert_int_equal(network.fabric.link_count, 32);
    assert_true(fabs(network.fabric.links[0].rate_Bps - 400 * GBPS) < 1);
    assert_int_equal(network.fabric.links[0].latency_ps, cluster.latency_ps);
    assert_true(weft_routes_check(&network.routes, scratch, &error));
    assert_int_equal(network.routes.hop_max, 2);
}

static void fat_trees_have_their_textbook_parts(void **state)
{
    (void)state;
    for (uint32_t k = 4; k <= 12; k += 2) {
        struct weft_arena before = arena;
        struct weft_cluster cluster = cluster_of(k * k * k / 4, 3, 100 * GBPS);
        struct weft_network network;
        assert_true(weft_fabric_build_fat_tree(&network, &cluster, NULL, &arena, &error));
        assert_int_equal(network.fabric.node_count, k * k * k / 4 + 5 * k * k / 4);
        assert_int_equal(network.fabric.link_count, 2 * 3 * k * k * k / 4);
        assert_int_equal(network.fabric.parts.switch_ports, 5 * k * k * k / 4);
        assert_int_equal(network.fabric.parts.transceivers, 6 * k * k * k / 4);
        assert_int_equal(network.fabric.parts.nics, k * k * k / 4);
        uint32_t far = cluster.server_count - 1;
        assert_int_equal(weft_routes_path_count(&network.routes, 0, far), k * k / 4);
        assert_int_equal(weft_routes_path_count(&network.routes, 0, k / 2), k / 2);
        assert_int_equal(weft_routes_path_count(&network.routes, 0, 1), 1);
        arena = before;
    }
}

static void partly_filled_fat_trees_route_every_pair(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 130; n++) {
        struct weft_arena before = arena;
        struct weft_cluster cluster = cluster_of(n, 1, 100 * GBPS);
        struct weft_network network;
        struct weft_fabric_options options = {.radix = n % 3 == 0 ? 16 : 0};
        assert_true(weft_fabric_build_fat_tree(&network, &cluster, &options, &arena, &error));
        assert_true(weft_routes_check(&network.routes, scratch, &error));
        assert_true(weft_fabric_check_connected(&network.fabric, scratch, &error));
        options.oversubscription = 1 + n % 5;
        assert_true(weft_fabric_build_oversubscribed(&network, &cluster, &options, &arena, &error));
        assert_true(weft_routes_check(&network.routes, scratch, &error));
        arena = before;
    }
}

static void oversubscription_halves_the_uplinks(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(128, 4, 100 * GBPS);
    struct weft_network network;
    assert_true(weft_fabric_build_oversubscribed(&network, &cluster, NULL, &arena, &error));
    const struct weft_fabric *fabric = &network.fabric;
    double down_Bps = 0;
    double up_Bps = 0;
    for (uint32_t i = fabric->first[128]; i < fabric->first[129]; i++) {
        *(fabric->links[i].to < 128 ? &down_Bps : &up_Bps) += fabric->links[i].rate_Bps;
    }
    assert_true(fabs(down_Bps / up_Bps - 2) < 1e-12);
    struct weft_fabric_options options = {.oversubscription = 0.5};
    assert_false(weft_fabric_build_oversubscribed(&network, &cluster, &options, &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    options = (struct weft_fabric_options){.radix = 6};
    assert_false(weft_fabric_build_fat_tree(&network, &cluster, &options, &arena, &error));
    assert_non_null(strstr(error.message, "at least 8"));
}

static void moore_bounds_equal_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        uint32_t server_count;
        uint32_t degree;
        bool directed;
        double mean_hops;
        uint32_t diameter;
    } cases[] = {
        {128, 4, false, 3.433, 4},  {128, 8, false, 2.433, 3},  {432, 4, false, 4.462, 5},
        {432, 8, false, 2.833, 3},  {1024, 4, false, 5.300, 6}, {1024, 8, false, 3.484, 4},
        {4096, 4, false, 6.470, 7}, {4096, 8, false, 4.090, 5}, {50, 7, false, 1.857, 2},
        {10, 2, false, 2.778, 5},   {10, 1, true, 5, 9},        {2, 1, false, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double mean_hops = 0;
        uint32_t diameter = 0;
        weft_fabric_moore(cases[i].server_count, cases[i].degree, cases[i].directed, &mean_hops,
                          &diameter);
        assert_true(fabs(mean_hops - cases[i].mean_hops) < 5.1e-4);
        assert_int_equal(diameter, cases[i].diameter);
    }
    double mean_hops = 0;
    uint32_t diameter = 0;
    weft_fabric_moore(3, 1, false, &mean_hops, &diameter);
    assert_true(isinf(mean_hops));
    assert_int_equal(diameter, WEFT_NONE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(demand_hops_are_shortest_paths_weighted_by_demand),
        CASE(links_are_sorted_and_parallel_ones_joined),
        CASE(bad_links_are_refused),
        CASE(disconnected_fabrics_name_a_pair),
        CASE(tables_hold_weighted_paths),
        CASE(bad_paths_are_refused),
        CASE(circulant_paths_follow_the_table),
        CASE(broken_routes_are_found),
        CASE(ideal_switch_has_one_hop_each_way),
        CASE(fat_trees_have_their_textbook_parts),
        CASE(partly_filled_fat_trees_route_every_pair),
        CASE(oversubscription_halves_the_uplinks),
        CASE(moore_bounds_equal_the_published_ones),
    };
    return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
