// SPDX-License-Identifier: Apache-2.0
// Tables of numbers in: one pass over the words, as wide as a matrix of thousands of nodes is.

#include "format/syntax/lines.h"
#include "weft/format.h"

#include <string.h>

#define VALUE_MAX 1e15

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// The words of the line from `at` on; *end is behind it. A line without any, or with '#' in front,
// has none.
static uint32_t count_words(const char **end, const char *at, const char *stop)
{
    const char *newline = memchr(at, '\n', (size_t)(stop - at));
    uint32_t count = 0;
    bool inside = false;
    *end = newline == NULL ? stop : newline + 1;
    for (const char *c = at; c < *end; c++) {
        if (!inside && *c == '#' && count == 0) {
            return 0;
        }
        count += !inside && !is_space(*c);
        inside = !is_space(*c);
    }
    return count;
}

static bool read_row(double *values, const char *at, uint32_t columns, uint32_t line,
                     struct weft_error *error)
{
    for (uint32_t c = 0; c < columns; c++) {
        char text[40];
        size_t length = 0;
        while (is_space(*at)) {
            at++;
        }
        for (; at[length] != '\0' && !is_space(at[length]); length++) {
            if (length == sizeof text - 1) {
                return weft_fail(error, WEFT_INPUT, "line %u, column %u: longer than a number",
                                 line, c + 1);
            }
            text[length] = at[length];
        }
        text[length] = '\0';
        at += length;
        if (!weft_parse_number(&values[c], text, 0, VALUE_MAX, error)) {
            return weft_wrap(error, "line %u, column %u", line, c + 1);
        }
    }
    return true;
}

// Rows of `columns` words, or a square; nothing is taken for them before that is known.
static bool check_shape(struct weft_numbers *numbers, const char *data, size_t length,
                        struct weft_error *error)
{
    const char *end = data;
    uint32_t line = 0;
    bool square = numbers->columns == 0;
    for (const char *at = data; at < data + length; at = end) {
        uint32_t words = count_words(&end, at, data + length);
        line++;
        if (words == 0) {
            continue;
        }
        numbers->columns = numbers->columns == 0 ? words : numbers->columns;
        numbers->rows++;
        if (words != numbers->columns) {
            return weft_fail(error, WEFT_INPUT, "line %u: %u number%s, where %s %u", line, words,
                             words == 1 ? "" : "s", square ? "the first line has" : "a line has",
                             numbers->columns);
        }
        if (square && numbers->rows > numbers->columns) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: more lines than the %u numbers of a line; a matrix has n "
                             "lines of n",
                             line, numbers->columns);
        }
    }
    if (numbers->rows == 0) {
        return weft_fail(error, WEFT_INPUT, "no numbers");
    }
    return !square || numbers->rows == numbers->columns ||
           weft_fail(error, WEFT_INPUT,
                     "%u line%s of %u numbers; a matrix has n lines of n, its diagonal included",
                     numbers->rows, numbers->rows == 1 ? "" : "s", numbers->columns);
}

bool weft_numbers_read(struct weft_numbers *numbers, const char *data, size_t length,
                       uint32_t columns, struct weft_arena *arena, struct weft_error *error)
{
    struct weft_numbers found = {.columns = columns};
    if (memchr(data, '\0', length) != NULL) {
        return weft_fail(error, WEFT_INPUT, "no text: it has a byte of zero");
    }
    if (!check_shape(&found, data, length, error)) {
        return false;
    }
    // Ended by a zero, which no word goes beyond.
    const char *text = weft_arena_text(arena, data, length);
    double *values = WEFT_NEW_RAW(arena, double, (size_t)found.rows *found.columns);
    const char *end = text;
    uint32_t line = 0;
    uint32_t row = 0;
    for (const char *at = text; at < text + length; at = end) {
        line++;
        if (count_words(&end, at, text + length) > 0 &&
            !read_row(values + (size_t)row++ * found.columns, at, found.columns, line, error)) {
            return false;
        }
    }
    found.values = values;
    *numbers = found;
    return true;
}

bool weft_numbers_load(struct weft_numbers *numbers, const char *path, uint32_t columns,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, 0, &scratch, error) &&
           (weft_numbers_read(numbers, data, length, columns, arena, error) ||
            weft_wrap(error, "%s", path));
}
