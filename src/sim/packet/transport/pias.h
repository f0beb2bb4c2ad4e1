// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_TRANSPORT_PIAS_H
#define WEFT_SIM_PACKET_TRANSPORT_PIAS_H

// PIAS (Bai et al., "Information-agnostic flow scheduling for commodity data centers", NSDI 2015,
// section 3): DCTCP whose packets drop in priority as their message goes on, so that short messages
// pass long ones although nobody knows how long they are. A priority ends at a threshold of bytes
// sent.

#include "weft/sim.h"

// The priority of a packet before which its message has sent so many bytes, of `count` that ports
// have; 0 the most urgent. O(thresholds).
static inline uint32_t packet_pias_priority(const struct weft_pias_options *options, uint32_t count,
                                            uint64_t sent_bytes)
{
    uint32_t priority = 0;
    while (priority + 1 < count && priority < WEFT_PIAS_THRESHOLDS &&
           sent_bytes >= options->threshold_bytes[priority]) {
        priority++;
    }
    return priority;
}

#endif
