// SPDX-License-Identifier: Apache-2.0
// Strategy and topology together: the known best of a tiny model is found, nothing is worse than
// what the rounds met, threads change nothing, variants differ as they should, and bounds for any
// strategy hold for strategies drawn at random.

#include "check_plan.h"
#include "plan/compare/compare.h"
#include "plan/joint/descent.h"
#include "plan/joint/joint.h"
#include "plan_cases.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

#define MS ((uint64_t)1000000000)

// ---- a model of two layers with made-up times ----

// One part takes 1 ms a pass; four take 0.4 ms each. The first layer has 4.2e6 parameters.
static const struct weft_measurement measurements[] = {
    {"Dense_1024_4096", 2, {1, 1}, MS, MS, 0},
    {"Dense_1024_4096", 2, {1, 4}, 2 * MS / 5, 2 * MS / 5, 0},
    {"Dense_4096_8", 2, {1, 1}, MS, MS, 0},
    {"Dense_4096_8", 2, {1, 4}, 2 * MS / 5, 2 * MS / 5, 0},
};
static const struct weft_profile profile = {256, 4, 4, measurements};

static void make_model(struct weft_model *model, uint64_t batch)
{
    static const uint32_t inputs[] = {0, 1};
    const struct weft_operator_spec specs[] = {
        {.name = "in", .kind = WEFT_OP_INPUT, .rank = 1, .shape = {1024}},
        {.name = "a", .kind = WEFT_OP_DENSE, .input_count = 1, .inputs = inputs, .units = 4096},
        {.name = "b", .kind = WEFT_OP_DENSE, .input_count = 1, .inputs = inputs + 1, .units = 8},
    };
    struct weft_error error;
    if (!weft_model_build(model, &(struct weft_model_head){"two", "made up", batch}, specs, 3,
                          &case_arena, &error)) {
        fail_msg("%s", error.message);
    }
}

static struct weft_strategy_setting make_setting(const struct weft_profile *with)
{
    struct weft_strategy_setting setting = {.cost = {.profile = with, .accelerators_per_server = 1},
                                            .inside_Bps = 25e9};
    struct weft_error error;
    assert_true(weft_accelerator_named(&setting.cost.accelerator, "A100", &error));
    return setting;
}

// What tests of a part of the search run in.
static const struct weft_environment one_thread = {.seed = 1, .threads = 1};

static struct weft_coplan_options make_options(void)
{
    return (struct weft_coplan_options){
        .seconds = 0.05,
        .search = {.seed = 1, .threads = 1, .evaluations = 500},
        .plan = {.sim = {.packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = true}},
    };
}

static struct weft_plan *coplan(const struct weft_model *model, const struct weft_cluster *cluster,
                                const struct weft_strategy_setting *setting,
                                const struct weft_coplan_options *options)
{
    struct weft_plan *plan = WEFT_NEW(&case_arena, struct weft_plan, 1);
    const struct weft_study study = {.model = model, .cluster = cluster, .setting = setting};
    struct weft_error error;
    if (!weft_coplan_build(plan, &study, options,
                           &(struct weft_environment){.arena = &case_arena,
                                                      .scratch = case_scratch,
                                                      .seed = options->search.seed,
                                                      .threads = options->search.threads,
                                                      .error = &error})) {
        fail_msg("%s", error.message);
    }
    return plan;
}

