// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_FBUF_FIXTURE_H
#define WEFT_TESTS_FBUF_FIXTURE_H

// Arenas and expectations that the tests of task graph files share.

#include "fbuf_craft.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct weft_arena whole;
static struct weft_arena whole_scratch;
static struct weft_arena arena;
static struct craft craft;

static inline int open_arenas(void **state)
{
    (void)state;
    struct weft_error error;
    return !weft_arena_init(&whole, (size_t)64 << 20, &error) ||
           !weft_arena_init(&whole_scratch, (size_t)64 << 20, &error);
}

static inline int close_arenas(void **state)
{
    (void)state;
    weft_arena_release(&whole);
    weft_arena_release(&whole_scratch);
    return 0;
}

static inline int empty_arena(void **state)
{
    (void)state;
    arena = whole;
    return 0;
}

static inline bool read_file(struct weft_fbuf *fbuf, const struct craft_file *file,
                             struct weft_error *error)
{
    craft_bytes(&craft, file);
    uint8_t *exact = malloc(craft.length); // so that a sanitizer sees a byte too far
    assert_non_null(exact);
    memcpy(exact, craft.data, craft.length);
    bool good = weft_fbuf_read(fbuf, exact, craft.length, &arena, whole_scratch, error);
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
