// SPDX-License-Identifier: Apache-2.0
// Text that grows at the end of an arena, for everything that Weft writes.
//
// Each addition is formatted right behind the text. Where the segment of the arena has no room for
// it, the text moves to a segment with room for twice its length, so that n bytes cost O(n) in all
// however small the pieces are.

#include "weft/base.h"

#include <stdarg.h>
#include <string.h>

char *weft_arena_format(struct weft_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    WEFT_ASSERT(length >= 0);
    char *result = weft_arena_alloc_raw(arena, (size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(result, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return result;
}

void weft_text_init(struct weft_text *text, struct weft_arena *arena)
{
    char *data = weft_arena_alloc_raw(arena, 1, 1);
    data[0] = '\0';
    *text = (struct weft_text){arena, data, 0};
}

// Makes room for `added` more bytes and their terminating zero.
static void make_room(struct weft_text *text, size_t added)
{
    size_t taken = text->length + 1;
    text->data = weft_arena_grow(text->arena, text->data, taken, taken + added);
}

void weft_text_add(struct weft_text *text, const char *format, ...)
{
    WEFT_ASSERT(text->arena->next == text->data + text->length + 1);
    size_t room = (size_t)(text->arena->end - text->data) - text->length;
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(text->data + text->length, room, format, arguments);
    va_end(arguments);
    WEFT_ASSERT(added >= 0);
    bool fits = (size_t)added < room;
    make_room(text, (size_t)added);
    if (!fits) {
        va_start(arguments, format);
        vsnprintf(text->data + text->length, (size_t)added + 1, format, arguments);
        va_end(arguments);
    }
    text->length += (size_t)added;
}

void weft_text_add_escaped(struct weft_text *text, const char *value)
{
    for (const char *c = value; *c != '\0'; c++) {
        switch (*c) {
        case '<':
            weft_text_add(text, "&lt;");
            break;
        case '>':
            weft_text_add(text, "&gt;");
            break;
        case '&':
            weft_text_add(text, "&amp;");
            break;
        case '"':
            weft_text_add(text, "&quot;");
            break;
        case '\'':
            weft_text_add(text, "&#39;");
            break;
        default:
            weft_text_add(text, "%c", (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
        }
    }
}

const char *weft_escape_text(const char *value, struct weft_arena *arena)
{
    size_t length = strlen(value);
    size_t escaped_bytes = 0;
    char escape[WEFT_ESCAPE_BYTES];
    for (size_t at = 0; at < length;) {
        at += weft_escape(escape, value + at, length - at);
        escaped_bytes += strlen(escape);
    }
    if (escaped_bytes == 0) {
        return value;
    }
    char *escaped = weft_arena_alloc_raw(arena, length + escaped_bytes + 1, 1);
    char *to = escaped;
    for (size_t at = 0; at < length;) {
        size_t bytes = weft_escape(escape, value + at, length - at);
        size_t added = escape[0] == '\0' ? bytes : strlen(escape);
        memcpy(to, escape[0] == '\0' ? value + at : escape, added);
        at += bytes;
        to += added;
    }
    *to = '\0';
    return escaped;
}
