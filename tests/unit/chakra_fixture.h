// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_CHAKRA_FIXTURE_H
#define WEFT_TESTS_CHAKRA_FIXTURE_H

// A trace of two ranks that a test crafts and then reads, or sees refused.

#include "../arenas.h"
#include "chakra_craft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct craft_trace trace;

static inline int begin(void **state)
{
    (void)state;
    arena = arena_kept;
    craft_begin(&trace, 2);
    return 0;
}

static inline struct weft_chakra_job read_good(void)
{
    struct weft_chakra_job chakra = {0};
    struct weft_error error = {.message = ""};
    if (!craft_read(&chakra, &trace, &arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
    return chakra;
}

static inline void expect_refusal(const char *expected, enum weft_error_code code)
{
    struct weft_chakra_job chakra = {.node_count = 77};
    struct weft_error error = {.code = WEFT_OK};
    if (craft_read(&chakra, &trace, &arena, scratch_kept, &error)) {
        fail_msg("taken, though it should fail with '%s'", expected);
    }
    assert_int_equal(error.code, code);
    if (strcmp(error.message, expected) != 0) {
        fail_msg("'%s' is not '%s'", error.message, expected);
    }
    assert_int_equal(chakra.node_count, 77); // set only on success
}

static inline bool has_edge(const struct weft_taskgraph *graph, uint32_t from, uint32_t to)
{
    for (uint32_t e = graph->next_first[from]; e < graph->next_first[from + 1]; e++) {
        if (graph->next[e] == to) {
            return true;
        }
    }
    return false;
}

#endif
