// SPDX-License-Identifier: Apache-2.0
// How well the search's estimate ranks strategies for which the network is still to be planned:
// strategies of CANDLE-16 (roofline) from searches of different lengths, each with a planned
// network of its own, played by the flow engine. Spearman's rank correlation must stay above 0.6.
//
// Mutation that made this test fail (it was run): every group gets all ports of its servers.

#include "../unit/strategy_net.h"

#include "weft/plan.h"

#include <math.h>
#include <stdlib.h>

#define SERVERS 16u
#define SEEDS 4u
#define LENGTHS 4u
#define PLAN_SECONDS 1.0

static const uint64_t lengths[LENGTHS] = {100, 400, 1500, 10000};

static struct weft_arena arena_kept, scratch_kept;

static double planned_ms(const struct weft_strategy *strategy, const struct weft_model *model,
                         const struct weft_cluster *cluster,
                         const struct weft_strategy_setting *setting, struct weft_arena arena)
{
    struct weft_taskgraph graph;
    struct weft_plan *plan = WEFT_NEW(&arena, struct weft_plan, 1);
    struct weft_error error;
    struct weft_plan_options options = {
        .topology = {.method = WEFT_TOPOLOGY_WEFT, .seconds = PLAN_SECONDS},
        .sim = {.packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = true, .seed = 1}};
    if (!weft_strategy_taskgraph(
            &graph, strategy,
            &(struct weft_study){.model = model, .cluster = cluster, .setting = setting}, &arena,
            scratch_kept, &error) ||
        !weft_plan_build(plan, &graph, cluster, &options,
                         &(struct weft_environment){.arena = &arena,
                                                    .scratch = scratch_kept,
                                                    .seed = 1,
                                                    .threads = 2,
                                                    .error = &error})) {
        fail_msg("%s", error.message);
    }
    return plan->iteration_s * 1e3;
}

static double mean_rank(const double *values, uint32_t count, uint32_t of)
{
    double rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        rank += values[i] < values[of] ? 1 : values[i] == values[of] ? 0.5 : 0;
    }
    return rank;
}

static double rank_correlation(const double *a, const double *b, uint32_t count)
{
    double products = 0;
    double squares_a = 0;
    double squares_b = 0;
    for (uint32_t i = 0; i < count; i++) {
        double x = mean_rank(a, count, i) - count / 2.0;
        double y = mean_rank(b, count, i) - count / 2.0;
        products += x * y;
        squares_a += x * x;
        squares_b += y * y;
    }
    return products / sqrt(squares_a * squares_b);
}

static void estimates_rank_as_planned_networks_do(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model;
    struct weft_error error;
    struct weft_cluster cluster = net_cluster(SERVERS, 4);
    struct weft_strategy_setting setting = net_setting();
    double estimates_ms[SEEDS * LENGTHS];
    double planned[SEEDS * LENGTHS];
    uint32_t count = 0;
    if (!weft_model_named(&model, "candle-16", &arena, &error)) {
        fail_msg("%s", error.message);
    }
    for (uint32_t i = 0; i < SEEDS * LENGTHS; i++) {
        struct weft_arena room = arena;
        struct weft_search_options options = {.method =
                                                  i % 3 == 0 ? WEFT_SEARCH_MCMC : WEFT_SEARCH_WEFT,
                                              .evaluations = lengths[i % LENGTHS],
                                              .seed = i + 1,
                                              .threads = 2};
        struct weft_search_result result;
        if (!weft_strategy_search(
                &result,
                &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                &options, &room, scratch_kept, &error)) {
            fail_msg("%s", error.message);
        }
        estimates_ms[count] = (double)result.candidates[0].estimate_ps / 1e9;
        planned[count] =
            planned_ms(&result.candidates[0].strategy, &model, &cluster, &setting, room);
        print_message("estimate %8.2f ms, planned %8.2f ms\n", estimates_ms[count], planned[count]);
        count++;
    }
    double correlation = rank_correlation(estimates_ms, planned, count);
    print_message("rank correlation %.3f over %u strategies\n", correlation, count);
    assert_true(correlation > 0.6);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_rank_as_planned_networks_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
