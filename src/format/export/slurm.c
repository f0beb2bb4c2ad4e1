// SPDX-License-Identifier: Apache-2.0
// Slurm's topology/tree and topology/block: topology.yaml of 25.05 and later, topology.conf of all
// (slurm.schedmd.com/topology.yaml.html, topology.conf.html; docs/exports.md).
//
// Nested sets of servers become a tree of switches, blocks of equal size become blocks. Servers
// are called as a file of a topology calls them, or as Slurm counts nodes: a prefix and a number
// with leading zeros. Lists of names are folded, node[001-016].

#include "names.h"
#include "weft/format.h"

#include <string.h>

#define YAML_HEAD "---\n- topology: weft\n  cluster_default: true\n"

// A name's letters before its number, and the number: node001 is "node" and 1 of 3 digits.
struct split {
    size_t prefix;
    uint32_t digits; // 0 = no number
    uint64_t number;
};

static struct split split_name(const char *name)
{
    struct split split = {.prefix = strlen(name)};
    while (split.prefix > 0 && split.digits < 9 && name[split.prefix - 1] >= '0' &&
           name[split.prefix - 1] <= '9') {
        split.prefix--;
        split.digits++;
    }
    for (uint32_t i = 0; i < split.digits; i++) {
        split.number = 10 * split.number + (uint64_t)(name[split.prefix + i] - '0');
    }
    return split;
}

// Whether two names are one list's: the same letters, and numbers that count on with their zeros.
static bool same_list(const char *a, const char *b)
{
    const struct split x = split_name(a);
    const struct split y = split_name(b);
    bool padded = (x.digits > 1 && a[x.prefix] == '0') || (y.digits > 1 && b[y.prefix] == '0');
    bool widths = x.digits == y.digits || !padded;
    return x.digits > 0 && y.digits > 0 && x.prefix == y.prefix && memcmp(a, b, x.prefix) == 0 &&
           widths;
}

// Names as Slurm's hostlists have them, those of one prefix together: node[001-004,009],gpu7.
static void add_hostlist(struct weft_text *text, const char *const *names, const uint32_t *members,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i + 1;
        while (end < count && same_list(names[members[i]], names[members[end]])) {
            end++;
        }
        const struct split first = split_name(names[members[i]]);
        weft_text_add(text, "%s%.*s%s", i == 0 ? "" : ",",
                      end > i + 1 ? (int)first.prefix : (int)strlen(names[members[i]]),
                      names[members[i]], end > i + 1 ? "[" : "");
        for (uint32_t begin = i; end > i + 1 && begin < end;) {
            uint32_t last = begin;
            while (last + 1 < end && split_name(names[members[last + 1]]).number ==
                                         split_name(names[members[last]]).number + 1) {
                last++;
            }
            weft_text_add(text, "%s%s", begin == i ? "" : ",",
                          names[members[begin]] + first.prefix);
            if (last > begin) {
                weft_text_add(text, "-%s", names[members[last]] + first.prefix);
            }
            begin = last + 1;
        }
        weft_text_add(text, "%s", end > i + 1 ? "]" : "");
        i = end;
    }
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

// The names of a level's switches: tier2-0, tier2-1, ...
static const char *const *name_tier(uint32_t tier, uint32_t count, struct weft_arena *arena)
{
    const char **names = WEFT_NEW_RAW(arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = weft_arena_format(arena, "tier%u-%u", tier, i);
    }
    return names;
}

// Writes topology/tree: a switch for each set of the nesting, which names the servers below it on
// the lowest level and the switches of the level below on the others.
static void write_tree(struct weft_text *text, const struct weft_slurm *slurm,
                       const char *const *nodes, struct weft_arena scratch)
{
    const struct weft_nest *nest = slurm->nest;
    uint32_t *members = WEFT_NEW_RAW(&scratch, uint32_t, nest->server_count);
    const char *const *below_names = nodes;
    uint32_t below = nest->server_count;
    weft_text_add(text, "# Servers by the switches that they meet below.\n%s",
                  slurm->conf ? "" : YAML_HEAD "  tree:\n    switches:\n");
    for (uint32_t level = 0; level < nest->level_count; level++) {
        for (uint32_t set = 0; set < nest->set_count[level]; set++) {
            uint32_t count = list_members(members, nest->set_of[level], below, set);
            const char *key = slurm->conf ? (level == 0 ? "Nodes=" : "Switches=")
                                          : (level == 0 ? "nodes: " : "children: ");
            weft_text_add(text,
                          slurm->conf ? "SwitchName=tier%u-%u %s"
                                      : "      - switch: tier%u-%u\n        %s",
                          level + 1, set, key);
            add_hostlist(text, below_names, members, count);
            weft_text_add(text, "\n");
        }
        below = nest->set_count[level];
        below_names = name_tier(level + 1, below, &scratch);
    }
}

// Writes topology/block. Slurm wants block sizes that are powers of two times the smallest: all
// that the servers fill are listed.
static void write_blocks(struct weft_text *text, const struct weft_slurm *slurm,
                         const char *const *nodes)
{
    const struct weft_blocks *blocks = slurm->blocks;
    if (blocks->mean_hops > 0) {
        weft_text_add(text,
                      "# Servers that forward for each other, in blocks of near ones: %.2f hops "
                      "between two of a\n# block, %.2f between any two. Blocks next to each other "
                      "here are near, too.\n",
                      blocks->mean_hops_inside, blocks->mean_hops);
    }
    weft_text_add(text, "%s", slurm->conf ? "" : YAML_HEAD "  block:\n    block_sizes:\n");
    uint64_t servers = blocks->first[blocks->count];
    for (uint64_t size = blocks->size; size <= servers && !slurm->conf; size *= 2) {
        weft_text_add(text, "      - %llu\n", (unsigned long long)size);
    }
    weft_text_add(text, "%s", slurm->conf ? "" : "    blocks:\n");
    for (uint32_t b = 0; b < blocks->count; b++) {
        weft_text_add(text,
                      slurm->conf ? "BlockName=block%u Nodes="
                                  : "      - block: block%u\n        nodes: ",
                      b);
        add_hostlist(text, nodes, blocks->servers + blocks->first[b],
                     blocks->first[b + 1] - blocks->first[b]);
        weft_text_add(text, "\n");
    }
    for (uint64_t size = blocks->size; size <= servers && slurm->conf; size *= 2) {
        weft_text_add(text, "%s%llu", size == blocks->size ? "BlockSizes=" : ",",
                      (unsigned long long)size);
    }
    weft_text_add(text, "%s", slurm->conf ? "\n" : "");
}

bool weft_export_slurm(const char **text, const struct weft_slurm *slurm,
                       const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t count = slurm->nest != NULL ? slurm->nest->server_count
                                         : slurm->blocks->first[slurm->blocks->count];
    const char *const *nodes = slurm->names;
    if (nodes == NULL) {
        const char **counted = WEFT_NEW_RAW(&scratch, const char *, count);
        struct names names = {0};
        if (!names_parse(&names, slurm->first_node, &scratch, environment->error)) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            counted[i] = weft_arena_format(&scratch, "%s%0*u", names.prefix, (int)names.digits,
                                           names.first + i);
        }
        nodes = counted;
    }
    struct weft_text out;
    weft_text_init(&out, environment->arena);
    if (slurm->nest != NULL) {
        write_tree(&out, slurm, nodes, scratch);
    } else {
        write_blocks(&out, slurm, nodes);
    }
    *text = out.data;
    return true;
}
