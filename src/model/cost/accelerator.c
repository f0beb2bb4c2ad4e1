// SPDX-License-Identifier: Apache-2.0
// Accelerators: published peaks, and the share of them that kernels reach.
//
// Peaks are dense; datasheets that state them "with sparsity" are halved. Link rates are of one
// direction, all links of an accelerator together: half of what datasheets add up. In a mesh or a
// torus (MI300X, MI355X, TPUs, Trainium2) one neighbor gets a share of it only, so that the rate
// holds for groups that use every link. Memory sizes are GiB, as the driver reports them. A dtype
// whose peak its maker does not state is left out, and models in it are refused.
//
// Processors are the tiles of 64 x 64 results that an accelerator works on at once: one for each
// streaming multiprocessor or compute unit, four for each systolic array of 128 x 128 (a TPU chip
// has two cores of four arrays, a Trainium2 chip eight cores of one).
//
// Efficiencies (docs/costs.md has the measurements behind them): matrix products of hundreds of
// rows and columns reach 85 to 94 % of A100's FP32 peak (measured profiles) and 60 to 75 % of a
// tensor core's; the share falls from A100 to Hopper and Blackwell because power, not the
// pipelines, bounds them. Streaming kernels reach 85 to 92 % of the HBM rate. A kernel costs
// 3.5 us from launch to launch when nothing overlaps it (docs/costs.md, "Efficiencies").
//
// Efficiencies of GB200 and of other makers are ASSUMED, all of them, as no run of theirs was held
// against the model: those of Blackwell for GB200 and MI355X, those of Hopper for TPUs, Trainium2
// and MI300X, of the same years and power. Two figures bound AMD's: products of MI300X reach 708 of
// 1,307 TFLOP/s in BF16 at best (AMD ROCm blog, Measuring Max-Achievable FLOPs, part 2, 2025), so
// that half the peak is assumed; and 48 of 64 GB/s of a link are left after protocol and error
// correction (an AMD engineer in ROCm/rccl issue 1210, 2024).
//
// Host links are half of what the same datasheets state of PCIe both ways: 32 (Gen3), 64 (Gen4) and
// 128 GB/s (Gen5) of 16 lanes. They are raw, as the rates of NICs are: encoding and packet headers
// take a tenth or so of both. B200: Gen6, 256 GB/s, by NVIDIA's Blackwell brief (2024), read in a
// quotation; many of its servers have slots of Gen5, which host_rate of a cluster file states.
// GB200: NVLink-C2C carries 450 GB/s to the Grace processor, but NICs are in that one's slots of
// PCIe Gen5 (NVIDIA's Multi-Node Tuning Guide). TPUs and Trainium2: nobody states it.
//
// Watts are the largest that makers state of one accelerator (thermal design power, of the form
// that `source` names; of TPU v4 the largest that Jouppi et al., ISCA 2023, measured). They were
// written down without the documents at hand; hold them against those before you build on them.
// TPU v5p and Trainium2 have none: nobody states it.

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
        .host_Bps = 16e9,
        .processors = 80,
        .matmul_efficiency = 0.7,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.9,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 300,
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
        .host_Bps = 32e9,
        .processors = 108,
        .matmul_efficiency = 0.7,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.9,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 400,
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
        .host_Bps = 32e9,
        .processors = 108,
        .matmul_efficiency = 0.7,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.9,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 400,
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
        .host_Bps = 64e9,
        .processors = 132,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 700,
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
        .host_Bps = 64e9,
        .processors = 132,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 700,
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
        .host_Bps = 64e9,
        .processors = 132,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 700,
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
        .host_Bps = 128e9,
        .processors = 148,
        .matmul_efficiency = 0.6,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 1000,
    },
    {
        .name = "GB200",
        .alias = "GB200-NVL72",
        .source = "NVIDIA Blackwell Architecture Technical Brief (2025), table 2: a rack of NVL72 "
                  "over its 72 GPUs; 189,471 MiB as its driver reports",
        .flops_per_s = {[WEFT_FP32] = 80e12,
                        [WEFT_TF32] = 1250e12,
                        [WEFT_BF16] = 2500e12,
                        [WEFT_FP16] = 2500e12,
                        [WEFT_FP8] = 5000e12},
        .memory_Bps = 8000e9,
        .memory_bytes = 185 * GIB,
        .link_Bps = 900e9,
        .host_Bps = 64e9,
        .processors = 152,
        .matmul_efficiency = 0.6,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 1200,
    },
    {
        .name = "MI300X",
        .alias = "MI300X-192GB",
        .source = "AMD ROCm documentation, MI300 microarchitecture (2024); links: AMD Instinct "
                  "MI300X Platform data sheet (2023), seven of 128 GB/s both ways",
        .flops_per_s = {[WEFT_FP32] = 163.4e12,
                        [WEFT_TF32] = 653.7e12,
                        [WEFT_BF16] = 1307.4e12,
                        [WEFT_FP16] = 1307.4e12,
                        [WEFT_FP8] = 2614.9e12},
        .memory_Bps = 5300e9,
        .memory_bytes = 192 * GIB,
        .link_Bps = 448e9,
        .host_Bps = 64e9,
        .processors = 304,
        .matmul_efficiency = 0.5,
        .tf32_efficiency = 0.5,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.75,
        .launch_ps = 3500000,
        .watts = 750,
    },
    {
        .name = "MI355X",
        .alias = "MI355X-288GB",
        .source = "AMD CDNA 4 Architecture White Paper (2025), table 1: 256 compute units at 2.4 "
                  "GHz, no TF32; seven links of 153.6 GB/s both ways",
        .flops_per_s = {[WEFT_FP32] = 157.3e12,
                        [WEFT_BF16] = 2516.6e12,
                        [WEFT_FP16] = 2516.6e12,
                        [WEFT_FP8] = 5033.2e12},
        .memory_Bps = 8000e9,
        .memory_bytes = 288 * GIB,
        .link_Bps = 537.6e9,
        .host_Bps = 64e9,
        .processors = 256,
        .matmul_efficiency = 0.6,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.75,
        .launch_ps = 3500000,
        .watts = 1400,
    },
    {
        .name = "TPU-v4",
        .alias = "TPUv4",
        .source = "Google Cloud documentation, TPU v4 (2024); link: the pod's all-reduce bandwidth "
                  "of 1.1 PB/s over its 4,096 chips",
        .flops_per_s = {[WEFT_BF16] = 275e12},
        .memory_Bps = 1200e9,
        .memory_bytes = 32 * GIB,
        .link_Bps = 268.5e9,
        .processors = 32,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
        .watts = 192,
    },
    {
        .name = "TPU-v5p",
        .alias = "TPUv5p",
        .source = "Google Cloud documentation, TPU v5p (2025): FP8 as fast as BF16, interconnect "
                  "of 1,200 GB/s both ways",
        .flops_per_s = {[WEFT_BF16] = 459e12, [WEFT_FP8] = 459e12},
        .memory_Bps = 2765e9,
        .memory_bytes = 95 * GIB,
        .link_Bps = 600e9,
        .processors = 32,
        .matmul_efficiency = 0.65,
        .tf32_efficiency = 0.55,
        .fp32_efficiency = 0.8,
        .memory_efficiency = 0.85,
        .link_efficiency = 0.8,
        .launch_ps = 3500000,
    },
    {
        .name = "Trainium2",
        .alias = "Trn2",
        .source = "AWS Neuron documentation, Trainium2 and Trn2 architecture (2025); 1,024 GB/s of "
                  "NeuronLink-v3 in an instance, taken to add up both ways",
        .flops_per_s = {[WEFT_FP32] = 181e12,
                        [WEFT_TF32] = 667e12,
                        [WEFT_BF16] = 667e12,
                        [WEFT_FP16] = 667e12,
                        [WEFT_FP8] = 1299e12},
        .memory_Bps = 2900e9,
        .memory_bytes = 96 * GIB,
        .link_Bps = 512e9,
        .processors = 32,
        .matmul_efficiency = 0.65,
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

// One figure and what it may be, 0 aside where it need not be stated.
struct figure {
    const char *key;
    double value;
    double low;
    double high;
    bool needed;
};

bool weft_accelerator_check(const struct weft_accelerator *accelerator, struct weft_error *error)
{
    double most_flops = 0;
    for (uint32_t d = 0; d < WEFT_DTYPE_COUNT; d++) {
        double flops_per_s = accelerator->flops_per_s[d];
        if (flops_per_s != 0 && !(flops_per_s >= 1e6 && flops_per_s <= 1e21)) {
            return weft_fail(error, WEFT_INPUT,
                             "peak: %g Tflops of %s are not between 1e-6 and 1e9",
                             flops_per_s / 1e12, weft_dtype_name((enum weft_dtype)d));
        }
        most_flops = flops_per_s > most_flops ? flops_per_s : most_flops;
    }
    const struct figure figures[] = {
        {"peak", most_flops, 1e6, 1e21, true},
        {"memory_bandwidth", accelerator->memory_Bps, 1e6, 1e18, true},
        {"link_rate", accelerator->link_Bps, 1e3, 1e18, false},
        {"power", accelerator->watts, 0, 1e9, false},
        {"processors", accelerator->processors, 1, 1e6, true},
        {"launch", (double)accelerator->launch_ps, 0, 1e12, false},
        {"matmul_efficiency", accelerator->matmul_efficiency, 1e-6, 1, true},
        {"tf32_efficiency", accelerator->tf32_efficiency, 1e-6, 1, true},
        {"fp32_efficiency", accelerator->fp32_efficiency, 1e-6, 1, true},
        {"memory_efficiency", accelerator->memory_efficiency, 1e-6, 1, true},
        {"link_efficiency", accelerator->link_efficiency, 1e-6, 1, true},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const struct figure *one = &figures[i];
        if ((one->needed || one->value != 0) &&
            !(one->value >= one->low && one->value <= one->high)) {
            return weft_fail(error, WEFT_INPUT, "%s: %g is not between %g and %g", one->key,
                             one->value, one->low, one->high);
        }
    }
    return true;
}

bool weft_accelerator_named(const struct weft_accelerator **accelerator, const char *name,
                            struct weft_error *error)
{
    const char *names[sizeof accelerators / sizeof accelerators[0]];
    for (uint32_t i = 0; i < accelerator_count; i++) {
        const struct weft_accelerator *one = &accelerators[i];
        if (strcasecmp(name, one->name) == 0 ||
            (one->alias != NULL && strcasecmp(name, one->alias) == 0)) {
            *accelerator = one;
            return true;
        }
        names[i] = one->name;
    }
    return weft_fail_word(error, "accelerator Weft knows", name, names, accelerator_count);
}
