// SPDX-License-Identifier: Apache-2.0
// The language of count-action modules: what is refused, and why; texts that read back; modules
// whose text was changed in one place, which the check refuses or a run shows.

#include "../fresh_arenas.h"
#include "weft/photonics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_error error;

static bool parse(struct weft_photonic_countaction *modules, const char *text)
{
    return weft_photonic_countaction_parse(modules, text, strlen(text), &arena, &error);
}

// ---- texts that are no modules ----

// A module around a body.
#define PORTS "module m { input a, b, line[4], choice[4] onehot; output x, y[4]; "
#define NONE "counts { } targets { } "

static void bad_texts_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "line 1: expected 'module', found the end of the text"},
        {"module {", "line 1: expected the name of the module, found '{'"},
        {"# nothing\nmodul m {}", "line 2: expected 'module', found 'modul'"},
        {"module wire { }", "line 1: 'wire' is a word of the language, of Verilog or"},
        {PORTS "output a; ", "line 1: there are two 'a'; rename one"},
        {"module m { input layer_words;", "'layer_words' is a word"},
        {"module m { input n_count;", "'n_count' is a word"},
        {"module m { input a[65];", "expected a number from 1 to 64, found '65'"},
        {"module m { output a[2] onehot;", "only inputs are declared onehot"},
        {PORTS "counts { n = cycles(c); }", "expected a signal of the module, or at, full"},
        {PORTS "counts { n = cycles(n); }", "expected at, full, short, over or empty before a"},
        {PORTS "counts { n = cycles(line); }", "expected '[index]' behind an array, found ')'"},
        {PORTS "counts { n = cycles(line[4]); }", "expected a number from 0 to 3, found '4'"},
        {PORTS "counts { n = cycles(line[index]); }", "'index' goes to 4 and count 'n' has 1"},
        {PORTS "counts { n = cycles(any a); }", "'any' without an array"},
        {PORTS "counts { n = cycles(any any line[index]); }", "'any' inside 'any'"},
        {PORTS "counts { n = tally(a, a); }", "'a' is counted twice"},
        {PORTS "counts { n[2] = tally(a, b); }", "an array of tallies"},
        {PORTS "counts { n = sum(a); }", "expected tally(...) or cycles(...)"},
        {PORTS "counts { n = cycles(a) }", "expected ';'"},
        {PORTS "counts { n = tally(a); } targets { n = 1; } actions { at n: x; } }",
         "expected 'full', since a tally has no event to be at,"},
        {PORTS "counts { n = cycles(a); } targets { n = 1; } actions { over n: x; } }",
         "expected 'full', since a register never is over its target,"},
        {PORTS "counts { n = cycles(a); } targets { } actions { } }",
         "count 'n' has no target; add 'n = NUMBER;'"},
        {PORTS "counts { n = cycles(a); } targets { n = 1; n = 2; }", "has two targets"},
        {PORTS "counts { n = cycles(a); } targets { n = layer.depth; }",
         "a field of the row such as layer.words, found 'layer.depth'"},
        {PORTS "counts { n = cycles(a); } targets { n = 4294967296; }",
         "expected a number from 0 to 4294967295"},
        {PORTS NONE "actions { a: b; } }", "expected an output of the module, or 'clear'"},
        {PORTS NONE "actions { a: clear x; } }", "expected a count of cycles to clear"},
        {PORTS NONE "actions { line[index]: y[index], x; } ", "expected '}'"},
        {PORTS NONE "actions { a x; } }", "expected ':', found 'x'"},
        {PORTS NONE "actions { a: x; } } module m {", "expected 'counts', found the end"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_photonic_countaction modules;
        assert_false(parse(&modules, cases[i].text));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("case %u: '%s' is not in '%s'", i, cases[i].message, error.message);
        }
    }
}

static void deep_and_long_texts_are_refused(void **state)
{
    (void)state;
    struct weft_photonic_countaction modules;
    struct weft_text text;
    weft_text_init(&text, &arena);
    weft_text_add(&text, PORTS "counts { n = cycles(");
    for (uint32_t i = 0; i < 100000; i++) {
        weft_text_add(&text, "!");
    }
    weft_text_add(&text, "a); }");
    assert_false(
        weft_photonic_countaction_parse(&modules, text.data, text.length, &scratch, &error));
    assert_non_null(strstr(error.message, "nested deeper than 32"));
    weft_text_init(&text, &arena);
    weft_text_add(&text, PORTS "counts { n = cycles(a");
    for (uint32_t i = 0; i < 2000; i++) {
        weft_text_add(&text, " & a");
    }
    weft_text_add(&text, "); }");
    assert_false(
        weft_photonic_countaction_parse(&modules, text.data, text.length, &scratch, &error));
    assert_non_null(strstr(error.message, "more than 1024 terms"));
}

