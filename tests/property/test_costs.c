// SPDX-License-Identifier: Apache-2.0
// Costs and memory over the zoo: more parts or a faster accelerator never slow a part, a whole
// profile that is written and read says what the roofline says, and memory is the sum of its parts.
//
// Mutations that made this test fail: products whose FLOPs are not divided by parts (1x8 parts
// slower than 1x1); H100's HBM below A100's; operators of one profile name that differ under one
// name; parameters counted for every part on a server; inputs_bytes of the first input only.

#include "weft/format.h"
#include "weft/strategy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS 16u
#define OPERATORS_MAX 400u

static struct weft_arena arena, scratch;

// Models that are small enough to go through split by split.
static bool next_model(struct weft_model *model, uint32_t *index)
{
    uint32_t count = 0;
    const struct weft_zoo_entry *zoo = weft_model_zoo(&count);
    while (*index < count) {
        struct weft_error error;
        if (!weft_model_named(model, zoo[(*index)++].name, &arena, &error) ||
            !weft_model_set_batch(model, 3 * 64 * SERVERS, &error)) {
            fail_msg("%s", error.message);
        }
        if (model->operator_count <= OPERATORS_MAX) {
            return true;
        }
    }
    return false;
}

static struct weft_operator_cost time_of(const struct weft_model *model, uint32_t op,
                                         struct weft_split split,
                                         const struct weft_cost_options *options)
{
    struct weft_operator_cost cost;
    struct weft_error error;
    if (!weft_operator_time(&cost, model, op, split, options, &error)) {
        fail_msg("%s: %s", model->name, error.message);
    }
    return cost;
}

static void check_monotone(const struct weft_model *model, uint32_t op,
                           const struct weft_cost_options *options)
{
    struct weft_split_list list;
    struct weft_error error;
    assert_true(weft_operator_splits(&list, model, op, SERVERS, options,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
    for (uint32_t i = 0; i < list.count; i++) {
        struct weft_operator_cost few = time_of(model, op, list.splits[i], options);
        for (uint32_t j = 0; j < list.count; j++) {
            struct weft_operator_cost many = time_of(model, op, list.splits[j], options);
            bool finer = list.splits[j].sample_parts >= list.splits[i].sample_parts &&
                         list.splits[j].parameter_parts >= list.splits[i].parameter_parts;
            // A picosecond for rounding.
            if (finer &&
                (many.forward_ps > few.forward_ps + 1 || many.backward_ps > few.backward_ps + 1)) {
                fail_msg("%s: %s on %s: %ux%u parts are slower than %ux%u", model->name,
                         model->operators[op].spec.name, options->accelerator->name,
                         list.splits[j].sample_parts, list.splits[j].parameter_parts,
                         list.splits[i].sample_parts, list.splits[i].parameter_parts);
            }
        }
    }
}

static void more_parts_are_never_slower(void **state)
{
    (void)state;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error error;
    assert_true(weft_accelerator_named(&accelerator, "H100", &error));
    struct weft_cost_options options = {.accelerator = accelerator, .accelerators_per_server = 4};
    struct weft_arena kept = arena;
    struct weft_model model;
    uint32_t models = 0;
    for (uint32_t index = 0; next_model(&model, &index); arena = kept, models++) {
        for (uint32_t op = 0; op < model.operator_count; op++) {
            check_monotone(&model, op, &options);
        }
    }
    assert_true(models >= 10);
}

static void faster_accelerators_are_never_slower(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    struct weft_model model;
    static const char *const names[] = {"A100-40GB", "A100-80GB", "H100", "H200", "B200"};
    struct weft_split split = {SERVERS, 1};
    for (uint32_t index = 0; next_model(&model, &index); arena = kept) {
        for (uint32_t op = 0; op < model.operator_count; op++) {
            uint64_t last_ps = WEFT_NEVER;
            bool same = model.operators[op].spec.dtype != WEFT_FP8; // A100 lacks it
            for (size_t i = 0; same && i < sizeof names / sizeof names[0]; i++) {
                struct weft_cost_options options = {.accelerators_per_server = 4};
                struct weft_error error;
                assert_true(weft_accelerator_named(&options.accelerator, names[i], &error));
                struct weft_operator_cost cost = time_of(&model, op, split, &options);
                // More processors need more tiles: what leaves them idle runs up to 1.4 times as
                // long on an equal peak.
                assert_true((double)cost.forward_ps <= 1.4 * (double)last_ps);
                last_ps = cost.forward_ps;
            }
        }
    }
}

static void written_profiles_say_what_the_roofline_says(void **state)
{
    (void)state;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error error;
    assert_true(weft_accelerator_named(&accelerator, "H100", &error));
    struct weft_cost_options roofline = {.accelerator = accelerator, .accelerators_per_server = 4};
    struct weft_arena kept = arena;
    struct weft_model model;
    for (uint32_t index = 0; next_model(&model, &index); arena = kept) {
        struct weft_profile built;
        struct weft_profile read;
        if (!weft_profile_build(
                &built, &model, SERVERS, &roofline,
                &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error})) {
            fail_msg("%s", error.message);
        }
        const char *text = weft_profile_write(&built, &arena);
        if (!weft_profile_read(&read, text, strlen(text), &arena, &error)) {
            fail_msg("%s", error.message);
        }
        struct weft_cost_options measured = roofline;
        measured.profile = &read;
        for (uint32_t op = 0; op < model.operator_count; op++) {
            struct weft_split_list list;
            assert_true(
                weft_operator_splits(&list, &model, op, SERVERS, &measured,
                                     &(struct weft_environment){.arena = &arena, .error = &error}));
            for (uint32_t i = 0; i < list.count; i++) {
                struct weft_operator_cost a = time_of(&model, op, list.splits[i], &roofline);
                struct weft_operator_cost b = time_of(&model, op, list.splits[i], &measured);
                if (a.forward_ps != b.forward_ps || a.backward_ps != b.backward_ps) {
                    fail_msg("%s: %s: %ux%u", model.name, model.operators[op].spec.name,
                             list.splits[i].sample_parts, list.splits[i].parameter_parts);
                }
            }
        }
    }
}

// ---- memory ----

static void place_at_random(struct weft_placement *placements, const struct weft_model *model,
                            const struct weft_cost_options *options, struct weft_rng *rng)
{
    for (uint32_t op = 0; op < model->operator_count; op++) {
        struct weft_split_list list;
        struct weft_error error;
        assert_true(
            weft_operator_splits(&list, model, op, SERVERS, options,
                                 &(struct weft_environment){.arena = &arena, .error = &error}));
        struct weft_split split = list.splits[weft_rng_below(rng, list.count)];
        uint32_t parts = split.sample_parts * split.parameter_parts;
        uint32_t *servers = WEFT_NEW(&arena, uint32_t, parts);
        for (uint32_t i = 0; i < parts; i++) {
            servers[i] = weft_rng_below(rng, SERVERS);
        }
        placements[op] =
            (struct weft_placement){split.sample_parts, split.parameter_parts, servers};
    }
}

// Bytes of one server, part by part, as a search would add them up.
static double sum_parts(const struct weft_model *model, const struct weft_placement *placements,
                        uint32_t server, const struct weft_strategy_setting *setting)
{
    double bytes = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        const struct weft_placement *own = &placements[op];
        bool held[SERVERS] = {false}; // by parameter part
        for (uint32_t i = 0; i < own->sample_parts * own->parameter_parts; i++) {
            if (own->servers[i] != server || model->operators[op].spec.kind == WEFT_OP_INPUT) {
                continue;
            }
            struct weft_split split = {own->sample_parts, own->parameter_parts};
            struct weft_part_memory part = weft_part_memory(model, op, split, setting);
            double received = weft_part_received_bytes(model, placements, op, i, setting);
            assert_true(received >= 0 && received <= part.inputs_bytes * (1 + 1e-12));
            bytes += part.rows_bytes + part.outputs_bytes + received;
            if (!held[i % own->parameter_parts]) {
                held[i % own->parameter_parts] = true;
                bytes += part.parameters_bytes + part.gradients_bytes + part.optimizer_bytes;
            }
        }
    }
    return bytes;
}

