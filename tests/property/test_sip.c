// SPDX-License-Identifier: Apache-2.0
// SiP-ML on random networks: what placements, the fold of replicas, circuits, wavelengths and
// changes must keep, computed here in another way.
//
// Mutations that made a test fail: `span.first + i + 1` in place.c (reach); `all / here` as the
// share in fold.c (bytes); arcs of counter-clockwise pairs from their start in waves.c (colors);
// relays without the second circuit in circuits.c; `others[pair] == 0` dropped in shots.c (cuts);
// the extent dropped in split.c (norms); in fold.c collectives after each micro-batch, and one task
// alone behind the barrier; twice the micro-batches at first in search.c.

#include "../seeds.h"
#include "plan/sip/sip.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_rng rng;

#define OPERATORS 14u
static struct weft_model model;
static struct weft_cluster cluster;
static struct weft_strategy_setting setting;
static struct weft_error error;
static struct weft_environment environment;

// Dense layers and norms, which need whole rows; some inputs are two layers that are added up.
static void make_network(uint64_t batch)
{
    static uint32_t inputs[OPERATORS][2];
    struct weft_operator_spec specs[OPERATORS] = {
        {.kind = WEFT_OP_INPUT, .rank = 1, .shape = {512}}};
    for (uint32_t op = 1; op < OPERATORS; op++) {
        bool sum = op > 2 && weft_rng_below(&rng, 3) == 0;
        inputs[op][0] = op - 1;
        inputs[op][1] = sum ? 1 + weft_rng_below(&rng, op - 2) : 0;
        bool norm = !sum && op > 1 && weft_rng_below(&rng, 4) == 0;
        specs[op] = (struct weft_operator_spec){.kind = sum    ? WEFT_OP_ADD
                                                        : norm ? WEFT_OP_NORM
                                                               : WEFT_OP_DENSE,
                                                .units = sum || norm ? 0 : 512,
                                                .input_count = sum ? 2 : 1,
                                                .inputs = inputs[op]};
    }
    const struct weft_accelerator *accelerator;
    struct weft_model_head head = {"random", "test", batch};
    assert_true(weft_model_build(&model, &head, specs, OPERATORS, &arena, &error));
    assert_true(weft_accelerator_named(&accelerator, "A100", &error));
    assert_true(weft_cluster_build(&cluster, 2, 1, 1e9, &error));
    cluster.accelerators_per_server = 1;
    cluster.latency_ps = 0;
    setting = (struct weft_strategy_setting){
        .cost = {.accelerator = accelerator, .accelerators_per_server = 1}};
}

static const struct weft_study study = {&model, &cluster, NULL, &setting};
static const struct sip_target target = {.port_Bps = 1e11, .collective_Bps = 1e11};

static struct sip_choice draw(uint32_t dp_log)
{
    uint32_t mp = 2 + weft_rng_below(&rng, 7);
    uint32_t dp = 1u << dp_log;
    make_network((uint64_t)dp * 64 * (1 + weft_rng_below(&rng, 8)));
    return (struct sip_choice){
        .dp = dp,
        .mp = mp,
        .micro_batches = 1,
        .batch = {model.batch, 1},
        .rule = (enum sip_rule)weft_rng_below(&rng, SIP_RULE_COUNT),
        .pick = (enum sip_pick)weft_rng_below(&rng, SIP_PICK_COUNT),
        .reach = 1 + weft_rng_below(&rng, mp),
    };
}

static void build(struct sip_fold *fold, const struct sip_choice *choice)
{
    if (!sip_fold_build(fold, choice, &study, &target, &environment)) {
        fail_msg("%s", error.message);
    }
}

// ---- placements ----

// Whether some shortest run of ids that holds all marked ones begins at or within `reach` before
// `id`, going round.
static bool lies_within(const bool *marked, uint32_t mp, uint32_t reach, uint32_t id)
{
    uint32_t shortest = WEFT_NONE;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t first = 0; first < mp; first++) {
            uint32_t last = 0;
            for (uint32_t i = 0; i < mp; i++) {
                last = marked[(first + i) % mp] ? i : last;
            }
            if (!marked[first]) {
                continue;
            }
            shortest = pass == 0 && last < shortest ? last : shortest;
            if (pass == 1 && last == shortest && (id + mp - first) % mp < reach) {
                return true;
            }
        }
    }
    return false;
}

