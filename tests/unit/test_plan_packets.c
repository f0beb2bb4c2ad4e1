// SPDX-License-Identifier: Apache-2.0
// Plans whose last candidates packets have evaluated: the best by packets is the plan, and its file
// says who decided.
//
// Mutations that made these tests fail (each was run): packets_evaluate that returns its first
// finalist; that evaluates whatever the effort is; that goes on behind QUICKER_RATIO; a plan that
// keeps the flow engine's time; a writer without "engine"; a search that keeps nothing back.

#include "plan_cases.h"

#include "plan/design/method.h"
#include "plan/design/packets.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

static struct case_tasks list;
static struct weft_packet_options packet;

static int start(void **state)
{
    (void)state;
    case_arena = case_whole;
    return 0;
}

static struct weft_sim_options flow_sim(void)
{
    return (struct weft_sim_options){.packet_bytes = 9000, .header_bytes = 64, .seed = 3};
}

static struct weft_sim_options packet_sim(void)
{
    struct weft_sim_options sim = flow_sim();
    weft_sim_as_recorded(&sim, &packet);
    return sim;
}

// Every server sends to the next but one and to server 0, where queues grow; then all reduce.
static struct weft_taskgraph make_graph(uint32_t n)
{
    memset(&list, 0, sizeof list);
    uint32_t *members = WEFT_NEW(&case_arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        members[s] = s;
    }
    uint32_t reduce = case_allreduce(&list, members, n, 4000000);
    for (uint32_t s = 0; s < n; s++) {
        uint32_t first = case_compute(&list, s, 1000000);
        uint32_t next = case_transfer(&list, s, (s + 2) % n, 3000000);
        case_after(&list, first, next);
        case_after(&list, next, reduce);
        if (s > 0) {
            uint32_t incast = case_transfer(&list, s, 0, 2000000);
            case_after(&list, first, incast);
            case_after(&list, incast, reduce);
        }
    }
    return case_graph(&list, n);
}

static struct weft_plan *build(const struct weft_taskgraph *graph,
                               const struct weft_cluster *cluster,
                               const struct weft_sim_options *last_sim, uint32_t threads)
{
    struct weft_plan *plan = WEFT_NEW(&case_arena, struct weft_plan, 1);
    struct weft_error error;
    const struct weft_plan_options options = {
        .topology = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 0.1},
        .sim = flow_sim(),
        .last_sim = last_sim,
    };
    if (!weft_plan_build(plan, graph, cluster, &options,
                         &(struct weft_environment){.seed = 5,
                                                    .threads = threads,
                                                    .arena = &case_arena,
                                                    .scratch = case_scratch,
                                                    .error = &error})) {
        fail_msg("%s", error.message);
    }
    return plan;
}

static double play(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                   const struct weft_sim_options *sim)
{
    struct weft_sim_result result;
    struct weft_error error;
    const struct weft_sim_job job = {graph, NULL, plan->network.rings, NULL};
    if (!weft_sim_run_jobs(&result, &plan->network, &job, 1, sim,
                           &(struct weft_environment){
                               .arena = &case_arena, .scratch = case_scratch, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

// Several designs are played, and the plan has the times of both engines.
static void packets_have_the_last_word(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8);
    struct weft_cluster cluster = case_cluster(8, 4);
    struct weft_sim_options last = packet_sim();
    struct weft_sim_options first = flow_sim();
    const struct weft_plan *plan = build(&graph, &cluster, &last, 1);
    assert_true(plan->finals.count > 1);
    assert_int_equal(plan->sim.engine, WEFT_ENGINE_PACKET);
    assert_true(plan->iteration_s == play(plan, &graph, &last));
    assert_true(plan->finals.flow_s == play(plan, &graph, &first));
    assert_true(plan->iteration_s > plan->finals.flow_s);
    const struct weft_plan *fluid = build(&graph, &cluster, NULL, 1);
    assert_int_equal(fluid->finals.count, 0);
    assert_int_equal(fluid->sim.engine, WEFT_ENGINE_FLOW);
    assert_true(fluid->iteration_s == play(fluid, &graph, &first));
}

static void threads_and_files_change_nothing(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(7);
    struct weft_cluster cluster = case_cluster(7, 4);
    struct weft_sim_options last = packet_sim();
    const struct weft_plan *plan = build(&graph, &cluster, &last, 1);
    const char *text = weft_plan_write(plan, &case_arena);
    assert_string_equal(text, weft_plan_write(build(&graph, &cluster, &last, 3), &case_arena));
    assert_non_null(strstr(text, "\"engine\": \"packet\""));
    struct weft_plan *read = WEFT_NEW(&case_arena, struct weft_plan, 1);
    struct weft_error error;
    if (!weft_plan_read(read, text, strlen(text), &case_arena, case_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(text, weft_plan_write(read, &case_arena));
    assert_int_equal(read->finals.count, plan->finals.count);
    assert_true(play(read, &graph, &read->sim) == plan->iteration_s);
    const char *fluid = weft_plan_write(build(&graph, &cluster, NULL, 1), &case_arena);
    assert_null(strstr(fluid, "\"engine\""));
}

// Two designs: the paper's topology, and the same with its ports in another order would be alike,
// so that the second one is a search's.
static void finalists_are_ranked_by_packets(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8);
    struct weft_cluster cluster = case_cluster(8, 4);
    struct weft_sim_options last = packet_sim();
    const struct weft_plan_options options = {.sim = flow_sim(), .last_sim = &last};
    struct weft_error error;
    const struct weft_environment environment = {
        .seed = 5, .threads = 1, .arena = &case_arena, .scratch = case_scratch, .error = &error};
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, &graph, &case_arena, case_scratch);
    struct search search = method_open(&graph, &traffic, &cluster, &options, &environment);
    struct search packets = packets_open(&search, &options);
    struct weft_design paper;
    struct scored_design found;
    assert_int_equal(method_paper_design(&paper, &search, &case_arena, case_scratch), 1);
    assert_true(method_search(&found, &search, 0.1, NULL, &case_arena, case_scratch));
    double paper_s = search_evaluate(&packets, &paper, false, case_scratch).iteration_s;
    struct score good = search_evaluate(&packets, &found.design, false, case_scratch);
    assert_true(good.iteration_s < paper_s * 0.99);
    // Whatever the flow engine is said to have thought of them.
    struct finalist two[2] = {{.search = packets, .design = paper, .flow = {1e-6, 0}},
                              {.search = packets, .design = found.design, .flow = {2e-6, 0}}};
    uint32_t count = 0;
    assert_int_equal(packets_evaluate(two, 2, HUGE_VAL, &count), 1);
    assert_int_equal(count, 2);
    assert_true(two[1].score.iteration_s == good.iteration_s);
    // Without effort only the first is evaluated.
    assert_int_equal(packets_evaluate(two, 2, 1, &count), 0);
    assert_int_equal(count, 1);
    // One that the flow engine sees too far behind cannot win.
    two[1].flow.iteration_s = paper_s * 1.1;
    assert_int_equal(packets_evaluate(two, 2, HUGE_VAL, &count), 0);
    assert_int_equal(count, 1);
    // A search that was stopped leaves the flow engine's word.
    weft_atomic_bool stopped = true;
    two[0].search.stop = &stopped;
    assert_int_equal(packets_evaluate(two, 1, HUGE_VAL, &count), WEFT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(packets_have_the_last_word, start),
        cmocka_unit_test_setup(threads_and_files_change_nothing, start),
        cmocka_unit_test_setup(finalists_are_ranked_by_packets, start),
    };
    return cmocka_run_group_tests_name("plans by packets", tests, case_open, case_close);
}