static void memory_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_accelerator_named(&accelerator, "H100", &error));
    assert_true(weft_cluster_build(&cluster, SERVERS, 4, 1e9, &error));
    struct weft_arena kept = arena;
    struct weft_model model;
    for (uint32_t index = 0; next_model(&model, &index); arena = kept) {
        uint64_t seed = 20 + index;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct weft_strategy_setting setting = {
            .cost = {.accelerator = accelerator, .accelerators_per_server = 1 + index % 8},
            .optimizer = index % 3,
            .tables = index % 2,
        };
        struct weft_placement *placements =
            WEFT_NEW(&arena, struct weft_placement, model.operator_count);
        place_at_random(placements, &model, &setting.cost, &rng);
        struct weft_strategy strategy = {
            .kind = WEFT_STRATEGY_OPERATORS, .server_count = SERVERS, .placements = placements};
        if (!weft_strategy_memory(
                &strategy,
                &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                &arena, scratch, &error)) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        double most = 0;
        for (uint32_t server = 0; server < SERVERS; server++) {
            double want = sum_parts(&model, placements, server, &setting);
            double got = strategy.memory[server].total_bytes;
            most = fmax(most, got);
            if (fabs(got - want) > 1e-9 * want) {
                fail_msg("seed %llu: %s: server %u has %g bytes, its parts %g",
                         (unsigned long long)seed, model.name, server, got, want);
            }
        }
        assert_true(most == strategy.memory_max_bytes);
    }
}

int main(void)
{
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    assert_true(weft_arena_init(&scratch, 0, &error));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_parts_are_never_slower),
        cmocka_unit_test(faster_accelerators_are_never_slower),
        cmocka_unit_test(written_profiles_say_what_the_roofline_says),
        cmocka_unit_test(memory_is_the_sum_of_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
