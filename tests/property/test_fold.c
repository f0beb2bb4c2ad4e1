// SPDX-License-Identifier: Apache-2.0
// Random hybrid strategies of small transformers on switched fabrics: an iteration of which equal
// replicas are played once takes what that of the whole task graph takes.
//
// fold [SEED [INSTANCES]]
//
// Mutations it failed with: rings of the played members only, with their own number of rounds;
// delays of the first hop of a color in place of the slowest; all links above the NICs taken for
// such that bind nobody; colors that forget paths' delays; one round of refinement. Rounds of a
// ring that are skipped: one too many, up to the next event and beyond it, with other flows about,
// not counted.

#include "../unit/hybrid_case.h"

#include "weft/plan.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-9
// Of the instances at least so many must fold, and so many not, or the draw tests nothing.
#define FOLDED_LEAST 0.2
#define UNFOLDED_LEAST 0.05
// Rings of several groups on one NIC wait for each other's rounds, and some instances (about 1 of
// 1,500) make much of little: there rounding alone moves the whole graph's own iteration by more
// than the tolerance, and it says nothing about folding. They are known by what the whole graph
// takes when all rates are another one in 10^12.
#define SENSITIVE_MOST 0.01
#define NUDGE 1e-12

static uint64_t seed = 17;
static uint32_t instances = 120;

static uint32_t pick(struct weft_rng *rng, const uint32_t *values, uint32_t count)
{
    return values[weft_rng_below(rng, count)];
}

// Two to ten layers, tied or not, dense or with experts.
static void draw_model(struct weft_rng *rng)
{
    bool experts = weft_rng_below(rng, 3) == 0;
    const struct weft_transformer stack = {
        .layers = 2 + weft_rng_below(rng, 9),
        .hidden = 512,
        .heads = 8,
        .sequence = 256,
        .vocabulary = 4096,
        .tied_embeddings = weft_rng_below(rng, 2) == 0,
        .ffn_units = 2048,
        .causal = true,
        .experts = experts ? 8 : 0,
        .experts_active = experts ? 2 : 0,
        .expert_units = experts ? 1024 : 0,
        .dense_layers = experts ? weft_rng_below(rng, 2) : 0,
        .dtype = WEFT_BF16,
    };
    const struct weft_model_head head = {"drawn", "drawn", 8};
    assert_true(weft_model_build_transformer(&model, &head, &stack, &arena, &error));
}

static void draw_cluster(struct weft_rng *rng)
{
    static const uint32_t servers[] = {2, 3, 4, 6, 8, 9, 12, 16, 16, 24, 32};
    static const uint32_t per_server[] = {1, 2, 4, 8};
    uint32_t count = pick(rng, servers, sizeof servers / sizeof servers[0]);
    double rate_Bps = 1e9 * (1 + weft_rng_below(rng, 50));
    assert_true(weft_cluster_build(&cluster, count, 1 + weft_rng_below(rng, 4), rate_Bps, &error));
    cluster.accelerators_per_server = pick(rng, per_server, 4);
    cluster.balance = weft_rng_below(rng, 6) == 0 ? WEFT_BALANCE_HASH : WEFT_BALANCE_EVEN;
    setting = (struct weft_strategy_setting){.optimizer = WEFT_ADAM};
    assert_true(weft_accelerator_named(&setting.cost.accelerator, "A100", &error));
}

