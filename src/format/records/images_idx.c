// SPDX-License-Identifier: Apache-2.0
// Images and labels in IDX, or as bare bytes. The head says the type of the values and the number
// of dimensions; the length of the file must be what it announces, so that a file that was cut is
// refused and no count is believed. O(bytes).

#include "weft/format/images.h"

#include <string.h>

enum { IDX_BYTES = 8, DIMENSIONS_MAX = 3, PIXELS = WEFT_IMAGE_SIDE * WEFT_IMAGE_SIDE };

static uint32_t read_u32(const char *at)
{
    const uint8_t *byte = (const uint8_t *)at;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

// Two zeros, then a type of IDX and few dimensions: what bare digits, which begin with a row of
// dark pixels, do not.
static bool is_idx(const char *data, size_t length)
{
    return length >= 4 && data[0] == 0 && data[1] == 0 && data[2] >= IDX_BYTES && data[2] <= 14 &&
           data[3] >= 1 && data[3] <= 4;
}

static const char *kind_of(uint32_t dimensions)
{
    return dimensions == 3 ? "images" : "labels";
}

// Reads the head of a file with that many dimensions, of at least 1 and, but for the first, at most
// WEFT_IMAGE_SIDE_MAX; *values is where they begin.
static bool read_head(uint32_t *sizes, const char **values, uint32_t dimensions, const char *data,
                      size_t length, struct weft_error *error)
{
    size_t head = 4 + 4 * (size_t)dimensions;
    if (data[2] != IDX_BYTES) {
        return weft_fail(error, WEFT_INPUT,
                         "IDX with values of type 0x%02x; %s are bytes (0x08): convert them",
                         (unsigned)data[2], kind_of(dimensions));
    }
    if ((uint32_t)data[3] != dimensions) {
        return weft_fail(error, WEFT_INPUT,
                         "IDX with %d as number of dimensions, %s have %u; the images come first, "
                         "then the labels",
                         data[3], kind_of(dimensions), dimensions);
    }
    uint64_t bytes = 1;
    for (uint32_t d = 0; d < dimensions && length >= head; d++) {
        sizes[d] = read_u32(data + 4 + 4 * (size_t)d);
        if (sizes[d] == 0 || (d > 0 && sizes[d] > WEFT_IMAGE_SIDE_MAX)) {
            return weft_fail(error, WEFT_INPUT, "size %u of dimension %u is not 1 to %u", sizes[d],
                             d + 1, d > 0 ? WEFT_IMAGE_SIDE_MAX : UINT32_MAX);
        }
        bytes *= sizes[d]; // below 2^52
    }
    if (length < head || bytes != length - head) {
        return weft_fail(error, WEFT_INPUT,
                         "%zu bytes are not what the head of an IDX file of %s announces; was the "
                         "file cut?",
                         length, kind_of(dimensions));
    }
    *values = data + head;
    return true;
}

bool weft_images_read(struct weft_images *images, const char *data, size_t length,
                      struct weft_error *error)
{
    uint32_t sizes[DIMENSIONS_MAX] = {0, WEFT_IMAGE_SIDE, WEFT_IMAGE_SIDE};
    const char *pixels = data;
    if (is_idx(data, length)) {
        if (!read_head(sizes, &pixels, 3, data, length, error)) {
            return false;
        }
    } else if (length == 0 || length % PIXELS != 0 || length / PIXELS > UINT32_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "neither IDX nor bare images of 28 x 28 bytes: %zu bytes are %zu and %zu "
                         "more; write the images as IDX",
                         length, length / PIXELS, length % PIXELS);
    } else {
        sizes[0] = (uint32_t)(length / PIXELS);
    }
    *images = (struct weft_images){
        .count = sizes[0],
        .height = sizes[1],
        .width = sizes[2],
        .pixels = (const uint8_t *)pixels,
    };
    return true;
}

bool weft_image_labels_read(struct weft_images *images, const char *data, size_t length,
                            struct weft_error *error)
{
    uint32_t count = 0;
    const char *labels = data;
    bool announces = is_idx(data, length) && length >= 8 && length == 8ull + read_u32(data + 4);
    if (length == images->count && !announces) {
        count = images->count;
    } else if (!is_idx(data, length)) {
        return weft_fail(error, WEFT_INPUT,
                         "neither IDX nor a byte for each of %u images, but %zu bytes; give the "
                         "labels of these images",
                         images->count, length);
    } else if (!read_head(&count, &labels, 1, data, length, error)) {
        return false;
    }
    if (count != images->count) {
        return weft_fail(error, WEFT_INPUT,
                         "%u labels for %u images; give the labels of these images", count,
                         images->count);
    }
    images->labels = (const uint8_t *)labels;
    return true;
}

static const uint8_t *keep(const uint8_t *bytes, size_t length, struct weft_arena *arena)
{
    uint8_t *kept = WEFT_NEW_RAW(arena, uint8_t, length);
    memcpy(kept, bytes, length);
    return kept;
}

bool weft_images_load(struct weft_images *images, const char *images_path, const char *labels_path,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL, *labels = NULL;
    size_t length = 0, label_bytes = 0;
    struct weft_images found;
    if (!weft_file_load(&data, &length, images_path, WEFT_FILE_TRACE_BYTES, &scratch, error)) {
        return false;
    }
    if (!weft_images_read(&found, data, length, error)) {
        return weft_wrap(error, "%s", images_path);
    }
    if (!weft_file_load(&labels, &label_bytes, labels_path, 0, &scratch, error)) {
        return false;
    }
    if (!weft_image_labels_read(&found, labels, label_bytes, error)) {
        return weft_wrap(error, "%s", labels_path);
    }
    found.pixels = keep(found.pixels, (size_t)found.count * found.height * found.width, arena);
    found.labels = keep(found.labels, found.count, arena);
    *images = found;
    return true;
}
