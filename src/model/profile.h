// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_MODEL_PROFILE_H
#define WEFT_SRC_MODEL_PROFILE_H

// What the cost of an operator needs of a profile, without an arena.

#include "weft/model.h"

// Room for the longest name: a prefix and three numbers of 20 digits.
#define WEFT_PROFILE_NAME 96u

// weft_profile_name, into a buffer of WEFT_PROFILE_NAME bytes, which is also returned.
const char *weft_profile_name_into(char *buffer, const struct weft_model *model, uint32_t index);
// Which of a measurement's dimensions Weft divides besides the samples: the channels of an image
// (of width, height, channels, samples), else the innermost.
uint32_t weft_profile_parameter_dimension(uint32_t rank);
// Index of the first measurement whose name is not before `name`. O(log count).
uint32_t weft_profile_first(const struct weft_profile *profile, const char *name);
// False when another dimension is divided: no split of Weft's.
bool weft_measurement_split(struct weft_split *split, const struct weft_measurement *measurement);

#endif
