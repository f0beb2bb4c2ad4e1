// SPDX-License-Identifier: Apache-2.0
// Published training runs and what the estimate says of them. Nothing is fitted to a row: all use
// the accelerators' own efficiencies (docs/costs.md).
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

#include "hybrid.h"

#define PER_SERVER 8u
#define MICRO_BATCH_MAX 8u
#define CHUNKS_MAX 16u

#define SC21 "SC'21"
#define SC21_WORDS ",zero=0,recompute=full,fused-attention=no,sequence-parallel=no,overlap=no"
#define MLSYS "MLSys'23"
#define MLSYS_WORDS ",zero=0,recompute=selective,fused-attention=no,overlap=no"
#define QUOTED "quoted"
#define MEGASCALE "NSDI'24"
#define LLAMA "Llama 3"

static const struct weft_published_run runs[] = {
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

const struct weft_published_run *weft_published_runs(uint32_t *count)
{
    *count = (uint32_t)(sizeof(runs) / sizeof(runs[0]));
    return runs;
}

// Model, cluster and accelerator of a run.
static bool set_up(const struct weft_published_run *run, struct weft_model *model,
                   struct weft_cluster *cluster, struct weft_strategy_setting *setting,
                   struct weft_arena *arena, struct weft_error *error)
{
    if (!weft_model_named(model, run->model, arena, error)) {
        return false;
    }
    if (run->sequence != 0 && run->sequence != model->transformer->sequence) {
        struct weft_transformer stack = *model->transformer;
        stack.sequence = run->sequence;
        if (!weft_model_build_transformer(model, run->model, model->source, run->batch, &stack,
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

bool weft_published_predict(struct weft_hybrid *hybrid, struct weft_hybrid_estimate *estimate,
                            const struct weft_published_run *run, struct weft_arena *arena,
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
            bool fits = !open || weft_hybrid_memory(&memory, &rank, &trial, &model, &cluster,
                                                    &setting, error);
            if (!fits || !weft_hybrid_estimate(&result, &trial, &model, &cluster, NULL, &setting,
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
