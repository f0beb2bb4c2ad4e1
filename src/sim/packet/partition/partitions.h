// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_PARTITION_PARTITIONS_H
#define WEFT_SIM_PACKET_PARTITION_PARTITIONS_H

// One run in several partitions: each has the queues of its partition of the fabric, a clock and
// packets of its own. They play windows no longer than the lookahead without hearing from each
// other; what goes from one to another is handed over between windows (Chandy and Misra, 1979;
// Nicol, "The cost of conservative synchronization in parallel discrete event simulations", JACM
// 1993).
//
// What comes out depends on the partitioning, never on the threads: a partition plays its window by
// itself, and takes what others sent in the order of partitions and of sending.
//
// The caller has an engine of its own, the coordinator: it lays messages out, between windows, and
// its `hops` are all partitions'. A message's ends share no record: its slot stands for the
// sender's half in one partition and for the receiver's in another.

#include "partitioning.h"
#include "sim/packet/engine/engine.h"

// A message begins in a window.
struct packet_partition_start {
    uint64_t start_ps;
    uint32_t flow;
};

// A message came to its receiver in a window.
struct packet_partition_end {
    uint64_t end_ps;
    uint32_t flow;
    uint32_t marked; // of its packets
};

struct packet_partition {
    _Alignas(64) struct packet_engine engine;
    struct packet_mailbox mailbox;
    struct packet_partition_start *starts; // in order of time
    uint32_t start_count;
    uint32_t start_room;
    struct packet_partition_end *ends; // likewise
    uint32_t end_count;
    uint32_t end_room;
    uint64_t next_ps; // nothing happens before, of what is known
    struct packet_mail
        outgoing[2][PACKET_PARTITIONS_MAX]; // of this window and the one before, by turns
    struct weft_arena arena;
    struct weft_arena whole_arena;
};

struct packet_partitions {
    struct packet_partitioning partitioning;
    struct packet_engine *coordinator;
    struct packet_partition *partitions[PACKET_PARTITIONS_MAX];
    uint64_t until_ps; // the end of the window
    uint64_t window_count;
    struct weft_team *team; // its rounds are the windows
};

// Whether these options can be played in partitions at all: acknowledgements through the network,
// one connection a message, and ports and transports that share nothing but packets.
bool packet_partitions_can(const struct weft_sim_options *options);
// Makes the partitions of partitions->partitioning, for messages of `coordinator`, and a team of up
// to options->partitions.threads workers for them. Fails with UNSUPPORTED when the OS has no
// address space.
bool packet_partitions_open(struct packet_partitions *partitions, struct packet_engine *coordinator,
                            const struct weft_fabric *fabric,
                            const struct weft_sim_options *options, uint32_t hop_max,
                            struct weft_error *error) WEFT_MUST_USE;
// Gives threads and address space back.
void packet_partitions_close(struct packet_partitions *partitions);
// When something happens next, of what has been laid out; WEFT_NEVER: nothing does.
uint64_t packet_partitions_next_ps(const struct packet_partitions *partitions);
// A message that the coordinator has laid out begins at start_ps, in the next window.
void packet_partitions_start(struct packet_partitions *partitions, uint32_t flow,
                             uint64_t start_ps);
// Plays a window that ends, included, at until_ps < packet_partitions_next_ps + lookahead.
// Afterwards `ends` of the partitions and `closed` of their mailboxes are those of this window.
void packet_partitions_play(struct packet_partitions *partitions, uint64_t until_ps);
// The halves of a message that is laid out.
struct packet_flow *packet_partitions_sender(const struct packet_partitions *partitions,
                                             uint32_t flow);
struct packet_flow *packet_partitions_receiver(const struct packet_partitions *partitions,
                                               uint32_t flow);
// Brings the coordinator's counts up to date, and its time to the end of the window,
void packet_partitions_count(struct packet_partitions *partitions);
// its links,
void packet_partitions_gather_links(struct packet_partitions *partitions);
// and its flows: the sender's halves of those that have not come, with what the receiver has.
void packet_partitions_gather_flows(struct packet_partitions *partitions);

#endif
