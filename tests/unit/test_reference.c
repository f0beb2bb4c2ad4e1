// SPDX-License-Identifier: Apache-2.0
// The reference fabrics: shapes, parts, prices, refusals.

#include "../fresh_arenas.h"
#include "fabric/routes_kinds.h"

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

static bool close_to(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-9 * fabs(wanted);
}

static double mean_hops_of(const struct weft_network *network)
{
    double mean_hops = 0;
    uint32_t hops_max = 0;
    weft_routes_hops(&network->routes, NULL, &mean_hops, &hops_max);
    return mean_hops;
}

static void torus_sides_are_as_equal_as_n_allows(void **state)
{
    (void)state;
    static const struct {
        uint32_t server_count;
        uint32_t dimensions;
        uint32_t degree;
        uint32_t sides[3];
        uint32_t widths[3];
    } cases[] = {
        {16, 2, 4, {4, 4, 1}, {1, 1, 1}},      {128, 2, 4, {16, 8, 1}, {1, 1, 1}},
        {128, 3, 6, {8, 4, 4}, {1, 1, 1}},     {432, 2, 8, {24, 18, 1}, {2, 2, 1}},
        {432, 3, 8, {9, 8, 6}, {2, 1, 1}},     {16, 2, 8, {4, 4, 1}, {2, 2, 1}},
        {16, 2, 7, {4, 4, 1}, {2, 1, 1}},      {8, 3, 3, {2, 2, 2}, {1, 1, 1}},
        {4096, 3, 6, {16, 16, 16}, {1, 1, 1}}, {6, 2, 3, {3, 2, 1}, {1, 1, 1}},
        {6, 2, 4, {3, 2, 1}, {1, 2, 1}},       {34, 2, 4, {17, 2, 1}, {1, 2, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_cluster cluster =
            cluster_of(cases[i].server_count, cases[i].degree, 100 * GBPS);
        struct weft_network network;
        struct weft_fabric_options options = {.dimensions = cases[i].dimensions};
        assert_true(weft_fabric_build_torus(&network, &cluster, &options, &arena, &error));
        uint32_t stride = 1;
        for (uint32_t j = 0; j < cases[i].dimensions; j++) {
            assert_int_equal(network.routes.shape[j], cases[i].sides[j]);
            uint32_t link = weft_fabric_find_link(&network.fabric, 0, stride);
            assert_int_not_equal(link, WEFT_NONE);
            assert_int_equal(network.fabric.links[link].width, cases[i].widths[j]);
            assert_true(
                close_to(network.fabric.links[link].rate_Bps, 100 * GBPS * cases[i].widths[j]));
            stride *= cases[i].sides[j];
        }
    }
}

static void torus_goes_the_shorter_way_round(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(60, 6, GBPS);
    struct weft_network network;
    struct weft_fabric_options options = {.dimensions = 3};
    assert_true(weft_fabric_build_torus(&network, &cluster, &options, &arena, &error));
    assert_true(weft_routes_check(&network.routes, scratch, &error));
    // 5 x 4 x 3: mean distance round a side L is (L/2)(L - L/2)/L, over pairs that differ 60/59 of
    // the sum.
    double sum = 6.0 / 5 + 4.0 / 4 + 2.0 / 3;
    assert_true(close_to(mean_hops_of(&network), sum * 60 / 59));
    assert_int_equal(network.routes.hop_max, 2 + 2 + 1);
}

static void tori_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t server_count;
        uint32_t degree;
        uint32_t dimensions;
        const char *word;
    } cases[] = {
        {13, 4, 2, "ring"},    {4, 3, 3, "product of 3 sides"}, {22, 4, 3, "product of 3"},
        {16, 3, 2, "4 ports"}, {27, 5, 3, "6 ports"},           {16, 4, 4, "choose 2 or 3"},
        {16, 4, 1, "2 or 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_cluster cluster = cluster_of(cases[i].server_count, cases[i].degree, GBPS);
        struct weft_network network;
        struct weft_fabric_options options = {.dimensions = cases[i].dimensions};
        assert_false(weft_fabric_build_torus(&network, &cluster, &options, &arena, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, cases[i].word));
    }
}

static void rings_take_half_the_ports_each_way(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(9, 5, 100 * GBPS);
    struct weft_network network;
    assert_true(weft_fabric_build_ring(&network, &cluster, NULL, &arena, &error));
    assert_int_equal(network.fabric.link_count, 18);
    assert_int_equal(network.fabric.links[0].width, 2);
    assert_int_equal(network.fabric.parts.nics, 9 * 4);
    assert_true(weft_routes_check(&network.routes, scratch, &error));
    assert_true(close_to(mean_hops_of(&network), 2.5));
    cluster = cluster_of(2, 1, GBPS);
    assert_true(weft_fabric_build_ring(&network, &cluster, NULL, &arena, &error));
    assert_int_equal(network.fabric.link_count, 2);
    assert_true(weft_routes_check(&network.routes, scratch, &error));
    cluster = cluster_of(3, 1, GBPS);
    assert_false(weft_fabric_build_ring(&network, &cluster, NULL, &arena, &error));
    assert_non_null(strstr(error.message, "at least 2"));
}

static void leaf_spine_joins_each_rail(void **state)
{
    (void)state;
    static const struct {
        uint32_t server_count, degree, radix;
        double oversubscription;
        uint32_t leaves, spines, cores, hop_max; // of all rails
    } cases[] = {
        {64, 4, 0, 0, 4, 0, 0, 2},
        {128, 4, 0, 0, 16, 8, 0, 4},
        {432, 8, 0, 0, 112, 64, 0, 4},
        {4096, 2, 0, 0, 128, 64, 0, 4}, // of 128 ports, which saves a tier
        {32, 3, 8, 0, 24, 12, 0, 4},
        {40, 2, 8, 2, 16, 6, 0, 4},
        {40, 2, 8, 0, 20, 24, 16, 6}, // three pods of four leaves at most and four spines
        {16384, 1, 0, 0, 512, 512, 256, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_cluster cluster = cluster_of(cases[i].server_count, cases[i].degree, GBPS);
        struct weft_fabric_options options = {.radix = cases[i].radix,
                                              .oversubscription = cases[i].oversubscription};
        struct weft_network network;
        assert_true(
            weft_fabric_build_leaves(&network, "leaf-spine", &cluster, &options, &arena, &error));
        const uint32_t *shape = network.routes.shape;
        uint32_t rails = shape[TREE_RAILS];
        uint32_t pods = (shape[TREE_GROUPS] + shape[TREE_POD_GROUPS] - 1) / shape[TREE_POD_GROUPS];
        assert_int_equal(rails, cases[i].degree);
        assert_int_equal(shape[TREE_GROUPS] * rails, cases[i].leaves);
        assert_int_equal(pods * shape[TREE_SPINES] * rails, cases[i].spines);
        assert_int_equal(shape[TREE_SPINES] * rails * shape[TREE_CORES], cases[i].cores);
        uint64_t switches = (uint64_t)cases[i].leaves + cases[i].spines + cases[i].cores;
        assert_int_equal(network.fabric.node_count, cases[i].server_count + switches);
        assert_int_equal(network.routes.hop_max, cases[i].hop_max);
    }
    static const struct {
        uint32_t server_count, radix;
        const char *message;
    } refused[] = {
        {40, 4,
         "three tiers of 4-port switches hold no 40 servers of 2 ports, at most 16; a radix of 6 "
         "does"},
        {60, 6,
         "three tiers of 6-port switches hold no 60 servers of 2 ports, at most 54; a radix of 8 "
         "does, or an oversubscription of 2"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct weft_cluster cluster = cluster_of(refused[i].server_count, 2, GBPS);
        struct weft_fabric_options options = {.radix = refused[i].radix};
        struct weft_network network;
        assert_false(
            weft_fabric_build_leaves(&network, "leaf-spine", &cluster, &options, &arena, &error));
        assert_string_equal(error.message + strlen("leaf-spine: "), refused[i].message);
    }
}

static void expanders_are_regular_and_random(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(128, 4, GBPS);
    struct weft_network networks[2];
    for (uint32_t seed = 0; seed < 2; seed++) {
        struct weft_fabric_options options = {.seed = seed};
        assert_true(weft_fabric_build_expander(&networks[seed], &cluster, &options, &arena, scratch,
                                               &error));
        const struct weft_fabric *fabric = &networks[seed].fabric;
        for (uint32_t s = 0; s < 128; s++) {
            assert_int_equal(fabric->first[s + 1] - fabric->first[s], 4);
        }
        // The Moore bound is 3.433; random 4-regular graphs of 128 lie near 3.65.
        assert_in_range((uint32_t)(1000 * mean_hops_of(&networks[seed])), 3500, 3800);
        assert_true(weft_routes_check(&networks[seed].routes, scratch, &error));
    }
    assert_memory_not_equal(networks[0].fabric.links, networks[1].fabric.links,
                            512 * sizeof(struct weft_link));
    cluster = cluster_of(7, 3, GBPS); // odd times odd: one port stays dark
    assert_true(weft_fabric_build_expander(&networks[0], &cluster, NULL, &arena, scratch, &error));
    assert_int_equal(networks[0].fabric.parts.nics, 20);
    cluster = cluster_of(4, 1, GBPS);
    assert_false(weft_fabric_build_expander(&networks[0], &cluster, NULL, &arena, scratch, &error));
    assert_int_equal(error.code, WEFT_INPUT);
}

// What TopoOpt's authors report: at 128 servers, d = 4, 100 Gbps their fabric matches an ideal
// switch that costs 3.2 times more.
static void an_ideal_switch_costs_what_was_published(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(128, 4, 100 * GBPS);
    struct weft_network network;
    assert_true(weft_fabric_build_ideal(&network, &cluster, NULL, &arena, &error));
    struct weft_cost ideal = weft_fabric_cost(&network.fabric.parts, &cluster.prices);
    assert_true(close_to(ideal.total_usd, 128 * 1499.0 + 768 * 659.0 + 640 * 1090.0));
    assert_true(weft_fabric_build_expander(&network, &cluster, NULL, &arena, scratch, &error));
    struct weft_parts parts =
        weft_fabric_direct_parts(&network.fabric, 100 * GBPS, WEFT_CABLING_PATCH_PANEL, scratch);
    struct weft_cost direct = weft_fabric_cost(&parts, &cluster.prices);
    assert_true(close_to(direct.total_usd, 512 * (659.0 + 99 + 100)));
    assert_true(fabs(ideal.total_usd / direct.total_usd - 3.2) < 0.05);
    assert_true(ideal.power_watts > direct.power_watts && direct.power_watts > 0);
}

static void direct_parts_follow_the_cabling(void **state)
{
    (void)state;
    // A one-way ring of 3 and a cable between 0 and 1: a port sends and receives.
    const struct weft_link links[] = {
        {0, 1, 1, 0, 1}, {1, 2, 1, 0, 1}, {2, 0, 1, 0, 1}, {0, 1, 1, 0, 1}, {1, 0, 1, 0, 1}};
    struct weft_fabric fabric;
    assert_true(weft_fabric_build(&fabric, &(struct weft_fabric_links){"mixed", 3, 3, links, 5},
                                  &arena, &error));
    static const struct {
        enum weft_cabling cabling;
        uint32_t panel, ocs, mechanical;
    } cases[] = {
        {WEFT_CABLING_FIXED, 0, 0, 0},
        {WEFT_CABLING_PATCH_PANEL, 5, 0, 0},
        {WEFT_CABLING_PATCH_PANEL_AHEAD, 10, 0, 5},
        {WEFT_CABLING_OCS, 0, 5, 0},
        {WEFT_CABLING_OCS_AHEAD, 0, 10, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_parts parts =
            weft_fabric_direct_parts(&fabric, 100 * GBPS, cases[i].cabling, scratch);
        assert_int_equal(parts.nics, 5);
        assert_int_equal(parts.transceivers, 5);
        assert_int_equal(parts.switch_ports, 0);
        assert_int_equal(parts.patch_panel_ports, cases[i].panel);
        assert_int_equal(parts.ocs_ports, cases[i].ocs);
        assert_int_equal(parts.mechanical_switches, cases[i].mechanical);
    }
}

static void cost_equivalent_spends_the_budget(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(128, 4, 100 * GBPS);
    static const double budgets_usd[] = {2e5, 439296, 7e5, 3e6, 2e7};
    double last_Bps = 0;
    for (size_t i = 0; i < sizeof budgets_usd / sizeof budgets_usd[0]; i++) {
        struct weft_network network;
        assert_true(
            weft_fabric_build_cost_equivalent(&network, &cluster, budgets_usd[i], &arena, &error));
        struct weft_cost cost = weft_fabric_cost(&network.fabric.parts, &cluster.prices);
        assert_true(close_to(cost.total_usd, budgets_usd[i]));
        assert_true(network.fabric.parts.rate_Bps > last_Bps);
        last_Bps = network.fabric.parts.rate_Bps;
        assert_true(close_to(network.fabric.links[0].rate_Bps, last_Bps));
    }
    struct weft_network network;
    assert_false(weft_fabric_build_cost_equivalent(&network, &cluster, 9e4, &arena, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "$99,200, above the budget of $90,000"));
    assert_false(
        weft_fabric_build_cost_equivalent(&network, &cluster, (double)NAN, &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    const struct weft_price_row flat[] = {{.rate_Bps = GBPS, .nic_usd = 1},
                                          {.rate_Bps = 2 * GBPS, .nic_usd = 1}};
    cluster.prices = (struct weft_price_book){.row_count = 2, .rows = flat};
    assert_false(weft_fabric_build_cost_equivalent(&network, &cluster, 1e5, &arena, &error));
    assert_non_null(strstr(error.message, "add faster rows"));
}

static void every_fabric_has_a_name(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(64, 6, 100 * GBPS);
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    assert_int_equal(count, 15);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_network network;
        assert_true(weft_fabric_build_named(
            &network, references[i].name, &cluster, NULL,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
        assert_string_equal(network.fabric.name, references[i].name);
        assert_ptr_equal(network.routes.fabric, &network.fabric);
        assert_true(strlen(references[i].summary) > 20);
    }
    struct weft_network network;
    assert_true(weft_fabric_build_named(
        &network, "single-switch", &cluster, NULL,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_false(weft_fabric_build_named(
        &network, "butterfly", &cluster, NULL,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "'butterfly'"));
    assert_non_null(strstr(error.message, "leaf-spine, expander"));
}

// A host link takes of a server's links and leaves those between switches, and the parts, as they
// are bought. Seen to fail when links between switches were limited, too, when the solved rate of
// the cost-equivalent Fat-tree was limited as if it were the NIC's, and when the parts followed.
static void host_links_limit_the_servers_alone(void **state)
{
    (void)state;
    struct weft_cluster whole = cluster_of(64, 6, 100 * GBPS);
    struct weft_cluster limited = whole;
    limited.host_Bps = 60 * GBPS;
    weft_cluster_set_nic_rate(&limited, 100 * GBPS);
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .error = &error};
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_network network;
        struct weft_network bought;
        assert_true(
            weft_fabric_build_named(&network, references[i].name, &limited, NULL, &environment));
        assert_true(
            weft_fabric_build_named(&bought, references[i].name, &whole, NULL, &environment));
        const struct weft_fabric *fabric = &network.fabric;
        assert_true(fabric->parts.rate_Bps == bought.fabric.parts.rate_Bps);
        assert_int_equal(fabric->link_count, bought.fabric.link_count);
        bool solved = strcmp(references[i].name, "cost-equivalent") == 0;
        double server_Bps = 0;
        for (uint32_t l = 0; l < fabric->link_count; l++) {
            const struct weft_link *link = &fabric->links[l];
            const struct weft_link *other = &bought.fabric.links[l];
            bool server = link->from < 64 || link->to < 64;
            server_Bps += link->from == 0 ? link->rate_Bps : 0;
            assert_true(solved || close_to(link->rate_Bps, other->rate_Bps * (server ? 0.6 : 1)));
        }
        assert_true(server_Bps <= 6 * 60 * GBPS * (1 + 1e-9));
        assert_true(!solved || close_to(server_Bps, fmin(6 * 60 * GBPS, fabric->parts.rate_Bps)));
    }
}

// Two accelerators that share a NIC fill it together; alone, one has its host link.
static void a_shared_nic_is_reached_over_a_host_link(void **state)
{
    (void)state;
    struct weft_cluster cluster = cluster_of(4, 4, 800 * GBPS);
    const struct weft_scale_up scale_up = {.accelerators = 8, .rate_Bps = 450e9};
    cluster.accelerators_per_server = 8;
    cluster.host_Bps = 512 * GBPS;
    weft_cluster_set_nic_rate(&cluster, 800 * GBPS);
    struct weft_network network;
    assert_true(weft_fabric_build_scale_up(
        &network, "leaf-spine", &cluster, &scale_up, NULL,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    const struct weft_fabric *fabric = &network.fabric;
    for (uint32_t l = fabric->first[0]; l < fabric->first[1]; l++) {
        double rate_Bps = fabric->links[l].rate_Bps;
        assert_true(close_to(rate_Bps, 450e9) || close_to(rate_Bps, 512 * GBPS));
    }
    uint32_t nic = 4 * 8 + 4; // behind accelerators and the switches of servers
    double up_Bps = 0;
    for (uint32_t l = fabric->first[nic]; l < fabric->first[nic + 1]; l++) {
        bool up = fabric->links[l].to > nic;
        up_Bps += up ? fabric->links[l].rate_Bps : 0;
    }
    assert_true(close_to(up_Bps, 800 * GBPS));
}

// Shares leave by a NIC each and come in by one each where rails do not meet; a hash moves them
// over spines alone. Mutations that made this fail: rails as the fastest digit; one hash for all
// NICs; every rail of a dragonfly beginning at its first path.
static void transfers_are_divided_over_nics(void **state)
{
    (void)state;
    static const char *const names[] = {"leaf-spine", "rail-only", "dual-plane", "clos",
                                        "dragonfly"};
    struct weft_fabric_options options = {.radix = 8};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct weft_cluster cluster = cluster_of(24, 4, 100 * GBPS);
        struct weft_network network;
        cluster.balance = WEFT_BALANCE_HASH;
        options.radix = i == 4 ? 12 : 8;
        if (!weft_fabric_build_named(
                &network, names[i], &cluster, i == 1 ? NULL : &options,
                &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error})) {
            fail_msg("%s: %s", names[i], error.message);
        }
        assert_int_equal(weft_routes_part_count(&network.routes, 1, 17), 1);
        weft_routes_divide_by_nics(&network.routes);
        uint32_t nics = network.fabric.first[2] - network.fabric.first[1];
        uint32_t others = 0;
        assert_int_equal(weft_routes_part_count(&network.routes, 1, 17), nics);
        for (uint32_t to = 0; to < 24; to += 17) { // below the same leaves, and below others
            for (uint32_t nic = 0; nic < nics; nic++) {
                uint32_t links[8];
                uint32_t path = weft_routes_part(&network.routes, 1, to, nic, 5);
                uint32_t hops = weft_routes_path(&network.routes, 1, to, path, links, NULL);
                assert_int_equal(links[0], network.fabric.first[1] + nic);
                assert_int_equal(network.fabric.links[links[hops - 1]].to, to);
                for (uint64_t hash = 6; hash < 30; hash++) {
                    uint32_t moved = weft_routes_part(&network.routes, 1, to, nic, hash);
                    others += moved != path;
                }
            }
        }
        // Every NIC draws for itself: not all of them the same spine.
        uint32_t own = weft_routes_path_count(&network.routes, 1, 17) / nics;
        uint32_t alike = 0;
        for (uint64_t hash = 0; nics > 1 && own > 1 && hash < 30; hash++) {
            alike += weft_routes_part(&network.routes, 1, 17, 0, hash) % own ==
                     weft_routes_part(&network.routes, 1, 17, 1, hash) % own;
        }
        assert_true(alike < 30);
        assert_int_equal(others > 0, own > 1);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(torus_sides_are_as_equal_as_n_allows),
        CASE(torus_goes_the_shorter_way_round),
        CASE(tori_that_cannot_be_are_refused),
        CASE(rings_take_half_the_ports_each_way),
        CASE(leaf_spine_joins_each_rail),
        CASE(expanders_are_regular_and_random),
        CASE(an_ideal_switch_costs_what_was_published),
        CASE(direct_parts_follow_the_cabling),
        CASE(cost_equivalent_spends_the_budget),
        CASE(every_fabric_has_a_name),
        CASE(host_links_limit_the_servers_alone),
        CASE(transfers_are_divided_over_nics),
        CASE(a_shared_nic_is_reached_over_a_host_link),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
