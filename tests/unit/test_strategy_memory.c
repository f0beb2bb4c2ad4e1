// SPDX-License-Identifier: Apache-2.0
// What strategies of the operators space keep on each accelerator, against sums by hand.

#include "weft/strategy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

static struct weft_arena arena, scratch;

enum { IN, INDICES, FIRST, SECOND, TABLE, COUNT };

// Dense 8 -> 4 with bias, 4 -> 2 without, and a table of 100 rows of 8.
static struct weft_model small_model(enum weft_dtype dtype)
{
    static const uint32_t from[] = {IN, FIRST, INDICES};
    const struct weft_operator_spec specs[COUNT] = {
        [IN] = {.name = "in", .kind = WEFT_OP_INPUT, .dtype = dtype, .rank = 1, .shape = {8}},
        [INDICES] = {.name = "indices",
                     .kind = WEFT_OP_INPUT,
                     .dtype = WEFT_INT64,
                     .rank = 1,
                     .shape = {2}},
        [FIRST] = {.name = "first",
                   .kind = WEFT_OP_DENSE,
                   .dtype = dtype,
                   .input_count = 1,
                   .inputs = &from[0],
                   .units = 4,
                   .bias = true},
        [SECOND] = {.name = "second",
                    .kind = WEFT_OP_DENSE,
                    .dtype = dtype,
                    .input_count = 1,
                    .inputs = &from[1],
                    .units = 2},
        [TABLE] = {.name = "table",
                   .kind = WEFT_OP_EMBEDDING,
                   .dtype = dtype,
                   .input_count = 1,
                   .inputs = &from[2],
                   .rows = 100,
                   .units = 8},
    };
    struct weft_model model;
    struct weft_error error;
    if (!weft_model_build(&model, &(struct weft_model_head){"small", "made up", 16}, specs, COUNT,
                          &arena, &error)) {
        fail_msg("%s", error.message);
    }
    return model;
}

static const uint32_t both[] = {0, 1}, left[] = {0, 0}, right[] = {1};

// The first layer as told, the second in one or two sample parts, the table on server 1.
static struct weft_strategy strategy_of(struct weft_placement first, struct weft_placement second)
{
    struct weft_placement *placements = WEFT_NEW(&arena, struct weft_placement, COUNT);
    placements[FIRST] = first;
    placements[SECOND] = second;
    placements[TABLE] = (struct weft_placement){1, 1, right};
    return (struct weft_strategy){
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = 2, .placements = placements};
}

static bool fill(struct weft_strategy *strategy, const struct weft_model *model,
                 const struct weft_strategy_setting *setting, struct weft_error *error)
{
    struct weft_cluster cluster;
    assert_true(weft_cluster_build(&cluster, 2, 1, 1e9, error));
    return weft_strategy_memory(
        strategy, &(struct weft_study){.model = model, .cluster = &cluster, .setting = setting},
        &arena, scratch, error);
}

static void expect(const struct weft_memory *got, double parameters, double gradients,
                   double optimizer, double activations)
{
    assert_true(got->parameters_bytes == parameters);
    assert_true(got->gradients_bytes == gradients);
    assert_true(got->optimizer_bytes == optimizer);
    assert_true(got->activations_bytes == activations);
    assert_true(got->total_bytes == parameters + gradients + optimizer + activations);
}

// On the table's server: parameters 1600, or 3200 where each accelerator has it whole; sums of 16
// samples and copies of their indices, 384 bytes; gradients of 32 rows of 4 columns.
static void data_parallel_copies_parameters(void **state)
{
    (void)state;
    struct weft_model model = small_model(WEFT_FP32);
    struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 2},
                                            .optimizer = WEFT_ADAM};
    struct weft_strategy strategy =
        strategy_of((struct weft_placement){2, 1, both}, (struct weft_placement){2, 1, both});
    struct weft_error error;
    assert_true(fill(&strategy, &model, &setting, &error));
    // 36 + 8 values; 4 samples of 8 inputs from outside, of 4 + 2 outputs.
    expect(&strategy.memory[0], 176, 176, 352, 4 * 4 * (8 + 6));
    expect(&strategy.memory[1], 176 + 1600, 176 + 512, 352 + 3200, 224 + 384);
    assert_true(strategy.memory_max_bytes == strategy.memory[1].total_bytes);

    setting.tables = WEFT_TABLES_REPLICATED;
    setting.optimizer = WEFT_MOMENTUM;
    assert_true(fill(&strategy, &model, &setting, &error));
    expect(&strategy.memory[0], 176, 176, 176, 224);
    expect(&strategy.memory[1], 176 + 3200, 176 + 3200, 176 + 3200, 224 + 384);
}

