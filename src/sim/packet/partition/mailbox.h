// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_PARTITION_MAILBOX_H
#define WEFT_SIM_PACKET_PARTITION_MAILBOX_H

// What leaves a partition of a run during a window: packets for other partitions, and notes of
// messages that have ended or soon may. It is written by its partition only and read between
// windows, so that partitions play without locks (partitions.h).

#include "weft/base.h"

struct packet;
struct packet_engine;

// Packets for one partition, in the order of their sending; `entered_ps` of each is its arrival.
struct packet_mail {
    struct packet *packets;
    uint32_t count;
    uint32_t room;
};

// A flow whose sender's end is over, and what that end has counted.
struct packet_closed {
    uint32_t flow;
    uint32_t resent;
    uint32_t timeouts;
};

// When a message may end. It has to wait for packets that are not on the last link of their path
// yet, unless as many as it lacks are: then it is due.
struct packet_due {
    uint64_t last_ps; // the latest arrival of those that are, or were
    uint32_t filed;   // packets on their last link
    uint32_t missing; // that have not come
    bool is_due;
};

// A message became due and does not end before end_ps; or (WEFT_NEVER) it is not due any more.
struct packet_due_note {
    uint64_t end_ps;
    uint32_t flow;
};

struct packet_mailbox {
    uint32_t partition;
    const uint8_t *owner;         // per link: the partition of its queue
    const uint8_t *far;           // per link: the partition of the node at its far end
    struct packet_mail *outgoing; // per partition that they go to; of this window
    uint64_t first_ps;            // the first arrival of those; WEFT_NEVER: none
    uint64_t first_last_ps;       // the first of those on the last link of their path; likewise
    uint64_t sent_count;
    uint32_t ended_flow;          // whose receiver has all
    struct packet_closed *closed; // in this window
    uint32_t closed_count;
    uint32_t closed_room;
    struct packet_due *dues;       // per slot of flows; NULL: nobody asks
    struct packet_due_note *notes; // of this window
    uint32_t note_count;
    uint32_t note_room;
};

// Room for one more behind the `count` items of `size` bytes of a list, which may move: twice as
// much as there was where `room` is used up.
void *packet_mail_room(struct weft_arena *arena, void *list, uint32_t count, uint32_t *room,
                       size_t size);
// Whether a packet goes on in another partition: then it is in the mail and gone from here.
bool packet_mail_away(struct packet_engine *engine, uint32_t id, uint32_t link,
                      uint64_t arrives_ps);
// A packet that another partition sent is on its way here.
void packet_mail_take(struct packet_engine *engine, const struct packet *packet);
void packet_mail_closed(struct packet_engine *engine, uint32_t flow);
// A packet of data came to its receiver, which did not have it before (`is_new`) or did.
void packet_mail_came(struct packet_engine *engine, uint32_t flow, bool is_new);

#endif
