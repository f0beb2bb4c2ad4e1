// SPDX-License-Identifier: Apache-2.0
// A model on photonic rails: given strategies and the planner's own, refusals with their reasons,
// and what every field of the plan says.

#include "weft/plan/rails.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_error error;

struct ground {
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    struct weft_study study;
};

static void prepare(struct ground *ground, const char *model, uint32_t servers, uint64_t batch)
{
    const struct weft_accelerator *h100 = NULL;
    assert_true(weft_cluster_build(&ground->cluster, servers, 8, 50e9, &error));
    ground->cluster.accelerators_per_server = 8;
    ground->cluster.accelerator = "H100";
    ground->cluster.accelerator_memory_bytes = 80e9;
    assert_true(weft_accelerator_named(&h100, "H100", &error));
    assert_true(weft_model_named(&ground->model, model, &arena, &error));
    assert_true(weft_model_set_batch(&ground->model, batch, &error));
    ground->setting = (struct weft_strategy_setting){
        .cost = {.accelerator = h100, .accelerators_per_server = 8},
        .optimizer = WEFT_ADAM,
        .memory_limit_bytes = 80e9,
        .inside_Bps = h100->link_Bps * h100->link_efficiency,
    };
    ground->study = (struct weft_study){
        .model = &ground->model, .cluster = &ground->cluster, .setting = &ground->setting};
}

static bool plan(struct weft_moving_plan *found, const struct ground *ground, const char *given,
                 uint64_t dark_ps)
{
    struct weft_strategy strategy = {.kind = WEFT_STRATEGY_HYBRID,
                                     .server_count = ground->cluster.server_count};
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .threads = 1, .error = &error};
    if (given != NULL) {
        assert_true(
            weft_hybrid_parse(&strategy.hybrid, given, ground->cluster.server_count * 8, &error));
    }
    const struct weft_moving_options options = {
        .delays = {.dark_ps = dark_ps}, .given = given != NULL ? &strategy : NULL, .seconds = 2};
    return weft_rails_plan(found, &ground->study, &options, &environment);
}

static void check_plan(const struct weft_moving_plan *found, const struct ground *ground)
{
    uint64_t nics = (uint64_t)ground->cluster.server_count * 8;
    const struct weft_circuit_schedule *schedule = &found->schedule;
    assert_int_equal(found->fabric, WEFT_MOVING_RAILS);
    assert_true(found->iteration_s >= found->still_s && found->still_s > 0);
    assert_true(found->certificate.lower_bound_s > 0);
    assert_true(found->certificate.lower_bound_s <= found->iteration_s * (1 + 1e-9));
    assert_true(fabs(found->iteration_s / found->certificate.lower_bound_s - 1 -
                     found->certificate.gap_ratio) < 1e-9);
    assert_true(found->parts.nics == nics && found->parts.transceivers == nics);
    assert_true(found->parts.ocs_ports == nics * schedule->plane_count);
    assert_true(found->cost.total_usd > 0 && found->cost.power_watts > 0);
    assert_false(found->estimate);
    assert_non_null(found->strategy.memory);
    assert_int_equal(schedule->node_count, ground->cluster.server_count);
    assert_true(fabs(weft_seconds(schedule->end_ps) - found->iteration_s) < 1e-9);
    bool taken[64];
    for (uint32_t c = 0; c < schedule->change_count; c++) {
        memset(taken, 0, sizeof taken);
        for (uint32_t i = 0; i < schedule->node_count; i++) {
            uint32_t to = schedule->changes[c].peers[i];
            assert_true(to < schedule->node_count && (to == i || !taken[to]));
            taken[to] |= to != i; // who sends to nobody may receive
        }
    }
}

static void given_strategies_are_replayed(void **state)
{
    (void)state;
    static const char *const strategies[] = {"tp=8,pp=4,micro=1,zero=1", "tp=4,pp=4,micro=1,zero=1",
                                             "tp=8,pp=2,micro=1,zero=3",
                                             "tp=8,pp=1,micro=1,zero=1"};
    struct ground ground;
    prepare(&ground, "llama3-8b", 16, 128);
    for (uint32_t s = 0; s < 4; s++) {
        struct weft_moving_plan still;
        struct weft_moving_plan dark;
        assert_true(plan(&still, &ground, strategies[s], 0));
        assert_true(plan(&dark, &ground, strategies[s], 25000000000));
        check_plan(&still, &ground);
        check_plan(&dark, &ground);
        assert_true(still.iteration_s <= dark.iteration_s * (1 + 1e-9));
        assert_true(fabs(still.iteration_s - still.still_s) < 1e-9);
    }
}

