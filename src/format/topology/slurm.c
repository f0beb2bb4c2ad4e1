// SPDX-License-Identifier: Apache-2.0
// Slurm's topology.conf (SwitchName=s0 Nodes=gpu[001-004], BlockName=b0 Nodes=...) and its
// topology.yaml of 25.05 (slurm.schedmd.com/topology.yaml.html): trees of switches, and blocks.
//
// Slurm says who meets below which switch, and neither rates nor how many cables there are. A
// server has one cable; a switch passes on upwards all that comes from below it. A block is a
// switch, and the blocks meet in one more. O(bytes).

#include "draft.h"
#include "format/syntax/lines.h"
#include "format/syntax/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_LENGTH_MAX 255u
#define ROOT "blocks"

// ---- hostlists ----

// The numbers of one pair of brackets, each with the leading zeros that its list's part has.
static bool each_number(const char *prefix, size_t prefix_length, const char *text, size_t length,
                        const char *tail, size_t tail_length,
                        bool (*take)(void *context, const char *name, size_t length), void *context,
                        struct weft_error *error)
{
    char name[NAME_LENGTH_MAX + 24]; // and the digits that snprintf may write
    memcpy(name, prefix, prefix_length);
    for (size_t at = 0; at < length;) {
        uint64_t ends[2] = {0, 0};
        size_t digits[2] = {0, 0};
        uint32_t part = 0;
        while (at < length && text[at] != ',') {
            unsigned char c = (unsigned char)text[at++];
            if (c == '-' && part == 0 && digits[0] > 0) {
                part = 1;
                continue;
            }
            if (!isdigit(c) || ++digits[part] > 9) {
                return weft_fail(error, WEFT_INPUT,
                                 "'[%.*s]' is no list of numbers; write [001-004,009]",
                                 (int)(length < 40 ? length : 40), text);
            }
            ends[part] = 10 * ends[part] + (c - '0');
        }
        at += at < length; // the comma
        ends[1] = part == 0 ? ends[0] : ends[1];
        if (digits[0] == 0 || (part == 1 && digits[1] == 0) || ends[1] < ends[0] ||
            ends[1] - ends[0] >= TOPOLOGY_NODES_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "'[%.*s]': a range goes up, by less than %u; write [001-004,009]",
                             (int)(length < 40 ? length : 40), text, TOPOLOGY_NODES_MAX);
        }
        for (uint64_t number = ends[0]; number <= ends[1]; number++) {
            size_t width = (size_t)snprintf(name + prefix_length, 21, "%0*llu", (int)digits[0],
                                            (unsigned long long)number);
            memcpy(name + prefix_length + width, tail, tail_length);
            if (!take(context, name, prefix_length + width + tail_length)) {
                return false;
            }
        }
    }
    return true;
}

// Names of hosts as Slurm lists them, node[001-004,009],gpu7, each handed to `take` with `context`
// until that returns false.
static bool hostlist_each(const char *text, size_t length,
                          bool (*take)(void *context, const char *name, size_t length),
                          void *context, struct weft_error *error)
{
    for (size_t at = 0; at < length;) {
        size_t begin = at;
        size_t open = length;
        size_t close = length;
        while (at < length && (text[at] != ',' || (open < length && close == length))) {
            bool bracket = text[at] == '[' || text[at] == ']';
            if (bracket && (text[at] == '[') != (open == length)) {
                return weft_fail(error, WEFT_INPUT,
                                 "'%.*s': brackets stand once in a name, as gpu[001-004]",
                                 (int)(length < 40 ? length : 40), text);
            }
            open = text[at] == '[' ? at : open;
            close = text[at] == ']' ? at : close;
            at++;
        }
        size_t end = at;
        at += at < length;
        if (open < length && close == length) {
            return weft_fail(error, WEFT_INPUT, "'%.*s': [ without ]",
                             (int)(length < 40 ? length : 40), text);
        }
        // Ten digits at most come in between.
        if (end == begin ||
            end - begin + 10 > NAME_LENGTH_MAX + (open < length ? close - open : 0)) {
            return weft_fail(error, WEFT_INPUT, "'%.*s': a name is 1 to %u letters",
                             (int)(length < 40 ? length : 40), text, NAME_LENGTH_MAX - 10);
        }
        bool taken = open == length ? take(context, text + begin, end - begin)
                                    : each_number(text + begin, open - begin, text + open + 1,
                                                  close - open - 1, text + close + 1,
                                                  end - close - 1, take, context, error);
        if (!taken) {
            return false;
        }
    }
    return true;
}

// ---- the tree ----

struct slurm {
    struct draft *draft;
    bool has_blocks;
    uint32_t above;        // the switch whose list is read
    enum draft_role below; // what is in the list
};

