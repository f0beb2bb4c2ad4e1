// SPDX-License-Identifier: Apache-2.0
// Tables: aligned text for terminals, Markdown for documents, CSV for sheets; and heat maps of
// characters.
//
// A cell has the text that people read and, of a figure, the value that the text was made of, for
// sheets. Columns are as wide as their widest cell, counted in code points of UTF-8. A heat map
// shows a matrix by characters of growing ink, blocks of servers to a cell where there are many.
// O(cells).

#include "weft/report.h"

#include <math.h>
#include <string.h>

// ---- cells ----

struct weft_table_cell weft_cell_figure(const char *text, const char *unit, double value)
{
    return (struct weft_table_cell){text, unit, value};
}

struct weft_table_cell weft_cell_time(struct weft_arena *arena, double seconds)
{
    char *text = WEFT_NEW(arena, char, WEFT_UNIT_TEXT);
    return weft_cell_figure(weft_show_time(text, weft_picoseconds(seconds)), "s", seconds);
}

struct weft_table_cell weft_cell_bytes(struct weft_arena *arena, double bytes)
{
    char *text = WEFT_NEW(arena, char, WEFT_UNIT_TEXT);
    return weft_cell_figure(weft_show_bytes(text, bytes), "bytes", bytes);
}

struct weft_table_cell weft_cell_rate(struct weft_arena *arena, double rate_Bps)
{
    char *text = WEFT_NEW(arena, char, WEFT_UNIT_TEXT);
    return weft_cell_figure(weft_show_rate(text, rate_Bps), "bytes/s", rate_Bps);
}

struct weft_table_cell weft_cell_usd(struct weft_arena *arena, double usd)
{
    char *text = WEFT_NEW(arena, char, WEFT_UNIT_TEXT);
    return weft_cell_figure(weft_show_usd(text, usd), "USD", usd);
}

struct weft_table_cell weft_cell_power(struct weft_arena *arena, double watts)
{
    return weft_cell_figure(weft_arena_format(arena, "%.1f kW", watts / 1e3), "W", watts);
}

struct weft_table_cell weft_cell_count(struct weft_arena *arena, uint64_t count)
{
    const char *text = weft_arena_format(arena, "%llu", (unsigned long long)count);
    return weft_cell_figure(text, "", (double)count);
}

struct weft_table_cell weft_cell_number(struct weft_arena *arena, int digits, double value)
{
    return weft_cell_figure(weft_arena_format(arena, "%.*f", digits, value), "", value);
}

struct weft_table_cell weft_cell_percent(struct weft_arena *arena, int digits, double ratio)
{
    const char *text = weft_arena_format(arena, "%.*f %%", digits, 100 * ratio);
    return weft_cell_figure(text, "ratio", ratio);
}

struct weft_table_cell weft_cell_change(struct weft_arena *arena, int digits, double ratio)
{
    const char *text = weft_arena_format(arena, "%+.*f %%", digits, 100 * ratio);
    return weft_cell_figure(text, "ratio", ratio);
}

// ---- text ----

// Code points of a UTF-8 text: bytes that do not continue one.
static uint32_t width_of(const char *text)
{
    uint32_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

// The columns of a table that people see.
struct shown {
    const struct weft_table_column *columns;
    uint32_t column_count;
    const char *const *cells; // none is NULL
};

static struct shown show(const struct weft_table_column *columns, uint32_t column_count,
                         const struct weft_table_cell *cells, uint32_t row_count,
                         struct weft_arena *arena)
{
    struct weft_table_column *kept = WEFT_NEW(arena, struct weft_table_column, column_count);
    const char **texts = WEFT_NEW(arena, const char *, (size_t)row_count *column_count + 1);
    uint32_t count = 0;
    for (uint32_t c = 0; c < column_count; c++) {
        if (columns[c].align != WEFT_ALIGN_SHEET) {
            kept[count++] = columns[c];
        }
    }
    WEFT_ASSERT(count > 0);
    size_t at = 0;
    for (uint32_t r = 0; r < row_count; r++) {
        for (uint32_t c = 0; c < column_count; c++, cells++) {
            if (columns[c].align != WEFT_ALIGN_SHEET) {
                texts[at++] = cells->text != NULL ? weft_escape_text(cells->text, arena) : "";
            }
        }
    }
    return (struct shown){kept, count, texts};
}

// Appends a cell padded to `width`; the last column of a row is not padded on the right.
static char *add_cell(char *at, const char *cell, enum weft_align align, uint32_t width, bool last)
{
    uint32_t padding = width - width_of(cell);
    if (align != WEFT_ALIGN_LEFT) {
        memset(at, ' ', padding);
        at += padding;
    }
    size_t bytes = strlen(cell);
    memcpy(at, cell, bytes);
    at += bytes;
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
        const char *cell = cells != NULL ? cells[c] : columns[c].title;
        at = add_cell(at, cell, columns[c].align, widths[c], c + 1 == column_count);
    }
    while (at > start && at[-1] == ' ') {
        at--;
    }
    *at++ = '\n';
    return at;
}

