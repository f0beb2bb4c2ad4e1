// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SYNTAX_JSON_H
#define WEFT_FORMAT_SYNTAX_JSON_H

// Values out of JSON objects by their key, held against bounds, for the readers of plans,
// snapshots, profiles and records; and reals and lists of indices into text.
//
// A reader never sees a number outside the bounds that it asked for.

#include "weft/base.h"

#include <jansson.h>

// Parses a whole document; an object must be its top. Fails with INPUT, "line N: ...", and with
// UNSUPPORTED where the machine lacks the memory. The caller owns *root (json_decref).
bool weft_json_parse(json_t **root, const char *data, size_t length, struct weft_error *error)
    WEFT_MUST_USE;

// The member `key` of `object`. Each fails with INPUT, "key: ...", when it is missing, of another
// type or out of range.
bool weft_json_object(const json_t **value, const json_t *object, const char *key,
                      struct weft_error *error) WEFT_MUST_USE;
bool weft_json_array(const json_t **value, const json_t *object, const char *key,
                     struct weft_error *error) WEFT_MUST_USE;
bool weft_json_u32(uint32_t *value, const json_t *object, const char *key, uint32_t low,
                   uint32_t high, struct weft_error *error) WEFT_MUST_USE;
// A whole number, or its decimal digits as a text, for what doubles cannot hold.
bool weft_json_u64(uint64_t *value, const json_t *object, const char *key, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_json_real(double *value, const json_t *object, const char *key, double low, double high,
                    struct weft_error *error) WEFT_MUST_USE;
bool weft_json_bool(bool *value, const json_t *object, const char *key, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_json_text(const char **value, const json_t *object, const char *key,
                    struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// An array of whole numbers below `limit`. Fails with INPUT, "[i]: ...".
bool weft_json_indices(uint32_t *values, const json_t *array, uint32_t limit,
                       struct weft_error *error) WEFT_MUST_USE;

// Members of an object that are doubles in a struct: one table for reader and writer, so that what
// is written is what is read. A row without a key ends it.
struct weft_json_real {
    const char *key;
    size_t at; // in the struct
};
// Each from 0 to 10^30. Fails with INPUT, "key: ...".
bool weft_json_read_reals(void *value, const json_t *object, const struct weft_json_real *members,
                          struct weft_error *error) WEFT_MUST_USE;
// "a": 1, "b": 2
void weft_json_add_reals(struct weft_text *text, const void *value,
                         const struct weft_json_real *members);

// Writers add to a text that is being built.
void weft_json_add_real(struct weft_text *text, double value);
void weft_json_add_u64(struct weft_text *text, uint64_t value);
void weft_json_add_text(struct weft_text *text, const char *value);
// "key": value, and what stands behind it.
void weft_json_field_real(struct weft_text *text, const char *key, double value, const char *end);
void weft_json_field_u64(struct weft_text *text, const char *key, uint64_t value, const char *end);
void weft_json_field_text(struct weft_text *text, const char *key, const char *value,
                          const char *end);
// "[1,2,3]"
void weft_json_add_indices(struct weft_text *text, const uint32_t *values, size_t count);

#endif