// Marks the ids of the parts that part `index` of `op` reads: all whose samples it shares, of sums
// only those of its own columns.
static bool mark_inputs(bool *marked, const struct sip_fold *fold, uint32_t op, uint32_t index)
{
    const struct weft_operator *self = &fold->model.operators[op];
    const struct weft_placement *own = &fold->strategy.placements[op];
    uint64_t batch = fold->model.batch;
    uint64_t low = batch / own->sample_parts * (index / own->parameter_parts);
    uint64_t high = low + batch / own->sample_parts;
    bool any = false;
    for (uint32_t slot = 0; slot < self->spec.input_count; slot++) {
        uint32_t input = self->spec.inputs[slot];
        const struct weft_placement *from = &fold->strategy.placements[input];
        bool alike =
            self->spec.kind == WEFT_OP_ADD && own->parameter_parts == from->parameter_parts;
        if (fold->model.operators[input].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        for (uint32_t i = 0; i < from->sample_parts * from->parameter_parts; i++) {
            uint64_t first = batch / from->sample_parts * (i / from->parameter_parts);
            bool shared = first < high && low < first + batch / from->sample_parts;
            bool column = !alike || i % from->parameter_parts == index % own->parameter_parts;
            if (shared && column) {
                marked[from->servers[i] % fold->choice.mp] = true;
                any = true;
            }
        }
    }
    return any;
}

static void parts_lie_within_reach_of_what_they_read(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(100); round++) {
        struct weft_arena before = arena;
        struct sip_choice choice = draw(weft_rng_below(&rng, 4));
        struct sip_fold fold;
        build(&fold, &choice);
        for (uint32_t op = 1; op < OPERATORS; op++) {
            const struct weft_placement *own = &fold.strategy.placements[op];
            for (uint32_t i = 0; i < own->sample_parts * own->parameter_parts; i++) {
                bool marked[16] = {false};
                if (mark_inputs(marked, &fold, op, i)) {
                    assert_true(
                        lies_within(marked, choice.mp, choice.reach, own->servers[i] % choice.mp));
                }
                assert_int_equal(own->servers[i] / choice.mp,
                                 i / (own->sample_parts / fold.replicas * own->parameter_parts));
            }
        }
        arena = before;
    }
}

static void memory_is_respected_or_the_answer_is_no(void **state)
{
    (void)state;
    uint32_t refused = 0;
    uint32_t fitted = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(60); round++) {
        struct weft_arena before = arena;
        struct sip_choice choice = draw(1);
        setting.memory_limit_bytes = 1e6 + 1e6 * weft_rng_below(&rng, 24);
        struct sip_fold fold;
        if (sip_fold_build(&fold, &choice, &study, &target, &environment)) {
            for (uint32_t s = 0; s < fold.node_count; s++) {
                assert_true(fold.strategy.memory[s].total_bytes <= setting.memory_limit_bytes);
            }
            fitted++;
        } else {
            assert_int_equal(error.code, WEFT_INFEASIBLE);
            refused++;
        }
        arena = before;
    }
    assert_true(refused > 0 && fitted > 0);
}

// ---- two replicas for all ----

