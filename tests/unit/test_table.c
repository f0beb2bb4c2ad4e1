// SPDX-License-Identifier: Apache-2.0
// Text tables and heat maps.

#include "weft/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;

static int open_arena(void **state)
{
    (void)state;
    struct weft_error error;
    return weft_arena_init(&arena, 1 << 24, &error) ? 0 : -1;
}

static void words_stand_left_and_numbers_right(void **state)
{
    (void)state;
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT}, {"ms", WEFT_ALIGN_RIGHT}, {"note", WEFT_ALIGN_LEFT}};
    static const struct weft_table_cell cells[] = {
        {.text = "ideal"},    {.text = "61.4"}, {0},
        {.text = "fat-tree"}, {.text = "7"},    {.text = "k = 4"}};
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_table(columns, 3, cells, 2, &scratch),
                        "fabric      ms  note\n"
                        "ideal     61.4\n"
                        "fat-tree     7  k = 4\n");
}

static void widths_count_letters_not_bytes(void **state)
{
    (void)state;
    static const struct weft_table_column columns[] = {{"a", WEFT_ALIGN_LEFT},
                                                       {"b", WEFT_ALIGN_RIGHT}};
    static const struct weft_table_cell cells[] = {
        {.text = "\xc3\xa9\xc3\xa9"}, {.text = "1"}, {.text = "xyz"}, {.text = "22"}};
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_table(columns, 2, cells, 2, &scratch), "a     b\n"
                                                                           "\xc3\xa9\xc3\xa9    1\n"
                                                                           "xyz  22\n");
}

static void control_bytes_cannot_break_a_row(void **state)
{
    (void)state;
    static const struct weft_table_column columns[] = {{"a", WEFT_ALIGN_LEFT}};
    static const struct weft_table_cell cells[] = {{.text = "x\n\x1b[2J"}};
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_table(columns, 1, cells, 1, &scratch), "a\nx\\x0a\\x1b[2J\n");
}

// Sheets have what the texts were made of; the mark and the pair of figures are for people alone.
// Mutations that made this fail (each was run): values by %.6g; the unit left out of the title;
// columns of the text in sheets.
static void sheets_have_values_and_people_texts(void **state)
{
    (void)state;
    static const struct weft_table_column columns[] = {
        {"", WEFT_ALIGN_SHOWN},    {"job", WEFT_ALIGN_LEFT},      {"iteration", WEFT_ALIGN_RIGHT},
        {"gap", WEFT_ALIGN_RIGHT}, {"servers", WEFT_ALIGN_RIGHT}, {"binds", WEFT_ALIGN_SHEET}};
    struct weft_arena scratch = arena;
    const struct weft_table_cell cells[] = {
        {.text = "*"},
        {.text = "a"},
        weft_cell_time(&scratch, 0.0123456789012),
        weft_cell_percent(&scratch, 1, 1.0 / 3),
        weft_cell_count(&scratch, 4503599627370497),
        {.text = "yes"},
        {0},
        {.text = "-"},
        weft_cell_time(&scratch, 20),
        weft_cell_figure("none", "ratio", (double)INFINITY),
        {.text = "-"},
        {0},
    };
    assert_string_equal(weft_report_csv(columns, 6, cells, 2, &scratch),
                        "job,iteration (s),gap (ratio),servers,binds\n"
                        "a,0.0123456789012,0.333333333333333,4503599627370497,yes\n"
                        ",20,,,\n");
    assert_string_equal(weft_report_table(columns, 6, cells, 2, &scratch),
                        "   job  iteration     gap           servers\n"
                        "*  a     12.35 ms  33.3 %  4503599627370497\n"
                        "   -         20 s    none                 -\n");
    assert_string_equal(weft_report_markdown(columns, 6, cells, 2, &scratch),
                        "|  | job | iteration | gap | servers |\n"
                        "|---:|---|---:|---:|---:|\n"
                        "| * | a | 12.35 ms | 33.3 % | 4503599627370497 |\n"
                        "|  | - | 20 s | none | - |\n");
}

// RFC 4180, section 2: what has a comma, a quote or an end of line stands in quotes, and quotes in
// it are doubled. Mutations that made this fail (each was run): a return is not quoted; quotes are
// not doubled.
static void fields_are_quoted_by_rfc_4180(void **state)
{
    (void)state;
    static const struct weft_table_column columns[] = {{"name, or \"id\"", WEFT_ALIGN_LEFT},
                                                       {"time, mean", WEFT_ALIGN_RIGHT}};
    struct weft_arena scratch = arena;
    const struct weft_table_cell cells[] = {
        {.text = "plain"},        weft_cell_time(&scratch, 1.5),
        {.text = "a,b"},          {0},
        {.text = "\"quoted\""},   {.text = "never"},
        {.text = "two\nlines"},   {0},
        {.text = "a return\r"},   {0},
        {.text = " kept blank "}, {0},
    };
    assert_string_equal(weft_report_csv(columns, 2, cells, 6, &scratch),
                        "\"name, or \"\"id\"\"\",\"time, mean (s)\"\n"
                        "plain,1.5\n"
                        "\"a,b\",\n"
                        "\"\"\"quoted\"\"\",never\n"
                        "\"two\nlines\",\n"
                        "\"a return\r\",\n"
                        " kept blank ,\n");
}

static void heat_grows_with_the_value_and_zero_is_blank(void **state)
{
    (void)state;
    static const double values[] = {0, 100, 0.001, 0};
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_heat(values, 2, 8, &scratch), "  @@\n..  \n");
}

static void a_large_matrix_keeps_its_largest_values(void **state)
{
    (void)state;
    double values[100] = {0};
    values[9 * 10 + 1] = 5;
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_heat(values, 10, 2, &scratch), "    \n@@  \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stand_left_and_numbers_right),
        cmocka_unit_test(widths_count_letters_not_bytes),
        cmocka_unit_test(control_bytes_cannot_break_a_row),
        cmocka_unit_test(sheets_have_values_and_people_texts),
        cmocka_unit_test(fields_are_quoted_by_rfc_4180),
        cmocka_unit_test(heat_grows_with_the_value_and_zero_is_blank),
        cmocka_unit_test(a_large_matrix_keeps_its_largest_values),
    };
    return cmocka_run_group_tests_name("table", tests, open_arena, NULL);
}
