// SPDX-License-Identifier: Apache-2.0
// Arenas over reserved address space, and text that grows in them.

#include "weft/base.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEFAULT_RESERVE ((size_t)64 << 30)
#define ALIGNMENT 64u

bool weft_arena_init(struct weft_arena *arena, size_t reserve_bytes, struct weft_error *error)
{
    size_t size = reserve_bytes == 0 ? DEFAULT_RESERVE : reserve_bytes;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "cannot reserve %zu MiB of address space; raise 'ulimit -v'", size >> 20);
    }
    *arena = (struct weft_arena){base, (char *)base + size};
    return true;
}

void weft_arena_release(struct weft_arena *arena)
{
    if (arena->next != NULL) {
        munmap(arena->next, (size_t)(arena->end - arena->next));
    }
    *arena = (struct weft_arena){NULL, NULL};
}

void *weft_arena_alloc_raw(struct weft_arena *arena, size_t count, size_t size)
{
    size_t padding = (ALIGNMENT - (uintptr_t)arena->next % ALIGNMENT) % ALIGNMENT;
    size_t left = (size_t)(arena->end - arena->next);
    if (left < padding || (size != 0 && count > (left - padding) / size)) {
        fprintf(stderr, "weft: out of memory: %zu x %zu bytes do not fit what is reserved\n", count,
                size);
        abort();
    }
    char *result = arena->next + padding;
    arena->next = result + count * size;
    return result;
}

void *weft_arena_alloc(struct weft_arena *arena, size_t count, size_t size)
{
    void *result = weft_arena_alloc_raw(arena, count, size);
    memset(result, 0, count * size);
    return result;
}

struct weft_arena weft_arena_split(struct weft_arena *scratch)
{
    size_t half = (size_t)(scratch->end - scratch->next) / 2;
    struct weft_arena upper = {scratch->next + half, scratch->end};
    scratch->end = upper.next;
    return upper;
}

char *weft_arena_text(struct weft_arena *arena, const char *text, size_t length)
{
    char *copy = weft_arena_alloc_raw(arena, length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

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

void weft_text_add(struct weft_text *text, const char *format, ...)
{
    WEFT_ASSERT(text->arena->next == text->data + text->length + 1);
    size_t room = (size_t)(text->arena->end - text->data) - text->length;
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(text->data + text->length, room, format, arguments);
    va_end(arguments);
    WEFT_ASSERT(added >= 0 && (size_t)added < room);
    text->length += (size_t)added;
    text->arena->next = text->data + text->length + 1;
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
