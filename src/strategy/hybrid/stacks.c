// SPDX-License-Identifier: Apache-2.0
// Named software stacks: what frameworks make of the hardware, beside what kernels reach alone.
//
// Peaks and the kernels' own efficiencies belong to accelerators (weft/model.h). What is left of a
// published iteration is the stack's: gaps between kernels and kernels that are not fused
// (compute_efficiency), the time of a step in which nothing computes (step_s), servers that are
// slow, and what frameworks keep in memory. One set of constants serves all models and strategies.
//
// compute_efficiency, step_s, kernel_s and, of megatron-deepspeed, library_bytes were fitted to the
// fit rows of tests/oracle/published_runs.tsv by `oracle_published_runs fit`, which prints them and
// as a test holds them to what stands here; the rows held out were not looked at for that. deepseek
// has one run, which is held out, and megatron-core-deepep is Megatron-Core with another dispatcher
// of experts: both take megatron-core's. All others have a source:
//
// - experts: DeepEP and HybridEP send a token once to each server and rank (DeepSeek-V3, 2024,
//   section 3.2.2; deepseek-ai/DeepEP), the all to all of NCCL sends every copy, which Megatron-
//   Core's MoEAlltoAllTokenDispatcher sorts where it leaves and again where it arrives; only
//   DeepSeek sends FP8; Megatron's recipes route in FP32 (moe_router_dtype), DeepSeek keeps its
//   gates' precision; Transformer Engine brings each expert's input into FP8 by itself, in three
//   kernels (largest value, scale, cast) with current scaling, in one with scales by blocks;
//   AutoModel and DeepSeek have one kernel for all experts, so their host is taken to be in time;
// - slow servers: about 0.5 % of the servers of one fleet were about 10 % slower (Jiang et al.,
//   MegaScale, NSDI 2024, section 5); no other fleet tells, and has none here;
// - network: exchanges reach about 0.8 of the rate of a NIC; assumed for all;
// - tensor overlap: products in four chunks, of whose exchanges the first stays bare; assumed;
// - library: context and kernels 1.6 GB (bigscience, tr11-176B-ml, chronicles-prequel: 1,573 MiB),
//   and as much again for communicators and workspaces, assumed;
// - gradients: BF16_Optimizer of DeepSpeed keeps BF16 gradients beside FP32 sums (the same
//   chronicles: 4 bytes a parameter more, not sharded); Megatron-LM FP32 sums alone; NeMo's recipes
//   reduce in BF16 (grad_reduce_in_fp32=False);
// - logits: a 16-bit product, an FP32 copy for the loss, an FP32 gradient.

#include "hybrid.h"

#include <strings.h>

#define GIGA 1e9
// The same of every stack that a framework has made.
#define EVERYWHERE                                                                                 \
    .network_efficiency = 0.8, .tensor_overlap = 0.75, .logit_bytes = 10, .fragmentation_ratio = 0.1
// The servers of MegaScale's fleet.
#define SLOW_FLEET .slow_share = 0.005, .slow_ratio = 0.10

static const struct weft_stack stacks[] = {
    {
        .name = "none",
        .source = "kernels back to back, no framework",
        .fp8_dispatch = true,
        .compute_efficiency = 1,
        .network_efficiency = 1,
        .tensor_overlap = 0.75,
        .gradient_bytes = 4,
        .logit_bytes = 4,
    },
    {
        .name = "automodel",
        .source = "NVIDIA NeMo AutoModel, performance summary of October 2025",
        .compute_efficiency = 1.06,
        .step_s = 0,
        .gradient_bytes = 2,
        .library_bytes = 3.2 * GIGA,
        .merges_copies = true,
        EVERYWHERE,
    },
    {
        .name = "deepseek",
        .source = "DeepSeek-V3 Technical Report, 2024; Zhao et al., ISCA 2025, table 4",
        .compute_efficiency = 0.9,
        .step_s = 0.1,
        .gradient_bytes = 4,
        .library_bytes = 3.2 * GIGA,
        .fp8_dispatch = true,
        .merges_copies = true,
        .router_fp32 = true,
        EVERYWHERE,
    },
    {
        .name = "llama3",
        .source = "Grattafiori et al., The Llama 3 Herd of Models, 2024, table 4",
        .compute_efficiency = 0.98,
        .step_s = 0,
        .gradient_bytes = 4,
        .library_bytes = 3.2 * GIGA,
        EVERYWHERE,
    },
    {
        .name = "megascale",
        .source = "Jiang et al., MegaScale, NSDI 2024, table 2",
        .compute_efficiency = 1.06,
        .step_s = 0.4,
        .gradient_bytes = 4,
        .library_bytes = 3.2 * GIGA,
        SLOW_FLEET,
        EVERYWHERE,
    },
    {
        .name = "megascale-baseline",
        .source = "Megatron-LM as measured beside MegaScale, NSDI 2024, table 2",
        .compute_efficiency = 1.01,
        .step_s = 0.8,
        .gradient_bytes = 4,
        .library_bytes = 3.2 * GIGA,
        SLOW_FLEET,
        EVERYWHERE,
    },
    {
        .name = "megatron-core",
        .source = "NVIDIA NeMo and Megatron Bridge, performance summaries 24.07 to 26.02",
        .compute_efficiency = 0.9,
        .step_s = 0.1,
        .gradient_bytes = 2,
        .library_bytes = 3.2 * GIGA,
        .kernel_s = 29e-6,
        .cast_kernels = 3,
        .sorts_again = true,
        .router_fp32 = true,
        EVERYWHERE,
    },
    {
        .name = "megatron-core-deepep",
        .source = "Megatron-Core with DeepEP or HybridEP: Megatron Bridge, Megatron-MoE-ModelZoo",
        .compute_efficiency = 0.9,
        .step_s = 0.1,
        .gradient_bytes = 2,
        .library_bytes = 3.2 * GIGA,
        .kernel_s = 29e-6,
        .cast_kernels = 1,
        .merges_copies = true,
        .router_fp32 = true,
        EVERYWHERE,
    },
    {
        .name = "megatron-deepspeed",
        .source = "bigscience, tr11-176B-ml; Smith et al., Megatron-Turing NLG 530B, 2022",
        .compute_efficiency = 0.91,
        .step_s = 0,
        .gradient_bytes = 6,
        .library_bytes = 11.2 * GIGA,
        EVERYWHERE,
    },
    {
        .name = "megatron-lm",
        .source = "Narayanan et al., SC 2021; Korthikanti et al., MLSys 2023",
        .compute_efficiency = 1.05,
        .step_s = 0,
        .gradient_bytes = 4,
        .library_bytes = 3.2 * GIGA,
        EVERYWHERE,
    },
};
static const uint32_t stack_count = sizeof stacks / sizeof stacks[0];

const struct weft_stack *weft_stacks(uint32_t *count)
{
    *count = stack_count;
    return stacks;
}

bool weft_stack_named(const struct weft_stack **stack, const char *name, struct weft_error *error)
{
    char names[160];
    size_t length = 0;
    for (uint32_t i = 0; i < stack_count; i++) {
        if (strcasecmp(name, stacks[i].name) == 0) {
            *stack = &stacks[i];
            return true;
        }
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i == 0 ? "" : ", ", stacks[i].name);
        WEFT_ASSERT(length < sizeof names);
    }
    return weft_fail(error, WEFT_INPUT, "'%.64s' is no software stack Weft knows; write one of %s",
                     name, names);
}

const struct weft_stack *weft_hybrid_stack(const struct weft_strategy_setting *setting)
{
    return setting->stack != NULL ? setting->stack : &stacks[0];
}
