// SPDX-License-Identifier: Apache-2.0
// The estimate against published training runs: each within 15 % of the published share of peak.
// Nothing is fitted to a row: all use the accelerators' own efficiencies (docs/costs.md). With the
// argument "table" it prints the rows of docs/hybrid.md.
//
// Mutations it failed with: tensor AllReduces at a tenth of the rate; matmul_efficiency of A100
// 0.6.
//
// SC'21: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", table 1. Full recomputation, and their FLOPs count it: compared by hardware
// utilization. Interleaved; micro-batch and chunks are not in the table.
// MLSys'23: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
// table 5: sequence parallelism and selective recomputation, without data parallelism.
// quoted: 51 % for 175B on 1024 A100 is often named; SC'21 has 45 %, MLSys'23 51.4 % on 64. Taken
// as a run with MLSys'23's means. NSDI'24: Jiang et al., "MegaScale", table 2: tp 8, pp 8, 6
// chunks. Their parallel blocks and sliding windows are not modeled. Llama 3: Grattafiori et al.,
// "The Llama 3 Herd of Models" (2024), table 4. The first chunk holds the embedding alone and the
// last the head alone (section 3.3.2): 128 chunks of at most a layer.

#include "weft/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TOLERANCE 0.15
#define PER_SERVER 8u
#define MICRO_BATCH_MAX 8u
#define CHUNKS_MAX 16u

struct published_run {
    const char *source; // "SC'21", ...: docs/hybrid.md has the papers
    const char *model;  // of the zoo
    const char *accelerator;
    const char *words; // the strategy, as weft_hybrid_parse reads it
    uint64_t batch;
    uint64_t sequence;     // 0 = the model's
    double utilization;    // as published, of the peak FLOP/s
    uint32_t accelerators; // 8 a server
    bool micro_batch_open; // not published
    bool chunks_open;      // not published
    bool hardware;         // it counts recomputation
};

#define SC21 "SC'21"
#define SC21_WORDS ",zero=0,recompute=full,fused-attention=no,sequence-parallel=no,overlap=no"
#define MLSYS "MLSys'23"
#define MLSYS_WORDS ",zero=0,recompute=selective,fused-attention=no,overlap=no"
#define QUOTED "quoted"
#define MEGASCALE "NSDI'24"
#define LLAMA "Llama 3"

