// SPDX-License-Identifier: Apache-2.0
// Strategies of the operators space: their task graphs on small cases counted by hand, what is
// refused, and what the searches promise.

#include "strategy/search/starts.h"
#include "strategy_net.h"

#include <stdlib.h>

static struct weft_arena arena_kept, scratch_kept;

// ---- starts ----

// Three branches of four equal layers on two blocks of two servers: strips of six, the second
// branch cut in the middle, what follows on all. Mutation: whole branches (two on one block).
static void branches_are_cut_into_strips(void **state)
{
    struct weft_arena arena = arena_kept;
    (void)state;
    struct net net = {0};
    uint32_t ends[3];
    uint32_t layers[3][4];
    for (uint32_t b = 0; b < 3; b++) {
        uint32_t last = net_add(&net, WEFT_OP_INPUT, 64, 0, NULL);
        for (uint32_t i = 0; i < 4; i++) {
            last = layers[b][i] = net_after(&net, WEFT_OP_DENSE, 64, last);
        }
        ends[b] = last;
    }
    uint32_t all = net_add(&net, WEFT_OP_CONCAT, 0, 3, ends);
    uint32_t top = net_after(&net, WEFT_OP_DENSE, 8, all);
    struct weft_model model = net_build(&net, 64, &arena);
    struct weft_cluster cluster = net_cluster(4, 2);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy_space *space;
    struct weft_strategy strategy;
    struct weft_error error;
    assert_true(weft_strategy_space_build(&space, NET_STUDY, &arena, scratch_kept, &error));
    assert_true(weft_strategy_branches(&strategy, space, 2, true, &arena, scratch_kept));
    for (uint32_t i = 0; i < 12; i++) {
        const struct weft_placement *place = &strategy.placements[layers[i / 4][i % 4]];
        assert_int_equal(place->sample_parts, 2);
        assert_int_equal(place->servers[0], i / 6);
        assert_int_equal(place->servers[1], i / 6 + 2);
    }
    assert_int_equal(strategy.placements[top].sample_parts, 4);
}

// ---- task graphs ----

static uint32_t count_kind(const struct weft_taskgraph *graph, enum weft_task_kind kind)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        count += graph->kind[t] == kind;
    }
    return count;
}

static uint64_t moved_bytes(const struct weft_taskgraph *graph, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool between = graph->from[t] == from && graph->to[t] == to;
        sum += graph->kind[t] == WEFT_TASK_TRANSFER && between ? graph->size_bytes[t] : 0;
    }
    return sum;
}

