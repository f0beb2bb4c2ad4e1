// SPDX-License-Identifier: Apache-2.0
// Plans: what both methods build passes every check, follows from the seed alone, and is never
// below its bound.

#include "check_plan.h"
#include "plan_cases.h"

#include <string.h>

static struct case_tasks list;

// One step of a hybrid job: embeddings sent all to all, compute, gradients reduced over all servers
// and over halves.
static struct weft_taskgraph make_graph(uint32_t n)
{
    memset(&list, 0, sizeof list);
    uint32_t *members = WEFT_NEW(&case_arena, uint32_t, (size_t)3 * n);
    for (uint32_t s = 0; s < n; s++) {
        members[s] = s;
        members[n + s / 2 + (s % 2) * ((n + 1) / 2)] = s; // evens, then odds
    }
    uint32_t make[64];
    uint32_t use[64];
    for (uint32_t s = 0; s < n; s++) {
        make[s] = case_compute(&list, s, 1000000000 + (uint64_t)s * 1000000);
        use[s] = case_compute(&list, s, 2000000000);
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (s != t) {
                uint32_t send = case_transfer(&list, s, t, 1000000 + 100000 * ((s * 7 + t) % 5));
                case_after(&list, make[s], send);
                case_after(&list, send, use[t]);
            }
        }
    }
    uint32_t all = case_allreduce(&list, members, n, 40000000);
    uint32_t evens = case_allreduce(&list, members + n, (n + 1) / 2, 20000000);
    uint32_t odds = case_allreduce(&list, members + n + (n + 1) / 2, n / 2, 20000000);
    for (uint32_t s = 0; s < n; s++) {
        case_after(&list, use[s], all);
        case_after(&list, use[s], s % 2 == 0 ? evens : odds);
    }
    return case_graph(&list, n);
}

struct draw {
    uint64_t seed;
    uint32_t threads;
};

static struct weft_plan *build(const struct weft_taskgraph *graph,
                               const struct weft_cluster *cluster, struct weft_plan_options options,
                               struct draw draw)
{
    struct weft_plan *plan = WEFT_NEW(&case_arena, struct weft_plan, 1);
    struct weft_error error;
    options.sim = (struct weft_sim_options){.packet_bytes = 9000, .header_bytes = 64, .seed = 3};
    if (!weft_plan_build(plan, graph, cluster, &options,
                         &(struct weft_environment){.arena = &case_arena,
                                                    .scratch = case_scratch,
                                                    .seed = draw.seed,
                                                    .threads = draw.threads,
                                                    .error = &error})) {
        fail_msg("%s", error.message);
    }
    return plan;
}

static int start(void **state)
{
    (void)state;
    case_arena = case_whole;
    return 0;
}

static void plans_of_both_methods_pass_every_check(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 11; n += 3) {
        for (uint32_t choice = 0; choice < 8; choice++) {
            case_arena = case_whole;
            struct weft_taskgraph graph = make_graph(n);
            uint32_t degree = 2 + choice % 2;
            degree = degree < n ? degree : n - 1;
            struct weft_cluster cluster = case_cluster(n, degree);
            struct weft_plan_options options = {.topology = {.method = choice / 2 % 2 == 0
                                                                           ? WEFT_TOPOLOGY_WEFT
                                                                           : WEFT_TOPOLOGY_TOPOOPT,
                                                             .simplex = choice / 4 == 1,
                                                             .seconds = 0.02}};
            const struct draw draw = {choice, 1};
            const struct weft_plan *plan = build(&graph, &cluster, options, draw);
            const struct weft_violation *violations;
            uint32_t count = check_plan(plan, &graph, &violations, &case_arena, case_scratch);
            if (count > 0) {
                fail_msg("n %u choice %u: %s", n, choice, violations[0].text);
            }
            assert_true(plan->certificate.lower_bound_s <= plan->iteration_s);
            assert_true(plan->demand_weighted_hops >= 1);
        }
    }
}

