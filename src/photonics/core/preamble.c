// SPDX-License-Identifier: Apache-2.0

#include "photonics/core/preamble.h"

bool preamble_detect(uint32_t *rotation, const uint8_t *word)
{
    uint32_t total = 0, bits = 0;
    for (uint32_t i = 0; i < PREAMBLE_SAMPLES; i++) {
        total += word[i];
    }
    for (uint32_t i = 0; i < PREAMBLE_SAMPLES; i++) {
        bits |= (uint32_t)(word[i] * 16u >= total) << i;
    }
    uint32_t r = 0;
    while (r < PREAMBLE_SAMPLES && ((0x00ffu << r | 0x00ffu << r >> 16) & 0xffffu) != bits) {
        r++;
    }
    *rotation = total > 0 ? r : PREAMBLE_NONE;
    return total > 0;
}
