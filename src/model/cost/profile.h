// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MODEL_COST_PROFILE_H
#define WEFT_MODEL_COST_PROFILE_H

// What costing an operator needs of a profile and of the operator's kind, all without an arena, so
// that searches may ask a million times: names into buffers of the caller, measurements by binary
// search. Private to the model room.

#include "weft/model.h"

// Room for the longest key: an operator's name, cut, and a profile's name of three numbers.
#define WEFT_PROFILE_NAME 256u

// weft_profile_name, into a buffer of WEFT_PROFILE_NAME bytes, which is also returned.
const char *weft_profile_name_into(char *buffer, const struct weft_model *model, uint32_t index);
// The name of one operator alone: "conv4_1@Conv2D_3_3_512".
const char *weft_profile_own_name_into(char *buffer, const struct weft_model *model,
                                       uint32_t index);
// The one of the two names above that the profile has, its own first; else weft_profile_name.
const char *weft_profile_key_into(char *buffer, const struct weft_profile *profile,
                                  const struct weft_model *model, uint32_t index);
// Which of a measurement's dimensions Weft divides besides the samples: the channels of an image
// (of width, height, channels, samples), else the innermost.
uint32_t weft_profile_parameter_dimension(uint32_t rank);
// Index of the first measurement whose name is not before `name`. O(log count).
uint32_t weft_profile_first(const struct weft_profile *profile, const char *name);
// False when another dimension is divided: no split of Weft's.
bool weft_measurement_split(struct weft_split *split, const struct weft_measurement *measurement);

// Whether the profile has any measurement of that name. O(log count).
bool weft_profile_has(const struct weft_profile *profile, const char *name);
// Fails with INPUT when the profile was measured with another batch.
bool weft_profile_check_batch(const struct weft_profile *profile, const struct weft_model *model,
                              struct weft_error *error) WEFT_MUST_USE;
// Fails with INPUT: the profile has no such split (`wanted`, in words) of that name.
bool weft_profile_fail_missing(const struct weft_profile *profile, const char *name,
                               const char *wanted, struct weft_error *error);

// ---- the roofline's own ----

// Puts "operator 'name'" before the message and returns false.
bool weft_cost_fail(const struct weft_model *model, uint32_t op, struct weft_error *error);
// Whether a search may divide the parameters of such operators.
bool weft_kind_divides(enum weft_operator_kind kind);
// Whether heads, channels or the innermost dimension divide into so many equal parts.
bool weft_parameters_divide(const struct weft_operator *op, uint32_t parts);
// Fails with INPUT, naming the operator, when the split does not divide it evenly.
bool weft_split_check(const struct weft_model *model, uint32_t op, struct weft_split split,
                      struct weft_error *error) WEFT_MUST_USE;

#endif
