// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_PACKET_ASSEMBLY_H
#define WEFT_PHOTONICS_PACKET_ASSEMBLY_H

// Requests in fragments, put together in bounded memory.

#include "weft/photonics/responder.h"

struct assembly; // one request

struct assemblies {
    uint32_t count;
    uint32_t input_bytes_max;
    uint64_t timeout_ns;
    struct assembly *slots;
    struct weft_photonic_counts *counts;
};
void assemblies_init(struct assemblies *assemblies, uint32_t count, struct weft_arena *arena);

// Takes a fragment. TAKEN with *input set: its request is whole, and the fragment counts as what
// becomes of that; the input holds until the next call. TAKEN without: held, or there already
// (counted). Else dropped (counted).
enum weft_photonic_drop assemblies_take(const uint8_t **input, struct assemblies *assemblies,
                                        const struct weft_photonic_request *fragment,
                                        uint64_t source, uint64_t now_ns);
void assemblies_expire(struct assemblies *assemblies, uint64_t now_ns);
uint64_t assemblies_held(const struct assemblies *assemblies);

#endif