// Makes what a list names, and joins it to the switch that has the list.
static bool take_below(void *context, const char *name, size_t length)
{
    struct slurm *slurm = context;
    struct draft *draft = slurm->draft;
    uint32_t node = 0;
    if (!draft_node(&node, draft, name, length, slurm->below)) {
        return false;
    }
    if (draft->roles[node] != slurm->below) {
        return weft_fail(draft->error, WEFT_INPUT, "'%.40s' is a switch and a node",
                         draft->names[node]);
    }
    const struct draft_cable cable = {
        .from = node, .to = slurm->above, .latency_ps = WEFT_NEVER, .width = 1};
    return draft_join(draft, &cable);
}

// One switch (or block) with what is below it; either list may be absent.
static bool add_switch(struct slurm *slurm, const struct line_word *name,
                       const struct line_word *nodes, const struct line_word *switches)
{
    struct draft *draft = slurm->draft;
    if (nodes->length == 0 && switches->length == 0) {
        return weft_fail(draft->error, WEFT_INPUT, "'%.*s' has nothing below it; write Nodes=...",
                         WORD_SHOWN(name));
    }
    if (!draft_node(&slurm->above, draft, name->text, name->length, DRAFT_SWITCH)) {
        return false;
    }
    if (draft->roles[slurm->above] != DRAFT_SWITCH) {
        return weft_fail(draft->error, WEFT_INPUT, "'%.*s' is a node and a switch",
                         WORD_SHOWN(name));
    }
    slurm->below = DRAFT_SERVER;
    if (!hostlist_each(nodes->text, nodes->length, take_below, slurm, draft->error)) {
        return false;
    }
    slurm->below = DRAFT_SWITCH;
    return hostlist_each(switches->text, switches->length, take_below, slurm, draft->error);
}

// Puts a block below the one switch in which blocks meet.
static bool add_block(struct slurm *slurm, const struct line_word *name,
                      const struct line_word *nodes)
{
    const struct line_word none = {"", 0};
    if (!add_switch(slurm, name, nodes, &none) ||
        !draft_node(&slurm->above, slurm->draft, ROOT, strlen(ROOT), DRAFT_SWITCH)) {
        return false;
    }
    slurm->below = DRAFT_SWITCH;
    slurm->has_blocks = true;
    return take_below(slurm, name->text, name->length);
}

// Widths of cables: as many as there are servers below their lower end. A switch below two others,
// or below itself, is refused: Slurm's switches are trees.
static bool set_widths(struct draft *draft)
{
    uint32_t n = draft->node_count;
    uint32_t *parent = WEFT_NEW_RAW(draft->scratch, uint32_t, n);
    uint32_t *below = WEFT_NEW(draft->scratch, uint32_t, n);
    memset(parent, 0xff, n * sizeof *parent);
    for (uint32_t c = 0; c < draft->cable_count; c++) {
        const struct draft_cable *cable = &draft->cables[c];
        if (parent[cable->from] != WEFT_NONE) {
            return weft_fail(draft->error, WEFT_INPUT,
                             "'%.40s' is below '%.40s' and below '%.40s'; Slurm's trees have one "
                             "place for each",
                             draft->names[cable->from], draft->names[parent[cable->from]],
                             draft->names[cable->to]);
        }
        parent[cable->from] = cable->to;
    }
    for (uint32_t v = 0; v < n; v++) {
        if (draft->roles[v] != DRAFT_SERVER) {
            continue;
        }
        uint32_t depth = 0;
        for (uint32_t u = v; u != WEFT_NONE; u = parent[u]) {
            below[u]++;
            if (++depth > 64) {
                return weft_fail(draft->error, WEFT_INPUT,
                                 "more than 64 switches above '%.40s': a circle?", draft->names[v]);
            }
        }
    }
    for (uint32_t c = 0; c < draft->cable_count; c++) {
        draft->cables[c].width = below[draft->cables[c].from];
        if (draft->cables[c].width == 0) {
            return weft_fail(draft->error, WEFT_INPUT, "no node is below '%.40s'",
                             draft->names[draft->cables[c].from]);
        }
    }
    return true;
}

// ---- topology.conf ----

// The value of a key, "Nodes=gpu[1-4]"; length 0 = it is not on the line.
static struct line_word value_of(const struct lines *lines, const char *key)
{
    size_t length = strlen(key);
    for (uint32_t w = 0; w < lines->word_count && lines->words[w].text[0] != '#'; w++) {
        const struct line_word *word = &lines->words[w];
        if (word->length > length && strncasecmp(word->text, key, length) == 0) {
            return (struct line_word){word->text + length, word->length - length};
        }
    }
    return (struct line_word){"", 0};
}

