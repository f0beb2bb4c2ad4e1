// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_IMAGES_H
#define WEFT_FORMAT_IMAGES_H

// Images with their classes, to train on: IDX, the format of MNIST and of data sets made after it
// (yann.lecun.com/exdb/mnist), or bare bytes. docs/mlt.md uses them.
//
//   images:  00 00 08 03, count, height, width (4 bytes each, the highest first), a byte a pixel
//   labels:  00 00 08 01, count, a byte a label
//
// Bare images are 28 x 28 bytes each, bare labels a byte each. Files may be packed by gzip.

#include "weft/format/file.h"
#include "weft/train.h"

WEFT_API_BEGIN

#define WEFT_IMAGE_SIDE 28u       // of bare images
#define WEFT_IMAGE_SIDE_MAX 1024u // of all

// Reads the images; what is read points into `data`, and there are no labels yet. Fails with INPUT:
// no images, another type than bytes, a length that is not what the head says.
bool weft_images_read(struct weft_images *images, const char *data, size_t length,
                      struct weft_error *error) WEFT_MUST_USE;
// Reads a label for each of the images, which point into `data`, too. As many bytes as there are
// images are bare labels. Fails with INPUT.
bool weft_image_labels_read(struct weft_images *images, const char *data, size_t length,
                            struct weft_error *error) WEFT_MUST_USE;
// Both files. Fails with IO, too.
bool weft_images_load(struct weft_images *images, const char *images_path, const char *labels_path,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

WEFT_API_END

#endif
