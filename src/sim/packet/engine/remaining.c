// SPDX-License-Identifier: Apache-2.0
// Ports by remaining bytes (Alizadeh et al., "pFabric", SIGCOMM 2013, section 4.1): a packet says
// how much of its message was left when it was sent. A full port loses the waiting packet with the
// most left; the message of the packet with the least left goes next, and of its packets the one
// that came first, so that no packet of a message waits for those behind it.
//
// The paper's buffers hold some twenty packets, so that the queue is a list in the order of arrival
// and both choices walk it: O(packets that wait) for each.

#include "engine.h"

uint32_t packet_remaining_next(const struct packet_engine *engine, const struct packet_band *band)
{
    uint32_t best = band->first;
    for (uint32_t id = best; id != WEFT_NONE; id = engine->packets[id].behind) {
        if (engine->packets[id].cumulative < engine->packets[best].cumulative) {
            best = id;
        }
    }
    uint32_t first = band->first;
    while (engine->packets[first].flow != engine->packets[best].flow) {
        first = engine->packets[first].behind;
    }
    return first;
}

uint32_t packet_remaining_worst(const struct packet_engine *engine, const struct packet_band *band,
                                const struct packet *packet)
{
    bool is_control = (packet->flags & PACKET_ACK) != 0;
    uint32_t worst = WEFT_NONE;
    for (uint32_t id = band->first; id != WEFT_NONE; id = engine->packets[id].behind) {
        const struct packet *waiting = &engine->packets[id];
        if ((waiting->flags & PACKET_OWN) == 0 &&
            (worst == WEFT_NONE || waiting->cumulative >= engine->packets[worst].cumulative)) {
            worst = id;
        }
    }
    if (worst != WEFT_NONE && !is_control &&
        packet->cumulative >= engine->packets[worst].cumulative) {
        return WEFT_NONE;
    }
    return worst;
}
