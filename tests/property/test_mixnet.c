// SPDX-License-Identifier: Apache-2.0
// MixNet's planner: the published greedy, one all-to-all in the flow engine beside the formula,
// iterations beside what they cannot beat, schedules that are involutions, prices of the paper.
//
// Seen to fail: a greedy that counts one way of a pair, relays left out of the flows, waits that
// are not added, ports joined one way, a transceiver less on packet NICs, standing rings without
// the experts' gradients.

#include "../oracle/sheet_matrices.h"
#include "weft/model.h"
#include "weft/plan/mixnet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GBPS 125e6

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_error error;

// ---- the published greedy ----

// The sheet's matrices; both were worked out by hand or by integer programming.
static void the_greedy_is_as_published(void **state)
{
    (void)state;
    static const uint32_t placed[WEFT_GREEDY_COUNT] = {20, 24, 24};
    for (uint32_t g = 0; g < WEFT_GREEDY_COUNT; g++) {
        uint32_t circuits[64];
        weft_mixnet_greedy(circuits, sheet_four, 4, 2, (enum weft_greedy_reading)g, scratch);
        assert_true(weft_mixnet_whole_time(circuits, sheet_four, 4, 1) == 12);
        weft_mixnet_greedy(circuits, sheet_eight, 8, 6, (enum weft_greedy_reading)g, scratch);
        uint32_t count = 0;
        for (uint32_t at = 0; at < 64; at++) {
            count += circuits[at];
        }
        assert_int_equal(count, 2 * placed[g]);
        assert_true(weft_mixnet_whole_time(circuits, sheet_eight, 8, 2) == 17959);
    }
}

// ---- the flow engine ----

// In packets, on slower ports, so that a timeout of TCP is not a large part of it.
static double play_packets(const struct weft_mixnet_sequence *exchange,
                           const struct weft_environment *environment)
{
    struct weft_packet_options queues = WEFT_PACKET_DEFAULTS;
    queues.window.limit_packets = 256;
    const struct weft_sim_options dctcp = {.engine = WEFT_ENGINE_PACKET,
                                           .transport = WEFT_TRANSPORT_DCTCP,
                                           .packet_bytes = 9000,
                                           .header_bytes = 64,
                                           .dctcp = WEFT_DCTCP_DEFAULTS,
                                           .packet = &queues};
    struct weft_mixnet_sequence slow = *exchange;
    slow.rate_Bps = 10 * GBPS;
    struct weft_mixnet_played played;
    if (!weft_mixnet_play(&played, &slow, &dctcp, environment)) {
        fail_msg("%s", error.message);
    }
    return played.seconds;
}

