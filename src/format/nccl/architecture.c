// SPDX-License-Identifier: Apache-2.0
// Accelerators by their architecture, for topology files, which name no more than that.
//
// NVIDIA's table of compute capabilities (CUDA programming guide) and AMD's of targets (ROCm, GPU
// hardware specifications): 9.0 is H100, H800 and H200, 10.0 B200 and GB200, gfx942 MI300X, gfx950
// MI355X. Where several share one, the first row stands for it; --cluster FILE.yaml can say which.

#include "architecture.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *architecture, *accelerator;
} known[] = {
    {"70", "V100"},      {"70", "V100-32GB"}, {"80", "A100"},       {"80", "A100-80GB"},
    {"80", "A100-40GB"}, {"90", "H100"},      {"90", "H800"},       {"90", "H200"},
    {"100", "B200"},     {"100", "GB200"},    {"gfx942", "MI300X"}, {"gfx950", "MI355X"},
};
#define KNOWN (sizeof known / sizeof known[0])

const char *weft_nccl_architecture(const char *accelerator)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (strcasecmp(accelerator, known[i].accelerator) == 0) {
            return known[i].architecture;
        }
    }
    return NULL;
}

const char *weft_nccl_accelerator(const char *architecture)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (strcmp(architecture, known[i].architecture) == 0) {
            return known[i].accelerator;
        }
    }
    return NULL;
}
