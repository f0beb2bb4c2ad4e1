// SPDX-License-Identifier: Apache-2.0
// Sweeps in YAML.

#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool read(struct weft_sweep *sweep, const char *text, struct weft_arena *arena,
                 struct weft_error *error)
{
    struct weft_arena scratch;
    assert_true(weft_arena_init(&scratch, (size_t)1 << 28, error));
    struct weft_arena all = scratch;
    bool fine = weft_sweep_read(sweep, text, strlen(text), arena, scratch, error);
    weft_arena_release(&all);
    return fine;
}

// A scenario as "key=word,word key=word".
static void show(char *out, size_t size, const struct weft_sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, sweep, index);
    size_t length = 0;
    for (uint32_t i = 0; i < grid->key_count; i++) {
        length += (size_t)snprintf(out + length, size - length, "%s%s=", i > 0 ? " " : "",
                                   grid->keys[i].name);
        for (uint32_t w = 0; w < values[i]->word_count; w++) {
            length += (size_t)snprintf(out + length, size - length, "%s%s", w > 0 ? "," : "",
                                       values[i]->words[w]);
        }
    }
}

static void scenarios_are_the_products_of_grids_and_those_written_out(void **state)
{
    (void)state;
    static const char text[] = "verb: plan\n"
                               "common: {servers: 4, job: [x, y]}\n"
                               "grid:\n"
                               "  - job: [a, [b, c]]\n"
                               "    rate: [1Gbps, 2Gbps, 3Gbps]\n"
                               "  - {seed: [1, 2], servers: 8}\n"
                               "scenarios:\n"
                               "  - {job: [d, e]}\n"
                               "  - {seed: 3}\n";
    static const char *const expected[] = {
        "servers=4 job=a rate=1Gbps",
        "servers=4 job=a rate=2Gbps",
        "servers=4 job=a rate=3Gbps",
        "servers=4 job=b,c rate=1Gbps",
        "servers=4 job=b,c rate=2Gbps",
        "servers=4 job=b,c rate=3Gbps",
        "servers=8 job=x,y seed=1",
        "servers=8 job=x,y seed=2",
        "servers=4 job=d,e",
        "servers=4 job=x,y seed=3",
    };
    struct weft_arena arena;
    struct weft_error error;
    struct weft_sweep sweep;
    assert_true(weft_arena_init(&arena, (size_t)1 << 28, &error));
    struct weft_arena all = arena;
    if (!read(&sweep, text, &arena, &error)) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(sweep.verb, "plan");
    assert_int_equal(sweep.scenario_count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < sweep.scenario_count; i++) {
        char shown[256];
        show(shown, sizeof shown, &sweep, i);
        assert_string_equal(shown, expected[i]);
    }
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    assert_int_equal(weft_sweep_scenario(values, &sweep, 9)->line, 9);
    assert_int_equal(values[2]->line, 9);
    weft_arena_release(&all);
}

static void what_is_no_sweep_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *told;
    } cases[] = {
        {"", "line 1: no mapping with grid: or scenarios:; see docs/sweep.md"},
        {"- a\n", "line 1: no mapping with grid: or scenarios:; see docs/sweep.md"},
        {"verb: plan\n",
         "line 1: neither grid: nor scenarios:; write one, as grid: {seed: [1, 2]}"},
        {"grdi: {a: 1}\n", "line 1: 'grdi' is no part of a sweep; did you mean grid?"},
        {"seed: 1\n",
         "line 1: 'seed' is no part of a sweep; parameters stand below common, grid or "
         "scenarios"},
        {"verb: [plan]\ngrid: {a: 1}\n", "line 1: verb: not a word; write simulate"},
        {"grid: {}\n", "line 1: grid: not a mapping of parameters; write key: value"},
        {"grid: []\n", "line 1: grid: an empty list; write '- {key: value}' rows"},
        {"grid:\n  a: 1\n  seed: []\n",
         "line 3: seed: an empty list leaves no scenario; write values or remove the key"},
        {"grid:\n  seed: [1,\n    {b: 1}]\n",
         "line 3: seed: not a value; write one word, or 1 to 256 in a list"},
        {"grid:\n  job: [[a, [b]]]\n", "line 2: job: nested too deep; write a word, as 100Gbps"},
        {"grid:\n  rate:\n", "line 2: rate: empty; write a word, as 100Gbps"},
        {"scenarios: {a: 1}\n", "line 1: scenarios: not a list; write '- {key: value}' rows"},
        {"scenarios:\n- a\n", "line 2: scenarios: not a mapping of parameters; write key: value"},
        {"grid:\n  a: 1\n  a: 2\n", "line 3: grid.a: given twice, first on line 2; keep one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_arena arena;
        struct weft_error error;
        struct weft_sweep sweep = {.verb = NULL};
        assert_true(weft_arena_init(&arena, (size_t)1 << 28, &error));
        struct weft_arena all = arena;
        assert_false(read(&sweep, cases[i].text, &arena, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_string_equal(error.message, cases[i].told);
        assert_null(sweep.verb);
        weft_arena_release(&all);
    }
}

static void a_million_scenarios_are_enough(void **state)
{
    (void)state;
    struct weft_arena arena;
    struct weft_error error;
    struct weft_sweep sweep;
    assert_true(weft_arena_init(&arena, (size_t)1 << 28, &error));
    struct weft_arena all = arena;
    static const char ten[] = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    char text[1024];
    snprintf(text, sizeof text, "grid: {a: %s, b: %s, c: %s, d: %s, e: %s, f: %s}\n", ten, ten, ten,
             ten, ten, ten);
    assert_true(read(&sweep, text, &arena, &error));
    assert_int_equal(sweep.scenario_count, WEFT_SWEEP_MAX);
    char shown[64];
    show(shown, sizeof shown, &sweep, 314159);
    assert_string_equal(shown, "a=3 b=1 c=4 d=1 e=5 f=9");
    size_t end = strlen(text) - 2;
    snprintf(text + end, sizeof text - end, ", g: [1, 2]}\n");
    assert_false(read(&sweep, text, &arena, &error));
    assert_string_equal(error.message,
                        "line 1: more than 1000000 scenarios; write fewer values, or "
                        "several files");
    weft_arena_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenarios_are_the_products_of_grids_and_those_written_out),
        cmocka_unit_test(what_is_no_sweep_is_told_with_its_line),
        cmocka_unit_test(a_million_scenarios_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
