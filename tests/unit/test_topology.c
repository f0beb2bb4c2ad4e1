// SPDX-License-Identifier: Apache-2.0
// The paper's TopologyFinder: published tables, groups of any shape, splits and checks.

#include "topology/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;

struct published {
    uint32_t server_count;
    uint32_t degree;
    uint32_t generator_count; // 0 = not published
    uint32_t generators[8];
    double mean_hops;
    uint32_t diameter;
};

static void expect_uniform(const struct published *rows, size_t count, bool simplex)
{
    for (size_t i = 0; i < count; i++) {
        const struct published *row = &rows[i];
        struct weft_arena result = arena;
        struct weft_arena scratch;
        struct weft_error error = {.code = WEFT_OK};
        assert_true(weft_arena_init(&scratch, 0, &error));
        struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                .simplex = simplex};
        struct weft_topology topology;
        options.degree = row->degree;
        assert_true(weft_topology_find(
            &topology, NULL, row->server_count, &options,
            &(struct weft_environment){.arena = &result, .scratch = scratch, .error = &error}));
        assert_true(weft_topology_check(&topology, NULL, scratch, &error));
        if (row->generator_count > 0) {
            assert_int_equal(topology.generator_count, row->generator_count);
            assert_memory_equal(topology.generators, row->generators,
                                row->generator_count * sizeof *row->generators);
        }
        if (fabs(topology.mean_hops - row->mean_hops) >= 0.0005) {
            fail_msg("n %u d %u: mean hops %.4f, published %.3f", row->server_count, row->degree,
                     topology.mean_hops, row->mean_hops);
        }
        assert_int_equal(topology.diameter, row->diameter);
        assert_int_equal(topology.rings.ring_count, row->degree);
        weft_arena_release(&scratch);
    }
}

static void simplex_rings_are_those_of_the_paper(void **state)
{
    (void)state;
    static const struct published rows[] = {
        {16, 3, 3, {1, 3, 7}, 2.267, 4},
        {128, 4, 4, {1, 3, 11, 37}, 4.520, 8},
        {128, 8, 8, {1, 3, 5, 7, 11, 19, 37, 71}, 3.102, 5},
        {432, 8, 8, {1, 5, 7, 11, 19, 43, 97, 199}, 4.111, 7},
        {1024, 8, 0, {0}, 4.954, 8},
        {4096, 8, 0, {0}, 6.617, 11},
    };
    expect_uniform(rows, sizeof rows / sizeof rows[0], true);
}

static void duplex_rings_are_those_of_the_authors_code(void **state)
{
    (void)state;
    static const struct published rows[] = {
        {16, 4, 2, {1, 5}, 2.133, 4},      {16, 8, 4, {1, 3, 5, 7}, 1.467, 2},
        {32, 4, 2, {1, 7}, 2.710, 4},      {32, 8, 4, {1, 3, 7, 15}, 2.000, 3},
        {128, 4, 2, {1, 13}, 5.622, 10},   {128, 8, 4, {1, 5, 13, 39}, 2.961, 5},
        {432, 4, 2, {1, 23}, 10.186, 18},  {432, 8, 4, {1, 5, 23, 95}, 4.088, 7},
        {1024, 4, 2, {1, 33}, 16.016, 32}, {1024, 8, 4, {1, 7, 33, 181}, 5.116, 8},
    };
    expect_uniform(rows, sizeof rows / sizeof rows[0], false);
}

static void jumps_of_groups_are_prime_to_their_size(void **state)
{
    (void)state;
    static const struct {
        uint32_t member_count;
        uint32_t count;
        bool duplex;
        uint32_t jumps[6];
    } cases[] = {
        {2, 1, false, {1}},
        {2, 3, false, {1, 1, 1}},       // one ring there is, three interfaces
        {6, 3, false, {1, 5, 1}},       // phi(6) = 2
        {6, 2, true, {1, 1}},           // 5 is 1 the other way
        {9, 3, false, {1, 2, 4}},       // x = 2.08
        {12, 2, true, {1, 5}},          // the testbed's 1, 5, 7, 11
        {15, 4, true, {1, 2, 4, 7}},    // 7.2 is above the last: 7 stands for 8
        {128, 4, false, {1, 3, 11, 37}} // primes
    };
    struct weft_arena scratch = arena;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t jumps[6];
        weft_topology_select(jumps, cases[i].member_count, cases[i].count, cases[i].duplex,
                             scratch);
        assert_memory_equal(jumps, cases[i].jumps, cases[i].count * sizeof *jumps);
    }
}

// Traffic of one group and one heavy pair (0, 5), on 8 servers.
static struct weft_traffic hybrid(const struct weft_traffic_group *groups, uint32_t group_count,
                                  double *transfer_bytes, double bytes)
{
    double wire_bytes = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        wire_bytes += groups[g].wire_bytes;
    }
    transfer_bytes[5] = bytes;
    return (struct weft_traffic){.server_count = 8,
                                 .group_count = group_count,
                                 .groups = groups,
                                 .transfer_bytes = transfer_bytes,
                                 .transfer_total_bytes = bytes,
                                 .allreduce_wire_bytes = wire_bytes};
}

