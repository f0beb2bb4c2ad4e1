// SPDX-License-Identifier: Apache-2.0
// Results of a sweep as a table, for sheets: a row for each scenario, a column for each parameter,
// and one for each figure that the verb says of the whole. Lists and objects inside a result are
// left to who reads the lines themselves.
//
// Columns stand in the order in which the lines bring them. O(lines * columns^2).

#include "sweep.h"
#include "weft/report.h"

#include <jansson.h>
#include <string.h>

#define COLUMNS_MAX 256u

struct sheet {
    struct cli *cli;
    struct weft_table_column *columns;
    uint32_t column_count;
    uint32_t fixed; // the columns of parameters, and the index before them
};

// Where a key's column is among those from `first` on; WEFT_NONE: there is none.
static uint32_t find(const struct sheet *sheet, const char *key, uint32_t first)
{
    for (uint32_t c = first; c < sheet->column_count; c++) {
        if (strcmp(sheet->columns[c].title, key) == 0) {
            return c;
        }
    }
    return WEFT_NONE;
}

static void add_column(struct sheet *sheet, const char *key, const json_t *value)
{
    if (sheet->column_count < COLUMNS_MAX) {
        sheet->columns[sheet->column_count++] =
            (struct weft_table_column){weft_arena_text(&sheet->cli->arena, key, strlen(key)),
                                       json_is_number(value) ? WEFT_ALIGN_RIGHT : WEFT_ALIGN_LEFT};
    }
}

// What a result says that no parameter does, and is one figure or word.
static bool stands_alone(const struct sheet *sheet, const char *key, const json_t *value)
{
    uint32_t same = find(sheet, key, 0);
    return !json_is_object(value) && !json_is_array(value) && strcmp(key, "schema") != 0 &&
           (same == WEFT_NONE || same >= sheet->fixed);
}

static struct weft_table_cell cell_of(const json_t *value, struct weft_arena *arena)
{
    if (json_is_number(value)) {
        double number = json_number_value(value);
        return (struct weft_table_cell){weft_arena_format(arena, "%.6g", number), "", number};
    }
    struct weft_text text;
    weft_text_init(&text, arena);
    size_t index;
    const json_t *one;
    weft_text_add(&text, "%s",
                  json_is_string(value)  ? json_string_value(value)
                  : json_is_true(value)  ? "yes"
                  : json_is_false(value) ? "no"
                                         : "");
    json_array_foreach(value, index, one) // a parameter of several values
    {
        weft_text_add(&text, "%s%s", index > 0 ? " " : "", cell_of(one, arena).text);
    }
    return (struct weft_table_cell){.text = text.data};
}

// Adds the columns of one line's members, or with `cells` fills its row.
static void take(struct sheet *sheet, const json_t *members, bool result,
                 struct weft_table_cell *cells)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)members, key, value)
    {
        if (result && !stands_alone(sheet, key, value)) {
            continue;
        }
        uint32_t column = find(sheet, key, result ? sheet->fixed : 1);
        if (cells == NULL && column == WEFT_NONE) {
            add_column(sheet, key, value);
        } else if (cells != NULL && column != WEFT_NONE) {
            cells[column] = cell_of(value, &sheet->cli->arena);
        }
    }
}

bool sweep_table(struct cli *cli, const struct sweep_line *const *lines, uint32_t count)
{
    struct sheet sheet = {.cli = cli,
                          .columns = WEFT_NEW(&cli->arena, struct weft_table_column, COLUMNS_MAX)};
    json_t **rows = WEFT_NEW(&cli->arena, json_t *, (size_t)count + 1);
    sheet.columns[sheet.column_count++] = (struct weft_table_column){"scenario", WEFT_ALIGN_RIGHT};
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = json_loadb(lines[i]->text, lines[i]->length, 0, NULL);
        if (rows[i] == NULL) {
            return sweep_refuse_line(cli); // it was read before
        }
        take(&sheet, json_object_get(rows[i], "parameters"), false, NULL);
    }
    sheet.fixed = sheet.column_count;
    for (uint32_t i = 0; i < count; i++) {
        take(&sheet, json_object_get(rows[i], "result"), true, NULL);
        const json_t *error = json_object_get(rows[i], "error");
        if (error != NULL && find(&sheet, "error", sheet.fixed) == WEFT_NONE) {
            add_column(&sheet, "error", error);
        }
    }
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)count * sheet.column_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_table_cell *row = cells + (size_t)i * sheet.column_count;
        row[0] = weft_cell_count(&cli->arena, lines[i]->index);
        take(&sheet, json_object_get(rows[i], "parameters"), false, row);
        take(&sheet, json_object_get(rows[i], "result"), true, row);
        uint32_t error = find(&sheet, "error", sheet.fixed);
        if (error != WEFT_NONE) {
            row[error] = cell_of(json_object_get(rows[i], "error"), &cli->arena);
        }
        json_decref(rows[i]);
    }
    cli_table(cli, sheet.columns, sheet.column_count, cells, count);
    return true;
}
