// SPDX-License-Identifier: Apache-2.0
// Sweeps in YAML (docs/sweep.md): grids and scenarios of parameters, as words.
//
// Keys are options of other verbs, which this reader does not know: it keeps words and their
// lines and leaves their meaning to the requests. So no table says its keys, and the tree is
// walked directly. O(bytes + keys^2).

#include "format/syntax/yaml.h"
#include "weft/format.h"

#include <string.h>

#define WORDS_MAX 256u // of one value

struct reader {
    struct weft_sweep_grid common; // key_count 0 = none
    struct weft_arena *arena;
    struct weft_error *error;
};

static bool is_mapping(const struct weft_yaml_node *node)
{
    return node->text == NULL && !node->is_list;
}

static const char *copy(const struct reader *reader, const char *text)
{
    return weft_arena_text(reader->arena, text, strlen(text));
}

static bool read_words(struct weft_sweep_value *value, const struct reader *reader,
                       const char *name, const struct weft_yaml_node *node)
{
    uint32_t count = node->is_list ? node->child_count : 1;
    if (is_mapping(node) || count == 0 || count > WORDS_MAX) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %.60s: not a value; write one word, or 1 to %u in a list",
                         node->value_line, name, WORDS_MAX);
    }
    const char **words = WEFT_NEW(reader->arena, const char *, count);
    const struct weft_yaml_node *word = node->is_list ? node->children : node;
    for (uint32_t i = 0; i < count; i++) {
        if (word->text == NULL || word->text[0] == '\0') {
            return weft_fail(reader->error, WEFT_INPUT,
                             "line %u: %.60s: %s; write a word, as 100Gbps", word->value_line, name,
                             word->text != NULL ? "empty" : "nested too deep");
        }
        words[i] = copy(reader, word->text);
        word = word->next;
    }
    *value = (struct weft_sweep_value){count, words, node->value_line};
    return true;
}

// One value, or in a grid a list of those to choose from.
static bool read_values(struct weft_sweep_key *key, const struct reader *reader,
                        const struct weft_yaml_node *node, bool choices)
{
    bool list = choices && node->is_list;
    uint32_t count = list ? node->child_count : 1;
    if (count == 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %.60s: an empty list leaves no scenario; write values or remove "
                         "the key",
                         node->value_line, key->name);
    }
    struct weft_sweep_value *values = WEFT_NEW(reader->arena, struct weft_sweep_value, count);
    const struct weft_yaml_node *value = list ? node->children : node;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_words(&values[i], reader, key->name, value)) {
            return false;
        }
        value = value->next;
    }
    key->value_count = count;
    key->values = values;
    return true;
}

// The key of that name, or the next free one: what is common gives way.
static struct weft_sweep_key *find_key(struct weft_sweep_key *keys, uint32_t *count,
                                       const char *name)
{
    uint32_t i = 0;
    while (i < *count && strcmp(keys[i].name, name) != 0) {
        i++;
    }
    *count += i == *count;
    return &keys[i];
}

// Reads a mapping of parameters; those in common come first, and give way where it names them.
static bool read_grid(struct weft_sweep_grid *grid, const struct reader *reader,
                      const struct weft_yaml_node *mapping, const char *what, bool choices)
{
    if (!is_mapping(mapping) || mapping->child_count == 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %s: not a mapping of parameters; write key: value",
                         mapping->value_line, what);
    }
    uint32_t count = reader->common.key_count;
    struct weft_sweep_key *keys =
        WEFT_NEW(reader->arena, struct weft_sweep_key, count + mapping->child_count);
    if (count > 0) {
        memcpy(keys, reader->common.keys, count * sizeof *keys);
    }
    for (const struct weft_yaml_node *node = mapping->children; node != NULL; node = node->next) {
        const char *name = copy(reader, node->key);
        struct weft_sweep_key *key = find_key(keys, &count, name);
        *key = (struct weft_sweep_key){.name = name, .line = node->line};
        if (!read_values(key, reader, node, choices)) {
            return false;
        }
    }
    if (count > WEFT_SWEEP_KEYS_MAX) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %s: %u keys, more than %u; remove "
                         "some",
                         mapping->value_line, what, count, WEFT_SWEEP_KEYS_MAX);
    }
    *grid = (struct weft_sweep_grid){mapping->value_line, count, keys, 1};
    return true;
}

// Sets the scenarios of a grid, and adds them to those of the sweep.
static bool count_scenarios(struct weft_sweep *sweep, struct weft_sweep_grid *grid,
                            struct weft_error *error)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < grid->key_count && product <= WEFT_SWEEP_MAX; i++) {
        product *= grid->keys[i].value_count;
    }
    if (product > WEFT_SWEEP_MAX - sweep->scenario_count) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: more than %u scenarios; write fewer values, or several files",
                         grid->line, WEFT_SWEEP_MAX);
    }
    grid->scenario_count = (uint32_t)product;
    sweep->scenario_count += (uint32_t)product;
    return true;
}

