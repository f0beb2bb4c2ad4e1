// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MODEL_OPERATORS_NAMES_H
#define WEFT_MODEL_OPERATORS_NAMES_H

// Names of kinds of operators, number types and families: one search for all three lists, which
// says what comes nearest to a name that is not there (weft_nearest_word, by edits). Private to the
// model room.

#include "weft/model.h"

// The index of `name` among some. Fails with INPUT: "'conv' is no kind of operator; did you mean
// conv2d? there are ...".
bool weft_model_find_name(uint32_t *index, const char *name, const char *what,
                          const char *const *names, uint32_t count, struct weft_error *error)
    WEFT_MUST_USE;

#endif
