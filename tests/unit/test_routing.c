// SPDX-License-Identifier: Apache-2.0
// Routing on fabrics small enough to know the answers.

#include "weft/routing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;

#define RATE_BPS 12.5e9

// n servers, a link i -> i + jump for every jump.
static struct weft_fabric circulant(uint32_t n, const uint32_t *jumps, uint32_t jump_count,
                                    struct weft_arena *into)
{
    struct weft_link *links = WEFT_NEW(into, struct weft_link, (size_t)n * jump_count);
    for (uint32_t j = 0; j < jump_count; j++) {
        for (uint32_t i = 0; i < n; i++) {
            links[j * n + i] = (struct weft_link){i, (i + jumps[j]) % n, RATE_BPS, 1000000, 1};
        }
    }
    struct weft_fabric fabric;
    struct weft_error error;
    assert_true(weft_fabric_build(
        &fabric, &(struct weft_fabric_links){"circulant", n, n, links, n * jump_count}, into,
        &error));
    fabric.forwards = true;
    return fabric;
}

static void coin_change_takes_the_fewest_coins(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 3, 11, 37};
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(128, jumps, 4, &kept);
    struct weft_routes routes;
    assert_true(weft_routing_coin_change(
        &routes, &fabric, jumps, 4,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_true(weft_routes_check(&routes, scratch, &error));
    double mean_hops = 0;
    uint32_t hops_max = 0;
    weft_routes_hops(&routes, NULL, &mean_hops, &hops_max);
    assert_true(fabs(mean_hops - 4.520) < 0.0005);
    assert_int_equal(hops_max, 8);
    assert_int_equal(routes.hop_max, 8);
}

static void coins_that_cannot_pay_are_refused(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {2, 4};
    static const uint32_t strange[] = {3};
    static const uint32_t zero[] = {0};
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(8, jumps, 2, &kept);
    struct weft_routes routes;
    assert_false(weft_routing_coin_change(
        &routes, &fabric, jumps, 2,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "server 0 to server 1"));
    assert_false(weft_routing_coin_change(
        &routes, &fabric, strange, 1,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_false(weft_routing_coin_change(
        &routes, &fabric, zero, 1,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
}

static void k_shortest_paths_come_in_order_of_hops(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 7}; // a ring of 8 both ways
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(8, jumps, 2, &kept);
    struct weft_routes routes;
    assert_true(weft_routing_k_shortest(
        &routes, &fabric, 4, NULL,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_true(weft_routes_check(&routes, scratch, &error));
    assert_int_equal(weft_routes_path_count(&routes, 0, 3), 2); // there is no third
    assert_int_equal(weft_routes_hop_count(&routes, 0, 3, 0), 3);
    assert_int_equal(weft_routes_hop_count(&routes, 0, 3, 1), 5);
    double demand[64] = {0};
    demand[3] = 1;
    assert_true(weft_routing_k_shortest(
        &routes, &fabric, 4, demand,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(weft_routes_path_count(&routes, 0, 3), 2);
    assert_int_equal(weft_routes_path_count(&routes, 3, 0), 1);
    assert_false(weft_routing_k_shortest(
        &routes, &fabric, 0, NULL,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
}

static void shortest_paths_depend_on_the_seed_in_ties_alone(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 5};
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(32, jumps, 2, &kept);
    struct weft_routes routes[3];
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_true(weft_routing_shortest(
            &routes[seed], &fabric,
            &(struct weft_environment){
                .arena = &kept, .scratch = scratch, .seed = seed / 2, .error = &error}));
        assert_true(weft_routes_check(&routes[seed], scratch, &error));
    }
    uint32_t links = routes[0].path_first[32 * 31];
    assert_int_equal(links, routes[2].path_first[32 * 31]);
    assert_memory_equal(routes[0].path_links, routes[1].path_links, links * sizeof(uint32_t));
    assert_memory_not_equal(routes[0].path_links, routes[2].path_links, links * sizeof(uint32_t));
}

static void a_split_fabric_is_infeasible_and_says_where(void **state)
{
    (void)state;
    struct weft_link links[] = {
        {0, 1, RATE_BPS, 0, 1}, {1, 0, RATE_BPS, 0, 1}, {2, 3, RATE_BPS, 0, 1},
        {3, 2, RATE_BPS, 0, 1}, {0, 2, RATE_BPS, 0, 1},
    };
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"split", 4, 4, links, 5},
                                  &kept, &error));
    fabric.forwards = true;
    struct weft_routes routes;
    struct weft_minmax_result result;
    struct weft_minmax_options options = {.paths_max = 2, .epsilon = 0.01, .rounds_max = 5};
    double demand[16] = {0};
    assert_false(
        weft_routing_shortest(&routes, &fabric,
                              &(struct weft_environment){
                                  .arena = &kept, .scratch = scratch, .seed = 1, .error = &error}));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "from server 2 to server 0"));
    assert_false(weft_routing_k_shortest(
        &routes, &fabric, 2, NULL,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_false(weft_routing_minmax(
        &routes, &result, &fabric, demand, &options,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
}

static void minmax_splits_over_both_ways_of_a_ring(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 3};
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(4, jumps, 2, &kept);
    double demand[16] = {0};
    demand[2] = 25e9; // 0 to 2, both ways are two hops: one second each
    struct weft_routes routes;
    struct weft_minmax_result result;
    struct weft_minmax_options options = {.paths_max = 4, .epsilon = 0.001, .rounds_max = 50};
    assert_true(weft_routing_minmax(
        &routes, &result, &fabric, demand, &options,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_true(fabs(result.max_link_seconds - 1) < 1e-3);
    assert_true(fabs(result.bound_seconds - 1) < 1e-9);
    assert_int_equal(routes.spread, WEFT_SPREAD_SPLIT);
    assert_int_equal(weft_routes_path_count(&routes, 0, 2), 2);
    assert_int_equal(weft_routes_path_count(&routes, 2, 0), 1);
    // With a link already half full for a second only a quarter can go over it.
    double base_bytes[8] = {0};
    base_bytes[weft_fabric_find_link(&fabric, 0, 1)] = 12.5e9;
    options.link_base_bytes = base_bytes;
    assert_true(weft_routing_minmax(
        &routes, &result, &fabric, demand, &options,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_true(fabs(result.max_link_seconds - 1.5) < 2e-3);
    assert_true(result.bound_seconds <= result.max_link_seconds && result.bound_seconds > 1.499);
}

// Mutation seen to fail: pairs without demand routed by either method.
static void pairs_without_demand_have_no_route_among_many_servers(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 32, 1025, 994}; // both ways
    uint32_t n = WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX + 2;
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(n, jumps, 4, &kept);
    double *demand = WEFT_NEW(&kept, double, (size_t)n *n);
    demand[33] = 1e9; // 0 to 33
    demand[(size_t)7 * n + 8] = 1e9;
    struct weft_routes routes[2];
    struct weft_minmax_result result;
    struct weft_minmax_options options = {.paths_max = 2, .rounds_max = 20, .unproved = true};
    const struct weft_environment environment = {
        .arena = &kept, .scratch = scratch, .error = &error};
    assert_true(weft_routing_k_shortest(&routes[0], &fabric, 2, demand, &environment));
    assert_true(weft_routing_minmax(&routes[1], &result, &fabric, demand, &options, &environment));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weft_routes_path_count(&routes[i], 0, 33), 2);
        assert_int_equal(weft_routes_path_count(&routes[i], 7, 8), i == 0 ? 2 : 1);
        assert_int_equal(routes[i].pair_first[(size_t)n * n], i == 0 ? 4 : 3);
    }
}

static void routes_do_not_pass_through_servers_that_do_not_forward(void **state)
{
    (void)state;
    // Servers 0, 1, 2; switch 3. The short cut 0 - 1 - 2 is closed, as 1 does not forward.
    struct weft_link links[] = {
        {0, 1, RATE_BPS, 0, 1}, {1, 0, RATE_BPS, 0, 1}, {1, 2, RATE_BPS, 0, 1},
        {2, 1, RATE_BPS, 0, 1}, {0, 3, RATE_BPS, 0, 1}, {3, 4, RATE_BPS, 0, 1},
        {4, 2, RATE_BPS, 0, 1}, {2, 4, RATE_BPS, 0, 1}, {4, 3, RATE_BPS, 0, 1},
        {3, 0, RATE_BPS, 0, 1},
    };
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"mixed", 3, 5, links, 10},
                                  &kept, &error));
    fabric.forwards = false;
    double demand[9] = {0};
    demand[2] = 1e9;
    struct weft_routes routes[3];
    struct weft_minmax_result result;
    struct weft_minmax_options options = {
        .paths_max = 4, .extra_hops = 3, .epsilon = 0.01, .rounds_max = 20};
    assert_true(
        weft_routing_shortest(&routes[0], &fabric,
                              &(struct weft_environment){
                                  .arena = &kept, .scratch = scratch, .seed = 1, .error = &error}));
    assert_true(weft_routing_k_shortest(
        &routes[1], &fabric, 3, NULL,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_true(weft_routing_minmax(
        &routes[2], &result, &fabric, demand, &options,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(weft_routes_path_count(&routes[i], 0, 2), 1);
        assert_int_equal(weft_routes_hop_count(&routes[i], 0, 2, 0), 3);
    }
    assert_true(fabs(result.bound_seconds - 0.08) < 1e-9);
}

static void loads_add_up_over_rings_and_routes(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 3};
    static const uint32_t all[] = {0, 1, 2, 3};
    static const uint32_t pair[] = {0, 2};
    struct weft_arena kept = arena;
    struct weft_error error;
    struct weft_fabric fabric = circulant(4, jumps, 2, &kept);
    struct weft_routes routes;
    assert_true(weft_routing_coin_change(
        &routes, &fabric, jumps, 2,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    struct weft_traffic_group groups[] = {
        {.member_count = 4, .members = all, .size_bytes = 100, .wire_bytes = 600},
        {.member_count = 2, .members = pair, .size_bytes = 10, .wire_bytes = 20},
    };
    double transfers[16] = {0};
    transfers[1] = 7;
    struct weft_traffic traffic = {.server_count = 4,
                                   .group_count = 2,
                                   .groups = groups,
                                   .transfer_bytes = transfers,
                                   .transfer_total_bytes = 7,
                                   .allreduce_wire_bytes = 620};
    struct weft_ring ring = {.group = 0, .member_count = 4, .members = all, .share_ratio = 1};
    struct weft_ring_set rings = {1, &ring};
    double load_bytes[8];
    weft_routing_load(load_bytes, &routes, &rings, &traffic, scratch);
    double sum = 0;
    for (uint32_t l = 0; l < fabric.link_count; l++) {
        sum += load_bytes[l];
    }
    // The ring is all neighbors; the pair without a ring goes two hops each way; 7 go one hop.
    assert_true(fabs(sum - (600 + 2 * 20 + 7)) < 1e-9);
    double first = load_bytes[weft_fabric_find_link(&fabric, 0, 1)];
    assert_true(fabs(first - (150 + 10 + 7)) < 1e-9 || fabs(first - (150 + 7)) < 1e-9);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coin_change_takes_the_fewest_coins),
        cmocka_unit_test(coins_that_cannot_pay_are_refused),
        cmocka_unit_test(k_shortest_paths_come_in_order_of_hops),
        cmocka_unit_test(shortest_paths_depend_on_the_seed_in_ties_alone),
        cmocka_unit_test(a_split_fabric_is_infeasible_and_says_where),
        cmocka_unit_test(minmax_splits_over_both_ways_of_a_ring),
        cmocka_unit_test(pairs_without_demand_have_no_route_among_many_servers),
        cmocka_unit_test(routes_do_not_pass_through_servers_that_do_not_forward),
        cmocka_unit_test(loads_add_up_over_rings_and_routes),
    };
    return cmocka_run_group_tests_name("routing", tests, NULL, NULL);
}