// What is written reads back, and is written alike.
static void texts_read_back(void **state)
{
    (void)state;
    static const char tree[] =
        PORTS "counts { n[4] = cycles(line[index] & !(a | b & any choice[index])) less b until a; "
              "t = tally(line, a); } targets { n[0..2] = layer.words - 1; n[3] = program.fifo; "
              "t = 3; } actions { at n[index] | full n[2] & (a | b): y[index], clear n[index]; "
              "over t & !empty t & !(a & !b): x; } }";
    const char *texts[] = {tree, weft_photonic_countaction_text};
    for (uint32_t i = 0; i < 2; i++) {
        struct weft_photonic_countaction modules, again;
        assert_true(parse(&modules, texts[i]));
        struct weft_text first, second;
        weft_text_init(&first, &scratch);
        weft_photonic_countaction_write(&first, &modules);
        const char *text = weft_arena_text(&arena, first.data, first.length);
        assert_true(parse(&again, text));
        weft_text_init(&second, &scratch);
        weft_photonic_countaction_write(&second, &again);
        assert_int_equal(strlen(text), second.length);
        assert_memory_equal(text, second.data, second.length);
        for (uint32_t m = 0; m < modules.module_count; m++) {
            const struct weft_photonic_module *one = &modules.modules[m];
            assert_int_equal(one->term_count, again.modules[m].term_count);
            assert_memory_equal(one->terms, again.modules[m].terms,
                                one->term_count * sizeof one->terms[0]);
        }
    }
}

// ---- modules that go wrong ----

// A layer of 784 inputs and 300 outputs, then one of 10.
static const struct weft_photonic_row rows[] = {
    {.flags = WEFT_PHOTONIC_FLAG_RELU,
     .words = 49,
     .outputs = 300,
     .pixels = 1,
     .sums = 300,
     .results = 300,
     .inputs = 784,
     .preamble = 10},
    {.flags = WEFT_PHOTONIC_FLAG_LAST,
     .words = 19,
     .outputs = 10,
     .pixels = 1,
     .sums = 10,
     .results = 10,
     .inputs = 300,
     .preamble = 10},
};
static const struct weft_photonic_program two_rows = {.lanes = 16, .row_count = 2, .rows = rows};

// The first module that is not sound.
static const struct weft_photonic_verdict *check(const struct weft_photonic_countaction *modules,
                                                 const struct weft_photonic_program *program,
                                                 uint32_t fifo)
{
    struct weft_photonic_countaction_report report;
    struct weft_photonic_check_options options = {program, 163, fifo};
    weft_photonic_countaction_check(&report, modules, &options, &arena, scratch);
    for (uint32_t i = 0; i < report.verdict_count; i++) {
        if (report.verdicts[i].flaw != WEFT_PHOTONIC_SOUND) {
            return &report.verdicts[i];
        }
    }
    assert_true(report.sound);
    return NULL;
}

