// SPDX-License-Identifier: Apache-2.0
// Flags that launch a strategy (weft_export_launch), by what Megatron-LM refuses and what changes a
// run's cost. Mutations that made it fail stand beside each test.

#include "weft/format/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_error error;

static int open_arena(void **state)
{
    (void)state;
    return weft_arena_init(&arena, 0, &error) ? 0 : -1;
}

static int close_arena(void **state)
{
    (void)state;
    weft_arena_release(&arena);
    return 0;
}

// The flags name the degrees; stages that hold unequal numbers of layers are written out, and what
// no flag says stands in words (made to fail by dealing what does not divide to the first stages).
static void a_strategy_is_launched(void **state)
{
    (void)state;
    const struct weft_transformer stack = {.layers = 10,
                                           .hidden = 64,
                                           .heads = 4,
                                           .sequence = 128,
                                           .vocabulary = 100,
                                           .ffn_units = 256,
                                           .dtype = WEFT_BF16};
    struct weft_model model = {.name = "small", .batch = 64, .transformer = &stack};
    const struct weft_cluster cluster = {.server_count = 4, .accelerators_per_server = 8};
    struct weft_strategy strategy = {.kind = WEFT_STRATEGY_HYBRID};
    assert_true(
        weft_hybrid_parse(&strategy.hybrid, "tp=2,pp=4,dp=4,micro=2,zero=1,chunks=1", 32, &error));
    struct weft_launch launch = weft_export_launch(&strategy, &model, &cluster, &arena);
    assert_non_null(strstr(launch.torchrun, "--nnodes 4 --nproc-per-node 8"));
    assert_non_null(strstr(launch.megatron, "--tensor-model-parallel-size 2 "));
    assert_non_null(strstr(launch.megatron, "\"Ett|(ttt|)*2,ttL\""));
    assert_non_null(strstr(launch.megatron, "--use-distributed-optimizer"));
    assert_non_null(strstr(launch.megatron, "--sequence-parallel"));
    assert_non_null(strstr(launch.without_flag, "block in Megatron-LM"));
    assert_true(weft_hybrid_parse(&strategy.hybrid,
                                  "tp=2,pp=5,micro=2,zero=3,chunks=2,order=ptdc,recompute=full", 40,
                                  &error));
    launch = weft_export_launch(&strategy, &model, &cluster, &arena);
    assert_non_null(strstr(launch.megatron, "--num-layers-per-virtual-pipeline-stage 1 "));
    assert_non_null(strstr(launch.megatron, "optim_grads_params"));
    assert_non_null(strstr(launch.megatron, "--recompute-granularity full"));
    assert_non_null(strstr(launch.without_flag, "order ptdc"));
    // Without context ranks tpcd and tcpd are one order; what to recompute is what the model has.
    assert_true(weft_hybrid_parse(&strategy.hybrid,
                                  "tp=2,pp=5,cp=1,micro=2,order=tpcd,recompute=norms", 40, &error));
    launch = weft_export_launch(&strategy, &model, &cluster, &arena);
    assert_non_null(strstr(launch.megatron, "--use-tp-pp-dp-mapping"));
    assert_non_null(strstr(launch.megatron, "--recompute-modules layernorm"));
    assert_null(strstr(launch.megatron, "moe_act"));
}

// A mixture with latent attention states all of its shape, in words that a shell takes
// (made to fail by parentheses without quotes).
static void a_mixture_is_launched(void **state)
{
    (void)state;
    struct weft_model model;
    assert_true(weft_model_named(&model, "deepseek-v3", &arena, &error));
    const struct weft_cluster cluster = {.server_count = 256, .accelerators_per_server = 8};
    struct weft_strategy strategy = {.kind = WEFT_STRATEGY_HYBRID};
    assert_true(
        weft_hybrid_parse(&strategy.hybrid, "pp=16,ep=64,micro=1,recompute=norms", 2048, &error));
    const struct weft_launch launch = weft_export_launch(&strategy, &model, &cluster, &arena);
    assert_non_null(strstr(launch.megatron, "layernorm moe_act mla_up_proj"));
    static const char *const flags[] = {
        "--moe-grouped-gemm", "--moe-shared-expert-intermediate-size 2048",
        "--moe-layer-freq \"([0]*3+[1]*58)\"", "--kv-lora-rank 512", "--q-lora-rank 1536"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        assert_non_null(strstr(launch.model, flags[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strategy_is_launched),
        cmocka_unit_test(a_mixture_is_launched),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
