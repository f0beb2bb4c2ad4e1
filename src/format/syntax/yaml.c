// SPDX-License-Identifier: Apache-2.0
// YAML documents as trees: one pass over libyaml's events, which gives every key its line and
// refuses what is hostile.
//
// A stack of open lists and mappings says where the next value belongs. A key is compared with
// those before it in its mapping: O(bytes + keys^2), at most 4096 keys, of documents of other
// programs in each mapping.

#include "yaml.h"

#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 8u
#define KEYS_MAX 4096u
#define SCALAR_MAX 1024u
#define BYTES_MAX ((size_t)64 << 20)
#define DOCUMENT_SCALAR_MAX (1u << 20) // Slurm's lists of nodes, descriptions

// A list or mapping that is open.
struct level {
    struct weft_yaml_node *node;
    struct weft_yaml_node *last; // its child added last
    bool in_value;               // of a mapping: the last key waits for its value
};

struct walk {
    struct weft_arena *arena;
    struct weft_yaml_node *root;
    struct level levels[DEPTH_MAX];
    uint32_t depth;
    uint32_t count; // of nodes
    uint32_t count_max;
    uint32_t scalar_max;
    uint32_t documents;
};

static uint32_t line_of(const yaml_event_t *event)
{
    return (uint32_t)event->start_mark.line + 1;
}

const struct weft_yaml_node *weft_yaml_child(const struct weft_yaml_node *mapping, const char *key)
{
    const struct weft_yaml_node *child = mapping->children;
    while (child != NULL && strcmp(child->key, key) != 0) {
        child = child->next;
    }
    return child;
}

// Adds a key of the open mapping or an item of the open list; with nothing open, the document.
static bool add_node(struct walk *walk, const char *path, const char *key, uint32_t line,
                     struct weft_error *error)
{
    bool crowded = walk->depth > 0 && !walk->levels[walk->depth - 1].node->is_list &&
                   walk->levels[walk->depth - 1].node->child_count == KEYS_MAX;
    if (walk->count == walk->count_max || crowded) {
        return weft_fail(error, WEFT_INPUT, "line %u: more than %u keys; shorten the file", line,
                         crowded ? KEYS_MAX : walk->count_max);
    }
    struct weft_yaml_node *node = WEFT_NEW(walk->arena, struct weft_yaml_node, 1);
    node->path = path;
    node->key = key;
    node->line = line;
    walk->count++;
    if (walk->depth == 0) {
        walk->root = node;
        return true;
    }
    struct level *level = &walk->levels[walk->depth - 1];
    *(level->last != NULL ? &level->last->next : &level->node->children) = node;
    level->node->child_count++;
    level->last = node;
    return true;
}

static bool add_key(struct walk *walk, const char *text, uint32_t line, struct weft_error *error)
{
    struct level *level = &walk->levels[walk->depth - 1];
    const char *key = weft_arena_text(walk->arena, text, strlen(text));
    const char *dot = level->node->path[0] == '\0' ? "" : ".";
    const char *path = weft_arena_format(walk->arena, "%s%s%s", level->node->path, dot, key);
    const struct weft_yaml_node *first = weft_yaml_child(level->node, key);
    if (first != NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: %.128s: given twice, first on line %u; keep one", line, path,
                         first->line);
    }
    level->in_value = true;
    return add_node(walk, path, key, line, error);
}

// The node whose value starts now: a new item of a list or the document, or a key that was read.
static bool enter_value(struct weft_yaml_node **node, struct walk *walk, const yaml_event_t *event,
                        struct weft_error *error)
{
    uint32_t line = line_of(event);
    struct level *level = walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
    if (level == NULL) {
        if (!add_node(walk, "", "", line, error)) {
            return false;
        }
    } else if (level->node->is_list) {
        const char *key = weft_arena_format(walk->arena, "[%u]", level->node->child_count);
        const char *path = weft_arena_format(walk->arena, "%s%s", level->node->path, key);
        if (!add_node(walk, path, key, line, error)) {
            return false;
        }
    } else if (!level->in_value) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: a list or mapping stands where a key should; write key: value",
                         line);
    }
    *node = level == NULL ? walk->root : level->last;
    (*node)->value_line = line;
    if (level != NULL) {
        level->in_value = false;
    }
    return true;
}

static bool open_container(struct walk *walk, const yaml_event_t *event, bool is_list,
                           struct weft_error *error)
{
    struct weft_yaml_node *node = NULL;
    if (!enter_value(&node, walk, event, error)) {
        return false;
    }
    if (walk->depth == DEPTH_MAX) {
        return weft_fail(error, WEFT_INPUT, "line %u: nested deeper than %u levels; flatten it",
                         line_of(event), DEPTH_MAX);
    }
    node->is_list = is_list;
    walk->levels[walk->depth++] = (struct level){.node = node};
    return true;
}

