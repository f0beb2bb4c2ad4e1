// SPDX-License-Identifier: Apache-2.0
// Costs of operators: the roofline by hand, measurements, splits, whole profiles, and what is
// refused.

#include "weft/format.h"
#include "weft/model.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static struct weft_arena arena, scratch;

// Figures that are easy to divide by: 1 GFLOP/s and 1 GB/s reached.
static const struct weft_accelerator toy = {
    .name = "toy",
    .source = "made up",
    .flops_per_s = {[WEFT_FP32] = 2e9, [WEFT_TF32] = 16e9},
    .memory_Bps = 2e9,
    .processors = 1,
    .matmul_efficiency = 0.5,
    .tf32_efficiency = 0.5,
    .fp32_efficiency = 0.5,
    .memory_efficiency = 0.5,
    .launch_ps = 1000,
};

enum { IN, INDICES, NARROW, WIDE, TABLE, JOINED, LAST, COUNT };

// Two dense layers of one shape, a wider one, a table, and a concatenation.
static struct weft_model small_model(void)
{
    static const uint32_t from[] = {IN, INDICES, NARROW, WIDE, TABLE, JOINED};
    static const struct weft_operator_spec specs[COUNT] = {
        [IN] = {.name = "in", .kind = WEFT_OP_INPUT, .rank = 1, .shape = {64}},
        [INDICES] = {.name = "indices",
                     .kind = WEFT_OP_INPUT,
                     .dtype = WEFT_INT64,
                     .rank = 1,
                     .shape = {10}},
        [NARROW] = {.name = "narrow",
                    .kind = WEFT_OP_DENSE,
                    .input_count = 1,
                    .inputs = &from[0],
                    .units = 64},
        [WIDE] = {.name = "wide",
                  .kind = WEFT_OP_DENSE,
                  .input_count = 1,
                  .inputs = &from[2],
                  .units = 640},
        [TABLE] = {.name = "table",
                   .kind = WEFT_OP_EMBEDDING,
                   .input_count = 1,
                   .inputs = &from[1],
                   .rows = 1000,
                   .units = 12},
        [JOINED] = {.name = "joined", .kind = WEFT_OP_CONCAT, .input_count = 2, .inputs = &from[3]},
        [LAST] = {.name = "last",
                  .kind = WEFT_OP_DENSE,
                  .input_count = 1,
                  .inputs = &from[5],
                  .units = 1},
    };
    struct weft_model model;
    struct weft_error error;
    if (!weft_model_build(&model, &(struct weft_model_head){"small", "made up", 96}, specs, COUNT,
                          &arena, &error)) {
        fail_msg("%s", error.message);
    }
    return model;
}

static const struct weft_cost_options roofline = {.accelerator = &toy,
                                                  .accelerators_per_server = 2};

static struct weft_operator_cost cost_of(const struct weft_model *model, uint32_t op, uint32_t s,
                                         uint32_t p, const struct weft_cost_options *options)
{
    struct weft_operator_cost cost;
    struct weft_error error;
    if (!weft_operator_time(&cost, model, op, (struct weft_split){s, p}, options, &error)) {
        fail_msg("%s", error.message);
    }
    return cost;
}