static void parameter_parts_share_parameters_and_copy_inputs(void **state)
{
    (void)state;
    struct weft_model model = small_model(WEFT_FP32);
    struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 2}};
    struct weft_strategy strategy =
        strategy_of((struct weft_placement){1, 2, both}, (struct weft_placement){1, 1, left});
    struct weft_error error;
    assert_true(fill(&strategy, &model, &setting, &error));
    // 8 samples each: all 8 inputs, 2 outputs; the second layer makes 2 and gets 2 of 4 inputs.
    expect(&strategy.memory[0], 72 + 32, 72 + 32, 0, 8 * 4 * (8 + 2 + 2 + 2));
    expect(&strategy.memory[1], 72 + 1600, 72 + 512, 0, 8 * 4 * (8 + 2) + 384);
}

static void parts_on_one_server_hold_parameters_once(void **state)
{
    (void)state;
    struct weft_model model = small_model(WEFT_FP32);
    struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 2}};
    struct weft_strategy strategy =
        strategy_of((struct weft_placement){2, 1, left}, (struct weft_placement){1, 1, right});
    struct weft_error error;
    assert_true(fill(&strategy, &model, &setting, &error));
    expect(&strategy.memory[0], 144, 144, 0, 2 * 4 * 4 * (8 + 4));
    // Everything that the second layer reads comes from the other server.
    expect(&strategy.memory[1], 32 + 1600, 32 + 512, 0, 8 * 4 * (4 + 2) + 384);
}

static void narrow_parameters_have_wide_copies(void **state)
{
    (void)state;
    struct weft_model model = small_model(WEFT_BF16);
    struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 2},
                                            .optimizer = WEFT_ADAM};
    struct weft_strategy strategy =
        strategy_of((struct weft_placement){2, 1, both}, (struct weft_placement){2, 1, both});
    struct weft_error error;
    assert_true(fill(&strategy, &model, &setting, &error));
    expect(&strategy.memory[0], 88, 88, 44 * 12, 2 * 4 * (8 + 6));
}

static void what_does_not_fit_is_refused_with_a_remedy(void **state)
{
    (void)state;
    struct weft_model model = small_model(WEFT_FP32);
    struct weft_strategy strategy =
        strategy_of((struct weft_placement){2, 1, both}, (struct weft_placement){2, 1, both});
    static const struct {
        enum weft_optimizer optimizer;
        enum weft_tables tables;
        double limit_bytes;
        const char *remedy;
        const char *key;
    } cases[] = {
        {WEFT_SGD, WEFT_TABLES_REPLICATED, 6000, "shard the tables, or take", "tables"},
        {WEFT_ADAM, WEFT_TABLES_SHARDED, 6000, "train by SGD", "optimizer"},
        {WEFT_SGD, WEFT_TABLES_SHARDED, 2500, "put tables on servers that hold less", ""},
        {WEFT_SGD, WEFT_TABLES_SHARDED, 500, "use more servers", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error;
        struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 2},
                                                .optimizer = cases[i].optimizer,
                                                .tables = cases[i].tables,
                                                .memory_limit_bytes = cases[i].limit_bytes};
        assert_false(fill(&strategy, &model, &setting, &error));
        assert_int_equal(error.code, WEFT_INFEASIBLE);
        assert_null(strategy.memory);
        assert_non_null(strstr(error.message, "server 1 needs "));
        assert_non_null(strstr(error.message, "'table' holds most"));
        if (strstr(error.message, cases[i].remedy) == NULL) {
            fail_msg("case %zu: '%s' lacks '%s'", i, error.message, cases[i].remedy);
        }
        assert_string_equal(error.key, cases[i].key);
    }
    // Just enough is enough.
    struct weft_error error;
    struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 2}};
    assert_true(fill(&strategy, &model, &setting, &error));
    setting.memory_limit_bytes = strategy.memory_max_bytes;
    assert_true(fill(&strategy, &model, &setting, &error));
    setting.memory_limit_bytes -= 1;
    assert_false(fill(&strategy, &model, &setting, &error));
}

int main(void)
{
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    assert_true(weft_arena_init(&scratch, 0, &error));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_parallel_copies_parameters),
        cmocka_unit_test(parameter_parts_share_parameters_and_copy_inputs),
        cmocka_unit_test(parts_on_one_server_hold_parameters_once),
        cmocka_unit_test(narrow_parameters_have_wide_copies),
        cmocka_unit_test(what_does_not_fit_is_refused_with_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