// What the formula says of one all-to-all and what the flow engine plays of it.
static void the_flow_engine_agrees_with_the_formula(void **state)
{
    (void)state;
    const struct weft_split_options ports = {.circuit_ports = 6, .packet_ports = 2};
    double mean = 0;
    double worst = 0;
    double packet = 0;   // the packet engine over the flow engine
    double switched = 0; // one switch for all ports, played, over what its busiest port takes
    enum { RUNS = 40 };
    for (uint32_t k = 0; k < RUNS; k++) {
        struct weft_arena kept = arena;
        const struct weft_expert_law law = {8, 1, 8, 1, k % 2 == 0 ? 1.2 : 1.6, 0, k};
        struct weft_expert_trace trace;
        double bytes[64];
        uint32_t circuits[64];
        struct weft_split_times split;
        struct weft_relay_plan plan;
        weft_experts_generate(&trace, &law, &kept, scratch);
        weft_experts_demand(bytes, trace.loads, &trace, 8, 1e8);
        weft_circuit_split(circuits, &split, bytes, 8, &ports, scratch);
        weft_circuit_relay(&plan, circuits, bytes, 8, &ports, NULL, scratch);
        const struct weft_environment environment = {
            .arena = &kept, .scratch = scratch, .threads = 1, .error = &error};
        static const uint32_t none[64] = {0};
        const struct weft_mixnet_turn turns[] = {{.circuits = circuits, .bytes = bytes},
                                                 {.circuits = none, .bytes = bytes}};
        const struct weft_mixnet_sequence exchange = {.node_count = 8,
                                                      .first = circuits,
                                                      .turn_count = 1,
                                                      .turns = &turns[0],
                                                      .ports = ports,
                                                      .rate_Bps = 400 * GBPS};
        struct weft_mixnet_sequence packets = exchange;
        packets.first = none;
        packets.turns = &turns[1];
        packets.ports.packet_ports = 8;
        const struct weft_sim_options flow = {0};
        struct weft_mixnet_played played;
        struct weft_mixnet_played switched_played;
        if (!weft_mixnet_play(&played, &exchange, &flow, &environment) ||
            !weft_mixnet_play(&switched_played, &packets, &flow, &environment)) {
            fail_msg("%s", error.message);
        }
        double seconds = played.seconds;
        double switched_s = switched_played.seconds;
        if (k < 4) {
            double packet_s = play_packets(&exchange, &environment);
            assert_true(packet_s >= plan.time / (10 * GBPS));
            packet += packet_s / (40 * seconds) / 4;
        }
        double formula = plan.time / (400 * GBPS);
        assert_true(seconds >= formula * (1 - 1e-6)); // nothing is quicker than its ports
        assert_true(switched_s >= split.ideal / (400 * GBPS) * (1 - 1e-6));
        switched += switched_s / (split.ideal / (400 * GBPS)) / RUNS;
        mean += seconds / formula / RUNS;
        worst = fmax(worst, seconds / formula);
    }
    print_message("flow engine over formula: mean %.4f, worst %.4f; one switch %.4f; packet engine "
                  "over flow engine: %.4f\n",
                  mean, worst, switched, packet);
    assert_true(packet > 0.9 && packet < 1.2);
    assert_true(mean < 1.12 && worst < 1.3 && switched < 1.12);
}

// ---- iterations and plans ----

struct case_of {
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    struct weft_strategy strategy;
};

static struct weft_study set_case(struct case_of *it, const char *model, const char *degrees,
                                  double rate_Bps, struct weft_arena *kept)
{
    assert_true(weft_model_named(&it->model, model, kept, &error));
    assert_true(weft_model_set_batch(&it->model, 1024, &error));
    assert_true(weft_cluster_build(&it->cluster, 16, 8, rate_Bps, &error));
    it->cluster.accelerators_per_server = 8;
    it->setting = (struct weft_strategy_setting){.optimizer = WEFT_ADAM, .inside_Bps = 1e12};
    it->setting.cost.accelerators_per_server = 8;
    assert_true(weft_accelerator_named(&it->setting.cost.accelerator, "H800", &error));
    it->strategy = (struct weft_strategy){.kind = WEFT_STRATEGY_HYBRID, .server_count = 16};
    if (!weft_hybrid_parse(&it->strategy.hybrid, degrees, 128, &error)) {
        fail_msg("%s", error.message);
    }
    return (struct weft_study){
        .model = &it->model, .cluster = &it->cluster, .setting = &it->setting};
}