static void rooflines_are_as_by_hand(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_operator_cost cost = cost_of(&model, IN, 1, 1, &roofline);
    assert_int_equal(cost.forward_ps + cost.backward_ps, 0);

    // 96 samples in 4 parts for 2 accelerators: 12 x 64 x 64 products at 1 GFLOP/s, 3 kernels; the
    // first layer has no input to differentiate: 7 kernels.
    cost = cost_of(&model, NARROW, 4, 1, &roofline);
    assert_int_equal(cost.source, WEFT_COST_ROOFLINE);
    assert_int_equal(cost.forward_ps, 2ull * 12 * 64 * 64 * 1000 + 3 * 1000);
    assert_int_equal(cost.backward_ps, 2ull * 12 * 64 * 64 * 1000 + 7 * 1000);
    assert_int_equal(cost.forward_limit, WEFT_LIMIT_FLOPS);
    cost = cost_of(&model, WIDE, 4, 2, &roofline);
    assert_int_equal(cost.forward_ps, 2ull * 12 * 64 * 320 * 1000 + 3 * 1000);
    assert_int_equal(cost.backward_ps, 2 * 2ull * 12 * 64 * 320 * 1000 + 7 * 1000);

    // A table of 12 columns on 2 accelerators: every one reads all 960 indices of 8 bytes, half of
    // the rows' 12 x 4 bytes and writes half of 96 x 12 sums; scattered, at 0.6 of the rate.
    cost = cost_of(&model, TABLE, 1, 1, &roofline);
    double bytes = 960 * 8 + (960 * 48 + 96 * 48) / 2.0;
    assert_int_equal(cost.forward_ps, weft_picoseconds(bytes / 0.6 / 1e9 + 1e-9));
    assert_int_equal(cost.forward_limit, WEFT_LIMIT_MEMORY);

    // A copy of each of two inputs, read and written once.
    cost = cost_of(&model, JOINED, 2, 1, &roofline);
    assert_int_equal(cost.forward_ps, 24ull * 652 * 4 * 2 * 1000 + 2 * 1000);
    assert_int_equal(cost.backward_ps, 2 * 24ull * 652 * 4 * 2 * 1000 + 2 * 1000);
}

static void idle_processors_slow_small_products(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_accelerator large = toy;
    large.processors = 10;
    struct weft_cost_options options = {.accelerator = &large, .accelerators_per_server = 1};
    // 96 rows and 64 columns: one and a half tiles for ten processors.
    struct weft_operator_cost cost = cost_of(&model, NARROW, 1, 1, &options);
    assert_int_equal(cost.forward_ps, weft_picoseconds(2 * 96 * 64 * 64 / 0.15 / 1e9 + 3e-9));
}

static void splits_that_do_not_divide_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t op, s, p;
        const char *complaint;
    } cases[] = {
        {NARROW, 5, 1, "operator 'narrow': a batch of 96 does not divide into 5"},
        {WIDE, 1, 3, "operator 'wide': its columns do not divide into 3"},
        {TABLE, 1, 5, "operator 'table': its columns do not divide into 5"},
    };
    struct weft_model model = small_model();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_operator_cost cost;
        struct weft_error error;
        assert_false(weft_operator_time(&cost, &model, cases[i].op,
                                        (struct weft_split){cases[i].s, cases[i].p}, &roofline,
                                        &error));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, cases[i].complaint) == NULL) {
            fail_msg("case %zu: '%s' lacks '%s'", i, error.message, cases[i].complaint);
        }
    }
}

static void a_dtype_that_the_accelerator_lacks_is_refused(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_operator operators[COUNT];
    memcpy(operators, model.operators, sizeof operators);
    operators[NARROW].spec.dtype = WEFT_FP8;
    model.operators = operators;
    struct weft_operator_cost cost;
    struct weft_error error;
    assert_false(
        weft_operator_time(&cost, &model, NARROW, (struct weft_split){1, 1}, &roofline, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "'narrow': toy does not compute in fp8"));
}

