// SPDX-License-Identifier: Apache-2.0
// Random hybrid strategies: the task graph played on one switch takes what the estimate says, moves
// the bytes that the strategy asks for, and never beats its own work.
//
// Mutations it failed with: bytes of sends doubled; expert teams counted as neighbors; the barrier
// of context rings left out; gathers without their passes' edges.

#include "../unit/hybrid_case.h"

#include "weft/sim.h"
#include "weft/workload.h"

#include <math.h>

#define CASES 160u
#define SEED 20231u
// All of them, nine in ten, and seven in ten (docs/hybrid.md).
#define TOLERANCE 0.30
#define MOST 0.13
#define USUAL 0.03

static const char *const models[] = {"gpt3-350m", "gpt3-1.3b", "gpt3-2.7b", "mixtral-8x7b",
                                     "llama3-8b"};

static uint32_t pick(struct weft_rng *rng, const uint32_t *values, uint32_t count)
{
    return values[weft_rng_below(rng, count)];
}

// A strategy that may or may not suit the model.
static struct weft_hybrid draw(struct weft_rng *rng)
{
    static const uint32_t powers[] = {1, 2, 4, 8};
    static const char *const orders[] = {"tcdp", "tcpd", "tdcp", "tdpc", "tpcd", "tpdc"};
    struct weft_hybrid hybrid = {
        .tp = pick(rng, powers, 4),
        .pp = pick(rng, powers, 4),
        .cp = pick(rng, powers, 3),
        .ep = model.transformer->experts != 0 ? pick(rng, powers, 4) : 1,
        .chunks = 1 + weft_rng_below(rng, 3),
        .micro_batch = pick(rng, powers, 2),
        .zero_stage = weft_rng_below(rng, 4),
        .overlap_gradients = weft_rng_below(rng, 4) > 0,
        .fused_attention = true,
        .sequence_parallel = true,
        .recompute = weft_rng_below(rng, 4) == 0 ? WEFT_RECOMPUTE_FULL : WEFT_RECOMPUTE_NONE,
    };
    hybrid.blocking_sends = !hybrid.overlap_gradients; // overlap=no
    hybrid.overlap_tensor = hybrid.micro_batch == 2;
    uint32_t all = cluster.server_count * cluster.accelerators_per_server;
    hybrid.dp = all / (hybrid.tp * hybrid.pp * hybrid.cp);
    memcpy(hybrid.order, orders[weft_rng_below(rng, 6)], 5);
    return hybrid;
}

// Bytes between stages in both directions, whether or not they leave a server.
static double sends_asked(const struct weft_hybrid_job *job, const struct weft_taskgraph *graph)
{
    const struct weft_hybrid *hybrid = &job->hybrid;
    double bytes = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bytes += graph->kind[t] == WEFT_TASK_TRANSFER ? (double)graph->size_bytes[t] : 0;
    }
    double boundaries = hybrid->pp > 1 ? job->mesh.stages - 1.0 : 0;
    double most = 2 * boundaries * (double)job->mesh.micro_batches * hybrid->dp * hybrid->cp *
                  job->costs.send_bytes;
    bool others = hybrid->cp > 1 || hybrid->ep > 1;
    assert_true(others || bytes <= most * (1 + 1e-9));
    bool leaves = job->mesh.stride[WEFT_AXIS_PIPELINE] >= job->mesh.per_server;
    assert_true(!leaves || bytes >= most * (1 - 1e-9));
    return bytes;
}

static double simulate(const struct weft_hybrid *hybrid, struct weft_arena memory)
{
    struct weft_strategy strategy = {
        .kind = WEFT_STRATEGY_HYBRID, .server_count = cluster.server_count, .hybrid = *hybrid};
    struct weft_taskgraph graph;
    struct weft_network network;
    struct weft_sim_options options = {0};
    struct weft_sim_result result;
    struct weft_hybrid_job job = {.hybrid = *hybrid};
    bool good = weft_strategy_taskgraph(
                    &graph, &strategy,
                    &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                    &memory, scratch, &error) &&
                weft_fabric_build_ideal(&network, &cluster, NULL, &memory, &error) &&
                weft_hybrid_job_init(
                    &job, hybrid,
                    &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                    scratch, &error);
    struct weft_sim_job played = {.graph = &graph};
    double seconds = -1;
    if (good && weft_sim_run_jobs(&result, &network, &played, 1, &options,
                                  &(struct weft_environment){
                                      .arena = &memory, .scratch = scratch, .error = &error})) {
        seconds = weft_seconds(result.iteration_ps[0]);
        assert_true(sends_asked(&job, &graph) >= 0);
    } else {
        fail_msg("%s: %s", weft_hybrid_format(hybrid, &memory), error.message);
    }
    return seconds;
}

static void graphs_take_what_the_estimate_says(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    uint32_t tried = 0;
    uint32_t usual = 0;
    uint32_t most = 0;
    double worst = 0;
    while (tried < CASES) {
        struct weft_arena memory = arena;
        static const uint32_t servers[] = {2, 4, 8};
        set_case(models[weft_rng_below(&rng, 5)], 64, 0, pick(&rng, servers, 3), "A100");
        cluster.rate_Bps = 25e9 * (1 << weft_rng_below(&rng, 4));
        struct weft_hybrid hybrid = draw(&rng);
        struct weft_hybrid_estimate estimate;
        if (hybrid.dp == 0 ||
            !weft_hybrid_estimate(
                &estimate, &hybrid,
                &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                scratch, &error)) {
            arena = memory;
            continue;
        }
        double estimate_s = weft_seconds(estimate.iteration_ps);
        double simulated_s = simulate(&hybrid, arena);
        double ratio = simulated_s / estimate_s;
        worst = fmax(worst, fabs(ratio - 1));
        usual += fabs(ratio - 1) <= USUAL ? 1 : 0;
        most += fabs(ratio - 1) <= MOST ? 1 : 0;
        tried++;
        if (!(fabs(ratio - 1) <= TOLERANCE)) {
            fail_msg("seed %u, case %u: %s on %u servers at %.0f Gbps, %s: estimate %.4f s, "
                     "simulated %.4f s",
                     SEED, tried, model.name, cluster.server_count, cluster.rate_Bps / 125e6,
                     weft_hybrid_format(&hybrid, &arena), estimate_s, simulated_s);
        }
        double work_s = weft_seconds(estimate.compute_ps + estimate.tensor_ps);
        assert_true(simulated_s >= work_s * (1 - 1e-9));
        arena = memory;
    }
    print_message("worst %.3f; within %.2f: %u of %u; within %.2f: %u\n", worst, USUAL, usual,
                  tried, MOST, most);
    assert_true(usual >= CASES * 7 / 10);
    assert_true(most >= CASES * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_take_what_the_estimate_says),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
