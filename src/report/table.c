// SPDX-License-Identifier: Apache-2.0
// Aligned text for terminals: tables and heat maps of characters.
//
// Columns are as wide as their widest cell, counted in code points of UTF-8. A heat map shows a
// matrix by characters of growing ink, blocks of servers to a cell where there are many.
// O(cells).

#include "weft/report.h"

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
