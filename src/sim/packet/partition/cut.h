// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_PARTITION_CUT_H
#define WEFT_SIM_PACKET_PARTITION_CUT_H

// Cuts a fabric into parts whose packets take a while from one to another.

#include "weft/fabric.h"

#define PACKET_PARTS_MAX 16u

// A queue is of one part, so parts share switches: a packet changes part at the far end of a link.
struct packet_cut {
    uint32_t part_count;
    uint64_t lookahead_ps; // the smallest latency of links that packets change part behind
    const uint8_t *owner;  // per link: the part of its queue
    const uint8_t *far;    // per link: the part of the node at its far end
    const uint8_t *node;   // per node
};

// Cuts into part_count >= 2 parts of about as many servers each, so that the lookahead is the
// largest: nodes that nearer links join stay together. False: none has a lookahead.
// O((nodes + links) log links).
bool packet_cut_build(struct packet_cut *cut, const struct weft_fabric *fabric, uint32_t part_count,
                      struct weft_arena *arena, struct weft_arena scratch);

#endif
