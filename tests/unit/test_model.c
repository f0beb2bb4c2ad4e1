// SPDX-License-Identifier: Apache-2.0
// Models: shapes, counts, and what does not chain.

#include "weft/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    static struct weft_arena arena;
    struct weft_error error;
    *state = &arena;
    return weft_arena_init(&arena, 0, &error) ? 0 : 1;
}

static int tear_down(void **state)
{
    weft_arena_release(*state);
    return 0;
}

#define ONE(index)                                                                                 \
    .input_count = 1, .inputs = (const uint32_t[])                                                 \
    {                                                                                              \
        index                                                                                      \
    }
#define TWO(a, b)                                                                                  \
    .input_count = 2, .inputs = (const uint32_t[])                                                 \
    {                                                                                              \
        a, b                                                                                       \
    }
#define IMAGE(c, h, w)                                                                             \
    {                                                                                              \
        .kind = WEFT_OP_INPUT, .rank = 3, .shape = { c, h, w }                                     \
    }
#define VALUES(n)                                                                                  \
    {                                                                                              \
        .kind = WEFT_OP_INPUT, .rank = 1, .shape = { n }                                           \
    }
#define TOKENS(s, h)                                                                               \
    {                                                                                              \
        .kind = WEFT_OP_INPUT, .rank = 2, .shape = { s, h }                                        \
    }

// What an operator must come to; `spec` takes its inputs among `before`.
struct expected {
    const char *what;
    uint32_t before_count;
    struct weft_operator_spec before[3];
    struct weft_operator_spec spec;
    uint32_t rank;
    uint64_t shape[3];
    uint64_t tensors[3];
    double forward_flops, backward_flops, forward_bytes;
    uint64_t kept;
};

