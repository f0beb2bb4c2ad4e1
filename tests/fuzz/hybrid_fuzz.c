// SPDX-License-Identifier: Apache-2.0
// Hybrid strategies in words: any text is either a strategy, which is written and read back the
// same and whose memory, time and task graph are there or are refused in one line, or one line of
// complaint.
//
// Seen to fail on corpus/hybrid/moe when the text left out ep.

#include "fuzz.h"
#include "weft/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ACCELERATORS 64u

static void check_refusal(const struct weft_error *error)
{
    WEFT_ASSERT(error->code == WEFT_INPUT || error->code == WEFT_INFEASIBLE);
    fuzz_check_line(error);
}

// On a small model with experts, whatever the degrees.
static void check_use(const struct weft_hybrid *hybrid, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    static const struct weft_transformer stack = {.layers = 6,
                                                  .hidden = 256,
                                                  .heads = 8,
                                                  .kv_heads = 4,
                                                  .sequence = 512,
                                                  .vocabulary = 1024,
                                                  .gated = true,
                                                  .causal = true,
                                                  .ffn_units = 1024,
                                                  .experts = 8,
                                                  .expert_units = 512,
                                                  .experts_active = 2,
                                                  .dense_layers = 1,
                                                  .dtype = WEFT_BF16};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting = {.optimizer = WEFT_ADAM};
    WEFT_ASSERT(weft_model_build_transformer(
        &model, &(struct weft_model_head){"small", "made up", 64}, &stack, arena, &error));
    WEFT_ASSERT(weft_cluster_build(&cluster, ACCELERATORS / 8, 4, 12.5e9, &error));
    WEFT_ASSERT(weft_accelerator_named(&setting.cost.accelerator, "A100", &error));
    cluster.accelerators_per_server = 8;
    struct weft_hybrid_estimate estimate;
    if (!weft_hybrid_estimate(
            &estimate, hybrid,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            scratch, &error)) {
        check_refusal(&error);
        return;
    }
    WEFT_ASSERT(estimate.iteration_ps > 0 && estimate.model_flops_utilization > 0 &&
                estimate.model_flops_utilization < 1);
    struct weft_strategy strategy = {
        .kind = WEFT_STRATEGY_HYBRID, .server_count = cluster.server_count, .hybrid = *hybrid};
    WEFT_ASSERT(weft_strategy_memory(
        &strategy, &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
        arena, scratch, &error));
    WEFT_ASSERT(strategy.memory_max_bytes > 0 && isfinite(strategy.memory_max_bytes));
    struct weft_taskgraph graph;
    if (!weft_strategy_taskgraph(
            &graph, &strategy,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting}, arena,
            scratch, &error)) {
        check_refusal(&error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    char *text = fuzz_string(data, size);
    struct weft_hybrid hybrid = {.dp = 7};
    if (!weft_hybrid_parse(&hybrid, text, ACCELERATORS, &error)) {
        check_refusal(&error);
        WEFT_ASSERT(hybrid.dp == 7);
    } else {
        const char *words = weft_hybrid_format(&hybrid, &desk.arena);
        struct weft_hybrid again;
        WEFT_ASSERT(weft_hybrid_parse(&again, words, 0, &error));
        WEFT_ASSERT(strcmp(words, weft_hybrid_format(&again, &desk.arena)) == 0);
        WEFT_ASSERT(again.dp == hybrid.dp && again.tp == hybrid.tp && again.pp == hybrid.pp);
        WEFT_ASSERT(again.ep == hybrid.ep && again.cp == hybrid.cp);
        WEFT_ASSERT(again.chunks == hybrid.chunks && again.micro_batch == hybrid.micro_batch);
        WEFT_ASSERT(again.zero_stage == hybrid.zero_stage && again.recompute == hybrid.recompute);
        WEFT_ASSERT(again.sequence_parallel == hybrid.sequence_parallel);
        WEFT_ASSERT(weft_hybrid_overlap(&again) == weft_hybrid_overlap(&hybrid));
        WEFT_ASSERT(again.fp8 == hybrid.fp8 && again.schedule == hybrid.schedule);
        WEFT_ASSERT(again.fused_attention == hybrid.fused_attention);
        WEFT_ASSERT(strcmp(again.order, hybrid.order) == 0);
        check_use(&hybrid, &desk.arena, desk.scratch);
    }
    free(text);
    fuzz_close(&desk);
    return 0;
}
