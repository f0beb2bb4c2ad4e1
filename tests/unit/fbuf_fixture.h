// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_FBUF_FIXTURE_H
#define WEFT_TESTS_FBUF_FIXTURE_H

// Arenas and expectations that the tests of task graph files share.

#include "../arenas.h"
#include "fbuf_craft.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct craft craft;

static inline int empty_arena(void **state)
{
    (void)state;
    arena = arena_kept;
    return 0;
}

static inline bool read_file(struct weft_fbuf *fbuf, const struct craft_file *file,
                             struct weft_error *error)
{
    craft_bytes(&craft, file);
    uint8_t *exact = malloc(craft.length); // so that a sanitizer sees a byte too far
    assert_non_null(exact);
    memcpy(exact, craft.data, craft.length);
    bool good = weft_fbuf_read(fbuf, exact, craft.length, &arena, scratch_kept, error);
    free(exact);
    return good;
}

static inline struct weft_fbuf read_good(const struct craft_file *file)
{
    struct weft_fbuf fbuf;
    struct weft_error error;
    if (!read_file(&fbuf, file, &error)) {
        fail_msg("%s", error.message);
    }
    return fbuf;
}

static inline void check_message(const struct weft_error *error, const char *expected)
{
    assert_int_equal(error->code, WEFT_INPUT);
    if (strstr(error->message, expected) == NULL) {
        fail_msg("'%s' lacks '%s'", error->message, expected);
    }
}

static inline void expect_refusal(const struct craft_file *file, const char *expected)
{
    struct weft_fbuf fbuf = {.node_count = 77};
    struct weft_error error = {.code = WEFT_OK};
    if (read_file(&fbuf, file, &error)) {
        fail_msg("taken, though it should fail with '%s'", expected);
    }
    check_message(&error, expected);
    assert_int_equal(fbuf.node_count, 77); // set only on success
}

#endif
