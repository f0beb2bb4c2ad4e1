// SPDX-License-Identifier: Apache-2.0
// Named parameters: rows of tables that lead from a name and a text to a typed field.
//
// A field is found by its offset, so that one table serves every door. Each kind of value has one
// reader here; a parameter of another kind brings its own.

#include "weft/request/parameter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES_MAX = 63, PACKET_BYTES_MAX = UINT16_MAX };

const struct weft_parameter *weft_parameter_find(const struct weft_parameter_group **group,
                                                 const struct weft_parameter_group *groups,
                                                 const char *name)
{
    for (; groups->rows != NULL; groups++) {
        for (size_t i = 0; i < groups->count; i++) {
            if (strcmp(groups->rows[i].name, name) == 0) {
                *group = groups;
                return &groups->rows[i];
            }
        }
    }
    return NULL;
}

bool weft_parameter_set(void *base, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    void *field = (char *)base + parameter->field;
    if (parameter->read == NULL) {
        *(bool *)field = true;
        return true;
    }
    return parameter->read(field, parameter, text, arena, error) ||
           weft_wrap(error, "{%s}", parameter->name);
}

bool weft_refuse_stated(const struct weft_stated *rows, struct weft_error *error,
                        const char *format, ...)
{
    while (rows->name != NULL && !rows->stated) {
        rows++;
    }
    if (rows->name == NULL) {
        return true;
    }
    char rest[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    return weft_fail(error, WEFT_USAGE, "{%s} %s", rows->name, rest);
}

// ---- single values ----

bool weft_read_text(void *field, const struct weft_parameter *parameter, const char *text,
                    struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)error;
    *(const char **)field = weft_arena_text(arena, text, strlen(text));
    return true;
}

bool weft_read_count(void *field, const struct weft_parameter *parameter, const char *text,
                     struct weft_arena *arena, struct weft_error *error)
{
    (void)arena;
    uint64_t value = 0;
    if (!weft_parse_count(&value, text, (uint64_t)parameter->low, (uint64_t)parameter->high,
                          error)) {
        return false;
    }
    *(uint32_t *)field = (uint32_t)value;
    return true;
}

bool weft_read_count64(void *field, const struct weft_parameter *parameter, const char *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    (void)arena;
    return weft_parse_count(field, text, (uint64_t)parameter->low, (uint64_t)parameter->high,
                            error);
}

bool weft_read_number(void *field, const struct weft_parameter *parameter, const char *text,
                      struct weft_arena *arena, struct weft_error *error)
{
    (void)arena;
    return weft_parse_number(field, text, parameter->low, parameter->high, error);
}

bool weft_read_given_count(void *field, const struct weft_parameter *parameter, const char *text,
                           struct weft_arena *arena, struct weft_error *error)
{
    struct weft_given_count *count = field;
    count->given = true;
    return weft_read_count(&count->value, parameter, text, arena, error);
}

bool weft_read_given_packet(void *field, const struct weft_parameter *parameter, const char *text,
                            struct weft_arena *arena, struct weft_error *error)
{
    (void)arena;
    struct weft_given_count *bytes = field;
    uint32_t low = (uint32_t)parameter->low;
    bool bare = text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
    uint64_t value = 0;
    bool parsed = bare ? weft_parse_count(&value, text, low, PACKET_BYTES_MAX, error)
                       : weft_parse_bytes(&value, text, error);
    if (parsed && (value < low || value > PACKET_BYTES_MAX)) {
        return weft_fail(error, WEFT_INPUT, "'%.60s' is not from %u to %u bytes", text, low,
                         PACKET_BYTES_MAX);
    }
    *bytes = (struct weft_given_count){true, (uint32_t)value};
    return parsed;
}

bool weft_read_given_number(void *field, const struct weft_parameter *parameter, const char *text,
                            struct weft_arena *arena, struct weft_error *error)
{
    struct weft_given_number *number = field;
    number->given = true;
    return weft_read_number(&number->value, parameter, text, arena, error);
}

// "flow or packet", "turn, chance, marks or reuse".
static const char *list_words(const char *const *words, struct weft_arena *arena)
{
    const char *list = words[0];
    for (uint32_t i = 1; words[i] != NULL; i++) {
        list = weft_arena_format(arena, "%s%s%s", list, words[i + 1] == NULL ? " or " : ", ",
                                 words[i]);
    }
    return list;
}

