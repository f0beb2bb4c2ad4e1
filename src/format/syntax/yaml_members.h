// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_YAML_MEMBERS_H
#define WEFT_FORMAT_SYNTAX_YAML_MEMBERS_H

// Texts of a raw struct into the members of a value, by a table: for mappings whose keys depend
// on what they describe.
//
// A table has a row for each key: where its text stands, where its value goes, and what it must
// be.

#include "format/config/yaml_schema.h"

enum weft_yaml_want {
    WEFT_YAML_U32,   // uint32_t, up to 10^9
    WEFT_YAML_U64,   // uint64_t, up to 2^50
    WEFT_YAML_PAIR,  // uint32_t[2]: "3" or "3x5"
    WEFT_YAML_STEPS, // the same, from 1
    WEFT_YAML_TRUTH, // bool: yes, no, true, false
    WEFT_YAML_DTYPE, // enum weft_dtype
};

struct weft_yaml_member {
    const char *key;
    uint32_t raw_at; // of the char * in the raw struct
    uint32_t at;     // in the value
    enum weft_yaml_want want;
    uint32_t owners; // bits: who has this member; a key may stand in several rows
};

// Who owns the members that are read.
struct weft_yaml_owner {
    uint32_t bit;
    const char *name; // "dense"
    const char *path; // "operators[3]"
};

// Members whose text is NULL keep what they have. Fails with INPUT at the key: a text that does not
// read as what is wanted, and a key that the owner does not have, listing those it has.
bool weft_yaml_read_members(void *value, const void *raw, const struct weft_yaml_member *members,
                            uint32_t count, const struct weft_yaml_owner *owner,
                            const struct weft_yaml_source *source) WEFT_MUST_USE;

#endif
