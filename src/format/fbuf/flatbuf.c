// SPDX-License-Identifier: Apache-2.0
// Bounds-checked reading of FlatBuffers, without code generated from a schema.
//
// Every offset, table and vector is checked against the file before it is followed, so that no
// bytes can lead a reader outside; fields that are absent read as 0. A table costs O(its
// fields), a vector O(1).

#include "flatbuf.h"

// The 4-byte offset stored at `at`, followed. Offsets point forward, never to themselves.
static bool follow(size_t *target, const struct weft_flatbuf *flatbuf, size_t at,
                   struct weft_error *error)
{
    uint32_t offset = weft_flatbuf_u32_at(flatbuf, at);
    if (offset < 4 || offset > flatbuf->length - at || flatbuf->length - at - offset < 4) {
        return weft_fail(error, WEFT_INPUT,
                         "byte %zu: the offset %u leads out of the file's %zu bytes; the file is "
                         "damaged; fetch or make it again",
                         at, offset, flatbuf->length);
    }
    *target = at + offset;
    return true;
}

static uint32_t u16_at(const struct weft_flatbuf *flatbuf, size_t at)
{
    return flatbuf->data[at] | (uint32_t)flatbuf->data[at + 1] << 8;
}

// Opens the table at `at`: checks its vtable and every field that the layout names against the
// file, so that fields can be read unchecked from then on.
static bool open_table(struct weft_flatbuf_table *table, const struct weft_flatbuf *flatbuf,
                       size_t at, const struct weft_flatbuf_layout *layout,
                       struct weft_error *error)
{
    WEFT_ASSERT(layout->field_count <= WEFT_FLATBUF_FIELDS_MAX);
    int64_t vtable = (int64_t)at - (int32_t)weft_flatbuf_u32_at(flatbuf, at);
    if (vtable < 0 || vtable > (int64_t)flatbuf->length - 4) {
        return weft_fail(error, WEFT_INPUT,
                         "byte %zu: the table's vtable lies outside the file; the file is damaged; "
                         "fetch or make it again",
                         at);
    }
    size_t vtable_at = (size_t)vtable;
    uint32_t vtable_bytes = u16_at(flatbuf, vtable_at);
    uint32_t table_bytes = u16_at(flatbuf, vtable_at + 2);
    if (vtable_bytes < 4 || vtable_bytes % 2 != 0 || vtable_bytes > flatbuf->length - vtable_at ||
        table_bytes < 4 || table_bytes > flatbuf->length - at) {
        return weft_fail(error, WEFT_INPUT,
                         "byte %zu: a vtable of %u bytes for a table of %u does not fit the file; "
                         "the file is damaged; fetch or make it again",
                         vtable_at, vtable_bytes, table_bytes);
    }
    for (uint32_t field = 0; field < layout->field_count; field++) {
        uint32_t slot = 4 + 2 * field;
        uint32_t offset = slot < vtable_bytes ? u16_at(flatbuf, vtable_at + slot) : 0;
        uint32_t bytes = layout->field_bytes[field];
        if (offset != 0 && (offset < 4 || offset > table_bytes || table_bytes - offset < bytes)) {
            return weft_fail(error, WEFT_INPUT,
                             "byte %zu: field %u lies outside its table; the file is damaged; "
                             "fetch or make it again",
                             at, field);
        }
        table->field_at[field] = offset == 0 ? 0 : at + offset;
    }
    return true;
}

bool weft_flatbuf_root(struct weft_flatbuf_table *table, struct weft_flatbuf *flatbuf,
                       const void *data, size_t length, const struct weft_flatbuf_layout *layout,
                       struct weft_error *error)
{
    if (length < 8 || length > WEFT_FLATBUF_BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%zu bytes cannot be a FlatBuffers file, which has 8 bytes to 2 GiB",
                         length);
    }
    *flatbuf = (struct weft_flatbuf){data, length, length};
    size_t at = 0;
    return follow(&at, flatbuf, 0, error) && open_table(table, flatbuf, at, layout, error);
}

bool weft_flatbuf_vector(struct weft_flatbuf_vector *vector, struct weft_flatbuf *flatbuf,
                         const struct weft_flatbuf_table *table, uint32_t field,
                         uint32_t element_bytes, struct weft_error *error)
{
    if (table->field_at[field] == 0) {
        *vector = (struct weft_flatbuf_vector){0, 0};
        return true;
    }
    size_t at = 0;
    if (!follow(&at, flatbuf, table->field_at[field], error)) {
        return false;
    }
    uint32_t count = weft_flatbuf_u32_at(flatbuf, at);
    uint64_t bytes = (uint64_t)count * element_bytes;
    if (bytes > flatbuf->length - at - 4) {
        return weft_fail(error, WEFT_INPUT,
                         "byte %zu: a vector of %u elements does not fit the file's %zu bytes; the "
                         "file is damaged; fetch or make it again",
                         at, count, flatbuf->length);
    }
    if (bytes + 4 > flatbuf->budget_bytes) {
        return weft_fail(error, WEFT_INPUT,
                         "byte %zu: the vectors of the file overlap; write each its own bytes", at);
    }
    flatbuf->budget_bytes -= (size_t)bytes + 4;
    *vector = (struct weft_flatbuf_vector){at + 4, count};
    return true;
}

bool weft_flatbuf_element(struct weft_flatbuf_table *table, const struct weft_flatbuf *flatbuf,
                          const struct weft_flatbuf_vector *vector, uint32_t index,
                          const struct weft_flatbuf_layout *layout, struct weft_error *error)
{
    WEFT_ASSERT(index < vector->count);
    size_t at = 0;
    return follow(&at, flatbuf, vector->at + 4 * (size_t)index, error) &&
           open_table(table, flatbuf, at, layout, error);
}