// The whole job, all replicas by themselves.
static void build_whole(struct weft_taskgraph *graph, const struct sip_fold *fold,
                        struct weft_cluster *all)
{
    uint32_t n = fold->choice.dp * fold->choice.mp;
    *all = fold->cluster;
    all->server_count = n;
    struct weft_strategy whole = sip_unfold(fold, n, &arena);
    const struct weft_study big = {&model, all, NULL, &fold->setting};
    if (!weft_strategy_memory(&whole, &big, &arena, scratch, &error) ||
        !weft_strategy_taskgraph(graph, &whole, &big, &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static double star_s(const struct weft_taskgraph *graph, const struct weft_cluster *on)
{
    struct weft_network network;
    struct weft_sim_result played;
    const struct weft_sim_options options = {.one_round = true};
    const struct weft_sim_job job = {.graph = graph};
    assert_true(weft_fabric_build_ideal(&network, on, NULL, &arena, &error));
    assert_true(weft_sim_run_jobs(&played, &network, &job, 1, &options, &environment));
    return weft_seconds(played.end_ps);
}

static void two_replicas_carry_and_take_what_all_do(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(40); round++) {
        struct weft_arena before = arena;
        struct sip_choice choice = draw(weft_rng_below(&rng, 4));
        struct sip_fold fold;
        struct weft_taskgraph whole;
        struct weft_cluster all;
        struct weft_traffic traffic;
        build(&fold, &choice);
        build_whole(&whole, &fold, &all);
        weft_traffic_build(&traffic, &whole, &arena, scratch);
        const double *bytes = weft_traffic_matrix(&traffic, &arena);
        const double *folded = sip_fold_bytes(&fold, &arena);
        uint32_t n = all.server_count;
        for (uint32_t from = 0; from < n; from++) {
            for (uint32_t to = 0; to < n && n > fold.node_count; to++) {
                // A replica's own pairs, and those to the next one; all others carry nothing.
                uint32_t mp = choice.mp;
                uint32_t ahead = (to / mp + choice.dp - from / mp) % choice.dp;
                size_t at = (size_t)(from % (2 * mp)) * fold.node_count + to % (2 * mp);
                double expected = ahead < 2 ? folded[at] : 0;
                assert_true(fabs(bytes[(size_t)from * n + to] - expected) <= 1e-6 * expected + 1e3);
            }
        }
        double one = star_s(&fold.graph, &fold.cluster);
        double whole_s = star_s(&whole, &all);
        assert_true(fabs(one - whole_s) <= 1e-6 * whole_s);
        arena = before;
    }
}

// ---- micro-batches ----

// All but the last run without the collectives, so the iteration is a sum, and every pair carries
// its transfers so many times; memory is that of one.
static void micro_batches_follow_each_other(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < TEST_SEEDS(20); round++) {
        struct weft_arena before = arena;
        struct sip_choice choice = draw(weft_rng_below(&rng, 3));
        struct sip_fold once;
        struct sip_fold all;
        choice.micro_batches = 2u << weft_rng_below(&rng, 3);
        build(&all, &choice);
        double times = choice.micro_batches;
        choice.batch.samples /= choice.micro_batches;
        choice.micro_batches = 1;
        build(&once, &choice);
        for (uint32_t p = 0; p < once.node_count * once.node_count; p++) {
            assert_true(all.transfer_bytes[p] == times * once.transfer_bytes[p]);
            assert_true(fabs(all.ring_bytes[p] - once.ring_bytes[p]) <= 1e-6 * once.ring_bytes[p]);
        }
        assert_true(all.strategy.memory_max_bytes == once.strategy.memory_max_bytes);
        struct weft_taskgraph silent = once.graph;
        uint64_t *size_bytes = WEFT_NEW(&arena, uint64_t, silent.task_count);
        uint64_t *runtime_ps = WEFT_NEW(&arena, uint64_t, silent.task_count);
        for (uint32_t i = 0; i < silent.task_count; i++) {
            bool collective = weft_task_is_collective(&silent, i);
            size_bytes[i] = collective ? 0 : silent.size_bytes[i];
            runtime_ps[i] = collective ? 0 : silent.runtime_ps[i];
        }
        silent.size_bytes = size_bytes;
        silent.runtime_ps = runtime_ps;
        double expected_s = (times - 1) * star_s(&silent, &once.cluster);
        expected_s += star_s(&once.graph, &once.cluster);
        assert_true(fabs(star_s(&all.graph, &all.cluster) - expected_s) <= 1e-6 * expected_s);
        arena = before;
    }
}

static void the_search_takes_as_few_micro_batches_as_fit(void **state)
{
    (void)state;
    const struct weft_moving_options options = {.delays = WEFT_CIRCUIT_IDEAL(20000000)};
    struct weft_sip_result found;
    make_network(4096);
    cluster.server_count = 8;
    const struct weft_sip_options sip = {.dp = 8};
    setting.memory_limit_bytes = 0;
    if (!weft_sip_search(&found, &study, WEFT_MOVING_SIP_RING, &sip, &options, &environment)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(found.micro_batches, 1);
    double whole_bytes = found.fold.strategy.memory_max_bytes;
    setting.memory_limit_bytes = 0.999 * whole_bytes;
    assert_true(
        weft_sip_search(&found, &study, WEFT_MOVING_SIP_RING, &sip, &options, &environment));
    assert_int_equal(found.micro_batches, 2);
    assert_true(found.plan.strategy.memory_max_bytes <= setting.memory_limit_bytes);
}

// ---- circuits ----

static void circuits_join_all_pairs_by_one_hop_or_two(void **state)
{
    (void)state;
    uint32_t relayed = 0;
    uint32_t refused = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(200); round++) {
        struct weft_arena before = arena;
        uint32_t n = 2 + weft_rng_below(&rng, 15);
        uint32_t ports = 1 + weft_rng_below(&rng, 8);
        double *bytes = WEFT_NEW(&arena, double, (size_t)n *n);
        for (uint32_t p = 0; p < n * n; p++) {
            bytes[p] = p % (n + 1) == 0 || weft_rng_below(&rng, 2) ? 0 : weft_rng_below(&rng, 99);
        }
        struct sip_circuits c;
        if (!sip_circuits_build(&c, bytes, n, ports, &arena, scratch, &error)) {
            assert_int_equal(error.code, WEFT_INFEASIBLE);
            assert_string_equal(error.key, "switches");
            refused++;
            arena = before;
            continue;
        }
        uint32_t *joined = WEFT_NEW(&arena, uint32_t, (size_t)n * n);
        for (uint32_t s = 0; s < ports; s++) {
            bool taken[16] = {false};
            for (uint32_t i = 0; i < n; i++) {
                uint32_t to = c.permutations[s * n + i];
                assert_true(to < n && !taken[to]);
                taken[to] = true;
                joined[i * n + to] += to != i;
            }
        }
        for (uint32_t p = 0; p < n * n; p++) {
            uint32_t over = c.relay[p];
            if (bytes[p] > 0 && over == WEFT_NONE) {
                assert_true(joined[p] > 0);
            } else if (bytes[p] > 0) {
                assert_true(joined[p / n * n + over] > 0 && joined[over * n + p % n] > 0);
                relayed++;
            }
        }
        arena = before;
    }
    assert_true(relayed > 0 && refused > 0);
}

// ---- wavelengths ----

// Lays the fold's arcs out on the ring of all accelerators, replica by replica, and asks that no
// segment of a fiber carries a color twice.
static void check_colors(const struct sip_waves *waves, const struct sip_fold *fold, uint32_t fiber)
{
    uint32_t n = fold->choice.dp * fold->choice.mp;
    bool *busy[2] = {WEFT_NEW(&arena, bool, (size_t)n *fiber),
                     WEFT_NEW(&arena, bool, (size_t)n *fiber)};
    for (uint32_t base = 0; base < n; base += fold->node_count) {
        for (uint32_t a = 0; a < waves->arc_count; a++) {
            const struct weft_sip_arc *arc = &waves->arcs[a];
            assert_true(arc->color < fiber);
            uint32_t at = base + arc->from;
            while (at % fold->node_count != arc->to) {
                // Segment s lies between s and s + 1.
                uint32_t segment = arc->counter ? (at + n - 1) % n : at;
                bool *taken = &busy[arc->counter][(size_t)segment * fiber + arc->color];
                assert_false(*taken);
                *taken = true;
                at = arc->counter ? segment : (at + 1) % n;
            }
        }
    }
}

static void wavelengths_never_meet_on_the_whole_ring(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (uint32_t round = 0; round < TEST_SEEDS(40); round++) {
        struct weft_arena before = arena;
        struct sip_choice choice = draw(weft_rng_below(&rng, 4));
        const struct weft_sip_options sip = {
            .wavelengths = 1 + weft_rng_below(&rng, round % 2 ? 40 : 4), .wave_Bps = 1e9};
        struct sip_fold fold;
        struct sip_waves waves;
        build(&fold, &choice);
        if (sip_waves_build(&waves, &fold, &sip, &environment)) {
            check_colors(&waves, &fold, sip.wavelengths / 2);
            for (uint32_t p = 0; p < fold.node_count * fold.node_count; p++) {
                bool carries = fold.transfer_bytes[p] + fold.ring_bytes[p] > 0;
                assert_true(!carries || waves.rate_Bps[p] > 0);
            }
        } else {
            assert_int_equal(error.code, WEFT_INFEASIBLE);
            assert_string_equal(error.key, "wavelengths");
            refused++;
        }
        arena = before;
    }
    assert_true(refused > 0);
}

// ---- changes ----

// Circuits of all planes but one (WEFT_NONE: of all) between a pair.
static uint32_t joined_by(const uint32_t *peers, const struct weft_circuit_schedule *schedule,
                          uint32_t pair, uint32_t without)
{
    uint32_t n = schedule->node_count;
    uint32_t count = 0;
    for (uint32_t plane = 0; plane < schedule->plane_count; plane++) {
        count += plane != without && peers[plane * n + pair / n] == pair % n;
    }
    return count;
}

static uint64_t check_schedule(const struct sip_run *run, enum weft_sip_shots shots)
{
    const struct weft_circuit_schedule *schedule = &run->schedule;
    uint32_t n = schedule->node_count;
    size_t size = (size_t)n * schedule->plane_count;
    uint32_t *peers = WEFT_NEW(&arena, uint32_t, size);
    uint64_t free_ps = 0;
    memcpy(peers, schedule->first, size * sizeof *peers);
    for (uint32_t c = 0; c < schedule->change_count; c++) {
        const struct weft_circuit_change *change = &schedule->changes[c];
        bool taken[32] = {false};
        for (uint32_t i = 0; i < n; i++) {
            assert_true(change->peers[i] < n && !taken[change->peers[i]]);
            taken[change->peers[i]] = true;
        }
        if (shots == WEFT_SIP_STAGGERED) {
            assert_true(change->start_ps >= free_ps); // one at a time
            free_ps = change->start_ps + schedule->delays.command_ps + schedule->delays.dark_ps;
            for (uint32_t pair = 0; pair < n * n; pair++) {
                assert_true(pair / n == pair % n ||
                            joined_by(peers, schedule, pair, WEFT_NONE) < 2 ||
                            joined_by(peers, schedule, pair, change->plane) > 0);
            }
        }
        memcpy(peers + (size_t)change->plane * n, change->peers, n * sizeof *peers);
        for (uint32_t pair = 0; shots == WEFT_SIP_STAGGERED && pair < n * n; pair++) {
            assert_true(run->circuits->demand[pair] <= 0 ||
                        joined_by(peers, schedule, pair, WEFT_NONE) > 0);
        }
    }
    return schedule->change_count;
}

static void changes_keep_what_they_must(void **state)
{
    (void)state;
    uint64_t changes[WEFT_SIP_SHOTS_COUNT] = {0};
    for (uint32_t round = 0; round < TEST_SEEDS(20); round++) {
        struct weft_arena before = arena;
        struct sip_choice choice = draw(weft_rng_below(&rng, 3));
        struct sip_fold fold;
        build(&fold, &choice);
        const double *bytes = sip_fold_bytes(&fold, &arena);
        for (int shots = WEFT_SIP_SINGLE; shots <= WEFT_SIP_STAGGERED; shots++) {
            const struct weft_sip_options sip = {.wavelengths = 20 + weft_rng_below(&rng, 9),
                                                 .wave_Bps = 1e8,
                                                 .switches = 16,
                                                 .shots = (enum weft_sip_shots)shots};
            const struct weft_circuit_delays delays = {weft_rng_below(&rng, 2) * 1000000,
                                                       weft_rng_below(&rng, 50) * 1000000, 0, 0};
            struct sip_run run;
            struct weft_certificate certificate;
            assert_non_null(bytes);
            if (!sip_play_light(&run, &fold, WEFT_MOVING_SIP_OCS, &sip, &delays, &environment) ||
                !sip_certify(&certificate, &fold, WEFT_MOVING_SIP_OCS, &sip, run.iteration_s,
                             &environment)) {
                fail_msg("%s", error.message);
            }
            assert_int_equal(run.shots, shots);
            // Ports of the fold's cluster are wider than these circuits: still bounds.
            assert_true(certificate.lower_bound_s <= run.iteration_s * (1 + 1e-9));
            assert_true(run.dark_share >= 0 && run.dark_share < 1);
            changes[shots] += check_schedule(&run, (enum weft_sip_shots)shots);
        }
        arena = before;
    }
    assert_true(changes[WEFT_SIP_SINGLE] == 0);
    assert_true(changes[WEFT_SIP_TOGETHER] > 0 && changes[WEFT_SIP_STAGGERED] > 0);
}

// ---- a chain by hand ----

// Twelve blocks, each on the other of two accelerators: everything follows one after the other, and
// all circuits join the two, so that the iteration is a sum.
static void a_chain_of_twelve_blocks_takes_its_sum(void **state)
{
    (void)state;
    enum { BLOCKS = 12 };
    uint32_t inputs[BLOCKS + 1];
    uint32_t servers[BLOCKS + 1];
    struct weft_operator_spec specs[BLOCKS + 1] = {
        {.kind = WEFT_OP_INPUT, .rank = 1, .shape = {256}}};
    struct weft_placement placements[BLOCKS + 1] = {{1, 1, servers}};
    make_network(64);
    for (uint32_t op = 1; op <= BLOCKS; op++) {
        inputs[op] = op - 1;
        servers[op] = op % 2;
        specs[op] = (struct weft_operator_spec){
            .kind = WEFT_OP_DENSE, .units = 256, .input_count = 1, .inputs = &inputs[op]};
        placements[op] = (struct weft_placement){1, 1, &servers[op]};
    }
    struct weft_model_head head = {"chain", "test", 64};
    assert_true(weft_model_build(&model, &head, specs, BLOCKS + 1, &arena, &error));
    cluster.latency_ps = 500000;
    const struct weft_strategy given = {
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = 2, .placements = placements};
    const struct weft_moving_options options = {.given = &given};
    for (uint32_t waves = 20; waves <= 320; waves *= 2) {
        const struct weft_sip_options sip = {.wavelengths = waves, .shots = WEFT_SIP_SINGLE};
        double sum_s = 0;
        for (uint32_t op = 1; op <= BLOCKS; op++) {
            struct weft_operator_cost cost;
            struct weft_split split = {1, 1};
            assert_true(weft_operator_time(&cost, &model, op, split, &setting.cost, &error));
            sum_s += weft_seconds(cost.forward_ps) + weft_seconds(cost.backward_ps);
        }
        // Eleven times there and back, 64 samples of 256 numbers.
        sum_s += 22 * (64 * 256 * 4 / (waves * 3.125e9) + 0.5e-6);
        for (int ring = 0; ring < 2; ring++) {
            struct weft_moving_plan plan;
            if (!weft_sip_plan(&plan, &study, ring ? WEFT_MOVING_SIP_RING : WEFT_MOVING_SIP_OCS,
                               &sip, &options, &environment)) {
                fail_msg("%s", error.message);
            }
            assert_true(fabs(plan.iteration_s - sum_s) <= 1e-6 * sum_s);
            assert_true(plan.certificate.gap_ratio < 1e-6); // and nothing is quicker
        }
    }
}

// ---- wrong questions ----

static void what_cannot_be_says_what_would_help(void **state)
{
    (void)state;
    make_network(1024);
    cluster.server_count = 8;
    const struct weft_moving_options options = {.delays = WEFT_CIRCUIT_IDEAL(20000000)};
    const struct weft_sip_options few = {.wavelengths = 4, .switches = 8};
    const struct weft_sip_options thin = {.wavelengths = 1, .switches = 1};
    const struct weft_sip_options odd = {.dp = 3};
    struct weft_moving_plan plan;
    assert_false(weft_sip_plan(&plan, &study, WEFT_MOVING_SIP_OCS, &few, &options, &environment));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_string_equal(error.key, "wavelengths");
    assert_false(weft_sip_plan(&plan, &study, WEFT_MOVING_SIP_RING, &thin, &options, &environment));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_string_equal(error.key, "wavelengths");
    assert_false(weft_sip_plan(&plan, &study, WEFT_MOVING_SIP_OCS, &odd, &options, &environment));
    assert_int_equal(error.code, WEFT_INPUT);
    setting.memory_limit_bytes = 1e5;
    assert_false(weft_sip_plan(&plan, &study, WEFT_MOVING_SIP_OCS, NULL, &options, &environment));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_non_null(strstr(error.message, "8 accelerators a replica, micro-batches of 1: "));
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    print_message("seed %llu\n", (unsigned long long)seed);
    weft_rng_init(&rng, seed);
    environment = (struct weft_environment){
        .arena = &arena, .scratch = scratch, .seed = 1, .threads = 1, .error = &error};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_lie_within_reach_of_what_they_read),
        cmocka_unit_test(memory_is_respected_or_the_answer_is_no),
        cmocka_unit_test(two_replicas_carry_and_take_what_all_do),
        cmocka_unit_test(micro_batches_follow_each_other),
        cmocka_unit_test(the_search_takes_as_few_micro_batches_as_fit),
        cmocka_unit_test(circuits_join_all_pairs_by_one_hop_or_two),
        cmocka_unit_test(wavelengths_never_meet_on_the_whole_ring),
        cmocka_unit_test(changes_keep_what_they_must),
        cmocka_unit_test(a_chain_of_twelve_blocks_takes_its_sum),
        cmocka_unit_test(what_cannot_be_says_what_would_help),
    };
    return cmocka_run_group_tests_name("sip", tests, NULL, NULL);
}
