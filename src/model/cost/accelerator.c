// SPDX-License-Identifier: Apache-2.0
// Accelerators: published peaks, and the share of them that kernels reach.
//
// Peaks are dense; datasheets that state them "with sparsity" are halved. NVLink rates are of one
// direction: half of what datasheets add up. Memory sizes are GiB, as the driver reports them.
//
// Efficiencies (docs/costs.md has the measurements behind them): matrix products of hundreds of
// rows and columns reach 85 to 94 % of A100's FP32 peak (measured profiles) and 60 to 75 % of a
// tensor core's; the share falls from A100 to Hopper and Blackwell because power, not the
// pipelines, bounds them. Streaming kernels reach 85 to 92 % of the HBM rate. A kernel costs
// 3.5 us from launch to launch when nothing overlaps it (docs/costs.md, "Efficiencies").

#include "weft/model.h"

#include <strings.h>

#define GIB 0x1p30

static const struct weft_accelerator accelerators[] = {
    {
        .name = "V100",
        .alias = "V100-32GB",
        .source = "NVIDIA V100 Tensor Core GPU datasheet (2020), SXM2 32 GB",
        .flops_per_s = {[WEFT_FP32] = 15.7e12, [WEFT_FP16] = 125e12},
        .memory_Bps = 900e9,
        .memory_bytes = 32 * GIB,
        .link_Bps = 150e9,
        .processors = 80,
        .matmul_efficiency = 0.7,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.9,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "A100-40GB",
        .source = "NVIDIA A100 Tensor Core GPU datasheet (2021), SXM4 40 GB",
        .flops_per_s = {[WEFT_FP32] = 19.5e12,
                        [WEFT_TF32] = 156e12,
                        [WEFT_BF16] = 312e12,
                        [WEFT_FP16] = 312e12},
        .memory_Bps = 1555e9,
        .memory_bytes = 40 * GIB,
        .link_Bps = 300e9,
        .processors = 108,
        .matmul_efficiency = 0.7,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.9,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "A100-80GB",
        .alias = "A100",
        .source = "NVIDIA A100 Tensor Core GPU datasheet (2021), SXM4 80 GB",
        .flops_per_s = {[WEFT_FP32] = 19.5e12,
                        [WEFT_TF32] = 156e12,
                        [WEFT_BF16] = 312e12,
                        [WEFT_FP16] = 312e12},
        .memory_Bps = 2039e9,
        .memory_bytes = 80 * GIB,
        .link_Bps = 300e9,
        .processors = 108,
        .matmul_efficiency = 0.7,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.9,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "H100",
        .alias = "H100-80GB",
        .source = "NVIDIA H100 Tensor Core GPU datasheet (2023), SXM5; sparse peaks halved",
        .flops_per_s = {[WEFT_FP32] = 67e12,
                        [WEFT_TF32] = 494.5e12,
                        [WEFT_BF16] = 989.5e12,
                        [WEFT_FP16] = 989.5e12,
                        [WEFT_FP8] = 1979e12},
        .memory_Bps = 3350e9,
        .memory_bytes = 80 * GIB,
        .link_Bps = 450e9,
        .processors = 132,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "H800",
        .alias = "H800-80GB",
        .source =
            "NVIDIA H100 datasheet (2023), SXM5, with NVLink of 400 GB/s both ways (DeepSeek-V3 "
            "Technical Report, 2024, section 3.1)",
        .flops_per_s = {[WEFT_FP32] = 67e12,
                        [WEFT_TF32] = 494.5e12,
                        [WEFT_BF16] = 989.5e12,
                        [WEFT_FP16] = 989.5e12,
                        [WEFT_FP8] = 1979e12},
        .memory_Bps = 3350e9,
        .memory_bytes = 80 * GIB,
        .link_Bps = 200e9,
        .processors = 132,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "H200",
        .alias = "H200-141GB",
        .source = "NVIDIA H200 Tensor Core GPU datasheet (2024), SXM; sparse peaks halved",
        .flops_per_s = {[WEFT_FP32] = 67e12,
                        [WEFT_TF32] = 494.5e12,
                        [WEFT_BF16] = 989.5e12,
                        [WEFT_FP16] = 989.5e12,
                        [WEFT_FP8] = 1979e12},
        .memory_Bps = 4800e9,
        .memory_bytes = 140 * GIB,
        .link_Bps = 450e9,
        .processors = 132,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "B200",
        .alias = "B200-180GB",
        .source = "NVIDIA HGX B200 datasheet (2025), an eighth of the board; sparse peaks halved",
        .flops_per_s = {[WEFT_FP32] = 80e12,
                        [WEFT_TF32] = 1100e12,
                        [WEFT_BF16] = 2250e12,
                        [WEFT_FP16] = 2250e12,
                        [WEFT_FP8] = 4500e12},
        .memory_Bps = 8000e9,
        .memory_bytes = 179 * GIB,
        .link_Bps = 900e9,
        .processors = 148,
        .matmul_efficiency = 0.6,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
};
static const uint32_t accelerator_count = sizeof accelerators / sizeof accelerators[0];

const struct weft_accelerator *weft_accelerators(uint32_t *count)
{
    *count = accelerator_count;
    return accelerators;
}

bool weft_accelerator_named(const struct weft_accelerator **accelerator, const char *name,
                            struct weft_error *error)
{
    char names[128];
    size_t length = 0;
    for (uint32_t i = 0; i < accelerator_count; i++) {
        const struct weft_accelerator *one = &accelerators[i];
        if (strcasecmp(name, one->name) == 0 ||
            (one->alias != NULL && strcasecmp(name, one->alias) == 0)) {
            *accelerator = one;
            return true;
        }
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i == 0 ? "" : ", ", one->name);
        WEFT_ASSERT(length < sizeof names);
    }
    return weft_fail(error, WEFT_INPUT, "'%.64s' is no accelerator Weft knows; write one of %s",
                     name, names);
}