static bool read_conf_line(struct slurm *slurm, const struct lines *lines)
{
    static const char *const keys[] = {
        "SwitchName=", "BlockName=", "Nodes=", "Switches=", "BlockSizes=", "LinkSpeed="};
    for (uint32_t w = 0; w < lines->word_count && lines->words[w].text[0] != '#'; w++) {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            size_t length = strlen(keys[k]);
            known |= lines->words[w].length > length &&
                     strncasecmp(lines->words[w].text, keys[k], length) == 0;
        }
        if (!known) {
            return weft_fail(slurm->draft->error, WEFT_INPUT,
                             "'%.*s' is nothing of topology.conf; it has SwitchName=s0 "
                             "Nodes=gpu[001-004], Switches=s[0-1], BlockName=b0, BlockSizes=4",
                             WORD_SHOWN(&lines->words[w]));
        }
    }
    const struct line_word switch_name = value_of(lines, keys[0]);
    const struct line_word block = value_of(lines, keys[1]);
    const struct line_word nodes = value_of(lines, keys[2]);
    const struct line_word switches = value_of(lines, keys[3]);
    if (block.length > 0) {
        return add_block(slurm, &block, &nodes);
    }
    if (switch_name.length > 0) {
        return add_switch(slurm, &switch_name, &nodes, &switches);
    }
    return value_of(lines, keys[4]).length > 0 ||
           weft_fail(slurm->draft->error, WEFT_INPUT, "of which switch? write SwitchName=s0");
}

static bool read_conf(struct slurm *slurm, const char *data, size_t length)
{
    struct lines lines = {.at = data, .end = data + length};
    struct weft_error *error = slurm->draft->error;
    for (bool more = true;;) {
        if (!lines_next(&lines, &more, error)) {
            return false;
        }
        if (!more) {
            return true;
        }
        if (!read_conf_line(slurm, &lines)) {
            return weft_wrap(error, "line %u", lines.number);
        }
    }
}

// ---- topology.yaml ----

static struct line_word text_of(const struct weft_yaml_node *mapping, const char *key)
{
    const struct weft_yaml_node *child = weft_yaml_child(mapping, key);
    bool text = child != NULL && child->text != NULL;
    return text ? (struct line_word){child->text, strlen(child->text)} : (struct line_word){"", 0};
}

// The switches of a tree or the blocks of a block topology.
static bool read_items(struct slurm *slurm, const struct weft_yaml_node *list, bool blocks)
{
    for (const struct weft_yaml_node *item = list->children; item != NULL; item = item->next) {
        const struct line_word name = text_of(item, blocks ? "block" : "switch");
        const struct line_word nodes = text_of(item, "nodes");
        const struct line_word children = text_of(item, "children");
        if (name.length == 0) {
            return weft_fail(slurm->draft->error, WEFT_INPUT, "line %u: what is its name? write %s",
                             item->line, blocks ? "block: b0" : "switch: s0");
        }
        if (!(blocks ? add_block(slurm, &name, &nodes)
                     : add_switch(slurm, &name, &nodes, &children))) {
            return weft_wrap(slurm->draft->error, "line %u", item->line);
        }
    }
    return true;
}

// Reads the topology that is the default of the cluster, else the first.
static bool read_yaml(struct slurm *slurm, const char *data, size_t length)
{
    struct weft_error *error = slurm->draft->error;
    const struct weft_yaml_node *root = NULL;
    if (!weft_yaml_parse_document(&root, data, length, slurm->draft->scratch, error)) {
        return false;
    }
    const struct weft_yaml_node *chosen = root == NULL ? NULL : root->children;
    for (const struct weft_yaml_node *one = chosen; one != NULL; one = one->next) {
        const struct line_word first = text_of(one, "cluster_default");
        chosen = word_is(&first, "true") ? one : chosen;
    }
    if (chosen == NULL || !root->is_list) {
        return weft_fail(error, WEFT_INPUT, "has no topology; write - topology: NAME and its tree");
    }
    const struct weft_yaml_node *tree = weft_yaml_child(chosen, "tree");
    const struct weft_yaml_node *block = weft_yaml_child(chosen, "block");
    const struct weft_yaml_node *list =
        tree != NULL ? weft_yaml_child(tree, "switches")
                     : (block != NULL ? weft_yaml_child(block, "blocks") : NULL);
    if (list == NULL || !list->is_list) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: has neither tree: switches: nor block: blocks:, so nothing says "
                         "who is near whom",
                         chosen->line);
    }
    return read_items(slurm, list, tree == NULL);
}

bool topology_read_slurm(struct weft_topology_file *topology, struct draft *draft, const char *data,
                         size_t length)
{
    struct slurm slurm = {.draft = draft};
    struct lines lines = {.at = data, .end = data + length};
    struct weft_error look = {.code = WEFT_OK};
    bool more = false;
    bool conf = lines_next(&lines, &more, &look) && more && lines.words[0].text[0] != '-';
    if (!(conf ? read_conf(&slurm, data, length) : read_yaml(&slurm, data, length)) ||
        !set_widths(draft) || !draft_finish(topology, draft)) {
        return false;
    }
    topology->assumes_uplinks = true;
    topology->has_blocks = slurm.has_blocks;
    return true;
}