static const struct expected cases[] = {
    {"a convolution with padding, stride and bias",
     1,
     {IMAGE(3, 229, 227)},
     {.kind = WEFT_OP_CONV2D,
      ONE(0),
      .kernel = {7, 5},
      .stride = {2, 3},
      .padding = {3, 1},
      .units = 64,
      .bias = true},
     3,
     {64, 115, 75},
     {7 * 5 * 3 * 64, 64},
     2.0 * 7 * 5 * 3 * 64 * 115 * 75,
     2.0 * 7 * 5 * 3 * 64 * 115 * 75,
     4.0 * (3 * 229 * 227 + 64 * 115 * 75 + 7 * 5 * 3 * 64 + 64),
     64 * 115 * 75},
    {"a pool that rounds down",
     1,
     {IMAGE(8, 6, 6)},
     {.kind = WEFT_OP_POOL2D, ONE(0), .kernel = {3, 3}, .stride = {2, 2}},
     3,
     {8, 2, 2},
     {0},
     9.0 * 8 * 4,
     0,
     4.0 * (8 * 36 + 8 * 4),
     8 * 4},
    {"a pool that rounds up",
     1,
     {IMAGE(8, 6, 6)},
     {.kind = WEFT_OP_POOL2D, ONE(0), .kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true},
     3,
     {8, 3, 3},
     {0},
     9.0 * 8 * 9,
     0,
     4.0 * (8 * 36 + 8 * 9),
     8 * 9},
    {"a mean over a sequence",
     1,
     {TOKENS(10, 6)},
     {.kind = WEFT_OP_POOL2D, ONE(0), .kernel = {10, 1}},
     2,
     {1, 6},
     {0},
     60,
     0,
     4.0 * 66,
     6},
    {"a flattened image",
     1,
     {IMAGE(3, 4, 5)},
     {.kind = WEFT_OP_FLAT, ONE(0)},
     1,
     {60},
     {0},
     0,
     0,
     4.0 * 120,
     60},
    {"a dense layer without bias over a sequence",
     1,
     {TOKENS(10, 6)},
     {.kind = WEFT_OP_DENSE, ONE(0), .units = 7, .dtype = WEFT_BF16},
     2,
     {10, 7},
     {42},
     2.0 * 10 * 42,
     2.0 * 10 * 42,
     4.0 * 60 + 2.0 * (70 + 42),
     70},
    {"a second dense layer, whose input has a gradient, too",
     2,
     {VALUES(6), {.kind = WEFT_OP_DENSE, ONE(0), .units = 5}},
     {.kind = WEFT_OP_DENSE, ONE(1), .units = 7, .bias = true},
     1,
     {7},
     {35, 7},
     70,
     140,
     4.0 * (5 + 7 + 35 + 7),
     7},
    {"a sum of table rows",
     1,
     {{.kind = WEFT_OP_INPUT, .dtype = WEFT_INT64, .rank = 1, .shape = {100}}},
     {.kind = WEFT_OP_EMBEDDING, ONE(0), .rows = 1000, .units = 16},
     1,
     {16},
     {16000},
     1600,
     1600,
     8.0 * 100 + 4.0 * (16 + 1600),
     16},
    {"tokens looked up in a table",
     1,
     {{.kind = WEFT_OP_INPUT, .dtype = WEFT_INT64, .rank = 2, .shape = {10, 1}}},
     {.kind = WEFT_OP_EMBEDDING, ONE(0), .rows = 1000, .units = 16},
     2,
     {10, 16},
     {16000},
     160,
     160,
     8.0 * 10 + 4.0 * (160 + 160),
     160},
    {"two sequences one after the other",
     2,
     {TOKENS(3, 6), TOKENS(4, 6)},
     {.kind = WEFT_OP_CONCAT, TWO(0, 1)},
     2,
     {7, 6},
     {0},
     0,
     0,
     4.0 * 84,
     42},
    {"a sum with something that has a gradient",
     2,
     {VALUES(6), {.kind = WEFT_OP_DENSE, ONE(0), .units = 6}},
     {.kind = WEFT_OP_ADD, TWO(0, 1)},
     1,
     {6},
     {0},
     6,
     6,
     4.0 * 18,
     6},
    {"a batch norm, a scale and a bias a channel",
     1,
     {IMAGE(3, 4, 5)},
     {.kind = WEFT_OP_NORM, ONE(0), .bias = true},
     3,
     {3, 4, 5},
     {3, 3},
     300,
     300,
     4.0 * (120 + 6),
     60},
    {"a layer norm, a scale a feature",
     1,
     {TOKENS(10, 6)},
     {.kind = WEFT_OP_NORM, ONE(0)},
     2,
     {10, 6},
     {6},
     300,
     300,
     4.0 * (120 + 6),
     60},
    {"attention of one sequence",
     1,
     {TOKENS(10, 8)},
     {.kind = WEFT_OP_ATTENTION, ONE(0), .heads = 2, .bias = true},
     2,
     {10, 8},
     {4 * 64, 4 * 8},
     2.0 * (10 * 4 * 64 + 2 * 100 * 8),
     4.0 * (10 * 4 * 64 + 2 * 100 * 8),
     4.0 * (80 + 80 + 4 * 80 + 4 * 64 + 32),
     80 + 4 * 80},
    {"causal attention with few heads of keys, wider than the hidden size",
     1,
     {TOKENS(10, 8)},
     {.kind = WEFT_OP_ATTENTION, ONE(0), .heads = 4, .kv_heads = 2, .head_dim = 3, .causal = true},
     2,
     {10, 8},
     {8 * (12 + 6 + 6 + 12)},
     2.0 * (10 * 8 * 36 + 100 * 12),
     4.0 * (10 * 8 * 36 + 100 * 12),
     4.0 * (80 + 80 + 10 * 36 + 8 * 36),
     80 + 10 * 36},
    {"attention over another sequence",
     2,
     {TOKENS(10, 8), TOKENS(5, 8)},
     {.kind = WEFT_OP_ATTENTION, TWO(0, 1), .heads = 2},
     2,
     {10, 8},
     {256},
     2.0 * (15 * 128 + 2 * 50 * 8),
     4.0 * (15 * 128 + 2 * 50 * 8),
     4.0 * (80 + 40 + 80 + 2 * 80 + 2 * 40 + 256),
     80 + 2 * 80 + 2 * 40},
    {"attention with latents",
     1,
     {TOKENS(10, 8)},
     {.kind = WEFT_OP_ATTENTION,
      ONE(0),
      .heads = 2,
      .q_rank = 6,
      .kv_rank = 5,
      .rope_dim = 2,
      .nope_dim = 3,
      .value_dim = 4},
     2,
     {10, 8},
     {8 * 6 + 6 * 2 * 5 + 8 * (5 + 2) + 5 * 2 * 7 + 2 * 4 * 8, 11},
     2.0 * (10 * 298 + 100 * (10 + 8)),
     4.0 * (10 * 298 + 100 * (10 + 8)),
     4.0 * (80 + 80 + 10 * (10 + 10 + 8 + 8) + 298 + 11),
     80 + 10 * (10 + 10 + 8 + 8)},
    {"gated experts, one of them shared",
     1,
     {TOKENS(10, 8)},
     {.kind = WEFT_OP_EXPERTS,
      ONE(0),
      .experts = 16,
      .experts_active = 2,
      .experts_shared = 1,
      .expert_units = 5,
      .gated = true},
     2,
     {10, 8},
     {128, 16 * 120, 120},
     2.0 * 10 * (128 + 3 * 120),
     2.0 * 10 * (128 + 3 * 120),
     4.0 * (80 + 80 + 10 * 3 * 15 + 128 + 17 * 120),
     80 + 10 * 3 * 15},
};