// The word's place among the parameter's words, or WEFT_NONE.
static uint32_t find_word(const struct weft_parameter *parameter, const char *text)
{
    for (uint32_t i = 0; parameter->words[i] != NULL; i++) {
        if (strcmp(parameter->words[i], text) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

static bool fail_word(const struct weft_parameter *parameter, const char *text,
                      struct weft_arena *arena, struct weft_error *error)
{
    return weft_fail(error, WEFT_USAGE, "'%.60s' is %s; write %s", text,
                     parameter->words[2] == NULL ? "neither" : "none",
                     list_words(parameter->words, arena));
}

bool weft_read_word(void *field, const struct weft_parameter *parameter, const char *text,
                    struct weft_arena *arena, struct weft_error *error)
{
    uint32_t place = find_word(parameter, text);
    if (place == WEFT_NONE) {
        return fail_word(parameter, text, arena, error);
    }
    *(uint32_t *)field = place; // of the size of an enum, which the parameter's table asserts
    return true;
}

bool weft_read_given_word(void *field, const struct weft_parameter *parameter, const char *text,
                          struct weft_arena *arena, struct weft_error *error)
{
    uint32_t place = find_word(parameter, text);
    if (place == WEFT_NONE) {
        return fail_word(parameter, text, arena, error);
    }
    *(struct weft_given_word *)field = (struct weft_given_word){true, place};
    return true;
}

bool weft_read_given_bytes(void *field, const struct weft_parameter *parameter, const char *text,
                           struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_given_bytes *bytes = field;
    bytes->given = true;
    return weft_parse_bytes(&bytes->value, text, error);
}

bool weft_read_given_time(void *field, const struct weft_parameter *parameter, const char *text,
                          struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_given_time *time = field;
    time->given = true;
    return weft_parse_time(&time->ps, text, error);
}

bool weft_read_given_rate(void *field, const struct weft_parameter *parameter, const char *text,
                          struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_given_rate *rate = field;
    rate->given = true;
    return weft_parse_rate(&rate->Bps, text, error);
}

// ---- lists ----

bool weft_split_list(const char *const **words, uint32_t *count, const char *text,
                     struct weft_arena *arena, struct weft_error *error)
{
    uint32_t values = 1;
    for (const char *c = text; *c != '\0'; c++) {
        values += *c == ',';
    }
    const char **found = WEFT_NEW(arena, const char *, values);
    for (uint32_t i = 0; i < values; i++) {
        size_t length = strcspn(text, ",");
        if (length == 0 || length > WORD_BYTES_MAX) {
            return weft_fail(error, WEFT_USAGE, "value %u is %s; write for example 1,2", i + 1,
                             length == 0 ? "empty" : "too long");
        }
        found[i] = weft_arena_text(arena, text, length);
        text += length + (text[length] == ',');
    }
    *words = found;
    *count = values;
    return true;
}

bool weft_read_times(void *field, const struct weft_parameter *parameter, const char *text,
                     struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter;
    struct weft_time_list *list = field;
    const char *const *words = NULL;
    uint32_t count = 0;
    if (!weft_split_list(&words, &count, text, arena, error)) {
        return false;
    }
    uint64_t *times_ps = WEFT_NEW(arena, uint64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!weft_parse_time(&times_ps[i], words[i], error)) {
            return false;
        }
    }
    *list = (struct weft_time_list){count, times_ps};
    return true;
}

bool weft_read_numbers(void *field, const struct weft_parameter *parameter, const char *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    struct weft_number_list *list = field;
    const char *const *words = NULL;
    uint32_t count = 0;
    if (!weft_split_list(&words, &count, text, arena, error)) {
        return false;
    }
    double *values = WEFT_NEW(arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!weft_read_number(&values[i], parameter, words[i], arena, error)) {
            return false;
        }
    }
    *list = (struct weft_number_list){count, values};
    return true;
}

bool weft_read_counts(void *field, const struct weft_parameter *parameter, const char *text,
                      struct weft_arena *arena, struct weft_error *error)
{
    struct weft_count_list *list = field;
    const char *const *words = NULL;
    uint32_t count = 0;
    if (!weft_split_list(&words, &count, text, arena, error)) {
        return false;
    }
    uint32_t *values = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!weft_read_count(&values[i], parameter, words[i], arena, error)) {
            return false;
        }
    }
    *list = (struct weft_count_list){count, values};
    return true;
}