static const uint32_t all_8[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const uint32_t odd_ones[] = {0, 2, 7};
static const uint32_t even_ones[] = {1, 3, 4, 6};

static void the_degree_is_split_by_bytes(void **state)
{
    (void)state;
    static const struct {
        bool simplex;
        uint32_t degree;
        double transfer_bytes; // beside 1000 of AllReduce
        uint32_t allreduce_degree;
    } cases[] = {
        {true, 4, 0, 4},     {true, 4, 1, 4},     {true, 4, 300, 4},  {true, 4, 400, 3},
        {true, 4, 1000, 2},  {true, 4, 9000, 1},  {true, 5, 1000, 3}, {false, 4, 300, 4},
        {false, 4, 990, 2},  {false, 4, 9000, 2}, {false, 7, 50, 7},  {false, 7, 200, 6},
        {false, 7, 1000, 4},
    };
    struct weft_traffic_group group = {.member_count = 8, .members = all_8, .wire_bytes = 1000};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_arena kept = arena;
        struct weft_arena scratch;
        struct weft_error error;
        assert_true(weft_arena_init(&scratch, 0, &error));
        double transfer_bytes[64] = {0};
        struct weft_traffic traffic = hybrid(&group, 1, transfer_bytes, cases[i].transfer_bytes);
        struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                .simplex = cases[i].simplex};
        struct weft_topology topology;
        options.degree = cases[i].degree;
        assert_true(weft_topology_find(
            &topology, &traffic, 8, &options,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
        assert_true(weft_topology_check(&topology, &traffic, scratch, &error));
        assert_int_equal(topology.allreduce_degree, cases[i].allreduce_degree);
        for (uint32_t p = topology.allreduce_degree; p < topology.degree; p++) {
            assert_int_equal(topology.planes[p * 8 + 0], 5);
            assert_int_equal(topology.planes[p * 8 + 5], 0);
        }
        weft_arena_release(&scratch);
    }
}

static void disjoint_groups_share_planes(void **state)
{
    (void)state;
    struct weft_traffic_group groups[] = {
        {.member_count = 4, .members = even_ones, .wire_bytes = 600},
        {.member_count = 3, .members = odd_ones, .wire_bytes = 400},
    };
    struct weft_arena kept = arena;
    struct weft_arena scratch;
    struct weft_error error;
    assert_true(weft_arena_init(&scratch, 0, &error));
    double transfer_bytes[64] = {0};
    struct weft_traffic traffic = hybrid(groups, 2, transfer_bytes, 0);
    struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT, .simplex = true};
    struct weft_topology topology;
    options.degree = 3;
    assert_true(weft_topology_find(
        &topology, &traffic, 8, &options,
        &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
    assert_true(weft_topology_check(&topology, &traffic, scratch, &error));
    // One plane goes to the ring that joins all; both groups have the other two to themselves.
    assert_int_equal(topology.rings.ring_count, 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(topology.rings.rings[r].group, r / 2);
        assert_int_equal(topology.rings.rings[r].member_count, r < 2 ? 4 : 3);
    }
    struct weft_ring second = topology.rings.rings[1];
    assert_int_equal(second.members[0], 1);
    assert_int_equal(second.members[1], 6); // jump 3 over 1, 3, 4, 6
    weft_arena_release(&scratch);
}

static void matchings_take_the_heaviest_pairs_and_halve_them(void **state)
{
    (void)state;
    struct weft_arena scratch = arena;
    double bytes[16] = {0};
    uint32_t planes[4 * 4];
    for (uint32_t i = 0; i < 16; i++) {
        planes[i] = i % 4;
    }
    bytes[0 * 4 + 1] = 60;
    bytes[1 * 4 + 0] = 40; // 0-1: both ways together 100
    bytes[2 * 4 + 3] = 10;
    bytes[1 * 4 + 2] = 80; // alone heavier than what 0-1 has left, lighter than 0-1 and 2-3
    uint32_t rounds = weft_topology_match_rounds(planes, bytes, 4, 0, 4, scratch);
    assert_int_equal(rounds, 4);
    static const uint32_t wanted[16] = {1, 0, 3, 2, 0, 2, 1, 3, 1, 0, 3, 2, 0, 2, 1, 3};
    assert_memory_equal(planes, wanted, sizeof wanted);
    double none[16] = {0};
    assert_int_equal(weft_topology_match_rounds(planes, none, 4, 0, 4, scratch), 0);
}

static void impossible_requests_are_refused_with_a_remedy(void **state)
{
    (void)state;
    static const struct {
        uint32_t server_count;
        uint32_t degree;
        bool simplex;
        const char *remedy;
    } cases[] = {
        {1, 1, true, "give 2 to"},       {0, 1, true, "give 2 to"},
        {8, 0, true, "give 1 to 7"},     {8, 8, true, "give 1 to 7"},
        {8, 1, false, "choose simplex"}, {70000, 4, true, "give 2 to 65534"},
    };
    struct weft_arena scratch = arena;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error = {.code = WEFT_OK};
        struct weft_arena kept = arena;
        struct weft_topology topology;
        struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                .simplex = cases[i].simplex};
        options.degree = cases[i].degree;
        assert_false(weft_topology_find(
            &topology, NULL, cases[i].server_count, &options,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, cases[i].remedy));
    }
}

