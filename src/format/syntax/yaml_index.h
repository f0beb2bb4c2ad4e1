// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_YAML_INDEX_H
#define WEFT_FORMAT_SYNTAX_YAML_INDEX_H

// Where each key of a YAML document stands, and whether the document is one we read at all.
//
// libcyaml checks a document against a schema, but names places only by line of the value before.
// One pass over libyaml's events gives every key path its own line, and refuses early what no
// configuration needs: anchors and aliases, tags, duplicates, deep nesting, NUL bytes, a second
// document, huge files.

#include "weft/base.h"

#define WEFT_YAML_BYTES_MAX ((size_t)256 << 10)

struct weft_yaml_key {
    const char *path; // "prices.rows[2].nic"; "" is the document
    uint32_t line;    // from 1
};

struct weft_yaml_index {
    uint32_t count;
    const struct weft_yaml_key *keys;
};

// Fails with INPUT, "line N: ...". O(bytes + keys^2), at most 4096 keys.
bool weft_yaml_index_build(struct weft_yaml_index *index, const char *data, size_t length,
                           struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The line of a path, or of the nearest enclosing key that the document has.
uint32_t weft_yaml_index_line(const struct weft_yaml_index *index, const char *path);

#endif