static void iterations_lie_between_what_bounds_them(void **state)
{
    (void)state;
    static const struct {
        const char *model, *degrees;
    } rows[] = {{"llama-moe", "tp=4,ep=16,micro=4"},
                {"qwen-moe", "tp=4,ep=16,micro=4"},
                {"mixtral-8x7b", "tp=4,pp=4,ep=8,micro=4,recompute=full"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct weft_arena kept = arena;
        struct case_of it;
        const struct weft_study study =
            set_case(&it, rows[r].model, rows[r].degrees, 400 * GBPS, &kept);
        const struct weft_environment environment = {
            .arena = &kept, .scratch = scratch, .seed = 3, .threads = 1, .error = &error};
        double before_s = 0;
        static const uint64_t darks_ps[] = {0, 1000000000, 25000000000, 1000000000000};
        for (uint32_t d = 0; d < 4; d++) {
            struct weft_mixnet_options options = WEFT_MIXNET_DEFAULTS;
            options.steps = 2;
            const struct weft_circuit_delays delays = {0, darks_ps[d], 0, 0};
            struct weft_mixnet_iteration found;
            if (!weft_mixnet_iterate(&found, &it.strategy.hybrid, &study, &options, &delays,
                                     &environment)) {
                fail_msg("%s", error.message);
            }
            assert_true(found.passes_s < found.fat_s);
            assert_true(found.fat_s <= found.iteration_s * (1 + 1e-9));
            assert_true(found.still_s <= found.iteration_s * (1 + 1e-9));
            // Hysteresis: a slower switch never helps much, and never costs more than keeping.
            assert_true(found.iteration_s >= before_s * (1 - 0.02));
            before_s = found.iteration_s;
            for (uint32_t k = 0; k < WEFT_MIXNET_EXCHANGES; k++) {
                assert_true(found.replay.exchange_s[k] >= found.replay.ideal_s * 0.5);
            }
            options.published = true;
            options.first = WEFT_FIRST_KEEP;
            struct weft_mixnet_iteration greedy;
            assert_true(weft_mixnet_iterate(&greedy, &it.strategy.hybrid, &study, &options, &delays,
                                            &environment));
            assert_true(greedy.iteration_s > found.iteration_s);
        }
    }
}

// Experts inside their servers leave circuits to gradients: rings of as many servers as there are
// copies of a stage, at most eight. Six ports of n servers carry (n - 1) / n of what is reduced,
// two ports the rest; of three servers rings use six ports, of two any number.
static void circuits_without_experts_are_rings(void **state)
{
    (void)state;
    static const struct {
        const char *degrees;
        uint32_t region;
        double ports;
    } rows[] = {{"ep=8,pp=1,recompute=full", 8, 6 * 8 / 7.0},
                {"ep=8,pp=2,recompute=full", 8, 6 * 8 / 7.0},
                {"ep=8,pp=4,recompute=full", 4, 8},
                {"ep=8,pp=8,recompute=full", 2, 4}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct weft_arena kept = arena;
        struct case_of it;
        const struct weft_study study =
            set_case(&it, "mixtral-8x7b", rows[r].degrees, 400 * GBPS, &kept);
        const struct weft_environment environment = {
            .arena = &kept, .scratch = scratch, .seed = 3, .threads = 1, .error = &error};
        struct weft_mixnet_options options = WEFT_MIXNET_DEFAULTS;
        const struct weft_circuit_delays delays = {0, 25000000000, 0, 0};
        struct weft_mixnet_iteration found;
        assert_true(weft_mixnet_iterate(&found, &it.strategy.hybrid, &study, &options, &delays,
                                        &environment));
        assert_int_equal(found.gradients, WEFT_GRADIENTS_STANDING);
        assert_int_equal(found.region, rows[r].region);
        assert_true(found.changes == 0 && found.dark_share == 0);
        const uint32_t n = found.region;
        const uint32_t *circuits = found.replay.wirings[0].circuits;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t sum = 0;
            for (uint32_t j = 0; j < n; j++) {
                bool beside = j == (i + 1) % n || i == (j + 1) % n;
                assert_int_equal(circuits[i * n + j], beside ? (n == 2 ? 6 : 3) : 0);
                sum += circuits[i * n + j];
            }
            assert_int_equal(sum, 6);
        }
        double two_Bps = 2 * 400 * GBPS;
        double ring_Bps = rows[r].ports * 400 * GBPS;
        const struct weft_hybrid_rates rates = {ring_Bps,
                                                ring_Bps,
                                                two_Bps,
                                                two_Bps,
                                                8 * 400 * GBPS,
                                                two_Bps,
                                                2 * weft_seconds(it.cluster.latency_ps)};
        struct weft_hybrid_estimate estimate;
        assert_true(weft_hybrid_estimate_at(&estimate, &it.strategy.hybrid, &study, &rates, scratch,
                                            &error));
        assert_true(fabs(found.iteration_s - weft_seconds(estimate.iteration_ps)) < 1e-12);
        options.published = true;
        struct weft_mixnet_iteration greedy;
        assert_true(weft_mixnet_iterate(&greedy, &it.strategy.hybrid, &study, &options, &delays,
                                        &environment));
        assert_true(found.fat_s <= found.iteration_s && found.iteration_s < greedy.iteration_s);
    }
}

