// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_TRANSPORT_PULL_H
#define WEFT_SIM_PACKET_TRANSPORT_PULL_H

// NDP (Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
// performance", SIGCOMM 2017, section 3.2): a sender begins with a window at line rate and then
// sends one packet for each pull; a receiver pulls one packet for each that came, whole or trimmed
// to its header, at the rate of its link, its flows one after the other or in an order. Headers say
// at once what to send again.

#include "weft/base.h"

// What the two ends of a flow keep; its receiver all but `credit`.
struct packet_pull {
    uint32_t next;    // in the pacer's line
    uint32_t link;    // the last one of its path
    uint32_t wanted;  // pulls to send
    uint32_t allowed; // packets that the sender may have sent in all
    uint32_t needed;  // ... that it has to send in all, those trimmed included
    uint32_t order;   // the smallest is pulled first
    uint32_t credit;  // of the sender: packets that may go now
    bool is_waiting;  // in a line
};

// A link into a server: who waits for pulls to be sent.
struct packet_pacer {
    uint32_t first;
    uint32_t last;
    uint64_t next_ps;
};

// All flows' pulls and all links' pacers; NULL without NDP.
struct packet_pulls {
    struct packet_pull *flows;   // per slot
    struct packet_pacer *pacers; // per link
};

struct packet_engine;

// A link's receiver may send a pull.
void packet_pull_event(struct packet_engine *engine, uint32_t link);

#endif