static void modules_that_go_wrong_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum weft_photonic_flaw flaw;
        const char *subject;
    } cases[] = {
        {"counts { n = cycles(a); } targets { n = 0; } actions { at n: x, y[0], y[1]; } }",
         WEFT_PHOTONIC_TARGET, "n"},
        {"counts { n = tally(a, line); } targets { n = 6; } actions { full n: x; } }",
         WEFT_PHOTONIC_TARGET, "n"},
        {"counts { n = tally(a, line); } targets { n = layer.words; } actions { full n: x; } }",
         WEFT_PHOTONIC_TARGET, "n"},
        {NONE "actions { a: x; } }", WEFT_PHOTONIC_UNUSED, "y"},
        {"counts { n = cycles(a & !a); } targets { n = 2; } actions { at n: x; b: y[0], y[1], "
         "y[2], y[3]; } }",
         WEFT_PHOTONIC_UNREACHABLE, "n"},
        {"counts { n = cycles(full n & a); } targets { n = 2; } actions { at n: x; line[index]: "
         "y[index]; } }",
         WEFT_PHOTONIC_UNREACHABLE, "n"},
        {"counts { n = cycles(full k); k = cycles(full n); } targets { n = 2; k = 2; } actions { "
         "at n: x; line[index]: y[index]; } }",
         WEFT_PHOTONIC_UNREACHABLE, "n"},
        {NONE "actions { a: x; b: x; line[index]: y[index]; } }", WEFT_PHOTONIC_DRIVE, "x"},
        {NONE "actions { a & b: x; a & !b: x; line[index]: y[index]; line[0]: y[0]; } }",
         WEFT_PHOTONIC_DRIVE, "y"},
        {NONE "actions { line[index]: x; line[index]: y[index]; } }", WEFT_PHOTONIC_DRIVE, "x"},
        {"counts { n = cycles(a); } targets { n = 3; } actions { at n: x; short n: x; "
         "line[index]: y[index]; } }",
         WEFT_PHOTONIC_DRIVE, "x"},
        {NONE "actions { x & a: x; line[index]: y[index]; } }", WEFT_PHOTONIC_CIRCLE, "x"},
        {"counts { n = cycles(at k); k = cycles(at n); } targets { n = 2; k = 2; } actions { a: x; "
         "line[index]: y[index]; } }",
         WEFT_PHOTONIC_CIRCLE, "n"},
        // Sound: one of choice's lines at most; states that exclude each other.
        {NONE "actions { choice[index]: x; line[index]: y[index]; } }", WEFT_PHOTONIC_SOUND, NULL},
        {"counts { n = cycles(a); } targets { n = 3; } actions { at n: x; full n & a: x; short n & "
         "!a: x; line[index]: y[index]; } }",
         WEFT_PHOTONIC_SOUND, NULL},
        {"counts { n = tally(a, b); } targets { n = 1; } actions { full n: x; over n: x; empty n: "
         "x; line[index]: y[index]; } }",
         WEFT_PHOTONIC_SOUND, NULL},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_photonic_countaction modules;
        const char *text = weft_arena_format(&arena, "%s%s", PORTS, cases[i].text);
        if (!parse(&modules, text)) {
            fail_msg("case %u: %s", i, error.message);
        }
        const struct weft_photonic_verdict *verdict = check(&modules, NULL, 0);
        enum weft_photonic_flaw flaw = verdict == NULL ? WEFT_PHOTONIC_SOUND : verdict->flaw;
        if (flaw != cases[i].flaw) {
            fail_msg("case %u: %s, not %s", i, weft_photonic_flaw_name(flaw),
                     weft_photonic_flaw_name(cases[i].flaw));
        }
        if (verdict != NULL) {
            assert_string_equal(verdict->subject, cases[i].subject);
        }
    }
}

static void modules_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum weft_photonic_flaw flaw;
    } cases[] = {
        {"module p { input a; output x; " NONE "actions { a: x; } } "
         "module q { input x; output a; " NONE "actions { x: a; } }",
         WEFT_PHOTONIC_CIRCLE},
        {"module p { input a; output x; " NONE "actions { a: x; } } "
         "module q { input b; output x; " NONE "actions { b: x; } }",
         WEFT_PHOTONIC_DRIVE},
        {"module p { input a; output word; " NONE "actions { a: word; } }", WEFT_PHOTONIC_DRIVE},
        {"module p { input a[2]; output x; " NONE "actions { a[0]: x; } } "
         "module q { input a[3]; output y; " NONE "actions { a[0]: y; } }",
         WEFT_PHOTONIC_DRIVE},
        // A register between them makes it none.
        {"module p { input a; output x; counts { n = cycles(a); } targets { n = 1; } actions { "
         "full n: x; } } module q { input x; output a; " NONE "actions { !x: a; } }",
         WEFT_PHOTONIC_SOUND},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_photonic_countaction modules;
        assert_true(parse(&modules, cases[i].text));
        const struct weft_photonic_verdict *verdict = check(&modules, NULL, 0);
        assert_int_equal(verdict == NULL ? WEFT_PHOTONIC_SOUND : verdict->flaw, cases[i].flaw);
    }
}

static void the_ten_modules_are_sound(void **state)
{
    (void)state;
    struct weft_photonic_countaction modules;
    assert_true(parse(&modules, weft_photonic_countaction_text));
    assert_int_equal(modules.module_count, 10);
    assert_null(check(&modules, NULL, 0));
    assert_null(check(&modules, &two_rows, 0));
    assert_null(check(&modules, &two_rows, 15));
    // 10 words of 163 samples, one more since the 3 of the rotation are in the next, 4 registers.
    const struct weft_photonic_verdict *verdict = check(&modules, &two_rows, 14);
    assert_non_null(verdict);
    assert_int_equal(verdict->flaw, WEFT_PHOTONIC_FIFO);
    assert_string_equal(verdict->subject, "in_flight");
}