static const struct published_run runs[] = {
    {SC21, "gpt-1.7b", "A100", "tp=1,pp=1" SC21_WORDS, 512, 0, 0.44, 32, true, true, true},
    {SC21, "gpt-3.6b", "A100", "tp=2,pp=1" SC21_WORDS, 512, 0, 0.44, 64, true, true, true},
    {SC21, "gpt-7.5b", "A100", "tp=4,pp=1" SC21_WORDS, 512, 0, 0.46, 128, true, true, true},
    {SC21, "gpt-18.4b", "A100", "tp=8,pp=1" SC21_WORDS, 1024, 0, 0.43, 256, true, true, true},
    {SC21, "gpt-39.1b", "A100", "tp=8,pp=2" SC21_WORDS, 1536, 0, 0.44, 512, true, true, true},
    {SC21, "gpt-76.1b", "A100", "tp=8,pp=4" SC21_WORDS, 1792, 0, 0.45, 1024, true, true, true},
    {SC21, "gpt-145.6b", "A100", "tp=8,pp=8" SC21_WORDS, 2304, 0, 0.47, 1536, true, true, true},
    {SC21, "gpt-310.1b", "A100", "tp=8,pp=16" SC21_WORDS, 2160, 0, 0.50, 1920, true, true, true},
    {SC21, "gpt-529.6b", "A100", "tp=8,pp=35" SC21_WORDS, 2520, 0, 0.52, 2520, true, true, true},
    {SC21, "gpt-1t", "A100", "tp=8,pp=64" SC21_WORDS, 3072, 0, 0.52, 3072, true, true, true},
    {SC21, "gpt3-175b", "A100", "tp=8,pp=8" SC21_WORDS, 1536, 0, 0.45, 1024, true, true, true},
    {MLSYS, "gpt3-175b", "A100", "tp=8,pp=8,chunks=3" MLSYS_WORDS, 64, 0, 0.514, 64, false, false,
     false},
    {MLSYS, "gpt-529.6b", "A100", "tp=8,pp=35,chunks=3" MLSYS_WORDS, 280, 0, 0.56, 280, false,
     false, false},
    {MLSYS, "gpt-1t", "A100", "tp=8,pp=64" MLSYS_WORDS, 512, 0, 0.563, 512, false, false, false},
    {MLSYS, "gpt-529.6b", "A100", "tp=8,pp=35,chunks=3" MLSYS_WORDS, 2240, 0, 0.542, 2240, false,
     false, false},
    {QUOTED, "gpt3-175b", "A100", "tp=8,pp=8,chunks=3" MLSYS_WORDS, 1536, 0, 0.51, 1024, false,
     false, false},
    {MEGASCALE, "gpt3-175b", "A100", "tp=8,pp=8,chunks=6", 768, 0, 0.653, 256, true, false, false},
    {MEGASCALE, "gpt3-175b", "A100", "tp=8,pp=8,chunks=6", 768, 0, 0.59, 1024, true, false, false},
    {MEGASCALE, "gpt3-175b", "A100", "tp=8,pp=8,chunks=6", 6144, 0, 0.591, 3072, true, false,
     false},
    {MEGASCALE, "gpt3-175b", "A100", "tp=8,pp=8,chunks=6", 6144, 0, 0.573, 6144, true, false,
     false},
    {MEGASCALE, "gpt3-175b", "A100", "tp=8,pp=8,chunks=6", 6144, 0, 0.552, 12288, true, false,
     false},
    {LLAMA, "llama3-405b", "H100", "tp=8,pp=16,chunks=8", 2048, 8192, 0.43, 8192, false, false,
     false},
    {LLAMA, "llama3-405b", "H100", "tp=8,pp=16,chunks=8", 2048, 8192, 0.41, 16384, false, false,
     false},
    {LLAMA, "llama3-405b", "H100", "tp=8,cp=16,pp=16,chunks=8", 128, 131072, 0.38, 16384, false,
     false, false},
};

// Model, cluster and accelerator of a run.
static bool set_up(const struct published_run *run, struct weft_model *model,
                   struct weft_cluster *cluster, struct weft_strategy_setting *setting,
                   struct weft_arena *arena, struct weft_error *error)
{
    if (!weft_model_named(model, run->model, arena, error)) {
        return false;
    }
    if (run->sequence != 0 && run->sequence != model->transformer->sequence) {
        struct weft_transformer stack = *model->transformer;
        stack.sequence = run->sequence;
        if (!weft_model_build_transformer(
                model, &(struct weft_model_head){run->model, model->source, run->batch}, &stack,
                arena, error)) {
            return false;
        }
    }
    if (!weft_model_set_batch(model, run->batch, error) ||
        !weft_accelerator_named(&setting->cost.accelerator, run->accelerator, error)) {
        return false;
    }
    // A NIC an accelerator: 200 Gbps beside an A100 (HDR InfiniBand), 400 Gbps beside an H100
    // (RoCE). As one port, so that jobs of a few servers can be stated too.
    double nic_Bps = setting->cost.accelerator->flops_per_s[WEFT_BF16] < 500e12 ? 25e9 : 50e9;
    if (!weft_cluster_build(cluster, run->accelerators / PER_SERVER, 1, PER_SERVER * nic_Bps,
                            error)) {
        return false;
    }
    cluster->accelerators_per_server = PER_SERVER;
    return true;
}

