// SPDX-License-Identifier: Apache-2.0
// Tables: aligned text for terminals, Markdown for documents, CSV for sheets; and heat maps of
// characters.
//
// Columns are as wide as their widest cell, counted in code points of UTF-8. A heat map shows a
// matrix by characters of growing ink, blocks of servers to a cell where there are many.
// O(cells).

#include "weft/report.h"

#include <stdlib.h>
#include <string.h>

// Code points of a UTF-8 text: bytes that do not continue one.
static uint32_t width_of(const char *text)
{
    uint32_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static const char *cell_text(const char *cell)
{
    return cell != NULL ? cell : "";
}

// Appends a cell padded to `width`; the last column of a row is not padded on the right.
static char *add_cell(char *at, const char *cell, enum weft_align align, uint32_t width, bool last)
{
    uint32_t padding = width - width_of(cell);
    if (align == WEFT_ALIGN_RIGHT) {
        memset(at, ' ', padding);
        at += padding;
    }
    for (; *cell != '\0'; cell++) {
        unsigned char byte = (unsigned char)*cell;
        *at++ = byte < 0x20 || byte == 0x7f ? '?' : *cell;
    }
    if (align == WEFT_ALIGN_LEFT && !last) {
        memset(at, ' ', padding);
        at += padding;
    }
    return at;
}

// Appends one row; trailing blanks (of an empty last cell) are taken back.
static char *add_row(char *at, const struct weft_table_column *columns, uint32_t column_count,
                     const char *const *cells, const uint32_t *widths)
{
    const char *start = at;
    for (uint32_t c = 0; c < column_count; c++) {
        if (c > 0) {
            memset(at, ' ', 2);
            at += 2;
        }
        const char *cell = cells != NULL ? cell_text(cells[c]) : columns[c].title;
        at = add_cell(at, cell, columns[c].align, widths[c], c + 1 == column_count);
    }
    while (at > start && at[-1] == ' ') {
        at--;
    }
    *at++ = '\n';
    return at;
}

const char *weft_report_table(const struct weft_table_column *columns, uint32_t column_count,
                              const char *const *cells, uint32_t row_count,
                              struct weft_arena *arena)
{
    WEFT_ASSERT(column_count > 0);
    uint32_t *widths = WEFT_NEW(arena, uint32_t, column_count);
    size_t bytes = 0; // of the cells' texts beyond their widths: continuation bytes
    size_t row_width = 1;
    for (uint32_t c = 0; c < column_count; c++) {
        widths[c] = width_of(columns[c].title);
        bytes += strlen(columns[c].title) - widths[c];
        for (uint32_t r = 0; r < row_count; r++) {
            const char *cell = cell_text(cells[(size_t)r * column_count + c]);
            uint32_t width = width_of(cell);
            bytes += strlen(cell) - width;
            widths[c] = width > widths[c] ? width : widths[c];
        }
        row_width += widths[c] + 2;
    }
    char *text = WEFT_NEW(arena, char, row_width *((size_t)row_count + 1) + bytes + 1);
    char *at = add_row(text, columns, column_count, NULL, widths);
    for (uint32_t r = 0; r < row_count; r++) {
        at = add_row(at, columns, column_count, cells + (size_t)r * column_count, widths);
    }
    *at = '\0';
    return text;
}

// ---- documents and sheets ----

const char *weft_report_markdown(const struct weft_table_column *columns, uint32_t column_count,
                                 const char *const *cells, uint32_t row_count,
                                 struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t r = 0; r < row_count + 2; r++) {
        for (uint32_t c = 0; c < column_count; c++) {
            bool right = columns[c].align == WEFT_ALIGN_RIGHT;
            const char *cell = r == 0   ? columns[c].title
                               : r == 1 ? (right ? "---:" : "---")
                                        : cell_text(cells[(size_t)(r - 2) * column_count + c]);
            weft_text_add(&text, r == 1 ? "|" : "| ");
            for (; *cell != '\0'; cell++) {
                weft_text_add(&text, *cell == '|' ? "\\%c" : "%c", *cell);
            }
            weft_text_add(&text, "%s", r == 1 ? "" : " ");
        }
        weft_text_add(&text, "|\n");
    }
    return text.data;
}

static const char no_unit[] = "";

