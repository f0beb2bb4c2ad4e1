// SPDX-License-Identifier: Apache-2.0
// Plans whose collectives do not all run as rings: chosen, played, written, read and checked.
//
// Mutations that made these tests fail (each was run): a task that keeps its bytes beside its
// transfers; successors that do not wait for the transfers; ranks in the group's order where the
// ring's is chosen; a candidate taken although it is slower; bounds on balanced members kept where
// a tree's root moves less.

#include "check_plan.h"
#include "plan_cases.h"

#include "weft/format.h"

#include <math.h>
#include <string.h>

static struct case_tasks list;

// Compute, then AllReduces of all servers: a small one and a large one; then compute.
static struct weft_taskgraph make_graph(uint32_t n, uint64_t small_bytes, uint64_t large_bytes)
{
    memset(&list, 0, sizeof list);
    uint32_t *members = WEFT_NEW(&case_arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        members[s] = s;
    }
    uint32_t small = case_allreduce(&list, members, n, small_bytes);
    uint32_t large = case_allreduce(&list, members, n, large_bytes);
    list.tasks[small].runtime_ps = 7000000;
    case_after(&list, small, large);
    for (uint32_t s = 0; s < n; s++) {
        case_after(&list, case_compute(&list, s, 1000000), small);
        case_after(&list, large, case_compute(&list, s, 2000000));
    }
    return case_graph(&list, n);
}

static struct weft_plan *build(const struct weft_taskgraph *graph,
                               const struct weft_cluster *cluster,
                               enum weft_plan_collectives collectives, uint32_t threads)
{
    struct weft_plan *plan = WEFT_NEW(&case_arena, struct weft_plan, 1);
    struct weft_error error;
    const struct weft_plan_options options = {
        .topology = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 0.02},
        .sim = {.packet_bytes = 9000, .header_bytes = 64, .seed = 3},
        .collectives = collectives,
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

static uint32_t violations_of(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                              const char *wanted)
{
    const struct weft_violation *violations;
    uint32_t count = check_plan(plan, graph, &violations, &case_arena, case_scratch);
    for (uint32_t i = 0; i < count; i++) {
        if (wanted != NULL && strstr(violations[i].text, wanted) != NULL) {
            return 1;
        }
        if (wanted == NULL) {
            print_message("%s\n", violations[i].text);
        }
    }
    return wanted == NULL ? count : 0;
}

static int start(void **state)
{
    (void)state;
    case_arena = case_whole;
    return 0;
}

// On slow links' latency a ring of 2 (n - 1) rounds is what costs.
static struct weft_cluster slow_cluster(uint32_t n)
{
    struct weft_cluster cluster = case_cluster(n, 4);
    cluster.latency_ps = 20000000;
    return cluster;
}

static void small_collectives_leave_their_rings(void **state)
{
    (void)state;
    for (uint32_t n = 6; n <= 16; n += 5) {
        case_arena = case_whole;
        struct weft_taskgraph graph = make_graph(n, 200000, 400000000);
        struct weft_cluster cluster = slow_cluster(n);
        const struct weft_plan *rings = build(&graph, &cluster, WEFT_PLAN_RINGS, 1);
        const struct weft_plan *best = build(&graph, &cluster, WEFT_PLAN_BEST, 1);
        assert_int_equal(rings->collective_count, 0);
        assert_true(best->collective_count > 0);
        assert_true(best->iteration_s < rings->iteration_s - (n - 3) * 20e-6);
        assert_true(best->certificate.lower_bound_s <= best->iteration_s);
        assert_int_equal(violations_of(rings, &graph, NULL), 0);
        assert_int_equal(violations_of(best, &graph, NULL), 0);
    }
}

static void rings_stay_where_bytes_are_all(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8, 400000000, 400000000);
    struct weft_cluster cluster = case_cluster(8, 2);
    const struct weft_plan *rings = build(&graph, &cluster, WEFT_PLAN_RINGS, 1);
    const struct weft_plan *best = build(&graph, &cluster, WEFT_PLAN_BEST, 1);
    assert_true(best->iteration_s <= rings->iteration_s);
    assert_true(best->iteration_s > rings->iteration_s * 0.999);
    assert_int_equal(violations_of(best, &graph, NULL), 0);
}

