// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CONFIG_YAML_KEYS_H
#define WEFT_FORMAT_CONFIG_YAML_KEYS_H

// Mappings of a YAML document into values, by tables of the keys that they may have.
//
// A reader of config/ states for every mapping one table: each key, what its text is, and where
// the value goes. That is its schema and its reader at once; units are read on the way, and every
// message names the key and its line.

#include "format/syntax/yaml.h"

#define WEFT_YAML_WORD_MAX 64u
#define WEFT_YAML_TEXT_MAX 256u

enum weft_yaml_kind {
    WEFT_YAML_U32,     // uint32_t, from `low` to `high` (0 = 10^9)
    WEFT_YAML_U64,     // uint64_t, from `low` to `high` (0 = 2^50)
    WEFT_YAML_REAL,    // double, from `low` to `high`
    WEFT_YAML_TIME,    // uint64_t, picoseconds
    WEFT_YAML_RATE,    // double, bytes per second
    WEFT_YAML_BYTES,   // uint64_t
    WEFT_YAML_PRICE,   // double, dollars
    WEFT_YAML_POWER,   // double, watts
    WEFT_YAML_FLOPS,   // double, operations a second
    WEFT_YAML_PAIR,    // uint32_t[2]: "3" or "3x5"
    WEFT_YAML_STEPS,   // the same, from 1
    WEFT_YAML_TRUTH,   // bool: yes, no, true, false
    WEFT_YAML_DTYPE,   // enum weft_dtype
    WEFT_YAML_WORD,    // const char *, at most WEFT_YAML_WORD_MAX bytes as all values but texts
    WEFT_YAML_TEXT,    // const char *, at most WEFT_YAML_TEXT_MAX bytes
    WEFT_YAML_MAPPING, // const struct weft_yaml_node *, which a table of its own reads
    WEFT_YAML_LIST,    // the same, of 1 to `high` items
    WEFT_YAML_WORDS,   // the same, each item a word
};

enum weft_yaml_presence { WEFT_YAML_OPTIONAL, WEFT_YAML_NEEDED };

// A key that a mapping may have. Where the file leaves it out, `value` keeps what it has; NULL =
// a word that the caller reads by its own table.
struct weft_yaml_item {
    const char *key;
    enum weft_yaml_kind kind;
    enum weft_yaml_presence presence;
    void *value;
    double low;
    double high;
};

// What all readers of a document have with them.
struct weft_yaml_source {
    struct weft_arena *arena;
    struct weft_error *error;
};

// Parses a document. Fails with INPUT, as weft_yaml_parse; an empty one is told to give what is
// `needed`.
bool weft_yaml_open(const struct weft_yaml_node **root, const char *data, size_t length,
                    const char *needed, const struct weft_yaml_source *source) WEFT_MUST_USE;
// Holds a mapping against the keys it may have and reads them. Fails with INPUT, "line N: path:
// ...; remedy"; keys are looked at before values.
bool weft_yaml_read(const struct weft_yaml_node *mapping, const struct weft_yaml_item *items,
                    size_t count, const struct weft_yaml_source *source) WEFT_MUST_USE;
#define WEFT_YAML_READ(mapping, items, source)                                                     \
    weft_yaml_read(mapping, items, sizeof(items) / sizeof((items)[0]), source)
// Puts "line N: path: " of a node, or of the key of a mapping, before the message; returns false.
bool weft_yaml_fail_at(const struct weft_yaml_node *node, const struct weft_yaml_source *source);
bool weft_yaml_fail_key(const struct weft_yaml_node *mapping, const char *key,
                        const struct weft_yaml_source *source);

// ---- mappings whose keys depend on what they describe ----

struct weft_yaml_member {
    const char *key;
    enum weft_yaml_kind kind;
    uint32_t at;     // in the value
    uint32_t owners; // bits: who has this member; a key may stand in several rows
};

// Who owns the members that are read.
struct weft_yaml_owner {
    uint32_t bit;
    const char *name; // "dense"
};

// Writes the members' keys into a table of items, which weft_yaml_read then lets pass.
void weft_yaml_permit(struct weft_yaml_item *items, const struct weft_yaml_member *members,
                      uint32_t count);
// Reads the members of a mapping whose keys were held against a table. Fails with INPUT at the
// key: a text that does not read as what is wanted, and a key that the owner does not have,
// listing those it has.
bool weft_yaml_read_members(void *value, const struct weft_yaml_node *mapping,
                            const struct weft_yaml_member *members, uint32_t count,
                            const struct weft_yaml_owner *owner,
                            const struct weft_yaml_source *source) WEFT_MUST_USE;

#endif