// ---- changes of the ten modules ----

// `text` with the first `from` behind `after` replaced.
static const char *changed(const char *after, const char *from, const char *to)
{
    const char *text = weft_photonic_countaction_text;
    const char *module = strstr(text, after);
    assert_non_null(module);
    const char *place = strstr(module, from);
    assert_non_null(place);
    return weft_arena_format(&arena, "%.*s%s%s", (int)(place - text), text, to,
                             place + strlen(from));
}

// A map of 5 x 8, 7 channels by a kernel of 3, 3 outputs.
enum { INPUTS = 40, OUTPUTS = 3 };

static void make_net(struct weft_photonic_program *program, uint8_t inputs[2][INPUTS])
{
    static float weights[2][3 * 7 * 18];
    struct weft_rng rng;
    weft_rng_init(&rng, 2108);
    for (uint32_t i = 0; i < 2 * 3 * 7 * 18; i++) {
        weights[i % 2][i / 2] = (float)(2 * weft_rng_unit(&rng) - 1);
    }
    for (uint32_t i = 0; i < INPUTS; i++) {
        inputs[0][i] = (uint8_t)weft_rng_below(&rng, 256);
        inputs[1][i] = (uint8_t)weft_rng_below(&rng, 6); // so dark that shifts go to the left
    }
    struct weft_photonic_layer layers[2] = {{.kind = WEFT_PHOTONIC_CONV,
                                             .activation = WEFT_PHOTONIC_RELU,
                                             .channels_in = 1,
                                             .channels_out = 7,
                                             .kernel = 3,
                                             .stride = 1,
                                             .height = 5,
                                             .width = 8,
                                             .weights = weights[0]},
                                            {.activation = WEFT_PHOTONIC_SOFTMAX,
                                             .inputs = 7 * 18,
                                             .outputs = OUTPUTS,
                                             .weights = weights[1],
                                             .bias = weights[0]}};
    struct weft_photonic_net net = {.layer_count = 2, .layers = layers};
    struct weft_photonic_compile_options options = {0};
    assert_true(weft_photonic_compile(program, &net, &options, &arena, scratch, &error));
}

static bool is_alike(const struct weft_photonic_registers *registers,
                     const struct weft_photonic_result *result,
                     const struct weft_photonic_layer_cycles *layers, bool waits)
{
    return registers->done && !registers->error && registers->pattern_errors == 0 &&
           (waits || (registers->cycles == result->cycles &&
                      registers->stalls == layers[0].stalls + layers[1].stalls)) &&
           memcmp(registers->sums, result->sums, OUTPUTS * sizeof(int32_t)) == 0 &&
           memcmp(registers->highest, result->highest, 2) == 0;
}

// Whether a run by these modules leaves what the twin does: two images, three rotations, with and
// without memories that make it wait.
static bool runs_alike(const struct weft_photonic_countaction *modules,
                       const struct weft_photonic_program *program, uint8_t inputs[2][INPUTS])
{
    static const uint32_t latencies[] = {128, 131, 140};
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t latency = latencies[i / 4];
        struct weft_photonic_layer_cycles layers[2];
        struct weft_photonic_twin *twin = weft_photonic_twin_build(program, latency, &arena);
        struct weft_photonic_result result;
        struct weft_photonic_registers registers;
        struct weft_photonic_execute_options options = {
            .modules = modules, .path = {.latency = latency}, .stall_seed = i % 2};
        weft_photonic_twin_run(&result, twin, inputs[i / 2 % 2], NULL, NULL);
        (void)weft_photonic_cycles(layers, program, latency);
        if (!weft_photonic_execute(&registers, program, inputs[i / 2 % 2], &options, &arena,
                                   scratch, &error) ||
            !is_alike(&registers, &result, layers, i % 2 == 1)) {
            return false;
        }
    }
    return true;
}

enum noticed { BY_CHECK, BY_RUN };

