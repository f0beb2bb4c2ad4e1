// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MLT_BYTES_H
#define WEFT_MLT_BYTES_H

// Little-endian numbers in payloads, byte by byte, since a payload may stand at any address.

#include <stddef.h>
#include <stdint.h>

static inline uint64_t get(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static inline uint32_t get32(const uint8_t *bytes)
{
    return (uint32_t)get(bytes, 4);
}

static inline void put(uint8_t *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

#endif
