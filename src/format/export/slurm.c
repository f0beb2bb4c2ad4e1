// SPDX-License-Identifier: Apache-2.0
// topology.yaml of Slurm 25.05 and later (slurm's topology/tree and topology/block plugins;
// docs/exports.md).
//
// Nested sets of servers become a tree of switches, blocks of equal size become blocks. Servers
// are named as Slurm counts nodes: a prefix and a number with leading zeros, in lists like
// node[001-016].

#include "names.h"
#include "weft/format.h"

#include <stdio.h>

// Ascending numbers as Slurm's hostlists have them: node[001-004,009].
static void add_hostlist(struct weft_text *text, const struct names *nodes, const uint32_t *numbers,
                         uint32_t count)
{
    int digits = (int)nodes->digits;
    weft_text_add(text, "%s%s", nodes->prefix, count > 1 ? "[" : "");
    for (uint32_t i = 0; i < count;) {
        uint32_t last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1) {
            last++;
        }
        weft_text_add(text, "%s%0*u", i == 0 ? "" : ",", digits, nodes->first + numbers[i]);
        if (last > i) {
            weft_text_add(text, "-%0*u", digits, nodes->first + numbers[last]);
        }
        i = last + 1;
    }
    weft_text_add(text, "%s", count > 1 ? "]" : "");
}

static void add_head(struct weft_text *text)
{
    weft_text_add(text, "---\n- topology: weft\n  cluster_default: true\n");
}

// Members of a set among `count` things below it; returns how many.
static uint32_t list_members(uint32_t *members, const uint32_t *set_of, uint32_t count,
                             uint32_t set)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (set_of[i] == set) {
            members[found++] = i;
        }
    }
    return found;
}

// Writes topology/tree: a switch for each set of the nesting, which names the servers below it on
// the lowest level and the switches of the level below on the others.
static const char *write_tree(const struct weft_nest *nest, const struct names *nodes,
                              struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t *members = WEFT_NEW_RAW(&scratch, uint32_t, nest->server_count);
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "# Servers by the switches that they meet below.\n");
    add_head(&text);
    weft_text_add(&text, "  tree:\n    switches:\n");
    uint32_t below = nest->server_count;
    for (uint32_t level = 0; level < nest->level_count; level++) {
        // Switches of a level are named like hosts, so that a list of them is a hostlist, too.
        char prefix[24];
        snprintf(prefix, sizeof prefix, "tier%u-", level);
        const struct names switches = {.prefix = prefix, .digits = 1};
        for (uint32_t set = 0; set < nest->set_count[level]; set++) {
            uint32_t count = list_members(members, nest->set_of[level], below, set);
            weft_text_add(&text, "      - switch: tier%u-%u\n        %s: ", level + 1, set,
                          level == 0 ? "nodes" : "children");
            add_hostlist(&text, level == 0 ? nodes : &switches, members, count);
            weft_text_add(&text, "\n");
        }
        below = nest->set_count[level];
    }
    return text.data;
}

// Writes topology/block. Slurm wants block sizes that are powers of two times the smallest: all
// that the servers fill are listed.
static const char *write_blocks(const struct weft_blocks *blocks, const struct names *nodes,
                                struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(
        &text,
        "# Servers that forward for each other, in blocks of near ones: %.2f hops between "
        "two of a\n# block, %.2f between any two. Blocks next to each other here are near, "
        "too.\n",
        blocks->mean_hops_inside, blocks->mean_hops);
    add_head(&text);
    weft_text_add(&text, "  block:\n    block_sizes:\n");
    uint64_t servers = blocks->first[blocks->count];
    for (uint64_t size = blocks->size; size <= servers; size *= 2) {
        weft_text_add(&text, "      - %llu\n", (unsigned long long)size);
    }
    weft_text_add(&text, "    blocks:\n");
    for (uint32_t b = 0; b < blocks->count; b++) {
        weft_text_add(&text, "      - block: block%u\n        nodes: ", b);
        add_hostlist(&text, nodes, blocks->servers + blocks->first[b],
                     blocks->first[b + 1] - blocks->first[b]);
        weft_text_add(&text, "\n");
    }
    return text.data;
}

bool weft_export_slurm(const char **text, const struct weft_nest *nest,
                       const struct weft_blocks *blocks, const char *first_node,
                       const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct names nodes = {0};
    if (!names_parse(&nodes, first_node, arena, environment->error)) {
        return false;
    }
    *text = nest != NULL ? write_tree(nest, &nodes, arena, environment->scratch)
                         : write_blocks(blocks, &nodes, arena);
    return true;
}
