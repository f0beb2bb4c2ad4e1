// SPDX-License-Identifier: Apache-2.0
// Requests, answers and the table of models: the layout byte by byte, every reason of a drop, and
// what does not fit the datapath.

#include "../arenas.h"
#include "../photonic_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t golden[] = {0x57, 0x4C, 1,  0,    0,  3,  0,  2,  0xDE, 0xAD, 0xBE,
                                 0xEF, 0,    16, 0xFD, 0,  0,  1,  2,  3,    4,    5,
                                 6,    7,    8,  9,    10, 11, 12, 13, 14,   15};

static void the_layout_is_the_one_that_is_written_down(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_photonic_models models = test_models(&arena);
    struct weft_photonic_request request;
    assert_int_equal(weft_photonic_request_read(&request, golden, sizeof golden, &models), 0);
    assert_int_equal(request.head.model, 3);
    assert_int_equal(request.head.layers, 2);
    assert_true(request.head.request == 0xDEADBEEF);
    assert_int_equal(request.head.exponent, -3);
    assert_int_equal(request.bytes, 16);
    assert_ptr_equal(request.data, golden + 16);
    const struct weft_photonic_outcome outcome = {2, 4, (const int32_t[]){-1, 5, 300, 300},
                                                  (const uint8_t[]){7, 8}};
    uint8_t bytes[36];
    static const uint8_t expected[] = {0x57, 0x4C, 1,    1, 0, 3, 0, 2,    0xDE, 0xAD, 0xBE, 0xEF,
                                       0,    16,   0xFD, 0, 0, 2, 7, 8,    0xFF, 0xFF, 0xFF, 0xFF,
                                       0,    0,    0,    5, 0, 0, 1, 0x2C, 0,    0,    1,    0x2C};
    assert_int_equal(weft_photonic_answer_bytes(request.model), sizeof expected);
    assert_int_equal(weft_photonic_answer_write(bytes, &request.head, &outcome), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    struct weft_photonic_answer answer;
    assert_true(weft_photonic_answer_read(&answer, bytes, sizeof bytes));
    assert_int_equal(answer.class_index, 2);
    assert_int_equal(answer.sum_count, 4);
    assert_int_equal(weft_photonic_answer_sum(&answer, 0), -1);
    bytes[17] = 3; // an equal sum, but not the first
    assert_false(weft_photonic_answer_read(&answer, bytes, sizeof bytes));
    assert_false(weft_photonic_answer_read(&answer, golden, sizeof golden));
}

// One byte of the request above is changed, or its length.
static void each_reason_of_a_drop_is_told(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_photonic_models models = test_models(&arena);
    static const struct {
        uint32_t at, value, size;
        enum weft_photonic_drop drop;
    } cases[] = {
        {0, 0x57, 32, WEFT_PHOTONIC_TAKEN},
        {0, 0x57, 15, WEFT_PHOTONIC_DROP_SHORT},
        {0, 0x57, 0, WEFT_PHOTONIC_DROP_SHORT},
        {1, 0x4D, 32, WEFT_PHOTONIC_DROP_MAGIC},
        {2, 2, 32, WEFT_PHOTONIC_DROP_VERSION},
        {3, 1, 32, WEFT_PHOTONIC_DROP_FLAGS},
        {3, 6, 32, WEFT_PHOTONIC_DROP_FLAGS},
        {3, 0x80, 32, WEFT_PHOTONIC_DROP_FLAGS},
        {15, 1, 32, WEFT_PHOTONIC_DROP_PAD},
        {3, 2, 20, WEFT_PHOTONIC_DROP_SHORT}, // a fragment of nothing
        {5, 4, 32, WEFT_PHOTONIC_DROP_MODEL},
        {7, 3, 32, WEFT_PHOTONIC_DROP_LAYERS},
        {13, 17, 32, WEFT_PHOTONIC_DROP_INPUT},
        {12, 1, 32, WEFT_PHOTONIC_DROP_INPUT},
        {0, 0x57, 31, WEFT_PHOTONIC_DROP_LENGTH},
        {0, 0x57, 16, WEFT_PHOTONIC_DROP_LENGTH},
        {3, 2, 32, WEFT_PHOTONIC_DROP_LENGTH}, // a fragment beyond the end: offset 0x00010203
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[32];
        struct weft_photonic_request request;
        memcpy(bytes, golden, sizeof golden);
        bytes[cases[i].at] = (uint8_t)cases[i].value;
        const enum weft_photonic_drop drop =
            weft_photonic_request_read(&request, bytes, cases[i].size, &models);
        if (drop != cases[i].drop) {
            fail_msg("case %u: %s", i, weft_photonic_drop_name(drop));
        }
    }
}

static void a_scale_of_its_own_needs_a_model_without_biases(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_photonic_models models = test_models(&arena);
    uint8_t bytes[36] = {0};
    struct weft_photonic_head head = {.model = 9, .layers = 2, .input_bytes = 20, .exponent = 1};
    struct weft_photonic_request request;
    weft_photonic_head_write(bytes, &head);
    assert_int_equal(weft_photonic_request_read(&request, bytes, sizeof bytes, &models),
                     WEFT_PHOTONIC_DROP_EXPONENT);
    head.exponent = 0;
    weft_photonic_head_write(bytes, &head);
    assert_int_equal(weft_photonic_request_read(&request, bytes, sizeof bytes, &models), 0);
}

// ---- the table ----

static void programs_stand_beside_each_other(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_photonic_models models = test_models(&arena);
    assert_int_equal(models.joint.row_count, 6);
    assert_int_equal(models.input_bytes_max, 40);
    const struct weft_photonic_program *alone =
        test_program("long", (const uint32_t[]){40, 16, 10}, false, &arena);
    const struct weft_photonic_model *model = weft_photonic_models_find(&models, 7);
    assert_int_equal(model->row_first, 2);
    for (uint32_t r = 0; r < 2; r++) {
        const struct weft_photonic_row *row = &models.joint.rows[2 + r];
        const struct weft_photonic_row *own = &alone->rows[r];
        const size_t words = (size_t)row->words * row->outputs;
        assert_int_equal(row->inputs, own->inputs);
        assert_memory_equal(models.joint.weights + (size_t)row->weight_first * 16,
                            alone->weights + (size_t)own->weight_first * 16, words * 16 * 2);
    }
    const struct weft_photonic_model *biased = weft_photonic_models_find(&models, 9);
    assert_true(biased->has_biases);
    assert_int_equal(models.joint.biases[biased->program.rows[1].bias_first], 4 * 7 - 20);
    assert_null(weft_photonic_models_find(&models, 4));
}

static void the_model_that_does_not_fit_is_named(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_photonic_program *small =
        test_program("small", (const uint32_t[]){16, 8, 4}, false, &arena);
    struct weft_photonic_program *wide =
        test_program("wide", (const uint32_t[]){16, 8, 4}, false, &arena);
    struct weft_photonic_program *empty =
        test_program("empty", (const uint32_t[]){16, 8, 4}, false, &arena);
    struct weft_photonic_program *chatty =
        test_program("chatty", (const uint32_t[]){16, 8, 364}, false, &arena);
    wide->lanes = 32;
    empty->weights = NULL;
    const struct {
        struct weft_photonic_resident second;
        struct weft_photonic_room room;
        enum weft_error_code code;
        const char *message;
    } cases[] = {
        {{1, small}, {0}, WEFT_INPUT, "model small: number 1 is that of small"},
        {{65536, small}, {0}, WEFT_INPUT, "model small: number 65536"},
        {{2, wide}, {0}, WEFT_INPUT, "model wide: it is compiled for 32 lanes"},
        {{2, empty}, {0}, WEFT_INPUT, "model empty: it has no weights"},
        {{2, small},
         {.weight_bytes = 383},
         WEFT_INFEASIBLE,
         "model small: its weights take 192 bytes, and of 383 those of other models take 192"},
        {{2, small}, {.row_count = 3}, WEFT_INFEASIBLE, "model small: its 2 layers"},
        {{2, chatty}, {0}, WEFT_INFEASIBLE, "model chatty: its answer of 1476 bytes"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weft_photonic_models models;
        struct weft_error error;
        const struct weft_photonic_resident residents[2] = {{1, small}, cases[i].second};
        assert_false(
            weft_photonic_models_build(&models, residents, 2, &cases[i].room, &arena, &error));
        assert_int_equal(error.code, cases[i].code);
        if (strncmp(error.message, cases[i].message, strlen(cases[i].message)) != 0) {
            fail_msg("case %u: %s", i, error.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_the_one_that_is_written_down),
        cmocka_unit_test(each_reason_of_a_drop_is_told),
        cmocka_unit_test(a_scale_of_its_own_needs_a_model_without_biases),
        cmocka_unit_test(programs_stand_beside_each_other),
        cmocka_unit_test(the_model_that_does_not_fit_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