static bool read_scalar(struct walk *walk, const yaml_event_t *event, struct weft_error *error)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    uint32_t line = line_of(event);
    if (length > walk->scalar_max) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: a text of %zu bytes, more than %u; shorten it", line, length,
                         SCALAR_MAX);
    }
    if (strlen(text) != length) {
        return weft_fail(error, WEFT_INPUT, "line %u: a NUL byte in a text; remove it", line);
    }
    const struct level *level = walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
    if (level != NULL && !level->node->is_list && !level->in_value) {
        return add_key(walk, text, line, error);
    }
    struct weft_yaml_node *node = NULL;
    if (!enter_value(&node, walk, event, error)) {
        return false;
    }
    node->text = weft_arena_text(walk->arena, text, length);
    return true;
}

static bool has_anchor_or_tag(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT) {
        return event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL;
    }
    if (event->type == YAML_SEQUENCE_START_EVENT) {
        return event->data.sequence_start.anchor != NULL || event->data.sequence_start.tag != NULL;
    }
    if (event->type == YAML_MAPPING_START_EVENT) {
        return event->data.mapping_start.anchor != NULL || event->data.mapping_start.tag != NULL;
    }
    return false;
}

static bool take_event(struct walk *walk, const yaml_event_t *event, struct weft_error *error)
{
    if (event->type == YAML_ALIAS_EVENT || has_anchor_or_tag(event)) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: anchors, aliases and tags are not read here; write the value "
                         "out",
                         line_of(event));
    }
    if (event->type == YAML_DOCUMENT_START_EVENT && ++walk->documents > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: a second document begins; keep one in the file", line_of(event));
    }
    if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT) {
        return open_container(walk, event, event->type == YAML_SEQUENCE_START_EVENT, error);
    }
    if (event->type == YAML_SCALAR_EVENT) {
        return read_scalar(walk, event, error);
    }
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
        WEFT_ASSERT(walk->depth > 0);
        walk->depth--;
    }
    return true;
}

static bool fail_syntax(const yaml_parser_t *parser, struct weft_error *error)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory for YAML; raise 'ulimit -v'");
    }
    if (parser->error == YAML_READER_ERROR) {
        return weft_fail(error, WEFT_INPUT, "byte %zu: %s; save the file as UTF-8 text",
                         parser->problem_offset,
                         parser->problem != NULL ? parser->problem : "not text");
    }
    return weft_fail(
        error, WEFT_INPUT, "line %zu: not YAML: %s%s%s; mend the line or quote its text",
        parser->problem_mark.line + 1, parser->problem != NULL ? parser->problem : "unreadable",
        parser->context != NULL ? " " : "", parser->context != NULL ? parser->context : "");
}

static bool walk_events(struct walk *walk, yaml_parser_t *parser, struct weft_error *error)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            return fail_syntax(parser, error);
        }
        bool end = event.type == YAML_STREAM_END_EVENT;
        bool good = take_event(walk, &event, error);
        yaml_event_delete(&event);
        if (!good || end) {
            return good;
        }
    }
}

// Parses what `walk` has the bounds for.
static bool parse(const struct weft_yaml_node **root, struct walk *walk, const char *data,
                  size_t length, struct weft_error *error)
{
    yaml_parser_t parser;
    if (length > BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "the file has %zu bytes, and YAML is read up to %zu MiB; shorten it",
                         length, BYTES_MAX >> 20);
    }
    if (!yaml_parser_initialize(&parser)) {
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory: YAML cannot be read");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, length);
    bool good = walk_events(walk, &parser, error);
    yaml_parser_delete(&parser);
    if (!good) {
        return false;
    }
    WEFT_ASSERT(walk->depth == 0);
    *root = walk->root;
    return true;
}

bool weft_yaml_parse(const struct weft_yaml_node **root, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error)
{
    struct walk walk = {.arena = arena, .count_max = KEYS_MAX, .scalar_max = SCALAR_MAX};
    return parse(root, &walk, data, length, error);
}

bool weft_yaml_parse_document(const struct weft_yaml_node **root, const char *data, size_t length,
                              struct weft_arena *arena, struct weft_error *error)
{
    struct walk walk = {.arena = arena, .count_max = UINT32_MAX, .scalar_max = DOCUMENT_SCALAR_MAX};
    return parse(root, &walk, data, length, error);
}

static bool covers(const char *key, const char *path)
{
    size_t length = strlen(key);
    return strncmp(key, path, length) == 0 &&
           (path[length] == '\0' || path[length] == '.' || path[length] == '[');
}

uint32_t weft_yaml_line(const struct weft_yaml_node *root, const char *path)
{
    const struct weft_yaml_node *nearest = root;
    for (const struct weft_yaml_node *child = root->children; child != NULL;) {
        bool found = covers(child->path, path);
        nearest = found ? child : nearest;
        child = found ? child->children : child->next;
    }
    return nearest->line;
}
