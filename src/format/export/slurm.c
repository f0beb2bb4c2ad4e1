// SPDX-License-Identifier: Apache-2.0
// topology.yaml of Slurm 25.05 and later (slurm's topology/tree and topology/block plugins;
// docs/exports.md).
//
// Nested sets of servers become a tree of switches, blocks of equal size become blocks. Servers
// are named as Slurm counts nodes: a prefix and a number with leading zeros, in lists like
// node[001-016].

#include "weft/format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Digits of a number in a node's name.
#define DIGITS_MAX 9u
// Of a host.
#define NAME_MAX_LENGTH 63u

// How Slurm calls servers: prefix, then first + server with at least that many digits.
struct names {
    const char *prefix;
    uint32_t first;
    uint32_t digits;
};

// Splits the name of server 0 into a prefix and a number, which the names of the other servers
// count on from, with as many digits.
static bool parse_names(struct names *names, const char *text, struct weft_arena *arena,
                        struct weft_error *error)
{
    size_t length = strlen(text);
    size_t digits = 0;
    uint32_t first = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!isalnum(c) && (i == 0 || strchr("-_.", c) == NULL)) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.70s' is no name of a node; write that of server 0, as node001",
                             text);
        }
        digits = isdigit(c) ? digits + 1 : 0;
    }
    if (length == 0 || length > NAME_MAX_LENGTH || digits > DIGITS_MAX || digits == length) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.70s' is no name of a node; write letters, then at most %u digits, as "
                         "node001",
                         text, DIGITS_MAX);
    }
    for (size_t i = length - digits; i < length; i++) {
        first = 10 * first + (uint32_t)(text[i] - '0');
    }
    *names = (struct names){
        .prefix = weft_arena_text(arena, text, length - digits),
        .first = first,
        .digits = digits == 0 ? 1 : (uint32_t)digits,
    };
    return true;
}

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
    if (!parse_names(&nodes, first_node, arena, environment->error)) {
        return false;
    }
    *text = nest != NULL ? write_tree(nest, &nodes, arena, environment->scratch)
                         : write_blocks(blocks, &nodes, arena);
    return true;
}
