// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_FRESH_ARENAS_H
#define WEFT_TESTS_FRESH_ARENAS_H

// Arenas for tests that share `arena` and `scratch` with their helpers; tear_down() ends them.

#include "arenas.h"

static struct weft_arena arena, scratch;

static inline int open_arenas(void **state)
{
    int code = set_up(state);
    arena = arena_kept;
    scratch = scratch_kept;
    return code;
}

#endif