// The estimate of a run on one switch. What is not published is what the estimate likes best among
// micro-batches of 1, 2, 4, 8 and 1 to 16 chunks that fit.
static bool predict(struct weft_hybrid *hybrid, struct weft_hybrid_estimate *estimate,
                    const struct published_run *run, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting = {.optimizer = WEFT_ADAM};
    struct weft_hybrid stated;
    if (!set_up(run, &model, &cluster, &setting, arena, error) ||
        !weft_hybrid_parse(&stated, run->words, run->accelerators, error)) {
        return false;
    }
    setting.memory_limit_bytes = setting.cost.accelerator->memory_bytes;
    bool open = run->micro_batch_open || run->chunks_open;
    uint64_t micro_batch_max = run->micro_batch_open ? MICRO_BATCH_MAX : stated.micro_batch;
    uint32_t chunks_max = run->chunks_open && stated.pp > 1 ? CHUNKS_MAX : stated.chunks;
    bool found = false;
    for (stated.micro_batch = run->micro_batch_open ? 1 : stated.micro_batch;
         stated.micro_batch <= micro_batch_max; stated.micro_batch *= 2) {
        for (uint32_t chunks = run->chunks_open ? 1 : stated.chunks; chunks <= chunks_max;
             chunks++) {
            struct weft_hybrid trial = stated;
            struct weft_hybrid_estimate result;
            struct weft_memory memory;
            uint32_t rank;
            trial.chunks = chunks;
            bool fits = !open || weft_hybrid_memory(&memory, &rank, &trial,
                                                    &(struct weft_study){.model = &model,
                                                                         .cluster = &cluster,
                                                                         .setting = &setting},
                                                    error);
            if (!fits ||
                !weft_hybrid_estimate(
                    &result, &trial,
                    &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
                    scratch, error)) {
                continue;
            }
            if (!found || result.iteration_ps < estimate->iteration_ps) {
                *hybrid = trial;
                *estimate = result;
                found = true;
            }
        }
    }
    return found;
}

static void runs_are_predicted_within_15_percent(void **state)
{
    bool table = *state != NULL;
    struct weft_error error;
    struct weft_arena arena;
    struct weft_arena scratch;
    assert_true(weft_arena_init(&arena, (size_t)1 << 33, &error));
    assert_true(weft_arena_init(&scratch, (size_t)1 << 32, &error));
    struct weft_arena arena_start = arena;
    uint32_t far = 0;
    if (table) {
        print_message("| source | model | accelerators | batch | dp/tp/pp/cp | micro | chunks | "
                      "counts | published %% | estimate %% | off by %% |\n"
                      "|---|---|---|---|---|---|---|---|---|---|---|\n");
    }
    for (uint32_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct weft_hybrid hybrid = {0};
        struct weft_hybrid_estimate estimate = {0};
        if (!predict(&hybrid, &estimate, &runs[i], &arena, scratch, &error)) {
            fail_msg("%s %s: %s", runs[i].source, runs[i].model, error.message);
        }
        double utilization = runs[i].hardware ? estimate.hardware_flops_utilization
                                              : estimate.model_flops_utilization;
        double ratio = utilization / runs[i].utilization;
        bool misses = ratio < 1 - TOLERANCE || ratio > 1 + TOLERANCE;
        far += misses ? 1 : 0;
        if (table || misses) {
            print_message(
                "| %s | %s | %u %s | %llu | %u/%u/%u/%u | %llu%s | %u%s | %s | %.1f | %.1f | "
                "%+.1f |\n",
                runs[i].source, runs[i].model, runs[i].accelerators, runs[i].accelerator,
                (unsigned long long)runs[i].batch, hybrid.dp, hybrid.tp, hybrid.pp, hybrid.cp,
                (unsigned long long)hybrid.micro_batch, runs[i].micro_batch_open ? "*" : "",
                hybrid.chunks, runs[i].chunks_open ? "*" : "",
                runs[i].hardware ? "hardware" : "model", 100 * runs[i].utilization,
                100 * utilization, 100 * (ratio - 1));
        }
    }
    assert_int_equal(far, 0);
    weft_arena_release(&arena_start);
    weft_arena_release(&scratch);
}

int main(int argc, char **argv)
{
    bool table = argc > 1 && strcmp(argv[1], "table") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(runs_are_predicted_within_15_percent, table ? &table : NULL),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
