// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_PARTITION_MAILBOX_H
#define WEFT_SIM_PACKET_PARTITION_MAILBOX_H

// What leaves a partition of a run during a window: packets for other partitions, and notes of
// messages that have ended. It is written by its partition only and read between windows, so that
// partitions play without locks (partitions.h).

#include "weft/base.h"

struct packet;
struct packet_engine;

// Packets for one partition, in the order of their sending; `entered_ps` of each is its arrival.
struct packet_mail {
    struct packet *packets;
    uint32_t count;
    uint32_t room;
};

struct packet_mailbox {
    uint32_t partition;
    const uint8_t *owner;         // per link: the partition of its queue
    const uint8_t *far;           // per link: the partition of the node at its far end
    struct packet_mail *outgoing; // per partition that they go to; of this window
    uint64_t first_ps;            // the first arrival of those; WEFT_NEVER: none
    uint64_t sent_count;
    uint32_t ended_flow; // whose receiver has all
    // Flows whose senders know so, in this window.
    uint32_t *closed;
    uint32_t closed_count;
    uint32_t closed_room;
};

// Whether a packet goes on in another partition: then it is in the mail and gone from here.
bool packet_mail_away(struct packet_engine *engine, uint32_t id, uint32_t link,
                      uint64_t arrives_ps);
void packet_mail_closed(struct packet_engine *engine, uint32_t flow);

#endif