static struct weft_taskgraph graph_of(const struct weft_model *model,
                                      const struct weft_cluster *cluster,
                                      const struct weft_strategy_setting *setting,
                                      const struct weft_placement *placements,
                                      struct weft_arena *arena)
{
    struct weft_taskgraph graph;
    struct weft_error error;
    struct weft_strategy strategy = {.kind = WEFT_STRATEGY_OPERATORS,
                                     .server_count = cluster->server_count,
                                     .placements = placements};
    if (!weft_strategy_taskgraph(
            &graph, &strategy,
            &(struct weft_study){.model = model, .cluster = cluster, .setting = setting}, arena,
            scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
    return graph;
}

// input [8] -> a: 16 units -> b: 4 units, 8 samples of FP32.
static struct weft_model two_layers(struct weft_arena *arena)
{
    struct net net = {0};
    uint32_t input = net_add(&net, WEFT_OP_INPUT, 8, 0, NULL);
    uint32_t a = net_after(&net, WEFT_OP_DENSE, 16, input);
    net_after(&net, WEFT_OP_DENSE, 4, a);
    return net_build(&net, 8, arena);
}

static void parts_that_share_elements_are_joined(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = two_layers(&arena);
    struct weft_cluster cluster = net_cluster(4, 2);
    struct weft_strategy_setting setting = net_setting();
    // a: two halves of the samples times two halves of the units; b: two halves of the units.
    const struct weft_placement placements[] = {
        {1, 1, (uint32_t[]){0}}, {2, 2, (uint32_t[]){0, 1, 2, 3}}, {1, 2, (uint32_t[]){0, 1}}};
    struct weft_taskgraph graph = graph_of(&model, &cluster, &setting, placements, &arena);
    assert_int_equal(count_kind(&graph, WEFT_TASK_FORWARD), 6);
    assert_int_equal(count_kind(&graph, WEFT_TASK_BACKWARD), 6);
    // Each part of b reads all of a: 4 samples x 8 units x 4 bytes from each part of a.
    assert_int_equal(count_kind(&graph, WEFT_TASK_TRANSFER), 2 * (8 - 2));
    assert_int_equal(moved_bytes(&graph, 2, 0), 128);
    assert_int_equal(moved_bytes(&graph, 0, 2), 128);       // its gradient, in part
    assert_int_equal(moved_bytes(&graph, 0, 1), 128 + 128); // to b's part 1, and back from 0
    // Kernel and bias of each half: of a over two servers each, of b over one.
    assert_int_equal(count_kind(&graph, WEFT_TASK_ALLREDUCE), 8);
    for (uint32_t t = 0; t < graph.task_count; t++) {
        if (graph.kind[t] == WEFT_TASK_ALLREDUCE) {
            uint64_t size = graph.size_bytes[t];
            uint32_t first = graph.group_first[graph.group[t]];
            uint32_t members = graph.group_first[graph.group[t] + 1] - first;
            assert_true(size == 8 * 8 * 4 || size == 8 * 4 || size == 16 * 2 * 4 || size == 2 * 4);
            assert_int_equal(members, size == 8 * 8 * 4 || size == 8 * 4 ? 2 : 1);
            // 2 S / (4 x 25 GB/s)
            assert_int_equal(graph.runtime_ps[t], size * 20);
        }
    }
}

static void concatenations_take_only_what_they_read(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct net net = {0};
    uint32_t input = net_add(&net, WEFT_OP_INPUT, 8, 0, NULL);
    uint32_t both[2] = {net_after(&net, WEFT_OP_DENSE, 4, input),
                        net_after(&net, WEFT_OP_DENSE, 12, input)};
    uint32_t all = net_add(&net, WEFT_OP_CONCAT, 0, 2, both);
    net_after(&net, WEFT_OP_UNARY, 0, all);
    struct weft_model model = net_build(&net, 8, &arena);
    struct weft_cluster cluster = net_cluster(4, 2);
    struct weft_strategy_setting setting = net_setting();
    const struct weft_placement placements[] = {{1, 1, (uint32_t[]){0}},
                                                {1, 1, (uint32_t[]){0}},
                                                {1, 1, (uint32_t[]){1}},
                                                {1, 2, (uint32_t[]){2, 3}},
                                                {2, 1, (uint32_t[]){2, 3}}};
    struct weft_taskgraph graph = graph_of(&model, &cluster, &setting, placements, &arena);
    // Columns 0..7: all 4 of the first layer, 4 of the second; columns 8..15: 8 of the second.
    assert_int_equal(moved_bytes(&graph, 0, 2), 8 * 4 * 4);
    assert_int_equal(moved_bytes(&graph, 0, 3), 0);
    assert_int_equal(moved_bytes(&graph, 1, 2), 8 * 4 * 4);
    assert_int_equal(moved_bytes(&graph, 1, 3), 8 * 8 * 4);
    // Half of the samples of 8 columns change hands.
    assert_int_equal(moved_bytes(&graph, 2, 3), 2 * 4 * 8 * 4);
}

static void data_parallelism_deals_tables_out(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct net net = {0};
    uint32_t input = net_add(&net, WEFT_OP_INPUT, 10, 0, NULL);
    uint32_t tables[3];
    for (uint32_t i = 0; i < 3; i++) {
        tables[i] = net_after(&net, WEFT_OP_EMBEDDING, 16, input);
    }
    uint32_t all = net_add(&net, WEFT_OP_CONCAT, 0, 3, tables);
    net_after(&net, WEFT_OP_DENSE, 8, all);
    struct weft_model model = net_build(&net, 8, &arena);
    struct weft_cluster cluster = net_cluster(4, 2);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy strategy;
    struct weft_error error;
    assert_true(weft_strategy_data_parallel(&strategy, NET_STUDY, &arena, &error));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(strategy.placements[tables[i]].sample_parts, 1);
        assert_int_equal(strategy.placements[tables[i]].servers[0], i);
    }
    assert_int_equal(strategy.placements[all].sample_parts, 4);
    assert_int_equal(strategy.placements[all].servers[3], 3);
}

static void bad_strategies_are_refused(void **state)
{
    (void)state;
    const struct {
        struct weft_placement second;
        const char *says;
    } cases[] = {
        {{3, 1, (uint32_t[]){0, 1, 2}}, "operator op1: the batch of 8 samples"},
        {{1, 3, (uint32_t[]){0, 1, 2}}, "cannot have 3 parameter parts"},
        {{2, 1, (uint32_t[]){0, 4}}, "part 1 is on server 4, but servers are 0 to 3"},
        {{0, 1, (uint32_t[]){0}}, "0 x 1 parts"},
    };
    struct weft_arena arena = arena_kept;
    struct weft_model model = two_layers(&arena);
    struct weft_cluster cluster = net_cluster(4, 2);
    struct weft_strategy_setting setting = net_setting();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_placement placements[] = {
            {1, 1, (uint32_t[]){0}}, cases[i].second, {1, 1, (uint32_t[]){0}}};
        struct weft_strategy strategy = {
            .kind = WEFT_STRATEGY_OPERATORS, .server_count = 4, .placements = placements};
        struct weft_taskgraph graph;
        struct weft_error error = {0};
        assert_false(
            weft_strategy_taskgraph(&graph, &strategy, NET_STUDY, &arena, scratch_kept, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, cases[i].says) == NULL) {
            fail_msg("'%s' does not say '%s'", error.message, cases[i].says);
        }
    }
}