// At 100 Gbps the AllReduce of the first layer's 16.8 MB over four servers takes at least 1 ms and
// the activations of 4.2 MB do not come for nothing, so that all on one server wins: 4 ms. At
// 10 Tbps the network costs next to nothing and four servers win: 1.6 ms.
static void the_best_of_a_tiny_model_is_found(void **state)
{
    (void)state;
    struct weft_model model;
    make_model(&model, 256);
    struct weft_strategy_setting setting = make_setting(&profile);
    struct weft_coplan_options options = make_options();
    struct weft_cluster cluster = case_cluster(4, 2);
    cluster.accelerators_per_server = 1;
    cluster.accelerator = "A100";
    cluster.rate_Bps = 1e8;
    const struct weft_plan *slow = coplan(&model, &cluster, &setting, &options);
    assert_true(slow->iteration_s == 4e-3);
    assert_int_equal(slow->job->strategy.placements[1].sample_parts, 1);
    assert_int_equal(slow->job->strategy.placements[1].servers[0],
                     slow->job->strategy.placements[2].servers[0]);
    cluster.rate_Bps = 1.25e12;
    const struct weft_plan *fast = coplan(&model, &cluster, &setting, &options);
    assert_int_equal(fast->job->strategy.placements[1].sample_parts, 4);
    assert_true(fast->iteration_s >= 1.6e-3 && fast->iteration_s < 1.65e-3);
}

// The first layer on all servers, the second on one, on the slow network: the one step that gathers
// both is the best (above), and from there none is. Mutations: what takes longer is taken; the
// run's operators keep their placement.
static void a_descent_takes_the_placement_of_another(void **state)
{
    (void)state;
    static const uint32_t servers[] = {0, 1, 2, 3};
    const struct weft_placement places[] = {{1, 1, servers}, {4, 1, servers}, {1, 1, servers}};
    struct weft_strategy strategy = {WEFT_STRATEGY_OPERATORS, .server_count = 4,
                                     .placements = places};
    struct weft_model model;
    make_model(&model, 256);
    struct weft_strategy_setting setting = make_setting(&profile);
    struct weft_coplan_options options = make_options();
    struct weft_cluster cluster = case_cluster(4, 2);
    cluster.accelerators_per_server = 1;
    cluster.rate_Bps = 1e8;
    struct weft_network network;
    struct weft_error error;
    assert_true(weft_fabric_build_ideal(&network, &cluster, NULL, &case_arena, &error));
    const struct weft_study study = {.model = &model, .cluster = &cluster, .setting = &setting};
    const struct compare_ground ground = {&study, &options.plan.sim, &one_thread, &network, false};
    for (uint32_t pass = 0; pass < 2; pass++) {
        double iteration_s;
        double spent =
            compare_descend(&strategy, &iteration_s, &ground, 1e9, &case_arena, case_scratch);
        assert_true(spent > 0 && spent < 1e9);
        assert_true(iteration_s == 4e-3);
        assert_int_equal(strategy.placements[1].sample_parts, 1);
        assert_int_equal(strategy.placements[2].sample_parts, 1);
    }
}

// What the busier of two servers does forward.
static struct descent_score evaluate_balance(const void *context,
                                             const struct weft_taskgraph *graph, double limit_s,
                                             struct weft_arena scratch)
{
    (void)context;
    (void)limit_s;
    (void)scratch;
    double busy_s[2] = {0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_FORWARD) {
            busy_s[graph->device[t]] += weft_seconds(graph->runtime_ps[t]);
        }
    }
    double longer_s = busy_s[0] > busy_s[1] ? busy_s[0] : busy_s[1];
    return (struct descent_score){longer_s, longer_s, 1, 1, 2};
}

