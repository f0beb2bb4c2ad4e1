// SPDX-License-Identifier: Apache-2.0
// Hybrid strategies: words, mesh, memory against published formulas, the schedule, the estimate.
//
// Mutations it failed with: one more warm-up pass, a forward send left out, data_ps 0.

#include "hybrid_case.h"

#include "weft/routing.h"

#include <math.h>

#define GIB 0x1p30

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, expected);
    }
}

// ---- words ----

static void words_are_read_and_written_back(void **state)
{
    (void)state;
    struct weft_hybrid hybrid;
    assert_true(weft_hybrid_parse(
        &hybrid, "tp=8,pp=4,micro=2,chunks=3,zero=0,recompute=full,order=tpdc", 1024, &error));
    assert_int_equal(hybrid.dp, 32);
    assert_true(hybrid.sequence_parallel);
    const char *text = weft_hybrid_format(&hybrid, &arena);
    assert_string_equal(text, "tp=8,pp=4,cp=1,ep=1,dp=32,chunks=3,micro=2,zero=0,recompute=full,"
                              "order=tpdc,sequence-parallel=yes,overlap=yes,fused-attention=yes");
    struct weft_hybrid again;
    assert_true(weft_hybrid_parse(&again, text, 0, &error));
    assert_string_equal(weft_hybrid_format(&again, &arena), text);
}

static void bad_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"tp", "key=value"},
        {"tp=0", "tp: "},
        {"warp=3", "no such key"},
        {"order=tcd", "order: 'tcd'"},
        {"order=ttdp", "once each"},
        {"recompute=some", "none, selective, norms and full"},
        {"overlap=1", "none of tp, pp, dp and ep"},
        {"tp=3", "dp: 16 accelerators"},
        {"zero=4", "zero: "},
        {"tp=8,,pp=2", "key=value"},
        {"tp=8,", "a comma at the end"},
        {"=8", "has no key"},
        {"tp=8,pp=2,tp=4", "tp: stated twice"},
        {"overlap=yes,overlap=yes", "overlap: stated twice"},
        {"a-key-of-more-than-thirty-two-characters=1", "too long"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weft_hybrid hybrid;
        assert_false(weft_hybrid_parse(&hybrid, cases[i].text, 16, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        if (strstr(error.message, cases[i].says) == NULL) {
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, error.message, cases[i].says);
        }
    }
}

// ---- mesh ----

static void strategies_that_do_not_divide_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"tp=1,pp=1,micro=5", "batch: 1536"},
        {"tp=1,pp=7,dp=1", NULL},
        {"tp=1,pp=128,dp=1", "pp: 128 ranks"},
        {"tp=8,pp=8,chunks=3,micro=64", "chunks: "},
        {"tp=8,pp=1,cp=3,dp=1", "cp: 2048 tokens"},
        {"tp=8,pp=16,dp=16", "2048 accelerators, but the cluster has 16 servers of 8 = 128"},
        {"tp=8,ep=2", "ep: gpt3-175b has no experts; use ep=1"},
        {"tp=3,dp=1", "groups of 3"},
        {"tp=2,cp=2,order=ctdp", "t must come first"},
        {"tp=64,dp=1", "64 does not divide"},
    };
    set_case("gpt3-175b", 1536, 0, 16, "A100");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weft_hybrid_mesh mesh;
        struct weft_hybrid hybrid = words(cases[i].text);
        bool good = weft_hybrid_mesh_build(
            &mesh, &hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &error);
        if (good != (cases[i].says == NULL)) {
            fail_msg("%s: %s", cases[i].text, good ? "accepted" : error.message);
        }
        if (cases[i].says != NULL && strstr(error.message, cases[i].says) == NULL) {
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, error.message, cases[i].says);
        }
    }
}

static void layers_are_dealt_evenly_and_ends_have_the_least(void **state)
{
    (void)state;
    for (uint32_t layers = 1; layers <= 40; layers++) {
        struct weft_transformer stack = {.layers = layers, .experts = 8, .dense_layers = 3};
        for (uint32_t stages = 1; stages <= layers + 2; stages++) {
            uint32_t sum = 0;
            uint32_t dense = 0;
            for (uint32_t s = 0; s < stages; s++) {
                struct weft_hybrid_stage stage = weft_hybrid_stage_at(&stack, stages, s);
                uint32_t here = stage.dense_layers + stage.expert_layers;
                assert_true(here == layers / stages || here == layers / stages + 1);
                assert_int_equal(stage.embedding, s == 0);
                assert_int_equal(stage.head, s == stages - 1);
                assert_true(s != stages - 1 || here == layers / stages);
                dense += stage.dense_layers;
                sum += here;
            }
            assert_int_equal(sum, layers);
            assert_int_equal(dense, layers < 3 ? layers : 3);
        }
    }
}

