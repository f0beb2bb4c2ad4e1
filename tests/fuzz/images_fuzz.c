// SPDX-License-Identifier: Apache-2.0
// Images and labels: any bytes are either images with a label each, all of them inside the file,
// or one line of complaint. The first two bytes of an input say how many of its last are labels.
//
// Seen to fail on corpus/images/cut when the length was not held against the head, and on
// corpus/images/wide when sizes were not bounded, so that their product wraps
// to the length.

#include "fuzz.h"
#include "weft/format/images.h"

static uint32_t sum_of(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        sum += bytes[i];
    }
    return sum;
}

static void check(struct weft_images *images, const char *end, const char *labels,
                  size_t label_bytes)
{
    struct weft_error error = {.code = WEFT_OK};
    size_t bytes = (size_t)images->count * images->height * images->width;
    WEFT_ASSERT(images->count > 0 && images->height > 0 && images->width > 0 && bytes > 0);
    WEFT_ASSERT(images->pixels + bytes == (const uint8_t *)end);
    WEFT_ASSERT(sum_of(images->pixels, bytes) <= 255 * bytes);
    if (!weft_image_labels_read(images, labels, label_bytes, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(images->labels == NULL);
        return;
    }
    WEFT_ASSERT(images->labels + images->count == (const uint8_t *)labels + label_bytes);
    WEFT_ASSERT(sum_of(images->labels, images->count) <= 255 * images->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t label_bytes = (size_t)data[0] << 8 | data[1];
    label_bytes = label_bytes < size - 2 ? label_bytes : size - 2;
    size_t image_bytes = size - 2 - label_bytes;
    // Blocks of their own, so that a sanitizer sees a byte too far of each.
    char *files[2] = {malloc(image_bytes + 1), malloc(label_bytes + 1)};
    WEFT_ASSERT(files[0] != NULL && files[1] != NULL);
    char *pixels = files[0] + 1, *labels = files[1] + 1;
    memcpy(pixels, data + 2, image_bytes);
    memcpy(labels, data + 2 + image_bytes, label_bytes);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_images images = {.count = 77};
    if (!weft_images_read(&images, pixels, image_bytes, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(images.count == 77);
    } else {
        check(&images, pixels + image_bytes, labels, label_bytes);
    }
    free(files[0]);
    free(files[1]);
    return 0;
}
