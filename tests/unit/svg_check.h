// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SVG_CHECK_H
#define WEFT_SVG_CHECK_H

// What every picture must be: well-formed and of finite numbers.

#include "weft/base.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static inline uint32_t count_of(const char *text, const char *piece)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece)) {
        count++;
    }
    return count;
}

#define DEPTH_MAX 32

static inline const char *check_tag(const char *at, char names[DEPTH_MAX][32], uint32_t *depth)
{
    bool closing = *at == '/';
    at += closing;
    char name[32] = "";
    uint32_t length = 0;
    while (isalnum((unsigned char)*at) && length < sizeof name - 1) {
        name[length++] = *at++;
    }
    assert_true(length > 0);
    while (*at != '>' && !(at[0] == '/' && at[1] == '>')) {
        assert_true(isspace((unsigned char)*at)); // between attributes
        at += strspn(at, " \n");
        at += strcspn(at, "=<>");
        assert_memory_equal(at, "=\"", 2);
        at += 2;
        at += strcspn(at, "\"<");
        assert_true(*at == '"');
        at++;
    }
    bool empty = *at == '/';
    if (closing) {
        assert_true(*depth > 0);
        assert_string_equal(names[--*depth], name);
    } else if (!empty) {
        assert_true(*depth < DEPTH_MAX);
        memcpy(names[(*depth)++], name, sizeof name);
    }
    return at + (empty ? 2 : 1);
}

// An SVG element is well-formed XML: tags nest, attributes are quoted, & begins an entity.
static inline void check_svg(const char *svg, const char *end)
{
    char names[DEPTH_MAX][32];
    uint32_t depth = 0;
    for (const char *at = svg; at < end;) {
        if (*at == '<') {
            at = check_tag(at + 1, names, &depth);
            continue;
        }
        if (*at == '&') {
            size_t length = strcspn(at, ";");
            assert_true(length >= 3 && length <= 5);
        }
        assert_true(*at != '>');
        at++;
    }
    assert_int_equal(depth, 0);
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
}

static inline uint32_t check_all_svgs(const char *page, struct weft_arena *arena)
{
    uint32_t count = 0;
    for (const char *at = strstr(page, "<svg "); at != NULL; at = strstr(at, "<svg ")) {
        const char *end = strstr(at, "</svg>");
        assert_non_null(end);
        end += strlen("</svg>");
        const char *copy = weft_arena_text(arena, at, (size_t)(end - at));
        check_svg(copy, copy + (end - at));
        at = end;
        count++;
    }
    return count;
}

#endif
