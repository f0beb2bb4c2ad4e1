// SPDX-License-Identifier: Apache-2.0
// Sweeps in YAML (docs/sweep.md): grids and scenarios of parameters, as words.
//
// Keys are options of other verbs, which this reader does not know: it keeps words and their
// lines and leaves their meaning to the requests. So there is no schema, and the tree of
// libyaml is walked directly. O(bytes + keys^2).

#include "format/syntax/yaml_index.h"
#include "weft/format.h"

#include <string.h>
#include <yaml.h>

#define WORDS_MAX 256u // of one value

struct reader {
    yaml_document_t *document;
    struct weft_sweep_grid common; // key_count 0 = none
    struct weft_arena *arena;
    struct weft_error *error;
};

static yaml_node_t *node_at(const struct reader *reader, int index)
{
    return yaml_document_get_node(reader->document, index);
}

static uint32_t line_of(const yaml_node_t *node)
{
    return (uint32_t)node->start_mark.line + 1;
}

static uint32_t item_count(const yaml_node_t *node)
{
    return (uint32_t)(node->data.sequence.items.top - node->data.sequence.items.start);
}

static uint32_t pair_count(const yaml_node_t *node)
{
    return (uint32_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
}

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static bool read_words(struct weft_sweep_value *value, const struct reader *reader,
                       const char *name, yaml_node_t *node)
{
    bool list = node->type == YAML_SEQUENCE_NODE;
    uint32_t count = list ? item_count(node) : 1;
    if (node->type == YAML_MAPPING_NODE || count == 0 || count > WORDS_MAX) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %.60s: not a value; write one word, or 1 to %u in a list",
                         line_of(node), name, WORDS_MAX);
    }
    const char **words = WEFT_NEW(reader->arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        yaml_node_t *word = list ? node_at(reader, node->data.sequence.items.start[i]) : node;
        if (word->type != YAML_SCALAR_NODE || word->data.scalar.length == 0) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "line %u: %.60s: %s; write a word, as 100Gbps", line_of(word), name,
                             word->type == YAML_SCALAR_NODE ? "empty" : "nested too deep");
        }
        words[i] = weft_arena_text(reader->arena, text_of(word), word->data.scalar.length);
    }
    *value = (struct weft_sweep_value){count, words, line_of(node)};
    return true;
}

// One value, or in a grid a list of those to choose from.
static bool read_values(struct weft_sweep_key *key, const struct reader *reader, yaml_node_t *node,
                        bool choices)
{
    bool list = choices && node->type == YAML_SEQUENCE_NODE;
    uint32_t count = list ? item_count(node) : 1;
    if (count == 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %.60s: an empty list leaves no scenario; write values or remove "
                         "the key",
                         line_of(node), key->name);
    }
    struct weft_sweep_value *values = WEFT_NEW(reader->arena, struct weft_sweep_value, count);
    for (uint32_t i = 0; i < count; i++) {
        yaml_node_t *value = list ? node_at(reader, node->data.sequence.items.start[i]) : node;
        if (!read_words(&values[i], reader, key->name, value)) {
            return false;
        }
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

static bool read_grid(struct weft_sweep_grid *grid, const struct reader *reader, yaml_node_t *node,
                      const char *what, bool choices)
{
    if (node->type != YAML_MAPPING_NODE || pair_count(node) == 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %s: not a mapping of parameters; write key: value",
                         line_of(node), what);
    }
    uint32_t room = reader->common.key_count + pair_count(node);
    struct weft_sweep_key *keys = WEFT_NEW(reader->arena, struct weft_sweep_key, room);
    uint32_t count = reader->common.key_count;
    if (count > 0) {
        memcpy(keys, reader->common.keys, count * sizeof *keys);
    }
    for (uint32_t i = 0; i < pair_count(node); i++) {
        const yaml_node_pair_t *pair = &node->data.mapping.pairs.start[i];
        const yaml_node_t *name = node_at(reader, pair->key);
        const char *text = weft_arena_text(reader->arena, text_of(name), name->data.scalar.length);
        struct weft_sweep_key *key = find_key(keys, &count, text);
        *key = (struct weft_sweep_key){.name = text, .line = line_of(name)};
        if (!read_values(key, reader, node_at(reader, pair->value), choices)) {
            return false;
        }
    }
    if (count > WEFT_SWEEP_KEYS_MAX) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line %u: %s: %u keys, more than %u; remove "
                         "some",
                         line_of(node), what, count, WEFT_SWEEP_KEYS_MAX);
    }
    *grid = (struct weft_sweep_grid){line_of(node), count, keys, 1};
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
                       const struct reader *reader, yaml_node_t *node, const char *what,
                       bool choices)
{
    bool list = node->type == YAML_SEQUENCE_NODE;
    uint32_t count = list ? item_count(node) : 1;
    if (count == 0 || (!list && !choices)) {
        return weft_fail(reader->error, WEFT_INPUT, "line %u: %s: %s; write '- {key: value}' rows",
                         line_of(node), what, list ? "an empty list" : "not a list");
    }
    for (uint32_t i = 0; i < count; i++) {
        yaml_node_t *row = list ? node_at(reader, node->data.sequence.items.start[i]) : node;
        struct weft_sweep_grid *grid = &grids[sweep->grid_count++];
        if (!read_grid(grid, reader, row, what, choices) ||
            !count_scenarios(sweep, grid, reader->error)) {
            return false;
        }
    }
    return true;
}

