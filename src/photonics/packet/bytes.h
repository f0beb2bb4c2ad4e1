// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_PACKET_BYTES_H
#define WEFT_PHOTONICS_PACKET_BYTES_H

// Big-endian numbers in payloads, byte by byte, since a payload may stand at any address.

#include <stdint.h>

static inline uint32_t get16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static inline uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) << 16 | get16(bytes + 2);
}

static inline void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static inline void put32(uint8_t *bytes, uint32_t value)
{
    put16(bytes, value >> 16);
    put16(bytes + 2, value & 0xFFFF);
}

#endif
