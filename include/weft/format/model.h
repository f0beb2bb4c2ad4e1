// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_MODEL_H
#define WEFT_FORMAT_MODEL_H

// Models of neural networks (YAML): docs/models.md.

#include "weft/base.h"
#include "weft/model.h"

WEFT_API_BEGIN

// Reads a model: operators, a preset, or a network of the zoo with other numbers (docs/models.md).
// Fails with INPUT and the line. O(bytes + keys^2 + operators^2), at most 2048 operators.
bool weft_model_read(struct weft_model *model, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_model_load(struct weft_model *model, const char *path, struct weft_arena *arena,
                     struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