static void check_case(const struct expected *c, struct weft_arena arena)
{
    struct weft_operator_spec specs[4];
    memcpy(specs, c->before, sizeof c->before);
    specs[c->before_count] = c->spec;
    struct weft_model model;
    struct weft_error error = {.message = ""};
    bool built = weft_model_build(&model, &(struct weft_model_head){"m", "test", 1}, specs,
                                  c->before_count + 1, &arena, &error);
    if (!built) {
        fail_msg("%s: %s", c->what, error.message);
    }
    const struct weft_operator *op = &model.operators[c->before_count];
    print_message("%s\n", c->what);
    assert_int_equal(op->rank, c->rank);
    assert_memory_equal(op->shape, c->shape, sizeof c->shape);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(op->tensor_elements[i], c->tensors[i]);
        assert_int_equal(op->tensor_count > i, c->tensors[i] > 0);
        sum += c->tensors[i];
    }
    assert_int_equal(op->parameters, sum);
    assert_true(op->forward_flops == c->forward_flops);
    assert_true(op->backward_flops == c->backward_flops);
    assert_true(op->forward_bytes == c->forward_bytes);
    assert_int_equal(op->kept_elements, c->kept);
}

static void operators_have_their_shapes_and_counts(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i], *(struct weft_arena *)*state);
    }
}

static const struct bad {
    const char *message;
    uint32_t before_count;
    struct weft_operator_spec before[2];
    struct weft_operator_spec spec;
} bad[] = {
    {"operator 1: input 1 comes not before it; order operators so that each follows its "
     "inputs",
     1,
     {VALUES(3)},
     {.kind = WEFT_OP_FLAT, ONE(1)}},
    {"operator 'x': 0 inputs; dense takes 1", 1, {VALUES(3)}, {.kind = WEFT_OP_DENSE}},
    {"operator 'x': 1 inputs; add takes 2", 1, {VALUES(3)}, {.kind = WEFT_OP_ADD, ONE(0)}},
    {"operator 'x': no units; give at least 1", 1, {VALUES(3)}, {.kind = WEFT_OP_DENSE, ONE(0)}},
    {"operator 'x': 'input_0' and 'input_1' have different shapes; make them equal",
     2,
     {VALUES(3), VALUES(4)},
     {.kind = WEFT_OP_ADD, TWO(0, 1)}},
    {"operator 'x': 'input_0' and 'input_1' differ beyond their first dimension; only that may "
     "differ",
     2,
     {TOKENS(3, 4), TOKENS(3, 5)},
     {.kind = WEFT_OP_CONCAT, TWO(0, 1)}},
    {"operator 'x': an input of 1 dimensions; it takes [channels, height, width]",
     1,
     {VALUES(3)},
     {.kind = WEFT_OP_CONV2D, ONE(0), .units = 1, .kernel = {1, 1}}},
    {"operator 'x': a kernel of 9 over 8 values; use a smaller kernel or more padding",
     1,
     {IMAGE(3, 8, 6)},
     {.kind = WEFT_OP_CONV2D, ONE(0), .units = 1, .kernel = {9, 1}}},
    {"operator 'x': windows of padding alone; use a padding below the kernel",
     1,
     {IMAGE(3, 8, 6)},
     {.kind = WEFT_OP_POOL2D, ONE(0), .kernel = {2, 2}, .padding = {2, 2}}},
    {"operator 'x': 3 heads do not divide the hidden size 8; give head_dim, or heads that do",
     1,
     {TOKENS(4, 8)},
     {.kind = WEFT_OP_ATTENTION, ONE(0), .heads = 3}},
    {"operator 'x': 4 heads share 3 heads of keys and values; the second must divide the first",
     1,
     {TOKENS(4, 8)},
     {.kind = WEFT_OP_ATTENTION, ONE(0), .heads = 4, .kv_heads = 3}},
    {"operator 'x': 8 experts of which 9 are active; give 1 to all",
     1,
     {TOKENS(4, 8)},
     {.kind = WEFT_OP_EXPERTS, ONE(0), .experts = 8, .experts_active = 9, .expert_units = 1}},
    {"operator 'x': a table is looked up by an input of shape [bag] or [sequence, bag]",
     1,
     {IMAGE(3, 8, 6)},
     {.kind = WEFT_OP_EMBEDDING, ONE(0), .rows = 8, .units = 1}},
    {"operator 'x': more than 2^50 values or parameters; make it smaller",
     1,
     {VALUES(1ull << 40)},
     {.kind = WEFT_OP_DENSE, ONE(0), .units = 1ull << 40}},
    {"operator 'x': a dimension of 0; give at least 1",
     0,
     {{0}},
     {.kind = WEFT_OP_INPUT, .rank = 2, .shape = {3, 0}}},
    {"operator 'x': a shape of 4 dimensions; give 1 to 3",
     0,
     {{0}},
     {.kind = WEFT_OP_INPUT, .rank = 4}},
};