// Layers of 3, 2, 3, 2 ms, those of 3 on one server, those of 2 on the other: 6 ms, which only an
// exchange makes 5. Mutation: pairs are not tried (6 ms).
static void two_steps_are_taken_together(void **state)
{
    (void)state;
    static const struct weft_measurement uneven[] = {
        {"Dense_16_8", 2, {1, 1}, 2 * MS, 2 * MS, 0},
        {"Dense_8_16", 2, {1, 1}, 3 * MS, 3 * MS, 0},
    };
    static const struct weft_profile two = {16, 2, 2, uneven};
    static const uint32_t inputs[] = {0, 1, 2, 3};
    struct weft_operator_spec specs[5] = {
        {.name = "in", .kind = WEFT_OP_INPUT, .rank = 1, .shape = {8}}};
    static const char *const names[] = {"", "a", "b", "c", "d"};
    for (uint32_t op = 1; op < 5; op++) {
        specs[op] = (struct weft_operator_spec){.name = names[op],
                                                .kind = WEFT_OP_DENSE,
                                                .input_count = 1,
                                                .inputs = inputs + op - 1,
                                                .units = op % 2 == 1 ? 16 : 8};
    }
    struct weft_model model;
    struct weft_error error;
    assert_true(weft_model_build(&model, &(struct weft_model_head){"four", "made up", 16}, specs, 5,
                                 &case_arena, &error));
    static const uint32_t servers[] = {0, 1};
    const struct weft_placement places[] = {{1, 1, servers},
                                            {1, 1, servers},
                                            {1, 1, servers + 1},
                                            {1, 1, servers},
                                            {1, 1, servers + 1}};
    struct weft_strategy strategy = {WEFT_STRATEGY_OPERATORS, .server_count = 2,
                                     .placements = places};
    struct weft_strategy_setting setting = make_setting(&two);
    struct weft_cluster cluster = case_cluster(2, 1);
    cluster.accelerators_per_server = 1;
    struct weft_strategy_space *space;
    if (!weft_strategy_space_build(
            &space, &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &case_arena, case_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    const struct weft_study study = {.model = &model, .cluster = &cluster, .setting = &setting};
    const struct descent_job job = {.study = &study,
                                    .space = space,
                                    .evaluate = evaluate_balance,
                                    .threads = 1,
                                    .work_units = 1e9,
                                    .patience = 96,
                                    .goal_s = HUGE_VAL};
    double iteration_s;
    descent_run(&strategy, &iteration_s, &job, &case_arena, case_scratch);
    assert_true(iteration_s == 5e-3);
}

// ---- VGG16 of the zoo, by the roofline ----

struct vgg {
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    struct weft_coplan_options options;
};

static void make_vgg(struct vgg *vgg)
{
    struct weft_error error;
    assert_true(weft_model_named(&vgg->model, "vgg16", &case_arena, &error));
    vgg->cluster = case_cluster(8, 4);
    vgg->cluster.accelerators_per_server = 1;
    vgg->cluster.accelerator = "A100";
    vgg->setting = make_setting(NULL);
    vgg->options = make_options();
}

static void nothing_is_worse_than_what_the_rounds_met(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    vgg.options.all_variants = true;
    const struct weft_plan *plan = coplan(&vgg.model, &vgg.cluster, &vgg.setting, &vgg.options);
    const struct weft_plan_job *job = plan->job;
    assert_true(job->round_count > 0);
    for (uint32_t r = 0; r < job->round_count; r++) {
        assert_true(plan->iteration_s <= job->round_s[r]);
    }
    assert_true(job->variant_s[WEFT_COPLAN_BOTH] == plan->iteration_s);
    for (uint32_t v = 1; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        assert_true(job->variant_s[v] >= plan->iteration_s);
    }
    assert_true(job->variant_s[WEFT_COPLAN_DATA_PARALLEL] >= job->variant_s[WEFT_COPLAN_TOPOLOGY]);
    assert_true(job->variant_s[WEFT_COPLAN_DATA_PARALLEL] >= job->variant_s[WEFT_COPLAN_STRATEGY]);
    const struct weft_violation *violations = NULL;
    uint32_t count = check_plan(plan, NULL, &violations, &case_arena, case_scratch);
    if (count > 0) {
        fail_msg("%s", violations[0].text);
    }
}

// CANDLE's towers: what looks best on a full mesh is seldom so on the paper's topology. Seen to
// fail when the shortest estimate was taken unplayed.
static void a_strategy_alone_is_played_before_it_is_taken(void **state)
{
    (void)state;
    struct vgg candle;
    make_vgg(&candle);
    struct weft_error error;
    assert_true(weft_model_named(&candle.model, "candle-16", &case_arena, &error));
    candle.cluster = case_cluster(16, 4);
    candle.options.search.evaluations = 2000;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        candle.options.search.seed = seed;
        double variant_s[2];
        for (uint32_t i = 0; i < 2; i++) {
            candle.options.variant = i == 0 ? WEFT_COPLAN_STRATEGY : WEFT_COPLAN_DATA_PARALLEL;
            variant_s[i] = coplan(&candle.model, &candle.cluster, &candle.setting, &candle.options)
                               ->iteration_s;
            printf("seed %d %g\n", (int)seed, variant_s[i]);
        }
        if (variant_s[0] > variant_s[1]) {
            fail_msg("seed %llu: %.9g s, data parallelism %.9g s", (unsigned long long)seed,
                     variant_s[0], variant_s[1]);
        }
    }
}

// A slow network, so that strategies matter. Seen to fail when the chains drew their random numbers
// from the number of threads.
static void threads_change_nothing(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    vgg.cluster.rate_Bps = 1e9;
    vgg.options.seconds = 2;
    const char *texts[2];
    for (uint32_t i = 0; i < 2; i++) {
        vgg.options.search.threads = 1 + 2 * i;
        const struct weft_plan *plan = coplan(&vgg.model, &vgg.cluster, &vgg.setting, &vgg.options);
        texts[i] = weft_plan_write(plan, &case_arena);
    }
    assert_string_equal(texts[0], texts[1]);
}

// The strategy alone, on its own topology, is among those known. Seen to fail when that lost its
// own paths on the way.
static void both_know_what_the_strategy_alone_comes_to(void **state)
{
    (void)state;
    struct vgg candle;
    make_vgg(&candle);
    struct weft_error error;
    assert_true(weft_model_named(&candle.model, "candle-16", &case_arena, &error));
    candle.cluster = case_cluster(16, 4);
    candle.options.seconds = 0.5;
    candle.options.variant = WEFT_COPLAN_STRATEGY;
    const struct weft_plan *alone =
        coplan(&candle.model, &candle.cluster, &candle.setting, &candle.options);
    candle.options.variant = WEFT_COPLAN_BOTH;
    candle.options.seconds *= 2; // as weft_coplan_build counts them
    struct coplan both = {
        .study = {.model = &candle.model, .cluster = &candle.cluster, .setting = &candle.setting},
        .options = &candle.options,
        .environment = &one_thread,
        .arena = &case_arena};
    coplan_know_alone(&both, case_scratch);
    assert_true(both.known_count == 1);
    assert_true(both.known[0]->score.iteration_s == alone->iteration_s);
    assert_true(both.known[0]->design.finder_paths > 0);
}

// Data parallelism alone is known, and far more effort is left than a first search takes. Mutation:
// nothing is begun anew.
static void much_effort_begins_anew(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    vgg.cluster.rate_Bps = 1e9;
    struct coplan both = {
        .study = {.model = &vgg.model, .cluster = &vgg.cluster, .setting = &vgg.setting},
        .options = &vgg.options,
        .environment = &one_thread,
        .arena = &case_arena,
        .seconds_left = 1};
    struct weft_strategy plain;
    struct weft_error error;
    assert_true(weft_strategy_data_parallel(
        &plain,
        &(struct weft_study){.model = &vgg.model, .cluster = &vgg.cluster, .setting = &vgg.setting},
        &case_arena, &error));
    const struct coplan_candidate *candidate =
        coplan_evaluate(&both, &plain, 0.01, NULL, case_scratch);
    assert_non_null(candidate);
    double plain_s = candidate->score.iteration_s;
    double before_s = both.seconds_left;
    assert_true(coplan_descend(&both, 0.5, case_scratch) < 0.5);
    assert_true(both.start_count >= 2 && both.round_count >= 2);
    assert_true(both.known[0]->score.iteration_s < plain_s);
    assert_true(both.seconds_left == before_s); // it is the caller that counts
}

static void the_plan_file_keeps_what_it_takes_to_play_it(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    const struct weft_plan *plan = coplan(&vgg.model, &vgg.cluster, &vgg.setting, &vgg.options);
    const char *text = weft_plan_write(plan, &case_arena);
    struct weft_plan back;
    struct weft_error error;
    if (!weft_plan_read(&back, text, strlen(text), &case_arena, case_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    const struct weft_sim_job job = {&back.job->graph, NULL, back.network.rings, NULL};
    struct weft_sim_result result;
    assert_true(weft_sim_run_jobs(&result, &back.network, &job, 1, &back.sim,
                                  &(struct weft_environment){.arena = &case_arena,
                                                             .scratch = case_scratch,
                                                             .error = &error}));
    assert_true(weft_seconds(result.iteration_ps[0]) == plan->iteration_s);
}

static void a_given_strategy_is_kept(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    struct weft_strategy given;
    struct weft_error error;
    assert_true(weft_strategy_data_parallel(
        &given,
        &(struct weft_study){.model = &vgg.model, .cluster = &vgg.cluster, .setting = &vgg.setting},
        &case_arena, &error));
    vgg.options.given = &given;
    const struct weft_plan *plan = coplan(&vgg.model, &vgg.cluster, &vgg.setting, &vgg.options);
    for (uint32_t op = 0; op < vgg.model.operator_count; op++) {
        assert_int_equal(plan->job->strategy.placements[op].sample_parts,
                         given.placements[op].sample_parts);
    }
    assert_int_equal(plan->job->round_count, 0);
}

static void too_little_memory_is_infeasible(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    vgg.setting.memory_limit_bytes = 1e6;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        vgg.options.variant = v;
        struct weft_plan plan;
        struct weft_error error;
        assert_false(weft_coplan_build(&plan,
                                       &(struct weft_study){.model = &vgg.model,
                                                            .cluster = &vgg.cluster,
                                                            .setting = &vgg.setting},
                                       &vgg.options,
                                       &(struct weft_environment){.arena = &case_arena,
                                                                  .scratch = case_scratch,
                                                                  .seed = 1,
                                                                  .threads = 1,
                                                                  .error = &error}));
        assert_int_equal(error.code, WEFT_INFEASIBLE);
    }
}

// Strategies drawn by the search's own moves, played on an ideal switch of very fast ports. Seen to
// fail when find_least took the slowest part of an operator instead of the quickest, and when the
// work was not divided by the servers.
static void bounds_hold_for_any_strategy(void **state)
{
    (void)state;
    struct vgg vgg;
    make_vgg(&vgg);
    vgg.cluster.rate_Bps = 1e14;
    struct weft_bound bounds[WEFT_COPLAN_BOUND_COUNT];
    struct weft_error error;
    assert_true(weft_coplan_bounds(
        bounds,
        &(struct weft_study){.model = &vgg.model, .cluster = &vgg.cluster, .setting = &vgg.setting},
        &(struct weft_environment){
            .arena = &case_arena, .scratch = case_scratch, .error = &error}));
    struct weft_strategy strategy;
    struct weft_strategy_space *space = NULL;
    struct weft_network *network = WEFT_NEW(&case_arena, struct weft_network, 1);
    assert_true(weft_strategy_data_parallel(
        &strategy,
        &(struct weft_study){.model = &vgg.model, .cluster = &vgg.cluster, .setting = &vgg.setting},
        &case_arena, &error));
    assert_true(weft_strategy_space_build(
        &space,
        &(struct weft_study){.model = &vgg.model, .cluster = &vgg.cluster, .setting = &vgg.setting},
        &case_arena, case_scratch, &error));
    assert_true(weft_fabric_build_ideal(network, &vgg.cluster, NULL, &case_arena, &error));
    uint64_t seed = 7;
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t i = 0; i < 40; i++) {
        struct weft_strategy next;
        if (weft_strategy_neighbor(
                &next, space, &strategy, 1, &rng,
                &(struct weft_environment){.arena = &case_arena, .scratch = case_scratch})) {
            strategy = next;
        }
        struct weft_taskgraph graph;
        assert_true(weft_strategy_taskgraph(&graph, &strategy,
                                            &(struct weft_study){.model = &vgg.model,
                                                                 .cluster = &vgg.cluster,
                                                                 .setting = &vgg.setting},
                                            &case_arena, case_scratch, &error));
        const struct weft_sim_job job = {.graph = &graph};
        const struct weft_sim_options packets = {.packet_bytes = 0};
        struct weft_sim_result result;
        assert_true(weft_sim_run_jobs(&result, network, &job, 1, &packets,
                                      &(struct weft_environment){.arena = &case_arena,
                                                                 .scratch = case_scratch,
                                                                 .error = &error}));
        for (uint32_t b = 0; b < WEFT_COPLAN_BOUND_COUNT; b++) {
            if (bounds[b].seconds > weft_seconds(result.iteration_ps[0])) {
                fail_msg("seed %llu, strategy %u: %s is %.9g s, the iteration %.9g s",
                         (unsigned long long)seed, i, bounds[b].name, bounds[b].seconds,
                         weft_seconds(result.iteration_ps[0]));
            }
        }
    }
}

// ---- what gets a topology ----

static struct weft_candidate hybrid_candidate(uint32_t dp, uint32_t chunks, uint64_t estimate_ps)
{
    return (struct weft_candidate){
        .strategy = {.kind = WEFT_STRATEGY_HYBRID,
                     .hybrid = {.dp = dp, .chunks = chunks, .order = "tcdp"}},
        .estimate_ps = estimate_ps};
}

// Mutations: near estimates are those within a tenth; dp is not looked at.
static void few_chunks_are_chosen_where_estimates_are_near(void **state)
{
    (void)state;
    const struct weft_candidate candidates[] = {
        hybrid_candidate(4, 14, 10000), hybrid_candidate(4, 7, 10020),
        hybrid_candidate(4, 5, 10040),  hybrid_candidate(8, 2, 10051),
        hybrid_candidate(4, 3, 10060),  hybrid_candidate(8, 1, 10200),
        hybrid_candidate(16, 1, 10300),
    };
    const struct weft_search_result result = {7, candidates, 7};
    const struct weft_model model = {0};
    const struct coplan both = {.study = {.model = &model}, .hybrid = true};
    const struct weft_strategy *chosen[CHOSEN_MAX];
    assert_int_equal(coplan_choose(chosen, 2, &result, &both), 2);
    assert_ptr_equal(chosen[0], &candidates[2].strategy);
    assert_ptr_equal(chosen[1], &candidates[3].strategy);
    assert_int_equal(coplan_choose(chosen, 4, &result, &both), 3);
    assert_int_equal(chosen[2]->hybrid.dp, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_best_of_a_tiny_model_is_found, case_open, case_close),
        cmocka_unit_test_setup_teardown(a_descent_takes_the_placement_of_another, case_open,
                                        case_close),
        cmocka_unit_test_setup_teardown(two_steps_are_taken_together, case_open, case_close),
        cmocka_unit_test_setup_teardown(nothing_is_worse_than_what_the_rounds_met, case_open,
                                        case_close),
        cmocka_unit_test_setup_teardown(a_strategy_alone_is_played_before_it_is_taken, case_open,
                                        case_close),
        cmocka_unit_test_setup_teardown(both_know_what_the_strategy_alone_comes_to, case_open,
                                        case_close),
        cmocka_unit_test_setup_teardown(much_effort_begins_anew, case_open, case_close),
        cmocka_unit_test_setup_teardown(threads_change_nothing, case_open, case_close),
        cmocka_unit_test_setup_teardown(the_plan_file_keeps_what_it_takes_to_play_it, case_open,
                                        case_close),
        cmocka_unit_test_setup_teardown(a_given_strategy_is_kept, case_open, case_close),
        cmocka_unit_test(few_chunks_are_chosen_where_estimates_are_near),
        cmocka_unit_test_setup_teardown(too_little_memory_is_infeasible, case_open, case_close),
        cmocka_unit_test_setup_teardown(bounds_hold_for_any_strategy, case_open, case_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