static void a_plan_follows_from_the_seed_whatever_the_threads(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8);
    struct weft_cluster cluster = case_cluster(8, 4);
    struct weft_plan_options options = {.topology = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 0.1}};
    const struct weft_plan *one = build(&graph, &cluster, options, (struct draw){5, 1});
    const struct weft_plan *three = build(&graph, &cluster, options, (struct draw){5, 3});
    assert_true(one->iteration_s == three->iteration_s);
    assert_memory_equal(one->topology.planes, three->topology.planes,
                        sizeof(uint32_t) * 8 * cluster.degree);
    assert_int_equal(one->network.routes.pair_first[64], three->network.routes.pair_first[64]);
}

static void weft_is_at_least_as_fast_as_the_paper(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(10);
    struct weft_cluster cluster = case_cluster(10, 4);
    struct weft_plan_options options = {.topology = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 0.3}};
    const struct weft_plan *weft = build(&graph, &cluster, options, (struct draw){1, 1});
    options.topology.method = WEFT_TOPOLOGY_TOPOOPT;
    const struct weft_plan *paper = build(&graph, &cluster, options, (struct draw){1, 1});
    assert_true(weft->iteration_s <= paper->iteration_s);
    assert_string_equal(weft_bound_scope_name(WEFT_BOUND_DIRECT_FABRIC), "direct-fabric");
}

static void wrong_inputs_are_refused(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(6);
    struct weft_cluster cluster = case_cluster(8, 2);
    struct weft_plan_options options = {.topology = {.seconds = 0.01}};
    struct weft_plan plan;
    struct weft_error error;
    assert_false(weft_plan_build(&plan, &graph, &cluster, &options,
                                 &(struct weft_environment){.arena = &case_arena,
                                                            .scratch = case_scratch,
                                                            .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "6 servers"));
    memset(&list, 0, sizeof list);
    graph = case_graph(&list, 8);
    assert_false(weft_plan_build(&plan, &graph, &cluster, &options,
                                 &(struct weft_environment){.arena = &case_arena,
                                                            .scratch = case_scratch,
                                                            .error = &error}));
    assert_non_null(strstr(error.message, "no tasks"));
}

static void every_fabric_gets_a_row(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8);
    struct weft_cluster cluster = case_cluster(8, 3);
    struct weft_comparison_log log = {.count = 0};
    struct weft_plan_options options = {.topology = {.seconds = 0.02},
                                        .sim = {.packet_bytes = 9000, .header_bytes = 64},
                                        .log = &log};
    const struct weft_comparison *rows;
    uint32_t count;
    struct weft_error error;
    if (!weft_plan_compare(&rows, &count, &graph, &cluster, &options,
                           &(struct weft_environment){.seed = 1,
                                                      .threads = 1,
                                                      .arena = &case_arena,
                                                      .scratch = case_scratch,
                                                      .error = &error})) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(rows[count - 1].name, "weft");
    assert_string_equal(rows[count - 2].name, "topoopt");
    assert_string_equal(rows[count - 3].name, "ocs-reconfig");
    double least_s = rows[count - 1].iteration_s;
    uint64_t told = 0; // rows but the plan's, which ends the comparison, as they came
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].why_not != NULL) {
            continue;
        }
        if (i + 1 < count) {
            assert_true(told < log.count);
            assert_string_equal(log.rows[told].name, rows[i].name);
            assert_true(log.rows[told++].iteration_s == rows[i].iteration_s);
        }
        least_s = rows[i].iteration_s < least_s ? rows[i].iteration_s : least_s;
        assert_true(rows[i].iteration_s > 0.003 && rows[i].cost_usd > 0);
        assert_true(rows[i].bandwidth_tax_ratio >= 1 - 1e-9 && rows[i].max_hops >= 1);
        if (strcmp(rows[i].name, "ideal") == 0) {
            assert_true(rows[i].ratio_to_ideal == 1.0 && rows[i].bandwidth_tax_ratio < 1 + 1e-9);
        }
    }
    assert_true(least_s > 0);
    assert_int_equal(told, log.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(plans_of_both_methods_pass_every_check, start),
        cmocka_unit_test_setup(a_plan_follows_from_the_seed_whatever_the_threads, start),
        cmocka_unit_test_setup(weft_is_at_least_as_fast_as_the_paper, start),
        cmocka_unit_test_setup(wrong_inputs_are_refused, start),
        cmocka_unit_test_setup(every_fabric_gets_a_row, start),
    };
    return cmocka_run_group_tests_name("plan_build", tests, case_open, case_close);
}