static void threads_and_files_change_nothing(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(9, 200000, 4000000);
    struct weft_cluster cluster = slow_cluster(9);
    const struct weft_plan *plan = build(&graph, &cluster, WEFT_PLAN_BEST, 1);
    const char *text = weft_plan_write(plan, &case_arena);
    assert_string_equal(text,
                        weft_plan_write(build(&graph, &cluster, WEFT_PLAN_BEST, 3), &case_arena));
    struct weft_plan *read = WEFT_NEW(&case_arena, struct weft_plan, 1);
    struct weft_error error;
    if (!weft_plan_read(read, text, strlen(text), &case_arena, case_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(read->collective_count, plan->collective_count);
    assert_string_equal(text, weft_plan_write(read, &case_arena));
    assert_int_equal(violations_of(read, &graph, NULL), 0);
}

static void false_choices_are_found(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8, 200000, 4000000);
    struct weft_cluster cluster = slow_cluster(8);
    struct weft_plan *plan = build(&graph, &cluster, WEFT_PLAN_BEST, 1);
    assert_true(plan->collective_count > 0);
    const struct weft_collective_choice made = plan->collectives[0];
    const struct {
        const char *wanted;
        struct weft_collective_choice choice;
    } cases[] = {
        {"group 9 has no collective",
         {9, made.size_min_bytes, made.size_max_bytes, made.algorithm, 1, false, made.seconds}},
        {"no collective of these sizes", {0, 1, 2, made.algorithm, 1, false, made.seconds}},
        {"cannot do", {0, 0, UINT64_MAX, WEFT_ALGORITHM_STAGED, 1, false, made.seconds}},
        {"iteration_s is stated as",
         {0, 0, UINT64_MAX, WEFT_ALGORITHM_BINOMIAL_TREE, 1, false, made.seconds}},
        {"collectives[0]: seconds",
         {0, made.size_min_bytes, made.size_max_bytes, made.algorithm, made.chunk_factor,
          made.ring_order, made.seconds * 1.01}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        plan->collectives = &cases[i].choice;
        plan->collective_count = 1;
        assert_int_equal(violations_of(plan, &graph, cases[i].wanted), 1);
    }
}

// ---- expansion ----

static struct weft_network network;

static double iteration_s(const struct weft_taskgraph *graph)
{
    struct weft_sim_result result;
    struct weft_error error;
    const struct weft_sim_job job = {.graph = graph, .rings = network.rings};
    if (!weft_sim_run_jobs(&result, &network, &job, 1, &(struct weft_sim_options){0},
                           &(struct weft_environment){
                               .arena = &case_arena, .scratch = case_scratch, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

// Both tasks take their closed forms, after what is inside servers and before what follows.
static void chosen_collectives_take_their_closed_forms(void **state)
{
    (void)state;
    uint32_t n = 12;
    struct weft_cluster cluster = case_cluster(n, 1);
    struct weft_error error;
    struct weft_taskgraph graph = make_graph(n, 240000, 1200000);
    assert_true(weft_fabric_build_ideal(&network, &cluster, NULL, &case_arena, &error));
    const struct weft_collective_choice choices[] = {
        {.size_max_bytes = 500000, .algorithm = WEFT_ALGORITHM_HALVING_DOUBLING, .chunk_factor = 1},
        {.size_max_bytes = UINT64_MAX, .algorithm = WEFT_ALGORITHM_DIRECT, .chunk_factor = 1},
    };
    struct weft_taskgraph expanded;
    if (!weft_taskgraph_expand(&expanded, &graph, choices, 2, &network,
                               &(struct weft_environment){.arena = &case_arena,
                                                          .scratch = case_scratch,
                                                          .error = &error})) {
        fail_msg("%s", error.message);
    }
    const struct weft_cost_model model = {.alpha_s = 2 * weft_seconds(cluster.latency_ps),
                                          .beta_s_per_byte = 1 / cluster.rate_Bps};
    const struct weft_algorithm_options options = {.rank_count = n};
    double wanted_s =
        10e-6 + weft_algorithm_seconds(WEFT_ALGORITHM_HALVING_DOUBLING, &options, 240000, &model) +
        weft_algorithm_seconds(WEFT_ALGORITHM_DIRECT, &options, 1200000, &model);
    double found_s = iteration_s(&expanded);
    assert_true(fabs(found_s / wanted_s - 1) < 1e-6);
    assert_int_equal(expanded.group_count, graph.group_count);
    // One of them alone: the other goes round its ring, as it would.
    if (!weft_taskgraph_expand(&expanded, &graph, choices, 1, &network,
                               &(struct weft_environment){.arena = &case_arena,
                                                          .scratch = case_scratch,
                                                          .error = &error})) {
        fail_msg("%s", error.message);
    }
    wanted_s += weft_algorithm_seconds(WEFT_ALGORITHM_RING, &options, 1200000, &model) -
                weft_algorithm_seconds(WEFT_ALGORITHM_DIRECT, &options, 1200000, &model);
    assert_true(fabs(iteration_s(&expanded) / wanted_s - 1) < 1e-6);
}

static void ranks_may_go_round_the_ring(void **state)
{
    (void)state;
    uint32_t n = 9;
    struct weft_cluster cluster = case_cluster(n, 2);
    struct weft_error error;
    struct weft_taskgraph graph = make_graph(n, 9000000, 9000000);
    assert_true(weft_fabric_build_ring(&network, &cluster, NULL, &case_arena, &error));
    // The group's order is 0, 1, ...: name a ring that jumps, and rank order must follow it.
    uint32_t members[9];
    for (uint32_t i = 0; i < n; i++) {
        members[i] = i * 2 % n;
    }
    const struct weft_ring ring = {
        .group = 0, .member_count = n, .members = members, .share_ratio = 1};
    network.rings = (struct weft_ring_set){1, &ring};
    struct weft_collective_choice choice = {
        .size_max_bytes = UINT64_MAX, .algorithm = WEFT_ALGORITHM_RING, .chunk_factor = 1};
    double seconds[2];
    for (int order = 0; order < 2; order++) {
        struct weft_taskgraph expanded;
        choice.ring_order = order == 1;
        assert_true(weft_taskgraph_expand(&expanded, &graph, &choice, 1, &network,
                                          &(struct weft_environment){.arena = &case_arena,
                                                                     .scratch = case_scratch,
                                                                     .error = &error}));
        seconds[order] = iteration_s(&expanded);
    }
    assert_true(seconds[1] > 1.8 * seconds[0]); // two links for each hop
    network.rings.ring_count = 0;
    struct weft_taskgraph expanded;
    assert_false(weft_taskgraph_expand(&expanded, &graph, &choice, 1, &network,
                                       &(struct weft_environment){.arena = &case_arena,
                                                                  .scratch = case_scratch,
                                                                  .error = &error}));
    assert_int_equal(error.code, WEFT_INPUT);
}

// Both rings carry half of the bytes; one that leaves the group, as of another job's plan, is told.
static void rings_of_a_group_share_its_bytes(void **state)
{
    (void)state;
    uint32_t n = 9;
    struct weft_cluster cluster = case_cluster(n, 2);
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = &case_arena, .scratch = case_scratch, .error = &error};
    struct weft_taskgraph graph = make_graph(n, 9000000, 9000000);
    assert_true(weft_fabric_build_ring(&network, &cluster, NULL, &case_arena, &error));
    uint32_t there[9];
    uint32_t back[9];
    for (uint32_t i = 0; i < n; i++) {
        there[i] = i;
        back[i] = n - 1 - i;
    }
    const struct weft_ring rings[] = {{.member_count = n, .members = there, .share_ratio = 0.5},
                                      {.member_count = n, .members = back, .share_ratio = 0.5}};
    struct weft_collective_choice choice = {.size_max_bytes = UINT64_MAX,
                                            .algorithm = WEFT_ALGORITHM_RING,
                                            .chunk_factor = 1,
                                            .ring_order = true};
    double seconds[2];
    network.rings = (struct weft_ring_set){2, rings};
    for (int all = 0; all < 2; all++) {
        struct weft_taskgraph expanded;
        choice.algorithm = all == 1 ? WEFT_ALGORITHM_MULTI_RING : WEFT_ALGORITHM_RING;
        assert_true(weft_taskgraph_expand(&expanded, &graph, &choice, 1, &network, &environment));
        seconds[all] = iteration_s(&expanded);
    }
    assert_true(seconds[1] < 0.6 * seconds[0]);
    const uint32_t strangers[] = {n, UINT32_MAX};
    for (int i = 0; i < 2; i++) {
        struct weft_taskgraph expanded;
        back[4] = strangers[i];
        assert_false(weft_taskgraph_expand(&expanded, &graph, &choice, 1, &network, &environment));
        assert_non_null(strstr(error.message, "none of its ranks"));
    }
}

// The roots of a double tree move less than members of a ring do: what assumes otherwise must go.
static void the_certificate_drops_what_a_tree_breaks(void **state)
{
    (void)state;
    struct weft_taskgraph graph = make_graph(8, 200000, 4000000);
    struct weft_cluster cluster = slow_cluster(8);
    struct weft_plan *plan = build(&graph, &cluster, WEFT_PLAN_BEST, 1);
    struct weft_collective_choice tree = {
        .size_max_bytes = UINT64_MAX, .algorithm = WEFT_ALGORITHM_BINOMIAL_TREE, .chunk_factor = 1};
    plan->collectives = &tree;
    plan->collective_count = 1;
    assert_int_equal(violations_of(plan, &graph, "does not hold for the collectives"), 1);
    tree.algorithm = WEFT_ALGORITHM_HALVING_DOUBLING;
    assert_int_equal(violations_of(plan, &graph, "does not hold for the collectives"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(small_collectives_leave_their_rings, start),
        cmocka_unit_test_setup(rings_stay_where_bytes_are_all, start),
        cmocka_unit_test_setup(threads_and_files_change_nothing, start),
        cmocka_unit_test_setup(false_choices_are_found, start),
        cmocka_unit_test_setup(chosen_collectives_take_their_closed_forms, start),
        cmocka_unit_test_setup(ranks_may_go_round_the_ring, start),
        cmocka_unit_test_setup(rings_of_a_group_share_its_bytes, start),
        cmocka_unit_test_setup(the_certificate_drops_what_a_tree_breaks, start),
    };
    return cmocka_run_group_tests(tests, case_open, case_close);
}