static const char *write_table(const struct shown *shown, uint32_t row_count,
                               struct weft_arena *arena)
{
    const struct weft_table_column *columns = shown->columns;
    const char *const *cells = shown->cells;
    const uint32_t column_count = shown->column_count;
    uint32_t *widths = WEFT_NEW(arena, uint32_t, column_count);
    size_t bytes = 0; // of the cells' texts beyond their widths: continuation bytes
    size_t row_width = 1;
    for (uint32_t c = 0; c < column_count; c++) {
        widths[c] = width_of(columns[c].title);
        bytes += strlen(columns[c].title) - widths[c];
        for (uint32_t r = 0; r < row_count; r++) {
            const char *cell = cells[(size_t)r * column_count + c];
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

const char *weft_report_table(const struct weft_table_column *columns, uint32_t column_count,
                              const struct weft_table_cell *cells, uint32_t row_count,
                              struct weft_arena *arena)
{
    const struct shown shown = show(columns, column_count, cells, row_count, arena);
    return write_table(&shown, row_count, arena);
}

// ---- documents and sheets ----

const char *weft_report_markdown(const struct weft_table_column *columns, uint32_t column_count,
                                 const struct weft_table_cell *cells, uint32_t row_count,
                                 struct weft_arena *arena)
{
    const struct shown shown = show(columns, column_count, cells, row_count, arena);
    const char *const *next = shown.cells;
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t r = 0; r < row_count + 2; r++) {
        for (uint32_t c = 0; c < shown.column_count; c++) {
            bool right = shown.columns[c].align != WEFT_ALIGN_LEFT;
            const char *cell = r == 0   ? shown.columns[c].title
                               : r == 1 ? (right ? "---:" : "---")
                                        : *next++;
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

// The unit of a column's figures; "": they have none, or there are no figures.
static const char *unit_of(const struct weft_table_cell *cells, uint32_t row_count,
                           uint32_t column_count)
{
    const char *unit = NULL;
    for (uint32_t r = 0; r < row_count; r++) {
        const char *own = cells[(size_t)r * column_count].unit;
        WEFT_ASSERT(unit == NULL || own == NULL || strcmp(unit, own) == 0);
        unit = own != NULL ? own : unit;
    }
    return unit != NULL ? unit : "";
}

// A field by RFC 4180: in quotes where it has a comma, a quote or the end of a line.
static void add_field(struct weft_text *text, const char *field)
{
    const char *quote = strpbrk(field, ",\"\r\n") != NULL ? "\"" : "";
    weft_text_add(text, "%s", quote);
    for (; *field != '\0'; field++) {
        weft_text_add(text, *field == '"' ? "\"%c" : "%c", *field);
    }
    weft_text_add(text, "%s", quote);
}

static void add_value(struct weft_text *text, const struct weft_table_cell *cell)
{
    if (cell->unit == NULL) {
        add_field(text, cell->text == NULL || strcmp(cell->text, "-") == 0 ? "" : cell->text);
    } else if (isfinite(cell->value)) {
        bool whole = cell->value == rint(cell->value) && fabs(cell->value) < 0x1p53;
        weft_text_add(text, whole ? "%.0f" : "%.15g", cell->value);
    }
}

const char *weft_report_csv(const struct weft_table_column *columns, uint32_t column_count,
                            const struct weft_table_cell *cells, uint32_t row_count,
                            struct weft_arena *arena)
{
    const char **titles = WEFT_NEW(arena, const char *, column_count);
    for (uint32_t c = 0; c < column_count; c++) {
        const char *unit = unit_of(cells + c, row_count, column_count);
        titles[c] =
            weft_arena_format(arena, unit[0] != '\0' ? "%s (%s)" : "%s%s", columns[c].title, unit);
    }
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t r = 0; r < row_count + 1; r++) {
        const char *comma = "";
        for (uint32_t c = 0; c < column_count; c++) {
            if (columns[c].align == WEFT_ALIGN_SHOWN) {
                continue;
            }
            weft_text_add(&text, "%s", comma);
            comma = ",";
            if (r == 0) {
                add_field(&text, titles[c]);
            } else {
                add_value(&text, &cells[(size_t)(r - 1) * column_count + c]);
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