// All of a micro-batch's all-to-alls in the flow engine: the formula's waits and times but for what
// fair rates add, and for pairs that need not wait for the circuits of others.
static void a_stage_is_played(const struct weft_mixnet_replay *replay,
                              const struct weft_circuit_delays *delays,
                              const struct weft_environment *environment)
{
    const struct weft_mixnet_sequence sequence = {.node_count = replay->node_count,
                                                  .first = replay->wirings[0].circuits,
                                                  .turn_count = replay->turn_count,
                                                  .turns = replay->turns,
                                                  .ports = replay->ports,
                                                  .rate_Bps = 400 * GBPS,
                                                  .delays = *delays};
    const struct weft_sim_options flow = {0};
    struct weft_mixnet_played played;
    double waits_s = 0;
    for (uint32_t t = 0; t < replay->turn_count; t++) {
        waits_s += replay->turns[t].wait_s;
    }
    assert_int_equal(replay->turn_count, 4 * 32);
    assert_true(weft_mixnet_play(&played, &sequence, &flow, environment));
    double ratio = (played.seconds - played.compute_s) / (played.formula_s - played.compute_s);
    print_message(
        "a stage: %.4f of the formula's all-to-alls and waits, %u changes, waits %.0f %%\n", ratio,
        played.changes, 100 * waits_s / (played.formula_s - played.compute_s));
    assert_int_equal(played.changes, replay->wiring_count - 1);
    assert_true(ratio > 0.99 && ratio < 1.12);
}

// A first all-to-all that waits for its circuits takes the whole change longer.
static void waits_are_counted(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    struct case_of it;
    const struct weft_study study =
        set_case(&it, "llama-moe", "tp=4,ep=16,micro=4", 400 * GBPS, &kept);
    const struct weft_environment environment = {
        .arena = &kept, .scratch = scratch, .seed = 3, .threads = 1, .error = &error};
    struct weft_mixnet_options options = WEFT_MIXNET_DEFAULTS;
    const struct weft_circuit_delays delays = {1000000000, 25000000000, 4000000000, 0};
    options.steps = 2;
    options.first = WEFT_FIRST_BLOCK;
    struct weft_mixnet_iteration found;
    assert_true(
        weft_mixnet_iterate(&found, &it.strategy.hybrid, &study, &options, &delays, &environment));
    const struct weft_mixnet_replay *replay = &found.replay;
    assert_true(fabs(replay->wait_s[0] - 0.03) < 1e-9);
    assert_true(replay->exchange_s[0] > 0.03 + 0.9 * replay->ideal_s);
    assert_true(found.iteration_s - found.still_s > 0.03 * 32);
    a_stage_is_played(replay, &delays, &environment);
    // Faults leave fewer ports. A spare whose NICs are all on packets costs little, and most one
    // whose circuits lead nowhere.
    double iterations_s[WEFT_FAULT_COUNT];
    options.first = WEFT_FIRST_PREDICT;
    for (uint32_t f = 0; f < WEFT_FAULT_COUNT; f++) {
        options.fault = (enum weft_mixnet_fault)f;
        assert_true(weft_mixnet_iterate(&found, &it.strategy.hybrid, &study, &options, &delays,
                                        &environment));
        iterations_s[f] = found.iteration_s;
    }
    assert_true(iterations_s[WEFT_FAULT_PACKET_NIC] > iterations_s[WEFT_FAULT_NONE]);
    assert_true(iterations_s[WEFT_FAULT_CIRCUIT_NIC] > iterations_s[WEFT_FAULT_NONE]);
    assert_true(iterations_s[WEFT_FAULT_SERVER] < 1.1 * iterations_s[WEFT_FAULT_NONE]);
    assert_true(iterations_s[WEFT_FAULT_ALIKE] > 1.2 * iterations_s[WEFT_FAULT_PACKET_NIC]);
}