static void splits_without_a_profile_divide_the_servers(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_error error;
    struct weft_split_list list;
    // 12 servers, 96 samples, 640 columns: all divisors of 12 but 3, 6 and 12 for columns.
    static const uint32_t wide[][2] = {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {3, 1},
                                       {3, 2}, {3, 4}, {4, 1}, {6, 1}, {6, 2}, {12, 1}};
    assert_true(weft_operator_splits(&list, &model, WIDE, 12, &roofline,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
    assert_int_equal(list.count, sizeof wide / sizeof wide[0]);
    for (uint32_t i = 0; i < list.count; i++) {
        assert_int_equal(list.splits[i].sample_parts, wide[i][0]);
        assert_int_equal(list.splits[i].parameter_parts, wide[i][1]);
    }
    // A concatenation has no parameters; an input is no work.
    assert_true(weft_operator_splits(&list, &model, JOINED, 12, &roofline,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
    assert_int_equal(list.count, 6);
    assert_true(weft_operator_splits(&list, &model, IN, 12, &roofline,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
    assert_int_equal(list.count, 1);
}

#define TIMES(ms) "\"fw_time\": " #ms ", \"bw_time\": 9, \"mem_req\": 1}"
static const char profile_text[] =
    "{\"batch_size\": 96, \"ngpus\": 4, \"measurements\": ["
    "{\"name\": \"Dense_64_64\", \"pc_str\": \"2-1-4\", " TIMES(
        1) ", "
           "{\"name\": \"Dense_64_64\", \"pc_str\": \"2-2-2\", " TIMES(
               2) ", "
                  "{\"name\": \"Dense_64_64\", \"pc_str\": \"2-1-2\", " TIMES(
                      3) ", "
                         "{\"name\": \"Dense_64_640\", \"pc_str\": \"2-1-32\", " TIMES(
                             4) ", "
                                "{\"name\": \"wide@Dense_64_640\", \"pc_str\": \"2-1-4\", " TIMES(
                                    5) "]}";

static struct weft_profile read_profile(void)
{
    struct weft_profile profile;
    struct weft_error error;
    if (!weft_profile_read(&profile, profile_text, strlen(profile_text), &arena, &error)) {
        fail_msg("%s", error.message);
    }
    return profile;
}

static void measurements_win_and_gaps_are_named(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_profile profile = read_profile();
    struct weft_cost_options options = roofline;
    options.profile = &profile;
    struct weft_operator_cost cost = cost_of(&model, NARROW, 2, 2, &options);
    assert_int_equal(cost.source, WEFT_COST_MEASURED);
    assert_int_equal(cost.forward_ps, 2000000000);
    assert_int_equal(cost.backward_ps, 9000000000);
    // The operator's own measurements win over those of its name.
    assert_int_equal(cost_of(&model, WIDE, 4, 1, &options).forward_ps, 5000000000);

    struct weft_error error;
    assert_false(
        weft_operator_time(&cost, &model, NARROW, (struct weft_split){1, 1}, &options, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "operator 'narrow': the profile has Dense_64_64 in 2x1, "
                                          "4x1, 2x2 (sample x parameter) parts, not 1x1"));
    assert_false(
        weft_operator_time(&cost, &model, TABLE, (struct weft_split){1, 1}, &options, &error));
    assert_non_null(strstr(error.message, "operator 'table': the profile has no Embed_1000x12"));
    assert_true(weft_model_set_batch(&model, 192, &error));
    assert_false(
        weft_operator_time(&cost, &model, NARROW, (struct weft_split){2, 2}, &options, &error));
    assert_non_null(strstr(error.message, "batch of 96, the model has 192; use that"));
    assert_string_equal(error.key, "batch");
    assert_string_equal(error.value, "96");
}

static void measured_splits_are_those_that_fit(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_profile profile = read_profile();
    struct weft_cost_options options = roofline;
    options.profile = &profile;
    struct weft_error error;
    struct weft_split_list list;
    assert_true(weft_operator_splits(&list, &model, NARROW, 4, &options,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
    static const uint32_t want[][2] = {{2, 1}, {2, 2}, {4, 1}};
    assert_int_equal(list.count, 3);
    for (uint32_t i = 0; i < list.count; i++) {
        assert_int_equal(list.splits[i].sample_parts, want[i][0]);
        assert_int_equal(list.splits[i].parameter_parts, want[i][1]);
    }
    assert_true(weft_operator_splits(&list, &model, NARROW, 3, &options,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
    assert_int_equal(list.count, 1);
    assert_false(
        weft_operator_splits(&list, &model, NARROW, 1, &options,
                             &(struct weft_environment){.arena = &arena, .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "operator 'narrow'"));
    assert_non_null(strstr(error.message, "fit 1 servers"));
}

static void a_whole_profile_fills_gaps_and_keeps_measurements(void **state)
{
    (void)state;
    struct weft_model model = small_model();
    struct weft_profile given = read_profile();
    struct weft_cost_options options = roofline;
    options.profile = &given;
    struct weft_profile full;
    struct weft_error error;
    assert_true(weft_profile_build(
        &full, &model, 12, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    for (uint32_t i = 1; i < full.count; i++) {
        assert_true(weft_measurement_order(&full.measurements[i - 1], &full.measurements[i]) < 0);
    }
    options.profile = &full;
    assert_int_equal(cost_of(&model, NARROW, 2, 2, &options).forward_ps, 2000000000);
    assert_int_equal(cost_of(&model, WIDE, 4, 1, &options).forward_ps, 5000000000);
    for (uint32_t op = NARROW; op < COUNT; op++) {
        struct weft_split_list list;
        assert_true(
            weft_operator_splits(&list, &model, op, 12, &roofline,
                                 &(struct weft_environment){.arena = &arena, .error = &error}));
        for (uint32_t i = 0; i < list.count && op != WIDE; i++) {
            uint32_t s = list.splits[i].sample_parts;
            uint32_t p = list.splits[i].parameter_parts;
            bool measured =
                weft_profile_find(&given, weft_profile_name(&model, op, &arena), s, p) != NULL;
            struct weft_operator_cost want =
                cost_of(&model, op, s, p, measured ? &options : &roofline);
            assert_int_equal(cost_of(&model, op, s, p, &options).forward_ps, want.forward_ps);
            assert_int_equal(cost_of(&model, op, s, p, &options).backward_ps, want.backward_ps);
        }
    }
}

// Convolutions of one profile name differ with their images.
static void operators_of_one_name_that_differ_keep_apart(void **state)
{
    (void)state;
    static const uint32_t from[] = {0, 1, 2, 3};
    static const struct weft_operator_spec specs[] = {
        {.name = "image", .kind = WEFT_OP_INPUT, .rank = 3, .shape = {4, 8, 8}},
        {.name = "a",
         .kind = WEFT_OP_CONV2D,
         .input_count = 1,
         .inputs = &from[0],
         .kernel = {1, 1},
         .stride = {1, 1},
         .units = 4},
        {.name = "b",
         .kind = WEFT_OP_CONV2D,
         .input_count = 1,
         .inputs = &from[1],
         .kernel = {1, 1},
         .stride = {2, 2},
         .units = 4},
        {.name = "c",
         .kind = WEFT_OP_CONV2D,
         .input_count = 1,
         .inputs = &from[2],
         .kernel = {1, 1},
         .stride = {2, 2},
         .units = 4},
    };
    struct weft_model model;
    struct weft_error error;
    if (!weft_model_build(&model, &(struct weft_model_head){"images", "made up", 64}, specs, 4,
                          &arena, &error)) {
        fail_msg("%s", error.message);
    }
    struct weft_profile full;
    assert_true(weft_profile_build(
        &full, &model, 4, &roofline,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    struct weft_cost_options options = roofline;
    options.profile = &full;
    assert_non_null(weft_profile_find(&full, "Conv2D_1_1_4", 4, 1));
    assert_non_null(weft_profile_find(&full, "b@Conv2D_1_1_4", 2, 2));
    for (uint32_t op = 1; op < 4; op++) {
        struct weft_operator_cost want = cost_of(&model, op, 2, 2, &roofline);
        assert_int_equal(cost_of(&model, op, 2, 2, &options).forward_ps, want.forward_ps);
        assert_int_equal(cost_of(&model, op, 2, 2, &options).backward_ps, want.backward_ps);
    }
    assert_true(cost_of(&model, 1, 2, 2, &options).forward_ps >
                cost_of(&model, 2, 2, 2, &options).forward_ps);
}

int main(void)
{
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    assert_true(weft_arena_init(&scratch, 0, &error));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rooflines_are_as_by_hand),
        cmocka_unit_test(idle_processors_slow_small_products),
        cmocka_unit_test(splits_that_do_not_divide_are_refused),
        cmocka_unit_test(a_dtype_that_the_accelerator_lacks_is_refused),
        cmocka_unit_test(splits_without_a_profile_divide_the_servers),
        cmocka_unit_test(measurements_win_and_gaps_are_named),
        cmocka_unit_test(measured_splits_are_those_that_fit),
        cmocka_unit_test(a_whole_profile_fills_gaps_and_keeps_measurements),
        cmocka_unit_test(operators_of_one_name_that_differ_keep_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
