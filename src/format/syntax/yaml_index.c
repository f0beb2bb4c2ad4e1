// SPDX-License-Identifier: Apache-2.0
// One pass over libyaml's events: the line of every key, and a refusal of what is hostile.
//
// A stack of open mappings and sequences gives each key its path; paths are kept in the order
// of the file and found by comparison. O(bytes + keys^2), at most 4096 keys.

#include "yaml_index.h"

#include <string.h>
#include <yaml.h>

#define DEPTH_MAX 8u
#define KEYS_MAX 4096u
#define SCALAR_MAX 1024u

struct level {
    bool sequence;
    bool in_value;     // of a mapping: a key was read, its value follows
    uint32_t items;    // of a sequence
    const char *path;  // of the container
    const char *child; // of the value being read
};

struct walk {
    struct weft_arena *arena;
    struct weft_yaml_key *keys;
    uint32_t count;
    struct level levels[DEPTH_MAX];
    uint32_t depth;
    uint32_t documents;
};

static uint32_t line_of(const yaml_event_t *event)
{
    return (uint32_t)event->start_mark.line + 1;
}

static bool add_key(struct walk *walk, const char *path, uint32_t line, struct weft_error *error)
{
    for (uint32_t i = 0; i < walk->count; i++) {
        if (strcmp(walk->keys[i].path, path) == 0) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: %.128s: given twice, first on line %u; keep one", line, path,
                             walk->keys[i].line);
        }
    }
    if (walk->count == KEYS_MAX) {
        return weft_fail(error, WEFT_INPUT, "line %u: more than %u keys; shorten the file", line,
                         KEYS_MAX);
    }
    walk->keys[walk->count++] = (struct weft_yaml_key){path, line};
    return true;
}

// The path of the value that starts now; items of sequences are keys too.
static bool enter_value(struct walk *walk, uint32_t line, const char **path,
                        struct weft_error *error)
{
    if (walk->depth == 0) {
        *path = "";
        return add_key(walk, *path, line, error);
    }
    struct level *level = &walk->levels[walk->depth - 1];
    if (level->sequence) {
        *path = weft_arena_format(walk->arena, "%s[%u]", level->path, level->items++);
        return add_key(walk, *path, line, error);
    }
    if (!level->in_value) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: a list or mapping stands where a key should; write key: value",
                         line);
    }
    level->in_value = false;
    *path = level->child;
    return true;
}

static bool open_container(struct walk *walk, const yaml_event_t *event, bool sequence,
                           struct weft_error *error)
{
    const char *path = "";
    if (!enter_value(walk, line_of(event), &path, error)) {
        return false;
    }
    if (walk->depth == DEPTH_MAX) {
        return weft_fail(error, WEFT_INPUT, "line %u: nested deeper than %u levels; flatten it",
                         line_of(event), DEPTH_MAX);
    }
    walk->levels[walk->depth++] = (struct level){.sequence = sequence, .path = path};
    return true;
}

static bool read_scalar(struct walk *walk, const yaml_event_t *event, struct weft_error *error)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    uint32_t line = line_of(event);
    if (length > SCALAR_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: a text of %zu bytes, more than %u; shorten it", line, length,
                         SCALAR_MAX);
    }
    if (strlen(text) != length) {
        return weft_fail(error, WEFT_INPUT, "line %u: a NUL byte in a text; remove it", line);
    }
    struct level *level = walk->depth > 0 ? &walk->levels[walk->depth - 1] : NULL;
    if (level == NULL || level->sequence || level->in_value) {
        const char *path = NULL;
        return enter_value(walk, line, &path, error);
    }
    const char *dot = level->path[0] == '\0' ? "" : ".";
    level->child = weft_arena_format(walk->arena, "%s%s%s", level->path, dot, text);
    level->in_value = true;
    return add_key(walk, level->child, line, error);
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

bool weft_yaml_index_build(struct weft_yaml_index *index, const char *data, size_t length,
                           struct weft_arena *arena, struct weft_error *error)
{
    if (length > WEFT_YAML_BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT, "the file has %zu bytes, more than %zu; shorten it",
                         length, WEFT_YAML_BYTES_MAX);
    }
    struct walk walk = {.arena = arena, .keys = WEFT_NEW(arena, struct weft_yaml_key, KEYS_MAX)};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory: YAML cannot be read");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, length);
    bool good = walk_events(&walk, &parser, error);
    yaml_parser_delete(&parser);
    if (!good) {
        return false;
    }
    WEFT_ASSERT(walk.depth == 0);
    *index = (struct weft_yaml_index){walk.count, walk.keys};
    return true;
}

static bool covers(const char *key, const char *path)
{
    size_t length = strlen(key);
    return strncmp(key, path, length) == 0 &&
           (path[length] == '\0' || path[length] == '.' || path[length] == '[' || length == 0);
}

uint32_t weft_yaml_index_line(const struct weft_yaml_index *index, const char *path)
{
    uint32_t line = 1;
    size_t longest = 0;
    for (uint32_t i = 0; i < index->count; i++) {
        const struct weft_yaml_key *key = &index->keys[i];
        if (covers(key->path, path) && strlen(key->path) >= longest) {
            longest = strlen(key->path);
            line = key->line;
        }
    }
    return line;
}