static const struct {
    const char *module, *from, *to;
    enum noticed by;
} changes[] = {
    {"module synchronized", "streams = 2", "streams = 1", BY_RUN},
    {"module synchronized", "streams = 2", "streams = 3", BY_CHECK},
    {"module synchronized", "data & streaming & full", "streaming & full", BY_RUN},
    {"module synchronized", "& short streams: bubble", ": bubble", BY_RUN},
    {"module synchronized", "less received", "", BY_CHECK},
    {"module synchronized", "= program.fifo", "= 14", BY_CHECK},
    {"module preamble_generator", "layer.preamble", "layer.preamble - 1", BY_RUN},
    {"module preamble_generator", "layer.preamble", "layer.preamble + 1", BY_RUN},
    {"module preamble_generator", "& short sent) until", ") until", BY_CHECK},
    {"module preamble_generator", " until next_layer", "", BY_RUN},
    {"module preamble_detector", "layer.preamble;", "layer.preamble - 1;", BY_CHECK},
    {"module preamble_detector", "layer.preamble;", "layer.preamble + 1;", BY_CHECK},
    {"module preamble_detector", "layer.preamble - 1;", "layer.preamble;", BY_CHECK},
    {"module preamble_detector", "& !locked) until next_layer", "& !locked)", BY_CHECK},
    {"module preamble_detector", "lit) until next_layer", "lit)", BY_RUN},
    {"module preamble_detector", "full match[index]: rotated", "at match[index]: rotated", BY_RUN},
    {"module adder_subtractor", "layer.words", "layer.words - 1", BY_CHECK},
    {"module adder_subtractor", "layer.words", "layer.words + 1", BY_CHECK},
    {"module adder_subtractor", ", clear words", "", BY_CHECK},
    {"module adder_subtractor", "at words: emit", "full words: emit", BY_CHECK},
    {"module adder_subtractor", "word & empty", "word & !empty", BY_RUN},
    {"module output_counter", "layer.outputs", "layer.outputs - 1", BY_CHECK},
    {"module output_counter", "layer.outputs", "layer.outputs + 1", BY_CHECK},
    {"module output_counter", "layer.pixels", "layer.pixels + 1", BY_CHECK},
    {"module output_counter", ", clear outputs", "", BY_CHECK},
    {"module nonlinear_selector", "layer = 1", "layer = 2", BY_CHECK},
    {"module nonlinear_selector", "& full layer", "& short layer", BY_RUN},
    {"module inter_layer_buffer", "layer.sums", "layer.sums - 1", BY_CHECK},
    {"module inter_layer_buffer", "layer.sums", "layer.sums + 1", BY_CHECK},
    {"module inter_layer_buffer", " until next_layer", "", BY_CHECK},
    {"module read_counters", "layer.words", "layer.words - 1", BY_CHECK},
    {"module read_counters", "layer.words", "layer.words + 1", BY_CHECK},
    {"module read_counters", "layer.outputs", "layer.outputs + 1", BY_CHECK},
    {"module read_counters", "layer.pixels", "layer.pixels + 1", BY_CHECK},
    {"module read_counters", ", clear words", "", BY_CHECK},
    {"module read_counters", ", clear outputs", "", BY_CHECK},
    {"module read_counters", "at outputs) until next_layer", "at outputs)", BY_CHECK},
    {"module normalizer", "highest = 7", "highest = 12", BY_RUN},
    {"module normalizer", "short highest: left", "over highest: left", BY_RUN},
    {"module final_layer", "layer_done & last", "layer_done", BY_RUN},
    {"module final_layer", "layer_done & !last", "layer_done", BY_RUN},
    {"module final_layer", "layers & !softmax", "layers", BY_RUN},
    {"module final_layer", "layers = 1", "layers = 2", BY_CHECK},
};

static void mutated_modules_are_noticed(void **state)
{
    (void)state;
    struct weft_photonic_program program;
    uint8_t inputs[2][INPUTS];
    make_net(&program, inputs);
    uint32_t count = sizeof changes / sizeof changes[0], by_check = 0;
    struct weft_photonic_countaction modules;
    for (uint32_t i = 0; i < count; i++) {
        if (!parse(&modules, changed(changes[i].module, changes[i].from, changes[i].to))) {
            fail_msg("case %u: %s", i, error.message);
        }
        bool checked = check(&modules, &program, 0) != NULL;
        by_check += checked;
        if (checked != (changes[i].by == BY_CHECK) ||
            (!checked && runs_alike(&modules, &program, inputs))) {
            fail_msg("case %u (%s, %s) is %s", i, changes[i].module, changes[i].from,
                     checked ? "found by the check" : "not found by the check, or not at all");
        }
    }
    assert_true(parse(&modules, weft_photonic_countaction_text));
    assert_null(check(&modules, &program, 0));
    assert_true(runs_alike(&modules, &program, inputs));
    print_message("%u changes, %u refused by the check, the others by a run\n", count, by_check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bad_texts_are_refused_with_their_line, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(deep_and_long_texts_are_refused, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(texts_read_back, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(modules_that_go_wrong_are_refused, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(modules_that_do_not_fit_together_are_refused, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_ten_modules_are_sound, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(mutated_modules_are_noticed, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
