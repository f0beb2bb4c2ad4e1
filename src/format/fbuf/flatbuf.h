// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_FBUF_FLATBUF_H
#define WEFT_FORMAT_FBUF_FLATBUF_H

// Bounds-checked reading of FlatBuffers (flatbuffers.dev, "FlatBuffer internals"), for any schema.
//
// A buffer is 32-bit offsets between little-endian objects: the root offset, tables (a signed
// offset back to a vtable, then fields), vtables (their size, the table's size, one 16-bit offset a
// field, 0 = absent) and vectors (a count, then elements). Nothing is trusted: a table is opened
// against the sizes its schema gives, after which its scalars may be read without checks. Offsets
// may overlap, so that a small file could describe a huge value; each vector therefore takes its
// bytes from a budget of the file's length, which no file with disjoint vectors can exceed.

#include "weft/base.h"

#include <endian.h>
#include <string.h>

#define WEFT_FLATBUF_FIELDS_MAX 15
// Offsets from a table to its vtable are signed.
#define WEFT_FLATBUF_BYTES_MAX ((size_t)INT32_MAX)

struct weft_flatbuf {
    const unsigned char *data;
    size_t length;
    size_t budget_bytes; // what vectors may still take
};

// A table of a schema: the size of each field in bytes; offsets to other objects are 4.
struct weft_flatbuf_layout {
    uint32_t field_count;
    uint8_t field_bytes[WEFT_FLATBUF_FIELDS_MAX];
};

struct weft_flatbuf_table {
    size_t field_at[WEFT_FLATBUF_FIELDS_MAX]; // 0 = absent
};

struct weft_flatbuf_vector {
    size_t at; // of the first element
    uint32_t count;
};

// Opens the root table. Fails with INPUT when the bytes cannot be one.
bool weft_flatbuf_root(struct weft_flatbuf_table *table, struct weft_flatbuf *flatbuf,
                       const void *data, size_t length, const struct weft_flatbuf_layout *layout,
                       struct weft_error *error) WEFT_MUST_USE;
// The vector that a field holds, of elements of this many bytes; an absent one has count 0.
bool weft_flatbuf_vector(struct weft_flatbuf_vector *vector, struct weft_flatbuf *flatbuf,
                         const struct weft_flatbuf_table *table, uint32_t field,
                         uint32_t element_bytes, struct weft_error *error) WEFT_MUST_USE;
// The index-th table of a vector of tables.
bool weft_flatbuf_element(struct weft_flatbuf_table *table, const struct weft_flatbuf *flatbuf,
                          const struct weft_flatbuf_vector *vector, uint32_t index,
                          const struct weft_flatbuf_layout *layout, struct weft_error *error)
    WEFT_MUST_USE;

static inline uint32_t weft_flatbuf_u32_at(const struct weft_flatbuf *flatbuf, size_t at)
{
    uint32_t value;
    memcpy(&value, flatbuf->data + at, sizeof value);
    return le32toh(value);
}

static inline uint64_t weft_flatbuf_u64_at(const struct weft_flatbuf *flatbuf, size_t at)
{
    uint64_t value;
    memcpy(&value, flatbuf->data + at, sizeof value);
    return le64toh(value);
}

// Scalars of an open table; every default of the schemas read here is 0.
static inline int16_t weft_flatbuf_i16(const struct weft_flatbuf *flatbuf,
                                       const struct weft_flatbuf_table *table, uint32_t field)
{
    if (table->field_at[field] == 0) {
        return 0;
    }
    uint16_t value;
    memcpy(&value, flatbuf->data + table->field_at[field], sizeof value);
    return (int16_t)le16toh(value);
}

static inline uint32_t weft_flatbuf_u32(const struct weft_flatbuf *flatbuf,
                                        const struct weft_flatbuf_table *table, uint32_t field)
{
    return table->field_at[field] == 0 ? 0 : weft_flatbuf_u32_at(flatbuf, table->field_at[field]);
}

static inline uint64_t weft_flatbuf_u64(const struct weft_flatbuf *flatbuf,
                                        const struct weft_flatbuf_table *table, uint32_t field)
{
    return table->field_at[field] == 0 ? 0 : weft_flatbuf_u64_at(flatbuf, table->field_at[field]);
}

static inline float weft_flatbuf_float(const struct weft_flatbuf *flatbuf,
                                       const struct weft_flatbuf_table *table, uint32_t field)
{
    uint32_t bits = weft_flatbuf_u32(flatbuf, table, field);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
