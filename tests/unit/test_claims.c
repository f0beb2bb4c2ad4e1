// SPDX-License-Identifier: Apache-2.0
// Claims in YAML: what a file says, and what is refused with which line.
//
// Mutations that made these tests fail (each was run): quotes that stay in words; a last digit that
// is worth nothing; the figure of the last command where value_of names another; names that are not
// held against those before.

#include "weft/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "system: s\nclaims:\n"
#define TOP                                                                                        \
    "  - name: a\n    claim: c.\n    published: 3.2\n    unit: ms\n    source: p\n"                \
    "    goal: at most\n"
#define REST "    commands: [weft version]\n    value: /x\n"

static struct weft_arena arena;

static bool read(struct weft_claims *claims, const char *text, struct weft_error *error)
{
    return weft_claims_read(claims, text, strlen(text), &arena, error);
}

static void a_claim_is_read_as_it_is_written(void **state)
{
    (void)state;
    static const char text[] =
        "system: s-1\n"
        "inputs_from: the authors\n"
        "claims:\n"
        "  - name: first\n"
        "    claim: One sentence.\n"
        "    published: 3.20\n"
        "    unit: times\n"
        "    source: the paper\n"
        "    goal: within 2.5 %\n"
        "    commands:\n"
        "      - weft plan {inputs}/a.fbuf  -o '{work}/the plan.json'\n"
        "      - weft check {work}/\"the plan\".json\n"
        "      - weft version\n"
        "    files: [{name: t.yaml, text: 'job: {inputs}/a'}]\n"
        "    seeds: [3, 5]\n"
        "    needs: [root, mpirun]\n"
        "    value: /a/b=c/d\n"
        "    value_of: 2\n"
        "    over: /e\n"
        "    factor: 1000\n"
        "    combine: mean\n"
        "    cost: 90s\n"
        "    short: yes\n"
        "  - {name: second, claim: x, published: none, unit: ms, source: p, goal: at least,\n"
        "     commands: [weft version], value: /x, not_comparable: no figure}\n";
    struct weft_claims claims;
    struct weft_error error;
    if (!read(&claims, text, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(claims.claim_count, 2);
    const struct weft_claim *claim = &claims.claims[0];
    assert_string_equal(claim->name, "first");
    assert_string_equal(claim->system, "s-1");
    assert_string_equal(claim->inputs_from, "the authors");
    assert_true(claim->published.value == 3.2 && fabs(claim->published.half_digit - 0.005) < 1e-12);
    assert_int_equal(claim->goal, WEFT_CLAIM_WITHIN);
    assert_true(fabs(claim->within_ratio - 0.025) < 1e-12);
    assert_int_equal(claim->runs.command_count, 3);
    assert_int_equal(claim->runs.commands[0].word_count, 5);
    assert_string_equal(claim->runs.commands[0].words[2], "{inputs}/a.fbuf");
    assert_string_equal(claim->runs.commands[0].words[4], "{work}/the plan.json");
    assert_string_equal(claim->runs.commands[1].words[2], "{work}/the plan.json");
    assert_string_equal(claim->runs.files[0].text, "job: {inputs}/a");
    assert_int_equal(claim->runs.seed_count, 2);
    assert_int_equal(claim->runs.seeds[1], 5);
    assert_string_equal(claim->runs.needs[1], "mpirun");
    assert_int_equal(claim->reading.value.command, 1);
    assert_int_equal(claim->reading.over.command, 0);
    assert_string_equal(claim->reading.over.pointer, "/e");
    assert_int_equal(claim->reading.choice, WEFT_CLAIM_MEAN);
    assert_true(claim->reading.factor == 1000 && claim->cost_s == 90 && claim->brief);
    claim = &claims.claims[1];
    assert_true(isnan(claim->published.value) && claim->reading.over.pointer == NULL);
    assert_true(!claim->brief && claim->cost_s == 0 && claim->reading.factor == 1);
    assert_int_equal(claim->line, 24);
}

// Points are of the unit of the published figure, percent a share of it.
static void points_are_of_the_unit(void **state)
{
    (void)state;
    static const char text[] = HEAD "  - {name: a, claim: c, published: 60, unit: '%', source: p,\n"
                                    "     goal: within 0.3 points, commands: [weft version],\n"
                                    "     value: /x}\n";
    struct weft_claims claims;
    struct weft_error error;
    if (!read(&claims, text, &error)) {
        fail_msg("%s", error.message);
    }
    assert_true(fabs(claims.claims[0].within_ratio * 60 - 0.3) < 1e-12);
    assert_string_equal(claims.claims[0].goal_text, "within 0.3 points");
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "line 1: the document is empty; give system and claims"},
        {"system: s\n", "line 1: claims: missing; add it"},
        {"system: -s\nclaims: [{}]\n",
         "line 1: system: '-s' is no name; write letters, digits and dashes"},
        {HEAD "  - name: a b\n    claim: c\n    published: 1\n    unit: ms\n    source: p\n"
              "    goal: at most\n" REST,
         "line 3: claims[0].name: 'a b' is no name; write letters, digits and dashes"},
        {HEAD TOP REST TOP REST,
         "line 11: claims[1].name: 'a' stands in line 3 already; rename one"},
        {HEAD "  - name: a\n    claim: c\n    published: much\n    unit: ms\n    source: p\n"
              "    goal: at most\n" REST,
         "line 5: claims[0].published: 'much' is not a number"},
        {HEAD "  - name: a\n    claim: c\n    published: none\n    unit: ms\n    source: p\n"
              "    goal: at most\n" REST,
         "line 5: claims[0].published: none: nothing to compare with; add not_comparable: why"},
        {HEAD "  - name: a\n    claim: c\n    published: 1\n    unit: ms\n    source: p\n"
              "    goal: within 5\n" REST,
         "line 8: claims[0].goal: 'within 5' is no goal; write at most, at least, "
         "within 5 % or within 0.3 points"},
        {HEAD TOP "    commands: [ls -l]\n    value: /x\n",
         "line 9: claims[0].commands[0]: no command of weft; write weft VERB ..."},
        {HEAD TOP "    commands: [\"weft plan 'a\"]\n    value: /x\n",
         "line 9: claims[0].commands[0]: a quote that does not end, or more than 127 words"},
        {HEAD TOP "    commands: [\"weft plan {input}/a\"]\n    value: /x\n",
         "line 9: claims[0].commands[0]: braces of another name; write {inputs} or {work}"},
        {HEAD TOP "    commands: [weft version]\n    value: x\n",
         "line 10: claims[0].value: 'x' is no JSON pointer; begin it with /"},
        {HEAD TOP REST "    value_of: 2\n",
         "line 11: claims[0].value_of: there are only 1 commands"},
        {HEAD TOP REST "    seeds: [1, x]\n", "line 11: claims[0].seeds[1]: 'x' is no"},
        {HEAD TOP REST "    combine: median\n",
         "line 11: claims[0].combine: 'median' is none; write worst, first, best or mean"},
        {HEAD TOP REST "    files: [{name: ../a, text: b}]\n",
         "line 11: claims[0].files[0].name: '../a' is no plain file name; write one as jobs.json"},
        {HEAD TOP REST "    colour: red\n",
         "line 11: claims[0].colour: unknown key; the keys here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_claims claims = {.claim_count = 7};
        struct weft_error error = {.code = WEFT_OK};
        assert_false(read(&claims, cases[i].text, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(claims.claim_count, 7);
        if (strncmp(error.message, cases[i].message, strlen(cases[i].message)) != 0) {
            fail_msg("%s\nnot\n%s", error.message, cases[i].message);
        }
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, (size_t)1 << 28, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_is_read_as_it_is_written),
        cmocka_unit_test(points_are_of_the_unit),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
    };
    return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