// The grids or scenarios under one of the two keys: a list, or for grids also one mapping.
static bool read_grids(struct weft_sweep *sweep, struct weft_sweep_grid *grids,
                       const struct reader *reader, const struct weft_yaml_node *node, bool choices)
{
    uint32_t count = node->is_list ? node->child_count : 1;
    if (count == 0 || (!node->is_list && !choices)) {
        return weft_fail(reader->error, WEFT_INPUT, "line %u: %s: %s; write '- {key: value}' rows",
                         node->value_line, node->key,
                         node->is_list ? "an empty list" : "not a list");
    }
    const struct weft_yaml_node *row = node->is_list ? node->children : node;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_sweep_grid *grid = &grids[sweep->grid_count++];
        if (!read_grid(grid, reader, row, node->key, choices) ||
            !count_scenarios(sweep, grid, reader->error)) {
            return false;
        }
        row = row->next;
    }
    return true;
}

// Refuses an unknown key with the nearest of the four that a sweep may have.
static bool check_keys(const struct weft_yaml_node *root, struct weft_error *error)
{
    static const char *const names[] = {"verb", "common", "grid", "scenarios"};
    if (root == NULL || !is_mapping(root)) {
        return weft_fail(error, WEFT_INPUT,
                         "line 1: no mapping with grid: or scenarios:; see docs/sweep.md");
    }
    for (const struct weft_yaml_node *node = root->children; node != NULL; node = node->next) {
        uint32_t k = 0;
        while (k < 4 && strcmp(node->key, names[k]) != 0) {
            k++;
        }
        if (k == 4) {
            const char *near = weft_nearest_word(node->key, names, 4);
            return weft_fail(error, WEFT_INPUT, "line %u: '%.60s' is no part of a sweep; %s%s%s",
                             node->line, node->key,
                             near != NULL ? "did you mean "
                                          : "parameters stand below common, grid or scenarios",
                             near != NULL ? near : "", near != NULL ? "?" : "");
        }
    }
    return true;
}

static bool read_verb(struct weft_sweep *sweep, const struct reader *reader,
                      const struct weft_yaml_node *node)
{
    sweep->verb = "simulate";
    if (node == NULL) {
        return true;
    }
    if (node->text == NULL) {
        return weft_fail(reader->error, WEFT_INPUT, "line %u: verb: not a word; write simulate",
                         node->value_line);
    }
    sweep->verb = copy(reader, node->text);
    sweep->verb_line = node->value_line;
    return true;
}

// Reads the whole sweep. The keys of "common" come first, because they are part of every grid.
static bool read_document(struct weft_sweep *sweep, struct reader *reader,
                          const struct weft_yaml_node *root)
{
    struct weft_sweep made = {.grid_count = 0};
    if (!check_keys(root, reader->error) ||
        !read_verb(&made, reader, weft_yaml_child(root, "verb"))) {
        return false;
    }
    const struct weft_yaml_node *common = weft_yaml_child(root, "common");
    const struct weft_yaml_node *grid = weft_yaml_child(root, "grid");
    const struct weft_yaml_node *scenarios = weft_yaml_child(root, "scenarios");
    if (common != NULL && !read_grid(&reader->common, reader, common, "common", false)) {
        return false;
    }
    // A grid that is one mapping takes the place that is added.
    uint32_t room = 1 + (grid != NULL ? grid->child_count : 0) +
                    (scenarios != NULL ? scenarios->child_count : 0);
    struct weft_sweep_grid *grids = WEFT_NEW(reader->arena, struct weft_sweep_grid, room);
    if ((grid != NULL && !read_grids(&made, grids, reader, grid, true)) ||
        (scenarios != NULL && !read_grids(&made, grids, reader, scenarios, false))) {
        return false;
    }
    if (made.grid_count == 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line 1: neither grid: nor scenarios:; write one, as grid: {seed: [1, "
                         "2]}");
    }
    made.grids = grids;
    *sweep = made;
    return true;
}

bool weft_sweep_read(struct weft_sweep *sweep, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_yaml_node *root = NULL;
    struct reader reader = {.arena = arena, .error = error};
    return weft_yaml_parse(&root, data, length, &scratch, error) &&
           read_document(sweep, &reader, root);
}

const struct weft_sweep_grid *
weft_sweep_scenario(const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX],
                    const struct weft_sweep *sweep, uint32_t index)
{
    WEFT_ASSERT(index < sweep->scenario_count);
    const struct weft_sweep_grid *grid = sweep->grids;
    while (index >= grid->scenario_count) {
        index -= grid->scenario_count;
        grid++;
    }
    for (uint32_t k = grid->key_count; k-- > 0;) {
        const struct weft_sweep_key *key = &grid->keys[k];
        values[k] = &key->values[index % key->value_count];
        index /= key->value_count;
    }
    return grid;
}
