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

// What the coordinator has a partition do in a window.
struct packet_partition_order {
    uint64_t time_ps;
    uint32_t flow;
};
struct packet_partition_orders {
    struct packet_partition_order *list; // in order of time
    uint32_t count;
    uint32_t room;
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
    struct packet_partition_orders starts;   // messages begin
    struct packet_partition_orders closings; // senders' ends are over, whatever they know
    struct packet_partition_end *ends;       // in order of time
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
    // Other processes that play some of the partitions (peers.c); NULL: none do. Of theirs this one
    // has no engine, only what they said.
    const struct weft_partition_peers *peers;
    uint8_t *said; // room for what is said to them
    size_t said_room;
};

// What a run in partitions is of.
struct packet_partitions_run {
    const struct weft_fabric *fabric;
    const struct weft_sim_options *options;
    uint32_t hop_max;
    uint32_t job_count; // 0: of a list of flows
    bool asks_dues;     // when messages may end
};

// Whether these options can be played in partitions at all: acknowledgements through the network,
// one connection a message, and ports and transports that share nothing but packets.
bool packet_partitions_can(const struct weft_sim_options *options);
// Makes the partitions of partitions->partitioning, for messages of `coordinator`, and a team of up
// to options->partitions.threads workers for them. Fails with UNSUPPORTED when the OS has no
// address space.
bool packet_partitions_open(struct packet_partitions *partitions, struct packet_engine *coordinator,
                            const struct packet_partitions_run *run, struct weft_error *error)
    WEFT_MUST_USE;
// The process that plays a partition: neighbors stay together.
static inline uint32_t packet_partitions_process(const struct packet_partitions *partitions,
                                                 uint32_t p)
{
    const struct weft_partition_peers *peers = partitions->peers;
    return peers == NULL ? 0 : p * peers->count / partitions->partitioning.partition_count;
}
// Whether that is this one.
static inline bool packet_partitions_is_here(const struct packet_partitions *partitions, uint32_t p)
{
    return partitions->peers == NULL ||
           packet_partitions_process(partitions, p) == partitions->peers->rank;
}
// Gives threads and address space back.
void packet_partitions_close(struct packet_partitions *partitions);
// When something happens next, of what has been laid out; WEFT_NEVER: nothing does.
uint64_t packet_partitions_next_ps(const struct packet_partitions *partitions);
// The first arrival, behind the last link of its path, of what is in the mail; likewise.
uint64_t packet_partitions_first_last_ps(const struct packet_partitions *partitions);
// A message that the coordinator has laid out begins at start_ps, in the next window.
void packet_partitions_start(struct packet_partitions *partitions, uint32_t flow,
                             uint64_t start_ps);
// Its sender's end is over at close_ps, in the next window, as if it had heard of the receiver's.
void packet_partitions_close_flow(struct packet_partitions *partitions, uint32_t flow,
                                  uint64_t close_ps);
// Plays a window that ends, included, at until_ps < packet_partitions_next_ps + lookahead.
// Afterwards `ends` of the partitions and `closed` and `notes` of their mailboxes are those of this
// window.
void packet_partitions_play(struct packet_partitions *partitions, uint64_t until_ps);
// Brings the coordinator's counts up to date, and its time to the end of the window,
void packet_partitions_count(struct packet_partitions *partitions);
// its links,
void packet_partitions_gather_links(struct packet_partitions *partitions);
// and its flows: the sender's halves of those that have not come, with what the receiver has.
void packet_partitions_gather_flows(struct packet_partitions *partitions);

// ---- other processes (peers.c); all call these at the same points of the run ----

// Tells the others what this process's partitions sent and noted in the window, and takes what
// theirs did. Does nothing without peers.
void packet_peers_exchange(struct packet_partitions *partitions);
// Fills the coordinator's links, and its flows, from those of all processes.
void packet_peers_gather_links(struct packet_partitions *partitions);
void packet_peers_gather_flows(struct packet_partitions *partitions);

#endif
