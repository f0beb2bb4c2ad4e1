// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_CIRCUIT_PACKET_PART_H
#define WEFT_SIM_CIRCUIT_PACKET_PART_H

// The packet fabric beside circuits that change.

#include "weft/fabric.h"

// Links between servers are circuits that there may be; the others are of the packet part.
static inline bool sim_is_circuit(const struct weft_fabric *fabric, uint32_t link)
{
    uint32_t servers = fabric->server_count;
    return fabric->links[link].from < servers && fabric->links[link].to < servers;
}

// [node * servers + to]: the link towards `to`; WEFT_NONE: none leads there. NULL where the fabric
// has no switches.
const uint32_t *sim_packet_part_build(const struct weft_fabric *fabric, struct weft_arena *arena);

#endif