// A cell as a number in SI units. NULL: it is none.
static const char *read_quantity(double *value, const char *cell)
{
    struct weft_error error;
    uint64_t whole = 0;
    char digits[32] = "";
    size_t length = 0;
    bool usd = cell[0] == '$';
    for (const char *at = cell + usd; *at != '\0' && length + 1 < sizeof digits; at++) {
        digits[length] = *at;
        length += *at != ',';
        digits[length] = '\0';
    }
    char *end = digits;
    *value = digits[0] >= '0' && digits[0] <= '9' ? strtod(digits, &end) : 0;
    if (end != digits && *end == '\0') {
        return usd ? "USD" : no_unit;
    }
    if (end != digits && strcmp(end, " %") == 0) {
        *value /= 100;
        return "ratio";
    }
    if (weft_parse_time(&whole, digits, &error)) {
        *value = weft_seconds(whole);
        return "s";
    }
    if (weft_parse_bytes(&whole, digits, &error)) {
        *value = (double)whole;
        return "bytes";
    }
    return weft_parse_rate(value, digits, &error)    ? "bytes/s"
           : weft_parse_power(value, digits, &error) ? "W"
                                                     : NULL;
}

static bool is_empty(const char *cell)
{
    return cell[0] == '\0' || strcmp(cell, "-") == 0;
}

// The unit of a column of quantities; NULL: some cell is none, or is of another kind.
static const char *find_unit(const char *const *cells, uint32_t row_count, uint32_t column_count)
{
    const char *unit = NULL;
    for (uint32_t r = 0; r < row_count; r++) {
        double value = 0;
        const char *cell = cell_text(cells[(size_t)r * column_count]);
        const char *own = is_empty(cell) ? unit : read_quantity(&value, cell);
        if (!is_empty(cell) && (own == NULL || (unit != NULL && strcmp(own, unit) != 0))) {
            return NULL;
        }
        unit = own;
    }
    return unit;
}

static void add_field(struct weft_text *text, const char *cell)
{
    bool quoted = strpbrk(cell, ",\"\n") != NULL;
    weft_text_add(text, quoted ? "\"" : "%s", "");
    for (; *cell != '\0'; cell++) {
        weft_text_add(text, *cell == '"' ? "\"%c" : "%c", *cell);
    }
    weft_text_add(text, quoted ? "\"" : "%s", "");
}

const char *weft_report_csv(const struct weft_table_column *columns, uint32_t column_count,
                            const char *const *cells, uint32_t row_count, struct weft_arena *arena)
{
    const char **units = WEFT_NEW(arena, const char *, column_count);
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t c = 0; c < column_count; c++) {
        units[c] = find_unit(cells + c, row_count, column_count);
        bool named = units[c] != NULL && units[c][0] != '\0';
        weft_text_add(&text, "%s", c > 0 ? "," : "");
        add_field(&text, columns[c].title);
        weft_text_add(&text, named ? " (%s)" : "%s", named ? units[c] : "");
    }
    weft_text_add(&text, "\n");
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < column_count; c++) {
            double value = 0;
            const char *cell = cell_text(cells[(size_t)r * column_count + c]);
            weft_text_add(&text, "%s", c > 0 ? "," : "");
            if (units[c] != NULL && !is_empty(cell) && read_quantity(&value, cell) != NULL) {
                weft_text_add(&text, "%.12g", value);
            } else {
                add_field(&text, is_empty(cell) ? "" : cell);
            }
        }
        weft_text_add(&text, "\n");
    }
    return text.data;
}

// ---- heat maps ----

const char *weft_report_heat(const double *values, uint32_t count, uint32_t side,
                             struct weft_arena *arena)
{
    static const char shades[] = " .:-=+*#%@";
    const uint32_t shade_count = sizeof shades - 1;
    WEFT_ASSERT(count > 0 && side > 0);
    uint32_t shown = count < side ? count : side;
    double *squares = WEFT_NEW(arena, double, (size_t)shown *shown);
    double largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            double value = values[(size_t)i * count + j];
            size_t row = (size_t)i * shown / count;
            double *square = &squares[row * shown + (size_t)j * shown / count];
            *square = value > *square ? value : *square;
            largest = value > largest ? value : largest;
        }
    }
    char *text = WEFT_NEW(arena, char, (size_t)shown *(2 * shown + 1) + 1);
    char *at = text;
    for (uint32_t i = 0; i < shown; i++) {
        for (uint32_t j = 0; j < shown; j++) {
            double share = largest > 0 ? squares[(size_t)i * shown + j] / largest : 0;
            // Any traffic at all shows: shade 0 is for exactly none.
            uint32_t shade = share > 0 ? 1 + (uint32_t)(share * (shade_count - 1.001)) : 0;
            WEFT_ASSERT(shade < shade_count);
            *at++ = shades[shade];
            *at++ = shades[shade]; // two columns are about as wide as a row is high
        }
        *at++ = '\n';
    }
    *at = '\0';
    return text;
}
