// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_YAML_H
#define WEFT_FORMAT_SYNTAX_YAML_H

// YAML documents as trees whose every node knows its path and its line.
//
// libyaml parses. What no configuration needs is refused early: anchors and aliases, tags,
// duplicates, deep nesting, NUL bytes, a second document, huge files.

#include "weft/base.h"

struct weft_yaml_node {
    const char *path;    // "prices.rows[2].nic"; "" is the document
    const char *key;     // the last part of the path: "nic", or "[2]" in a list
    const char *text;    // of a single value; NULL = a list or a mapping
    bool is_list;        // of what is no single value
    uint32_t line;       // of the key, or of the item of a list; from 1
    uint32_t value_line; // where the value begins
    uint32_t child_count;
    const struct weft_yaml_node *children; // the first one, in the order of the file
    const struct weft_yaml_node *next;     // in the same list or mapping; NULL = the last
};

// The document, or NULL where there is none. Fails with INPUT, "line N: ...". O(bytes + keys^2), at
// most 4096 keys.
bool weft_yaml_parse(const struct weft_yaml_node **root, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The same for documents of other programs, which are larger: 64 MiB, 4096 keys of one mapping.
bool weft_yaml_parse_document(const struct weft_yaml_node **root, const char *data, size_t length,
                              struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The child of that key; NULL = none.
const struct weft_yaml_node *weft_yaml_child(const struct weft_yaml_node *mapping, const char *key);
// The line of a path, or of the nearest enclosing key that the document has.
uint32_t weft_yaml_line(const struct weft_yaml_node *root, const char *path);

#endif