static void stages_hold_all_parameters_of_every_stack_in_the_zoo(void **state)
{
    (void)state;
    uint32_t count;
    const struct weft_zoo_entry *zoo = weft_model_zoo(&count);
    uint32_t stacks = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(weft_model_named(&model, zoo[i].name, &arena, &error));
        if (model.transformer == NULL) {
            continue;
        }
        struct weft_hybrid one = {.tp = 1, .ep = 1};
        struct weft_hybrid_stage stage = weft_hybrid_stage_at(model.transformer, 1, 0);
        struct weft_hybrid_parameters parameters =
            weft_hybrid_stage_parameters(&one, model.transformer, &stage, 1);
        double sum = parameters.shared + parameters.experts;
        if (fabs(sum - (double)model.parameters) > 1e-3 * (double)model.parameters) {
            fail_msg("%s: %.0f parameters in stages, %.0f in the model", zoo[i].name, sum,
                     (double)model.parameters);
        }
        stacks++;
    }
    assert_true(stacks > 10);
}

// ---- memory ----

// Korthikanti et al., MLSys 2023, table 2: bytes of a layer of a GPT with s, b, h, a, t.
static void activations_are_as_published(void **state)
{
    (void)state;
    set_case("gpt3-175b", 64, 0, 8, "A100");
    const double s = 2048;
    const double h = 12288;
    const double a = 96;
    const double t = 8;
    const double layers = 96;
    const struct {
        const char *text;
        double layer_bytes; // of one sample
    } cases[] = {
        {"tp=8,dp=1,fused-attention=no,sequence-parallel=no",
         s * h * (10 + 24 / t + 5 * a * s / (h * t))},
        {"tp=8,dp=1,fused-attention=no", s * h / t * (34 + 5 * a * s / h)},
        {"tp=8,dp=1,fused-attention=no,sequence-parallel=no,recompute=selective",
         s * h * (10 + 24 / t)},
        {"tp=8,dp=1,fused-attention=no,recompute=selective", s * h / t * 34},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weft_hybrid hybrid = words(cases[i].text);
        struct weft_memory memory;
        uint32_t rank;
        assert_true(weft_hybrid_memory(
            &memory, &rank, &hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &error));
        // Embedding dropout, last norm and projection, logits: section 4.3.
        double split = hybrid.sequence_parallel ? t : 1;
        double ends = s * h * 5 / split + 4 * s * 51200 / t;
        near(memory.activations_bytes, layers * cases[i].layer_bytes + ends, 0.002);
    }
    // Full recomputation keeps 2sbh a layer, here split over tp, and one layer at work.
    struct weft_hybrid hybrid = words("tp=8,dp=1,fused-attention=no,recompute=full");
    struct weft_memory memory;
    uint32_t rank;
    assert_true(weft_hybrid_memory(
        &memory, &rank, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    near(memory.activations_bytes,
         layers * 2 * s * h / t + s * h / t * (34 + 5 * a * s / h) + s * h * 5 / t +
             4 * s * 51200 / t,
         0.002);
}

// The first stage of an interleaved pipeline holds L (1 + (p-1) / (p m)) layers' activations
// (ibid., section 4.2.3), the i-th of a plain one p - i micro-batches.
static void pipelines_hold_what_is_under_way(void **state)
{
    (void)state;
    set_case("gpt-145.6b", 64, 0, 8, "A100");
    const double layer = 2048.0 * 12288 / 8 * 34;
    struct weft_hybrid_mesh mesh;
    struct weft_hybrid hybrid = words("tp=8,pp=8,dp=1,recompute=selective,fused-attention=no");
    assert_true(weft_hybrid_mesh_build(
        &mesh, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    for (uint32_t rank = 1; rank < 7; rank++) {
        struct weft_memory memory =
            weft_hybrid_rank_memory(&hybrid, &mesh, model.transformer, &setting, rank);
        near(memory.activations_bytes, layer * 10 * (8 - rank), 1e-3);
    }
    hybrid.chunks = 5;
    assert_true(weft_hybrid_mesh_build(
        &mesh, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    struct weft_memory first =
        weft_hybrid_rank_memory(&hybrid, &mesh, model.transformer, &setting, 0);
    near(first.activations_bytes, layer * 80 * (1 + 7.0 / (8 * 5)), 0.02);
}

// ZeRO, SC 2020, section 5: 2 + 2 + 12 bytes a parameter there, gradients in FP32 here: 2 + 4 + 12.
static void zero_shards_what_its_stage_says(void **state)
{
    (void)state;
    set_case("gpt3-13b", 1024, 0, 8, "A100");
    double n = (double)model.parameters / 8;
    const double replicas = 8;
    for (uint32_t zero = 0; zero <= 3; zero++) {
        struct weft_hybrid hybrid = words("tp=8");
        hybrid.zero_stage = zero;
        struct weft_memory memory;
        uint32_t rank;
        assert_true(weft_hybrid_memory(
            &memory, &rank, &hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &error));
        near(memory.optimizer_bytes, 12 * n / (zero >= 1 ? replicas : 1), 0.01);
        if (zero < 2) {
            near(memory.gradients_bytes, 4 * n, 0.01);
        } else {
            assert_in_range((uint64_t)memory.gradients_bytes, (uint64_t)(4 * n / replicas),
                            (uint64_t)(4 * n / replicas + 4 * n / 40 * 1.2));
        }
        if (zero < 3) {
            near(memory.parameters_bytes, 2 * n, 0.01);
        } else {
            assert_in_range((uint64_t)memory.parameters_bytes, (uint64_t)(2 * n / replicas),
                            (uint64_t)(2 * n / replicas + 4 * n / 40 * 1.2));
        }
    }
}

static void too_much_memory_says_by_how_much_and_what_helps(void **state)
{
    (void)state;
    set_case("gpt3-175b", 1536, 0, 16, "A100");
    setting.memory_limit_bytes = 80 * GIB;
    struct weft_hybrid hybrid = words("tp=8,pp=1,zero=0");
    struct weft_memory memory;
    uint32_t rank;
    assert_false(weft_hybrid_memory(
        &memory, &rank, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "more than the 85.9 GB there are"));
    assert_non_null(strstr(error.message, "zero stage"));
}

// ---- the schedule ----

static void check_slots(uint32_t pp, uint32_t chunks, uint64_t micro_batches, uint32_t rank)
{
    uint8_t forward[256] = {0};
    uint8_t backward[256] = {0};
    for (uint64_t i = 0; i < 2 * micro_batches * chunks; i++) {
        struct weft_hybrid_slot slot = weft_hybrid_slot_at(pp, chunks, micro_batches, rank, i);
        assert_true(slot.micro_batch < micro_batches && slot.chunk < chunks);
        uint64_t at = slot.chunk * micro_batches + slot.micro_batch;
        if (slot.backward) {
            assert_int_equal(forward[at], 1);
            assert_int_equal(backward[at]++, 0);
        } else {
            assert_int_equal(forward[at]++, 0);
        }
    }
}

static void every_pass_has_one_slot_after_what_it_needs(void **state)
{
    (void)state;
    for (uint32_t pp = 1; pp <= 5; pp++) {
        for (uint32_t chunks = 1; chunks <= 4; chunks++) {
            uint32_t step = chunks > 1 ? pp : 1;
            for (uint32_t i = 0; i < 3 * pp / step * pp; i++) {
                check_slots(pp, chunks, (uint64_t)(i / pp + 1) * step, i % pp);
            }
        }
    }
}

static double played(uint32_t pp, uint32_t chunks, uint64_t m, double forward_s, double backward_s,
                     double send_s)
{
    double forward[256];
    double backward[256];
    double last[256];
    for (uint32_t s = 0; s < pp * chunks; s++) {
        forward[s] = forward_s / chunks;
        backward[s] = backward_s / chunks;
    }
    struct weft_hybrid_play play = {.pp = pp,
                                    .chunks = chunks,
                                    .micro_batches = m,
                                    .forward_s = forward,
                                    .backward_s = backward,
                                    .send_s = send_s};
    weft_hybrid_play(&play, last, scratch);
    return last[0];
}

// Narayanan et al., SC 2021, section 2.2: (m + p - 1)(f + b), and (p - 1) / v of a bubble when
// interleaved; the last backward pass of stage 0 ends the iteration.
static void pipelines_of_equal_stages_take_what_is_published(void **state)
{
    (void)state;
    for (uint32_t pp = 1; pp <= 8; pp++) {
        for (uint64_t rounds = 1; rounds <= 40; rounds += 13) {
            uint64_t m = rounds * pp;
            near(played(pp, 1, m, 1, 2, 0), 3.0 * (double)(m + pp - 1), 1e-12);
            for (uint32_t chunks = 2; chunks <= 4 && pp > 1; chunks++) {
                near(played(pp, chunks, m, 1, 2, 0), 3.0 * ((double)m + (pp - 1.0) / chunks),
                     1e-12);
            }
        }
    }
    // p micro-batches under way cannot hide the 2 (p - 1) sends of a round trip; interleaved ones,
    // of which more are under way, can.
    near(played(4, 1, 64, 1, 2, 0.1) - played(4, 1, 32, 1, 2, 0.1), 3 * 32 + 8 * 6 * 0.1, 1e-12);
    near(played(4, 2, 64, 1, 2, 0.1) - played(4, 2, 32, 1, 2, 0.1), 3 * 32, 1e-12);
    near(played(2, 1, 2, 1, 2, 0.1), 9 + 0.2, 1e-12);
}

// ---- the estimate ----

static void estimates_add_up_and_count_utilization(void **state)
{
    (void)state;
    set_case("gpt3-175b", 1536, 0, 128, "A100");
    struct weft_hybrid hybrid = words("tp=8,pp=8,chunks=3,zero=1");
    struct weft_hybrid_estimate e;
    assert_true(weft_hybrid_estimate(
        &e, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, scratch,
        &error));
    uint64_t sum = e.compute_ps + e.bubble_ps + e.tensor_ps + e.pipeline_ps + e.expert_ps +
                   e.context_ps + e.data_ps + e.optimizer_ps;
    near((double)sum, (double)e.iteration_ps, 1e-9);
    near(e.model_flops_utilization,
         3 * model.forward_flops * 1536 / weft_seconds(e.iteration_ps) / 1024 / 312e12, 1e-9);
    // A fused attention's backward pass computes the scores again: a little more hardware than
    // model work. Full recomputation runs four passes for three.
    near(e.hardware_flops_utilization, e.model_flops_utilization, 0.02);
    assert_true(e.hardware_flops_utilization > e.model_flops_utilization);
    hybrid.recompute = WEFT_RECOMPUTE_FULL;
    struct weft_hybrid_estimate full;
    assert_true(weft_hybrid_estimate(
        &full, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, scratch,
        &error));
    near(full.hardware_flops_utilization / full.model_flops_utilization, 4.0 / 3, 0.02);
    assert_true(full.iteration_ps > e.iteration_ps);
    // The same strategy is slower where gradients wait, and on a slower network.
    hybrid.recompute = WEFT_RECOMPUTE_NONE;
    hybrid.overlap_gradients = false;
    struct weft_hybrid_estimate waits;
    assert_true(weft_hybrid_estimate(
        &waits, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, scratch,
        &error));
    assert_true(waits.data_ps > e.data_ps);
    cluster.rate_Bps /= 8;
    struct weft_hybrid_estimate slow;
    assert_true(weft_hybrid_estimate(
        &slow, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, scratch,
        &error));
    near((double)slow.data_ps, 8.0 * (double)waits.data_ps, 0.02);
    assert_true(slow.pipeline_ps > waits.pipeline_ps);
}

static void a_network_of_full_rate_changes_nothing_and_half_of_it_halves(void **state)
{
    (void)state;
    set_case("mixtral-8x22b", 1024, 0, 32, "H100");
    struct weft_hybrid hybrid = words("tp=4,pp=4,ep=8,cp=2,chunks=2,zero=1,order=tcdp");
    struct weft_network ideal;
    assert_true(weft_fabric_build_ideal(&ideal, &cluster, NULL, &arena, &error));
    struct weft_hybrid_mesh mesh;
    assert_true(weft_hybrid_mesh_build(
        &mesh, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    struct weft_hybrid_rates line = weft_hybrid_rates_of(&mesh, hybrid.ep, &cluster, NULL, scratch);
    struct weft_hybrid_rates rates =
        weft_hybrid_rates_of(&mesh, hybrid.ep, &cluster, &ideal, scratch);
    near(rates.ring_Bps, line.ring_Bps, 1e-9);
    near(rates.shift_Bps, line.shift_Bps, 1e-9);
    near(rates.exchange_Bps, line.exchange_Bps, 1e-9);
    struct weft_network tree;
    struct weft_fabric_options options = {.oversubscription = 4};
    assert_true(weft_fabric_build_oversubscribed(&tree, &cluster, &options, &arena, &error));
    tree.routes.spread = WEFT_SPREAD_SPLIT;
    rates = weft_hybrid_rates_of(&mesh, hybrid.ep, &cluster, &tree, scratch);
    near(rates.shift_Bps, line.shift_Bps / 4, 1e-9); // all leaves its rack
    assert_true(rates.exchange_Bps <= line.exchange_Bps * (1 + 1e-9));
    // Flows that pick one path meet on some links (mutation: loads as if they were split).
    tree.routes.spread = WEFT_SPREAD_PICK;
    struct weft_hybrid_rates picked =
        weft_hybrid_rates_of(&mesh, hybrid.ep, &cluster, &tree, scratch);
    assert_true(picked.shift_Bps < 0.9 * rates.shift_Bps);
    assert_true(picked.shift_Bps > 0.25 * rates.shift_Bps);
}

// Servers joined in a circle of another order: gradients go round it where the network has a ring
// for their group. Else half of them goes each way round a tour that is short there and back, as in
// what is played; here all are as short, and ascending order takes five links a hop and three.
static void gradients_take_the_rings_of_the_network(void **state)
{
    (void)state;
    static const uint32_t circle[] = {0, 5, 2, 7, 4, 1, 6, 3};
    struct weft_link links[8];
    for (uint32_t i = 0; i < 8; i++) {
        links[i] = (struct weft_link){circle[i], circle[(i + 1) % 8], 10e9, 0, 1};
    }
    set_case("gpt3-1.3b", 512, 0, 8, "A100");
    struct weft_network network = {.rings = {0}};
    assert_true(weft_fabric_build(
        &network.fabric, &(struct weft_fabric_links){"circle", 8, 8, links, 8}, &arena, &error));
    network.fabric.forwards = true;
    assert_true(weft_routing_shortest(
        &network.routes, &network.fabric,
        &(struct weft_environment){
            .arena = &arena, .scratch = scratch, .seed = 1, .error = &error}));
    struct weft_hybrid hybrid = words("tp=8");
    struct weft_hybrid_mesh mesh;
    assert_true(weft_hybrid_mesh_build(
        &mesh, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    struct weft_hybrid_rates rates = weft_hybrid_rates_of(&mesh, 1, &cluster, &network, scratch);
    near(rates.ring_Bps, 10e9 / (0.5 * 5 + 0.5 * 3), 1e-9);
    const struct weft_ring ring = {
        .group = 0, .member_count = 8, .members = circle, .share_ratio = 1};
    network.rings = (struct weft_ring_set){.ring_count = 1, .rings = &ring};
    rates = weft_hybrid_rates_of(&mesh, 1, &cluster, &network, scratch);
    near(rates.ring_Bps, 10e9, 1e-9);
}

// On a torus of 4 x 4 the tour of all is a circle over 16 of the 32 cables, half of the gradients
// each way: a port carries half of what a server sends (mutation: groups in ascending order, which
// put all of it on one port).
static void gradients_on_a_torus_go_both_ways_round_a_tour(void **state)
{
    (void)state;
    set_case("gpt3-1.3b", 512, 0, 16, "A100");
    cluster.degree = 4;
    struct weft_network torus;
    const struct weft_fabric_options options = {.dimensions = 2};
    assert_true(weft_fabric_build_torus(&torus, &cluster, &options, &arena, &error));
    struct weft_hybrid hybrid = words("tp=8");
    struct weft_hybrid_mesh mesh;
    assert_true(weft_hybrid_mesh_build(
        &mesh, &hybrid,
        &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, &error));
    struct weft_hybrid_rates rates = weft_hybrid_rates_of(&mesh, 1, &cluster, &torus, scratch);
    near(rates.ring_Bps, 2 * cluster.rate_Bps, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_and_written_back),
        cmocka_unit_test(bad_words_are_refused),
        cmocka_unit_test(strategies_that_do_not_divide_are_refused),
        cmocka_unit_test(layers_are_dealt_evenly_and_ends_have_the_least),
        cmocka_unit_test(stages_hold_all_parameters_of_every_stack_in_the_zoo),
        cmocka_unit_test(activations_are_as_published),
        cmocka_unit_test(pipelines_hold_what_is_under_way),
        cmocka_unit_test(zero_shards_what_its_stage_says),
        cmocka_unit_test(too_much_memory_says_by_how_much_and_what_helps),
        cmocka_unit_test(every_pass_has_one_slot_after_what_it_needs),
        cmocka_unit_test(pipelines_of_equal_stages_take_what_is_published),
        cmocka_unit_test(estimates_add_up_and_count_utilization),
        cmocka_unit_test(a_network_of_full_rate_changes_nothing_and_half_of_it_halves),
        cmocka_unit_test(gradients_take_the_rings_of_the_network),
        cmocka_unit_test(gradients_on_a_torus_go_both_ways_round_a_tour),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