// Finds a plain topology of 6 servers and degree 2 whose planes and rings may be spoiled.
static void find_plain(struct weft_topology *topology, uint32_t *planes, struct weft_ring *rings)
{
    struct weft_arena scratch;
    struct weft_error error;
    assert_true(weft_arena_init(&scratch, 0, &error));
    struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT, .simplex = true};
    options.degree = 2;
    assert_true(weft_topology_find(
        topology, NULL, 6, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(topology->rings.ring_count, 2);
    memcpy(planes, topology->planes, 12 * sizeof *planes);
    memcpy(rings, topology->rings.rings, 2 * sizeof *rings);
    topology->planes = planes;
    topology->rings.rings = rings;
    weft_arena_release(&scratch);
}

static void expect_refused(const struct weft_topology *topology, const char *place)
{
    struct weft_error error = {.code = WEFT_OK};
    assert_false(weft_topology_check(topology, NULL, arena, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    if (strstr(error.message, place) == NULL) {
        fail_msg("'%s' does not say '%s'", error.message, place);
    }
}

static void spoiled_topologies_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    uint32_t planes[12];
    struct weft_ring rings[2];
    struct weft_topology topology;
    struct weft_error error;
    find_plain(&topology, planes, rings);
    assert_true(weft_topology_check(&topology, NULL, arena, &error));
    planes[6 + 2] = planes[6 + 3];
    expect_refused(&topology, "plane 1 is no permutation");
    planes[6 + 2] = 6;
    expect_refused(&topology, "plane 1 joins server 2 to server 6");
    find_plain(&topology, planes, rings);
    uint32_t order[6] = {0, 2, 1, 3, 4, 5};
    rings[1].members = order;
    expect_refused(&topology, "ring 1 goes from server 0 to server 2");
    order[1] = 0;
    expect_refused(&topology, "ring 1 visits server 0 twice");
    find_plain(&topology, planes, rings);
    rings[0].share_ratio = 0.25;
    expect_refused(&topology, "0.75 of its bytes");
    rings[0].group = 3;
    expect_refused(&topology, "ring 0 is of group 3");
    find_plain(&topology, planes, rings);
    rings[1].member_count = 5;
    expect_refused(&topology, "ring 1 has 5 members");
}

static void odd_and_tiny_clusters_have_no_dark_ports(void **state)
{
    (void)state;
    struct weft_arena scratch;
    struct weft_error error;
    assert_true(weft_arena_init(&scratch, 0, &error));
    for (uint32_t n = 2; n <= 17; n++) {
        for (uint32_t degree = 1; degree < n && degree <= 9; degree++) {
            for (uint32_t simplex = 0; simplex < 2; simplex++) {
                if (simplex == 0 && degree == 1 && n > 2) {
                    continue;
                }
                struct weft_arena kept = arena;
                struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                        .simplex = simplex == 1};
                struct weft_topology topology;
                options.degree = degree;
                assert_true(weft_topology_find(&topology, NULL, n, &options,
                                               &(struct weft_environment){.arena = &kept,
                                                                          .scratch = scratch,
                                                                          .error = &error}));
                assert_true(weft_topology_check(&topology, NULL, scratch, &error));
                assert_int_equal(topology.rings.ring_count, degree);
                assert_true(topology.generator_count > 0);
                for (uint32_t i = 0; i < degree * n; i++) {
                    assert_int_not_equal(topology.planes[i], i % n);
                }
            }
        }
    }
    weft_arena_release(&scratch);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplex_rings_are_those_of_the_paper),
        cmocka_unit_test(duplex_rings_are_those_of_the_authors_code),
        cmocka_unit_test(jumps_of_groups_are_prime_to_their_size),
        cmocka_unit_test(the_degree_is_split_by_bytes),
        cmocka_unit_test(disjoint_groups_share_planes),
        cmocka_unit_test(matchings_take_the_heaviest_pairs_and_halve_them),
        cmocka_unit_test(impossible_requests_are_refused_with_a_remedy),
        cmocka_unit_test(spoiled_topologies_are_refused_where_they_are_wrong),
        cmocka_unit_test(odd_and_tiny_clusters_have_no_dark_ports),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
