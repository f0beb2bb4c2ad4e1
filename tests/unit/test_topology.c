// SPDX-License-Identifier: Apache-2.0
// The paper's TopologyFinder: published tables, groups of any shape, splits and checks.

#include "weft/topology.h"

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
        assert_true(weft_topology_find(&topology, NULL, row->server_count, row->degree, &options,
                                       &result, scratch, &error));
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

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplex_rings_are_those_of_the_paper),
        cmocka_unit_test(duplex_rings_are_those_of_the_authors_code),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