// Two operators whose parts make 2^32 pairs: refused before they are looked at.
// Mutation: check_pairs left out (it runs for minutes, into memory's end).
static void too_many_pairs_of_parts_are_refused_early(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct net net = {0};
    uint32_t input = net_add(&net, WEFT_OP_INPUT, 8, 0, NULL);
    uint32_t a = net_after(&net, WEFT_OP_DENSE, 65536, input);
    net_after(&net, WEFT_OP_DENSE, 65536, a);
    struct weft_model model = net_build(&net, 8, &arena);
    struct weft_cluster cluster = net_cluster(4, 2);
    struct weft_strategy_setting setting = net_setting();
    uint32_t *servers = WEFT_NEW(&arena, uint32_t, 65536);
    struct weft_placement placements[] = {
        {1, 1, servers}, {1, 65536, servers}, {1, 65536, servers}};
    struct weft_strategy strategy = {
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = 4, .placements = placements};
    struct weft_taskgraph graph;
    struct weft_error error = {0};
    assert_false(
        weft_strategy_taskgraph(&graph, &strategy, NET_STUDY, &arena, scratch_kept, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "operator op2: its 1 x 65536 parts and the 1 x 65536"));
    assert_false(weft_strategy_memory(&strategy, NET_STUDY, &arena, scratch_kept, &error));
}

// ---- searches ----

// Two towers of wide layers under one top: a network that data parallelism serves badly.
static struct weft_model towers(struct weft_arena *arena)
{
    struct net net = {0};
    uint32_t ends[2];
    for (uint32_t t = 0; t < 2; t++) {
        ends[t] = net_add(&net, WEFT_OP_INPUT, 64, 0, NULL);
        for (uint32_t i = 0; i < 4; i++) {
            ends[t] = net_after(&net, WEFT_OP_DENSE, 4096, ends[t]);
        }
    }
    uint32_t all = net_add(&net, WEFT_OP_CONCAT, 0, 2, ends);
    net_after(&net, WEFT_OP_DENSE, 16, all);
    return net_build(&net, 1024, arena);
}