static void the_planner_finds_its_own(void **state)
{
    (void)state;
    struct ground ground;
    struct weft_moving_plan found;
    struct weft_moving_plan given;
    prepare(&ground, "llama3-8b", 16, 128);
    assert_true(plan(&found, &ground, NULL, 25000000000));
    check_plan(&found, &ground);
    assert_true(plan(&given, &ground, "tp=8,pp=4,micro=1,zero=1", 25000000000));
    assert_true(found.iteration_s <= given.iteration_s);
    prepare(&ground, "mixtral-8x7b", 16, 128);
    assert_true(plan(&given, &ground, "tp=8,pp=2,ep=4,micro=1,zero=1", 25000000000));
    check_plan(&given, &ground);
    assert_true(given.change_count > 0 && given.dark_share > 0);
}

// Bytes of all transfers, and of all collectives.
static void count_bytes(double bytes[2], const struct weft_taskgraph *graph)
{
    bytes[0] = bytes[1] = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bytes[weft_task_is_collective(graph, t)] += (double)graph->size_bytes[t];
    }
}

// One rail by itself takes as long as all of them, and has its share of their bytes. Mutations that
// made it fail: collectives keep all of their bytes; tasks of the second place instead of none.
static void one_rail_stands_for_all(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        uint32_t rails;
    } cases[] = {{"tp=8,pp=4,micro=1,zero=1", 1},
                 {"tp=4,pp=4,micro=1,zero=1", 2},
                 {"tp=2,pp=2,micro=1,zero=3", 4},
                 {"tp=4,pp=1,micro=2,zero=1", 2}};
    struct ground ground;
    prepare(&ground, "llama3-8b", 16, 128);
    for (uint32_t c = 0; c < 4; c++) {
        struct weft_moving_plan found;
        struct weft_taskgraph whole;
        struct weft_rail_result run;
        double bytes[2][2];
        const struct weft_environment environment = {
            .arena = &arena, .scratch = scratch, .threads = 1, .error = &error};
        assert_true(plan(&found, &ground, cases[c].strategy, 25000000000));
        const struct weft_rail_alone *alone = found.alone;
        assert_null(alone->why_not);
        assert_int_equal(alone->rail_count, cases[c].rails);
        const struct weft_rail_options options = {
            .mode = WEFT_RAIL_BEST,
            .delays = {.dark_ps = 25000000000},
            .rate_Bps = alone->rate_Bps,
            .ports = alone->port_count,
            .latency_ps = alone->latency_ps,
            .places = 1,
        };
        assert_true(weft_rail_run(&run, &alone->graph, &options, &environment));
        assert_true(fabs(weft_seconds(run.iteration_ps) / found.iteration_s - 1) < 1e-6);
        assert_true(weft_strategy_taskgraph(&whole, &found.strategy, &ground.study, &arena, scratch,
                                            &error));
        count_bytes(bytes[0], &whole);
        count_bytes(bytes[1], &alone->graph);
        for (uint32_t k = 0; k < 2; k++) {
            double share = bytes[0][k] / cases[c].rails;
            assert_true(fabs(bytes[1][k] - share) <= 1e-6 * share);
        }
    }
}

// A switch joins ports of fewer servers than each has ports.
static void few_servers_have_plans(void **state)
{
    (void)state;
    struct ground ground;
    struct weft_moving_plan found;
    prepare(&ground, "llama3-8b", 4, 32);
    assert_true(plan(&found, &ground, "tp=8,pp=2,micro=1,zero=1", 1000000000));
    check_plan(&found, &ground);
}

static void stages_inside_servers_have_no_rail_alone(void **state)
{
    (void)state;
    struct ground ground;
    struct weft_moving_plan found;
    prepare(&ground, "llama3-8b", 16, 128);
    assert_true(plan(&found, &ground, "tp=4,pp=2,micro=1,zero=1,order=tpcd", 0));
    assert_non_null(strstr(found.alone->why_not, "wait for each other"));
}

static void what_leaves_its_rails_is_refused(void **state)
{
    (void)state;
    struct ground ground;
    struct weft_moving_plan found = {.iteration_s = 7};
    prepare(&ground, "llama3-8b", 16, 128);
    assert_false(plan(&found, &ground, "tp=16,pp=4,micro=1,zero=1", 0));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "tensor groups of 16"));
    // Three of eight places for a pipeline of six stages: sends change their place.
    prepare(&ground, "llama3-8b", 12, 96);
    assert_false(plan(&found, &ground, "tp=1,pp=3,micro=1,zero=1,order=tpcd", 0));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "leave their rail"));
    assert_true(found.iteration_s == 7);
}

int main(void)
{
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_strategies_are_replayed),
        cmocka_unit_test(the_planner_finds_its_own),
        cmocka_unit_test(one_rail_stands_for_all),
        cmocka_unit_test(few_servers_have_plans),
        cmocka_unit_test(stages_inside_servers_have_no_rail_alone),
        cmocka_unit_test(what_leaves_its_rails_is_refused),
    };
    return cmocka_run_group_tests_name("rails_plan", tests, NULL, NULL);
}
