// SPDX-License-Identifier: Apache-2.0
// topology.yaml of Slurm: trees of switches, blocks of servers, and names of nodes.

#include "../fresh_arenas.h"
#include "weft/format/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// Two switches with two servers each below a third.
static const uint32_t set_of_servers[] = {0, 0, 1, 1};
static const uint32_t set_of_pairs[] = {0, 0};
static const uint32_t set_counts[] = {2, 1};
static const uint32_t *const sets[] = {set_of_servers, set_of_pairs};
static const struct weft_nest nest = {4, 2, set_counts, sets};

static void a_nest_becomes_a_tree_of_switches(void **state)
{
    (void)state;
    const char *text = NULL;
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .error = &error};
    assert_true(weft_export_slurm(
        &text, &(struct weft_slurm){.nest = &nest, .first_node = "gpu-08"}, &environment));
    assert_non_null(strstr(text, "      - switch: tier1-0\n        nodes: gpu-[08-09]\n"
                                 "      - switch: tier1-1\n        nodes: gpu-[10-11]\n"
                                 "      - switch: tier2-0\n        children: tier1-[0-1]\n"));
    assert_non_null(strstr(text, "  tree:\n"));
}

static void blocks_keep_their_servers_and_double_in_size(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 2, 4};
    static const uint32_t servers[] = {0, 2, 1, 3};
    struct weft_blocks blocks = {.count = 2,
                                 .size = 2,
                                 .first = first,
                                 .servers = servers,
                                 .mean_hops_inside = 1,
                                 .mean_hops = 1.5};
    const char *text = NULL;
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .error = &error};
    assert_true(weft_export_slurm(
        &text, &(struct weft_slurm){.blocks = &blocks, .first_node = "node"}, &environment));
    assert_non_null(strstr(text, "    block_sizes:\n      - 2\n      - 4\n    blocks:\n"
                                 "      - block: block0\n        nodes: node[0,2]\n"
                                 "      - block: block1\n        nodes: node[1,3]\n"));
    assert_non_null(strstr(text, "1.00 hops between"));
}

static void what_is_no_name_of_a_node_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"", "007", "a b", "node1234567890", "-x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = NULL;
        struct weft_error error;
        const struct weft_environment environment = {
            .arena = &arena, .scratch = scratch, .error = &error};
        assert_false(weft_export_slurm(
            &text, &(struct weft_slurm){.nest = &nest, .first_node = names[i]}, &environment));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_null(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nest_becomes_a_tree_of_switches),
        cmocka_unit_test(blocks_keep_their_servers_and_double_in_size),
        cmocka_unit_test(what_is_no_name_of_a_node_is_refused),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