// A strategy that may or may not suit the model; the batch follows it.
static struct weft_hybrid draw_hybrid(struct weft_rng *rng)
{
    static const uint32_t powers[] = {1, 2, 4, 8};
    static const uint32_t depths[] = {1, 2, 3, 4};
    static const char *const orders[] = {"tcdp", "tcpd", "tdcp", "tdpc", "tpcd", "tpdc"};
    struct weft_hybrid hybrid = {
        .tp = pick(rng, powers, 4),
        .pp = pick(rng, depths, 4),
        .cp = pick(rng, powers, weft_rng_below(rng, 2) == 0 ? 1 : 3),
        .ep = model.transformer->experts != 0 ? pick(rng, powers, 4) : 1,
        .chunks = 1 + weft_rng_below(rng, 2),
        .micro_batch = 1 + weft_rng_below(rng, 2),
        .zero_stage = weft_rng_below(rng, 4),
        .overlap_gradients = weft_rng_below(rng, 4) > 0,
        .fused_attention = true,
        .recompute = weft_rng_below(rng, 4) == 0 ? WEFT_RECOMPUTE_FULL : WEFT_RECOMPUTE_NONE,
    };
    hybrid.blocking_sends = weft_rng_below(rng, 4) == 0;
    uint32_t all = cluster.server_count * cluster.accelerators_per_server;
    hybrid.dp = all / (hybrid.tp * hybrid.pp * hybrid.cp);
    memcpy(hybrid.order, orders[weft_rng_below(rng, 6)], 5);
    uint64_t micro_batches = hybrid.pp * (1 + (uint64_t)weft_rng_below(rng, 3));
    assert_true(
        hybrid.dp == 0 ||
        weft_model_set_batch(&model, hybrid.dp * hybrid.micro_batch * micro_batches, &error));
    return hybrid;
}

static bool draw_network(struct weft_network *network, struct weft_rng *rng)
{
    static const char *const leaves[] = {"leaf-spine", "rail-only",   "clos",
                                         "dual-plane", "multi-plane", "dual-tor"};
    static const uint32_t radices[] = {0, 4, 8, 16, 32, 64};
    struct weft_fabric_options options = {0};
    uint32_t kind = weft_rng_below(rng, 5);
    if (kind == 0) {
        return weft_fabric_build_ideal(network, &cluster, &options, &arena, &error);
    }
    if (kind == 1) {
        options.radix = 2 * weft_rng_below(rng, 6);
        return weft_fabric_build_fat_tree(network, &cluster, &options, &arena, &error);
    }
    options.oversubscription = weft_rng_below(rng, 2) == 0 ? 0 : 1 + weft_rng_below(rng, 4);
    if (kind == 2) {
        options.radix = 2 * weft_rng_below(rng, 6);
        return weft_fabric_build_oversubscribed(network, &cluster, &options, &arena, &error);
    }
    options.radix = pick(rng, radices, 6);
    return weft_fabric_build_leaves(network, leaves[weft_rng_below(rng, 6)], &cluster, &options,
                                    &arena, &error);
}

