// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CONFIG_MODEL_NUMBERS_H
#define WEFT_FORMAT_CONFIG_MODEL_NUMBERS_H

// The numbers of a family of networks, from a model file into the family's struct.
//
// All families' keys stand flat under "numbers": which of them a file may give follows from the
// family that it names.

#include "weft/model.h"
#include "yaml_keys.h"

// A family's numbers: those of `start` (NULL = the family's defaults) with those of `mapping` (NULL
// = none) in their place. Fails with INPUT at numbers.KEY.
bool weft_model_numbers(const void **numbers, enum weft_family family, const void *start,
                        const struct weft_yaml_node *mapping, const struct weft_yaml_source *source)
    WEFT_MUST_USE;

#endif
