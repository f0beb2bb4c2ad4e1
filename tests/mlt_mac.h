// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_MLT_MAC_H
#define WEFT_TESTS_MLT_MAC_H

// A keyed sum for tests in the place of the MAC that runs use. It is quick and no secret is safe
// with it.

#include "weft/mlt.h"

#include <string.h>

static inline void test_mac(uint8_t mac[WEFT_MLT_MAC_BYTES], const uint8_t *bytes, size_t size,
                            const void *secret)
{
    uint64_t sums[2];
    memcpy(&sums[0], secret, sizeof sums[0]);
    sums[1] = ~sums[0];
    for (size_t i = 0; i < size; i++) {
        sums[i % 2] = weft_hash(sums[i % 2] + bytes[i] + 1);
    }
    memcpy(mac, sums, WEFT_MLT_MAC_BYTES);
}

static const uint64_t test_secret = 0x5DEECE66D;
static const struct weft_mlt_key test_key = {test_mac, &test_secret};

#endif
