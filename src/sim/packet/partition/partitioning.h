// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_PARTITION_PARTITIONING_H
#define WEFT_SIM_PACKET_PARTITION_PARTITIONING_H

// Divides a fabric into partitions that can be simulated at the same time: a packet takes at least
// the lookahead from one partition to another, and for so long each may play without the others
// (conservative synchronization, Chandy and Misra, 1979). The larger the lookahead, the fewer the
// barriers.

#include "weft/fabric.h"

#define PACKET_PARTITIONS_MAX 16u

// A queue is of one partition, so partitions share switches: a packet changes partition at the far
// end of a link.
struct packet_partitioning {
    uint32_t partition_count;
    uint64_t lookahead_ps; // the smallest latency of links that packets change partition behind
    const uint8_t *owner;  // per link: the partition of its queue
    const uint8_t *far;    // per link: the partition of the node at its far end
    const uint8_t *node;   // per node
};

// Divides into partition_count >= 2 partitions of about as many servers each, so that the lookahead
// is the largest: nodes that nearer links join stay together. False: none has a lookahead. O((nodes
// + links) log links).
bool packet_partitioning_build(struct packet_partitioning *partitioning,
                               const struct weft_fabric *fabric, uint32_t partition_count,
                               struct weft_arena *arena, struct weft_arena scratch);

#endif