static void bad_operators_are_refused_by_name(void **state)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct weft_arena arena = *(struct weft_arena *)*state;
        struct weft_operator_spec specs[3] = {bad[i].before[0], bad[i].before[1]};
        specs[bad[i].before_count] = bad[i].spec;
        specs[bad[i].before_count].name = "x";
        struct weft_model model = {.batch = 77};
        struct weft_error error = {.message = ""};
        assert_false(weft_model_build(&model, &(struct weft_model_head){"m", "test", 1}, specs,
                                      bad[i].before_count + 1, &arena, &error));
        assert_string_equal(error.message, bad[i].message);
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(model.batch, 77);
    }
}

static void a_model_needs_operators_and_a_batch(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    const struct weft_operator_spec specs[] = {VALUES(3),
                                               {.kind = WEFT_OP_DENSE, ONE(0), .units = 5}};
    struct weft_model model;
    struct weft_error error;
    assert_false(weft_model_build(&model, &(struct weft_model_head){"m", "test", 1}, specs, 0,
                                  &arena, &error));
    assert_false(weft_model_build(&model, &(struct weft_model_head){"m", "test", 0}, specs, 1,
                                  &arena, &error));
    assert_string_equal(error.message, "a batch of 0 samples; give 1 to 2^40");
    assert_false(weft_model_build(&model, &(struct weft_model_head){"m", "test", 8}, specs, 1,
                                  &arena, &error));
    assert_string_equal(error.message, "inputs alone; add an operator that takes them");
    assert_true(weft_model_build(&model, &(struct weft_model_head){"m", "test", 8}, specs, 2,
                                 &arena, &error));
    assert_false(weft_model_set_batch(&model, 0, &error));
    assert_int_equal(model.batch, 8);
    assert_true(weft_model_set_batch(&model, 16, &error));
    assert_int_equal(model.batch, 16);
}

static void misspelt_names_are_answered_with_the_nearest(void **state)
{
    struct weft_arena arena = *(struct weft_arena *)*state;
    struct weft_model model;
    struct weft_error error;
    assert_false(weft_model_named(&model, "lama3-8b", &arena, &error));
    assert_string_equal(
        error.message,
        "'lama3-8b' is no model of the zoo; did you mean llama3-8b? weft models lists it");
    enum weft_operator_kind kind = WEFT_OP_FLAT;
    assert_false(weft_operator_kind_named(&kind, "conv", &error));
    assert_non_null(strstr(error.message, "'conv' is no kind of operator; did you mean conv2d?"));
    assert_true(weft_operator_kind_named(&kind, "experts", &error));
    assert_int_equal(kind, WEFT_OP_EXPERTS);
    enum weft_dtype dtype = WEFT_FP32;
    assert_false(weft_dtype_named(&dtype, "nonsense", &error));
    assert_non_null(strstr(error.message, "'nonsense' is no dtype; there are fp32, tf32"));
    assert_true(weft_dtype_named(&dtype, "bf16", &error));
    assert_int_equal(weft_dtype_bytes(dtype), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_have_their_shapes_and_counts),
        cmocka_unit_test(bad_operators_are_refused_by_name),
        cmocka_unit_test(a_model_needs_operators_and_a_batch),
        cmocka_unit_test(misspelt_names_are_answered_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
