// SPDX-License-Identifier: Apache-2.0
// Text tables and heat maps.

#include "weft/report.h"

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
    static const char *const cells[] = {"ideal", "61.4", NULL, "fat-tree", "7", "k = 4"};
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
    static const char *const cells[] = {"\xc3\xa9\xc3\xa9", "1", "xyz", "22"};
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_table(columns, 2, cells, 2, &scratch), "a     b\n"
                                                                           "\xc3\xa9\xc3\xa9    1\n"
                                                                           "xyz  22\n");
}

static void control_bytes_cannot_break_a_row(void **state)
{
    (void)state;
    static const struct weft_table_column columns[] = {{"a", WEFT_ALIGN_LEFT}};
    static const char *const cells[] = {"x\n\x1b[2J"};
    struct weft_arena scratch = arena;
    assert_string_equal(weft_report_table(columns, 1, cells, 1, &scratch), "a\nx??[2J\n");
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
        cmocka_unit_test(heat_grows_with_the_value_and_zero_is_blank),
        cmocka_unit_test(a_large_matrix_keeps_its_largest_values),
    };
    return cmocka_run_group_tests_name("table", tests, open_arena, NULL);
}