// What the whole task graph takes.
static double play_whole(const struct weft_strategy *strategy, const struct weft_study *study,
                         const struct weft_network *network, const struct weft_sim_options *options)
{
    struct weft_arena memory = weft_arena_split(&arena);
    struct weft_taskgraph graph;
    struct weft_sim_result result;
    const struct weft_environment environment = {
        .arena = &memory, .scratch = scratch, .error = &error};
    if (!weft_strategy_taskgraph(&graph, strategy, study, &memory, scratch, &error)) {
        return -1;
    }
    const struct weft_sim_job job = {.graph = &graph};
    if (!weft_sim_run_jobs(&result, network, &job, 1, options, &environment)) {
        fail_msg("%s", error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

// Whether the whole graph takes another time when its network is hardly another.
static bool is_sensitive(const struct weft_strategy *strategy, const struct weft_study *study,
                         const struct weft_network *network, const struct weft_sim_options *options,
                         double whole_s)
{
    struct weft_network nudged = *network;
    uint32_t count = network->fabric.link_count;
    struct weft_link *links = WEFT_NEW(&arena, struct weft_link, count);
    for (uint32_t l = 0; l < count; l++) {
        links[l] = network->fabric.links[l];
        links[l].rate_Bps *= 1 + NUDGE;
    }
    nudged.fabric.links = links;
    nudged.routes.fabric = &nudged.fabric;
    double other_s = play_whole(strategy, study, &nudged, options);
    return fabs(other_s - whole_s) > TOLERANCE * whole_s;
}

struct tally {
    uint32_t folded;    // instances of which some replicas were not played
    uint32_t sensitive; // that differ and are no test
};

// Draws and plays one instance. False: what was drawn is no strategy.
static bool try_one(struct tally *tally, uint32_t number, struct weft_rng *rng)
{
    draw_model(rng);
    draw_cluster(rng);
    struct weft_strategy strategy = {.kind = WEFT_STRATEGY_HYBRID,
                                     .server_count = cluster.server_count,
                                     .hybrid = draw_hybrid(rng)};
    const struct weft_study study = {.model = &model, .cluster = &cluster, .setting = &setting};
    struct weft_network network;
    if (strategy.hybrid.dp == 0 || strategy.hybrid.dp * strategy.hybrid.cp < 2 ||
        !draw_network(&network, rng)) {
        return false;
    }
    struct weft_sim_options options = {.packet_bytes = 9000, .header_bytes = 64, .seed = number};
    options.small_in_one_round = weft_rng_below(rng, 2) == 0;
    options.acknowledged = weft_rng_below(rng, 3) == 0;
    options.one_round = weft_rng_below(rng, 8) == 0;
    double whole_s = play_whole(&strategy, &study, &network, &options);
    if (whole_s < 0) {
        return false;
    }
    struct weft_hybrid_run run;
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch, .error = &error};
    if (!weft_plan_play_hybrid(&run, &strategy, &study, &network, &options, &environment)) {
        fail_msg("seed %llu, instance %u: %s", (unsigned long long)seed, number, error.message);
    }
    tally->folded += run.folded ? 1 : 0;
    if (fabs(run.iteration_s - whole_s) <= TOLERANCE * whole_s) {
        return true;
    }
    if (!is_sensitive(&strategy, &study, &network, &options, whole_s)) {
        fail_msg("seed %llu, instance %u: %s on %u servers of %u, %s with %u nodes: %u of %u "
                 "replicas take %.12g s, all of them %.12g s",
                 (unsigned long long)seed, number, weft_hybrid_format(&strategy.hybrid, &arena),
                 cluster.server_count, cluster.accelerators_per_server, network.fabric.name,
                 network.fabric.node_count, run.replica_classes,
                 strategy.hybrid.dp * strategy.hybrid.cp, run.iteration_s, whole_s);
    }
    tally->sensitive++;
    return true;
}

static void folded_takes_what_the_whole_takes(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    struct tally tally = {0};
    for (uint32_t tried = 0; tried < instances;) {
        struct weft_arena memory = arena;
        tried += try_one(&tally, tried, &rng) ? 1 : 0;
        arena = memory;
    }
    print_message("seed %llu: %u of %u instances folded, %u too sensitive to compare\n",
                  (unsigned long long)seed, tally.folded, instances, tally.sensitive);
    assert_true(tally.folded >= FOLDED_LEAST * instances);
    assert_true(instances - tally.folded >= UNFOLDED_LEAST * instances);
    assert_true(tally.sensitive <= SENSITIVE_MOST * instances);
}

// ---- rounds of a ring that repeat ----

// AllReduces of most servers one after another, computing beside them, and transfers that come in
// between at random.
static void draw_graph(struct weft_taskgraph *graph, uint32_t n, struct weft_rng *rng)
{
    uint32_t count = 2 + weft_rng_below(rng, 12);
    struct weft_task *tasks = WEFT_NEW(&arena, struct weft_task, count);
    uint32_t *servers = WEFT_NEW(&arena, uint32_t, n);
    uint32_t *next = WEFT_NEW(&arena, uint32_t, count);
    for (uint32_t i = 0; i < n; i++) {
        servers[i] = i;
    }
    for (uint32_t t = 0; t < count; t++) {
        static const enum weft_task_kind kinds[] = {WEFT_TASK_ALLREDUCE, WEFT_TASK_ALLREDUCE,
                                                    WEFT_TASK_ALL_GATHER, WEFT_TASK_FORWARD,
                                                    WEFT_TASK_TRANSFER};
        tasks[t] = (struct weft_task){
            .kind = t == 0 ? WEFT_TASK_ALLREDUCE : kinds[weft_rng_below(rng, 5)],
            .device = weft_rng_below(rng, n),
            .size_bytes = 1 + weft_rng_below(rng, 1u << (10 + weft_rng_below(rng, 18))),
            .from = weft_rng_below(rng, n),
            .members = servers,
            .member_count = n - weft_rng_below(rng, 4),
            .next = &next[t],
            .next_count = t + 1 < count && weft_rng_below(rng, 2) == 0 ? 1 : 0,
        };
        bool computes = tasks[t].kind == WEFT_TASK_FORWARD;
        tasks[t].runtime_ps = computes ? weft_rng_below(rng, 1u << 31) : 0;
        tasks[t].to = (tasks[t].from + 1 + weft_rng_below(rng, n - 1)) % n;
        next[t] = t + 1;
    }
    if (!weft_taskgraph_build(graph,
                              &(struct weft_taskgraph_draft){.server_count = n,
                                                             .device_count = n,
                                                             .device_server = servers,
                                                             .task_count = count,
                                                             .tasks = tasks},
                              &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static void skipped_rounds_take_what_played_ones_take(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (uint32_t number = 0; number < instances / 4; number++) {
        struct weft_arena memory = arena;
        uint32_t n = 132 + weft_rng_below(&rng, 60);
        struct weft_network network;
        struct weft_taskgraph graph;
        struct weft_sim_result result[2];
        assert_true(weft_cluster_build(&cluster, n, 1 + weft_rng_below(&rng, 2), 1e9, &error));
        cluster.balance = weft_rng_below(&rng, 3) == 0 ? WEFT_BALANCE_HASH : WEFT_BALANCE_EVEN;
        if (!draw_network(&network, &rng)) {
            arena = memory;
            continue;
        }
        draw_graph(&graph, n, &rng);
        const struct weft_sim_job job = {.graph = &graph};
        for (int unfolded = 0; unfolded < 2; unfolded++) {
            const struct weft_sim_options options = {
                .packet_bytes = 9000, .header_bytes = 64, .seed = number, .unfolded = unfolded};
            const struct weft_environment environment = {
                .arena = &arena, .scratch = scratch, .error = &error};
            if (!weft_sim_run_jobs(&result[unfolded], &network, &job, 1, &options, &environment)) {
                fail_msg("%s", error.message);
            }
        }
        double all = (double)result[1].iteration_ps[0];
        if (fabs((double)result[0].iteration_ps[0] - all) > 1 + TOLERANCE * all ||
            result[0].flow_count != result[1].flow_count ||
            result[0].event_count != result[1].event_count) {
            fail_msg("seed %llu, instance %u, %u servers, %s: %llu ps, %llu flows, %llu events "
                     "with rounds skipped; else %.0f, %llu, %llu",
                     (unsigned long long)seed, number, n, network.fabric.name,
                     (unsigned long long)result[0].iteration_ps[0],
                     (unsigned long long)result[0].flow_count,
                     (unsigned long long)result[0].event_count, all,
                     (unsigned long long)result[1].flow_count,
                     (unsigned long long)result[1].event_count);
        }
        for (uint32_t l = 0; l < network.fabric.link_count; l++) {
            double bytes = result[1].link_bytes[l];
            assert_true(fabs(result[0].link_bytes[l] - bytes) <= TOLERANCE * bytes);
        }
        arena = memory;
    }
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    instances = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : instances;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded_takes_what_the_whole_takes),
        cmocka_unit_test(skipped_rounds_take_what_played_ones_take),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
