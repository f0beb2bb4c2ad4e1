// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_ARENAS_H
#define WEFT_TESTS_ARENAS_H

// The arenas of a test: fresh for each, or kept for a group.

#include "weft/base.h"

static struct weft_arena arena_kept, scratch_kept;

static inline int set_up(void **state)
{
    (void)state;
    struct weft_error error;
    return weft_arena_init(&arena_kept, 0, &error) && weft_arena_init(&scratch_kept, 0, &error)
               ? 0
               : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    weft_arena_release(&arena_kept);
    weft_arena_release(&scratch_kept);
    return 0;
}

#endif