static void plans_are_whole(void **state)
{
    (void)state;
    struct weft_arena kept = arena;
    struct case_of it;
    const struct weft_study study =
        set_case(&it, "mixtral-8x7b", "tp=8,pp=2,ep=8,micro=4,recompute=full", 400 * GBPS, &kept);
    const struct weft_environment environment = {
        .arena = &kept, .scratch = scratch, .seed = 3, .threads = 1, .error = &error};
    const struct weft_moving_options options = {.delays = WEFT_CIRCUIT_IDEAL(1000000),
                                                .given = &it.strategy};
    struct weft_moving_plan plan;
    if (!weft_mixnet_plan(&plan, &study, NULL, &options, &environment)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(plan.fabric, WEFT_MOVING_MIXNET);
    assert_true(plan.estimate && plan.change_count > 0 && plan.strategy.memory != NULL);
    assert_true(plan.certificate.lower_bound_s <= plan.iteration_s * (1 + 1e-9));
    assert_true(plan.dark_share >= 0 && plan.dark_share < 1);
    const struct weft_circuit_schedule *schedule = &plan.schedule;
    assert_int_equal(schedule->node_count, 8 * 6);
    assert_true(schedule->change_count > 0);
    const uint32_t *before = schedule->first;
    uint64_t start_ps = 0;
    for (uint32_t c = 0; c <= schedule->change_count; c++) {
        const uint32_t *peers = c == 0 ? schedule->first : schedule->changes[c - 1].peers;
        uint32_t moved = 0;
        for (uint32_t a = 0; a < schedule->node_count; a++) {
            assert_int_equal(peers[peers[a]], a);
            assert_true(peers[a] == a || peers[a] / 6 != a / 6);
            moved += peers[a] != before[a];
        }
        assert_true(c == 0 || moved > 0);
        assert_true(c == 0 || schedule->changes[c - 1].start_ps >= start_ps);
        start_ps = c == 0 ? 0 : schedule->changes[c - 1].start_ps;
        before = peers;
    }
    assert_true(start_ps < schedule->end_ps);
    // A model without experts, and servers without a port for packets.
    struct weft_model dense;
    assert_true(weft_model_named(&dense, "llama3-8b", &kept, &error));
    struct weft_study other = study;
    other.model = &dense;
    assert_false(weft_mixnet_plan(&plan, &other, NULL, &options, &environment));
    assert_int_equal(error.code, WEFT_INPUT);
    struct weft_mixnet_options all = WEFT_MIXNET_DEFAULTS;
    all.circuit_ports = 8;
    assert_false(weft_mixnet_plan(&plan, &study, &all, &options, &environment));
    assert_int_equal(error.code, WEFT_INPUT);
}

static void prices_are_those_of_the_paper(void **state)
{
    (void)state;
    static const struct {
        double gbps, fat_usd, mixnet_usd, ratio;
    } rows[] = {{100, 17504, 12044, 1.453},
                {200, 35064, 19794, 1.771},
                {400, 87224, 37874, 2.303},
                {800, 141136, 60286, 2.341}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct weft_cluster cluster;
        assert_true(weft_cluster_build(&cluster, 128, 8, rows[r].gbps * GBPS, &error));
        struct weft_parts fat = weft_mixnet_parts(&cluster, 0);
        struct weft_parts mixed = weft_mixnet_parts(&cluster, 6);
        double fat_usd = weft_fabric_cost(&fat, &cluster.prices).total_usd / 128;
        double mixed_usd = weft_fabric_cost(&mixed, &cluster.prices).total_usd / 128;
        assert_true(fabs(fat_usd - rows[r].fat_usd) < 0.5);
        assert_true(fabs(mixed_usd - rows[r].mixnet_usd) < 0.5);
        assert_true(fabs(fat_usd / mixed_usd - rows[r].ratio) < 5e-4);
    }
}

int main(void)
{
    if (!weft_arena_init(&arena, (size_t)8 << 30, &error) ||
        !weft_arena_init(&scratch, (size_t)8 << 30, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greedy_is_as_published),
        cmocka_unit_test(the_flow_engine_agrees_with_the_formula),
        cmocka_unit_test(iterations_lie_between_what_bounds_them),
        cmocka_unit_test(circuits_without_experts_are_rings),
        cmocka_unit_test(waits_are_counted),
        cmocka_unit_test(plans_are_whole),
        cmocka_unit_test(prices_are_those_of_the_paper),
    };
    return cmocka_run_group_tests_name("mixnet", tests, NULL, NULL);
}
