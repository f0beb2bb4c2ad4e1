// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CONFIG_YAML_SCHEMA_H
#define WEFT_FORMAT_CONFIG_YAML_SCHEMA_H

// YAML documents against a schema of texts; the units in words are read from these texts later.
//
// The readers of config/ state their schema as tables of libcyaml whose leaves are all texts,
// because libcyaml knows no units and its messages name no remedy.

#include "format/syntax/yaml_index.h"

#include <cyaml/cyaml.h>

#define WEFT_YAML_WORD_MAX 64u
#define WEFT_YAML_TEXT_MAX 256u

// Fields of a raw struct whose members are texts of the keys' names; NULL = left out.
#define WEFT_YAML_NEEDED CYAML_FLAG_POINTER
#define WEFT_YAML_OPTIONAL (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define WEFT_YAML_WORD(key, flags, type)                                                           \
    CYAML_FIELD_STRING_PTR(#key, flags, struct type, key, 0, WEFT_YAML_WORD_MAX)
#define WEFT_YAML_TEXT(key, flags, type)                                                           \
    CYAML_FIELD_STRING_PTR(#key, flags, struct type, key, 0, WEFT_YAML_TEXT_MAX)

struct weft_yaml_schema {
    const cyaml_schema_value_t *value;
    // The fields of the mapping at a path, ended by one without a key.
    const cyaml_schema_field_t *(*fields_at)(const char *path);
    const char *needed; // what an empty document is told to give
    const char *manual; // "docs/clusters.md"
};

// A document in reading.
struct weft_yaml_source {
    const struct weft_yaml_index *index;
    struct weft_arena *arena;
    struct weft_error *error;
};

// Fails with INPUT, "line N: path: ...; remedy". What is loaded lives in the source's arena.
bool weft_yaml_load(void **raw, const char *data, size_t length,
                    const struct weft_yaml_schema *schema, const struct weft_yaml_source *source)
    WEFT_MUST_USE;
// "path.key", or "key" at the top.
const char *weft_yaml_join(const char *path, const char *key, struct weft_arena *arena);
// Puts "line N: path: " before the message and returns false.
bool weft_yaml_fail_at(const struct weft_yaml_source *source, const char *path);

#endif