static struct weft_search_result search(const struct weft_model *model, uint32_t threads,
                                        enum weft_search_method method, double limit_bytes,
                                        const struct weft_strategy *start, struct weft_arena *arena)
{
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    setting.memory_limit_bytes = limit_bytes;
    struct weft_search_options options = {.method = method,
                                          .evaluations = 2000,
                                          .seed = 3,
                                          .threads = threads,
                                          .keep = 4,
                                          .start = start};
    struct weft_search_result result;
    struct weft_error error;
    if (!weft_strategy_search(
            &result, &(struct weft_study){.model = model, .cluster = &cluster, .setting = &setting},
            &options, arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
    assert_true(result.count > 0);
    return result;
}

static void assert_same_strategy(const struct weft_strategy *a, const struct weft_strategy *b,
                                 uint32_t count)
{
    for (uint32_t op = 0; op < count; op++) {
        const struct weft_placement *left = &a->placements[op];
        const struct weft_placement *right = &b->placements[op];
        assert_int_equal(left->sample_parts, right->sample_parts);
        assert_int_equal(left->parameter_parts, right->parameter_parts);
        assert_memory_equal(left->servers, right->servers,
                            sizeof *left->servers * left->sample_parts * left->parameter_parts);
    }
}

// Mutation: all chains draw from one generator.
static void a_seed_gives_one_answer_for_any_number_of_threads(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_search_result one = search(&model, 1, WEFT_SEARCH_WEFT, 0, NULL, &arena);
    for (uint32_t threads = 2; threads <= 4; threads++) {
        struct weft_search_result many = search(&model, threads, WEFT_SEARCH_WEFT, 0, NULL, &arena);
        assert_int_equal(many.count, one.count);
        assert_int_equal(many.evaluations, one.evaluations);
        for (uint32_t i = 0; i < one.count; i++) {
            assert_int_equal(many.candidates[i].estimate_ps, one.candidates[i].estimate_ps);
            assert_same_strategy(&many.candidates[i].strategy, &one.candidates[i].strategy,
                                 model.operator_count);
        }
    }
}

// Mutations: candidates keep the estimate of the chain's best placement; traffic of an undone move
// stay.
static void candidates_are_sorted_and_worth_their_estimates(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy_space *space;
    struct weft_strategy parallel;
    struct weft_error error;
    assert_true(weft_strategy_space_build(&space, NET_STUDY, &arena, scratch_kept, &error));
    assert_true(weft_strategy_data_parallel(&parallel, NET_STUDY, &arena, &error));
    uint64_t parallel_ps = weft_strategy_estimate(space, &parallel, scratch_kept);
    for (enum weft_search_method method = WEFT_SEARCH_WEFT; method <= WEFT_SEARCH_MCMC; method++) {
        struct weft_search_result found = search(&model, 1, method, 0, NULL, &arena);
        assert_true(found.candidates[0].estimate_ps < parallel_ps);
        for (uint32_t i = 0; i < found.count; i++) {
            const struct weft_candidate *candidate = &found.candidates[i];
            assert_int_equal(weft_strategy_estimate(space, &candidate->strategy, scratch_kept),
                             candidate->estimate_ps);
            assert_true(i == 0 || candidate->estimate_ps >= found.candidates[i - 1].estimate_ps);
            struct weft_taskgraph graph;
            assert_true(weft_strategy_taskgraph(&graph, &candidate->strategy, NET_STUDY, &arena,
                                                scratch_kept, &error));
        }
    }
}

static bool share_servers(const struct placement *placement, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < weft_placement_choice(placement, a)->parts; i++) {
        for (uint32_t j = 0; j < weft_placement_choice(placement, b)->parts; j++) {
            if (weft_placement_servers(placement, a)[i] ==
                weft_placement_servers(placement, b)[j]) {
                return true;
            }
        }
    }
    return false;
}

// Mutation: both branches get the even servers.
static void split_branches_lie_beside_one_another(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy_space space;
    struct placement placement;
    struct best_k found;
    struct weft_error error;
    assert_true(weft_search_space_build(&space, NET_STUDY, &arena, scratch_kept, &error));
    weft_placement_init(&placement, &space, &arena);
    weft_best_k_init(&found, &space, 2, &arena);
    weft_start_parallel(&placement, scratch_kept);
    double parallel_s = weft_estimate(weft_estimator_init(&space, &arena), &placement);
    assert_int_equal(weft_start_branch_split(&found, &placement, 1, scratch_kept), 0);
    uint64_t made = weft_start_branch_split(&found, &placement, 300, scratch_kept);
    assert_true(made > 0 && made <= 300);
    assert_true(found.count > 0);
    assert_true(found.kept[0].seconds < parallel_s);
    weft_kept_load(&placement, &found.kept[0]);
    uint32_t beside = 0;
    for (uint32_t i = 0; i < 4; i++) { // the towers
        uint32_t parts = weft_placement_choice(&placement, i)->parts;
        assert_int_equal(parts, weft_placement_choice(&placement, 4 + i)->parts);
        assert_true(parts == 8 || !share_servers(&placement, i, 4 + i));
        beside += parts == 4;
    }
    assert_true(beside > 0);
}

// Mutation: what is laid out on all servers counts as apart.
static void chains_of_branch_splits_keep_apart(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy_space space;
    struct placement placement;
    struct best_k found;
    struct weft_error error;
    assert_true(weft_search_space_build(&space, NET_STUDY, &arena, scratch_kept, &error));
    weft_placement_init(&placement, &space, &arena);
    weft_best_k_init(&found, &space, 1, &arena);
    weft_start_parallel(&placement, scratch_kept);
    assert_int_equal(weft_chain_apart(&placement), 0);
    weft_start_branch_split(&found, &placement, 300, scratch_kept);
    weft_kept_load(&placement, &found.kept[0]);
    found.count = 0;
    struct chain chain = {.space = &space,
                          .placement = &placement,
                          .evaluations = 500,
                          .cooling = {10, 10, WEFT_ANNEAL_OF_BEST, 0}, // anything goes
                          .apart = 3,
                          .best = &found};
    weft_rng_init(&chain.rng, 1);
    weft_chain_run(&chain, scratch_kept);
    assert_int_equal(chain.made, 500);
    assert_true(weft_chain_apart(&placement) >= 3);
}

static void a_start_is_never_lost(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_search_result good = search(&model, 1, WEFT_SEARCH_WEFT, 0, NULL, &arena);
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    struct weft_search_options options = {
        .evaluations = 1, .seed = 9, .threads = 1, .start = &good.candidates[0].strategy};
    struct weft_search_result again;
    struct weft_error error;
    assert_true(weft_strategy_search(&again, NET_STUDY, &options, &arena, scratch_kept, &error));
    assert_true(again.candidates[0].estimate_ps <= good.candidates[0].estimate_ps);
}

// What writes outside of the servers' loads where it is not seen.
// Mutation: weft_placement_load looks at splits only.
static void strategies_of_other_servers_are_refused(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    struct weft_strategy_space *space;
    struct weft_strategy parallel;
    struct weft_error error;
    assert_true(weft_strategy_space_build(&space, NET_STUDY, &arena, scratch_kept, &error));
    static const uint32_t wrong[] = {8, 1u << 30, 2}; // the last: twice
    static const char *const says[] = {"part 3 is on server 8, but servers are 0 to 7",
                                       "part 3 is on server 1073741824", "two parts of one"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(weft_strategy_data_parallel(&parallel, NET_STUDY, &arena, &error));
        uint32_t *servers = (uint32_t *)(uintptr_t)parallel.placements[3].servers;
        servers[3] = wrong[i];
        assert_int_equal(weft_strategy_estimate(space, &parallel, scratch_kept), WEFT_NEVER);
        struct weft_strategy next;
        struct weft_rng rng;
        weft_rng_init(&rng, 1);
        assert_false(weft_strategy_neighbor(
            &next, space, &parallel, 5, &rng,
            &(struct weft_environment){.arena = &arena, .scratch = scratch_kept}));
        struct weft_search_options options = {
            .evaluations = 20, .seed = 1, .threads = 1, .start = &parallel};
        struct weft_search_result found;
        assert_false(
            weft_strategy_search(&found, NET_STUDY, &options, &arena, scratch_kept, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, says[i]) == NULL) {
            fail_msg("'%s' does not say '%s'", error.message, says[i]);
        }
    }
}

// Mutation: chains keep placements that do not fit.
static void what_does_not_fit_is_not_returned(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    double parallel_bytes = 2 * 4.0 * (double)model.parameters; // and gradients, everywhere
    double limit_bytes = 0.7 * parallel_bytes;
    struct weft_search_result found =
        search(&model, 1, WEFT_SEARCH_WEFT, limit_bytes, NULL, &arena);
    for (uint32_t i = 0; i < found.count; i++) {
        assert_true(found.candidates[i].strategy.memory_max_bytes <= limit_bytes);
    }
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    setting.memory_limit_bytes = 1e6;
    struct weft_search_options options = {.evaluations = 200, .seed = 1, .threads = 1};
    struct weft_error error = {0};
    assert_false(weft_strategy_search(&found, NET_STUDY, &options, &arena, scratch_kept, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "no strategy fits into 1 MB an accelerator"));
    assert_non_null(strstr(error.message, "holds most"));
}

// Mutation: the remedy for replicated tables left out.
static void tables_that_do_not_fit_are_named(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct net net = {0};
    uint32_t ends[2];
    ends[0] = net_add(&net, WEFT_OP_INPUT, 1, 0, NULL);
    ends[0] = net_after(&net, WEFT_OP_EMBEDDING, 512, ends[0]);
    ends[1] = net_add(&net, WEFT_OP_INPUT, 64, 0, NULL);
    uint32_t all = net_add(&net, WEFT_OP_CONCAT, 0, 2, ends);
    net_after(&net, WEFT_OP_DENSE, 16, all);
    struct weft_model model = net_build(&net, 64, &arena);
    struct weft_cluster cluster = net_cluster(2, 1);
    struct weft_strategy_setting setting = net_setting();
    setting.tables = WEFT_TABLES_REPLICATED;
    setting.memory_limit_bytes = 150e6; // half of the table: 102 MB, and its gradient
    struct weft_search_options options = {.evaluations = 100, .seed = 1, .threads = 1};
    struct weft_search_result found;
    struct weft_error error = {0};
    for (options.method = WEFT_SEARCH_WEFT; options.method <= WEFT_SEARCH_MCMC; options.method++) {
        assert_false(
            weft_strategy_search(&found, NET_STUDY, &options, &arena, scratch_kept, &error));
        assert_int_equal(error.code, WEFT_INFEASIBLE);
        if (strstr(error.message, "'op1' holds most") == NULL ||
            strstr(error.message, "shard the tables") == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

static void neighbors_fit_and_differ(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    struct weft_model model = towers(&arena);
    struct weft_cluster cluster = net_cluster(8, 4);
    struct weft_strategy_setting setting = net_setting();
    setting.memory_limit_bytes = 1.2 * 2 * 4.0 * (double)model.parameters;
    struct weft_strategy_space *space;
    struct weft_strategy now;
    struct weft_error error;
    assert_true(weft_strategy_space_build(&space, NET_STUDY, &arena, scratch_kept, &error));
    assert_true(weft_strategy_data_parallel(&now, NET_STUDY, &arena, &error));
    uint64_t first_ps = weft_strategy_estimate(space, &now, scratch_kept);
    uint64_t best_ps = first_ps;
    struct weft_rng rng;
    weft_rng_init(&rng, 5);
    for (uint32_t step = 0; step < 20; step++) {
        struct weft_strategy next;
        assert_true(weft_strategy_neighbor(
            &next, space, &now, 50, &rng,
            &(struct weft_environment){.arena = &arena, .scratch = scratch_kept}));
        assert_true(next.memory_max_bytes <= setting.memory_limit_bytes);
        uint64_t next_ps = weft_strategy_estimate(space, &next, scratch_kept);
        best_ps = next_ps < best_ps ? next_ps : best_ps;
        now = next;
    }
    assert_true(best_ps < first_ps);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_are_cut_into_strips),
        cmocka_unit_test(parts_that_share_elements_are_joined),
        cmocka_unit_test(concatenations_take_only_what_they_read),
        cmocka_unit_test(data_parallelism_deals_tables_out),
        cmocka_unit_test(bad_strategies_are_refused),
        cmocka_unit_test(too_many_pairs_of_parts_are_refused_early),
        cmocka_unit_test(a_seed_gives_one_answer_for_any_number_of_threads),
        cmocka_unit_test(candidates_are_sorted_and_worth_their_estimates),
        cmocka_unit_test(split_branches_lie_beside_one_another),
        cmocka_unit_test(chains_of_branch_splits_keep_apart),
        cmocka_unit_test(a_start_is_never_lost),
        cmocka_unit_test(strategies_of_other_servers_are_refused),
        cmocka_unit_test(what_does_not_fit_is_not_returned),
        cmocka_unit_test(tables_that_do_not_fit_are_named),
        cmocka_unit_test(neighbors_fit_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