// The parts of the document.
struct parts {
    yaml_node_t *verb;
    yaml_node_t *common;
    yaml_node_t *grid;
    yaml_node_t *scenarios;
};

// Finds the values of the four keys that a sweep may have; an unknown key is refused with the
// nearest one.
static bool find_parts(struct parts *parts, const struct reader *reader)
{
    static const char *const names[] = {"verb", "common", "grid", "scenarios"};
    yaml_node_t **slots[] = {&parts->verb, &parts->common, &parts->grid, &parts->scenarios};
    const yaml_node_t *root = yaml_document_get_root_node(reader->document);
    if (root == NULL || root->type != YAML_MAPPING_NODE) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "line 1: no mapping with grid: or scenarios:; see docs/sweep.md");
    }
    for (uint32_t i = 0; i < pair_count(root); i++) {
        const yaml_node_pair_t *pair = &root->data.mapping.pairs.start[i];
        const yaml_node_t *name = node_at(reader, pair->key);
        uint32_t k = 0;
        while (k < 4 && strcmp(text_of(name), names[k]) != 0) {
            k++;
        }
        if (k == 4) {
            const char *near = weft_nearest_word(text_of(name), names, 4);
            return weft_fail(reader->error, WEFT_INPUT,
                             "line %u: '%.60s' is no part of a sweep; %s%s%s", line_of(name),
                             text_of(name),
                             near != NULL ? "did you mean "
                                          : "parameters stand "
                                            "below common, grid or scenarios",
                             near != NULL ? near : "", near != NULL ? "?" : "");
        }
        *slots[k] = node_at(reader, pair->value);
    }
    return true;
}

static bool read_verb(struct weft_sweep *sweep, const struct reader *reader,
                      const yaml_node_t *node)
{
    sweep->verb = "simulate";
    if (node == NULL) {
        return true;
    }
    if (node->type != YAML_SCALAR_NODE) {
        return weft_fail(reader->error, WEFT_INPUT, "line %u: verb: not a word; write simulate",
                         line_of(node));
    }
    sweep->verb = weft_arena_text(reader->arena, text_of(node), node->data.scalar.length);
    sweep->verb_line = line_of(node);
    return true;
}

// Reads the whole sweep. The keys of "common" come first, because they are part of every grid.
static bool read_document(struct weft_sweep *sweep, struct reader *reader)
{
    struct parts parts = {NULL, NULL, NULL, NULL};
    struct weft_sweep made = {.grid_count = 0};
    if (!find_parts(&parts, reader) || !read_verb(&made, reader, parts.verb)) {
        return false;
    }
    if (parts.common != NULL &&
        !read_grid(&reader->common, reader, parts.common, "common", false)) {
        return false;
    }
    uint32_t room = 1;
    if (parts.grid != NULL && parts.grid->type == YAML_SEQUENCE_NODE) {
        room += item_count(parts.grid);
    }
    if (parts.scenarios != NULL && parts.scenarios->type == YAML_SEQUENCE_NODE) {
        room += item_count(parts.scenarios);
    }
    struct weft_sweep_grid *grids = WEFT_NEW(reader->arena, struct weft_sweep_grid, room);
    if ((parts.grid != NULL && !read_grids(&made, grids, reader, parts.grid, "grid", true)) ||
        (parts.scenarios != NULL &&
         !read_grids(&made, grids, reader, parts.scenarios, "scenarios", false))) {
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
    // Lines in order, no key twice, no aliases: what the document's tree does not say any more.
    struct weft_yaml_index index;
    if (!weft_yaml_index_build(&index, data, length, &scratch, error)) {
        return false;
    }
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser)) {
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory: YAML cannot be read");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, length);
    bool loaded = yaml_parser_load(&parser, &document) == 1;
    bool good = false;
    if (loaded) {
        struct reader reader = {.document = &document, .arena = arena, .error = error};
        good = read_document(sweep, &reader);
        yaml_document_delete(&document);
    } else {
        weft_fail(error, WEFT_INPUT, "line %zu: not YAML; mend the line or quote its text",
                  parser.problem_mark.line + 1);
    }
    yaml_parser_delete(&parser);
    return good;
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
