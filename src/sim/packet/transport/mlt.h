// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_TRANSPORT_MLT_H
#define WEFT_SIM_PACKET_TRANSPORT_MLT_H

// MLT in packets: each message of the engine is a tensor that one sender sends one receiver, by the
// state machine of weft/mlt.h. What is here carries its messages as packets and its instants as
// events.

#include "weft/mlt.h"
#include "weft/sim.h"

// Both ends of a message. It keeps its slot from its receiver's STOP until that is at its sender.
struct packet_mlt {
    struct weft_mlt_step step; // the slot's generation is its epoch
    struct weft_mlt_tensor tensor;
    struct weft_mlt_sender sender;
    struct weft_mlt_receiver receiver;
    struct weft_mlt_rate rate; // of the sender
    // Bitmaps of `bits_room` bytes each: the sender's, the receiver's, what BITMAPs on their way
    // say, and, once something goes again, which packets are important. A second BITMAP of a part
    // lays over the first, which can only make that newer.
    uint8_t *bits;
    uint32_t bits_room;
    uint32_t before; // in the list of messages that have come and keep their slot
    uint32_t behind;
    bool has_come;
    uint64_t due_ps;    // a timer is filed for then; WEFT_NEVER: none is
    uint64_t report_ps; // the receiver's next REPORT does not go before,
    uint64_t heed_ps;   // and the sender heeds none before
    uint32_t repeats;   // of PROBEs since the last answer
    uint32_t received;  // packets of data, as REPORT counts them
    uint32_t marked;
};

// What a job knows of its messages.
struct packet_mlt_traits {
    bool is_protected;    // of an all-gather: nothing may be missing
    uint32_t layer;       // in the order in which the next iteration needs them
    uint32_t layer_count; // 0: messages have no layers
};

// All slots of a run; NULL without MLT.
struct packet_mlts {
    struct packet_mlt *flows;
    uint32_t first; // of the list of messages that have come, the one that did first
    uint32_t last;
    uint32_t layer_count;             // of a list of flows with an order
    struct packet_mlt_traits next;    // of the messages that begin next
    struct weft_mlt_budget **budgets; // per job, per server; NULL: none of the job has begun
    struct weft_step_trace step;
    struct weft_error given_up; // of the message that ended the run, with packet_engine.is_stuck
};

struct packet_engine;
struct packet;

// Messages that begin from now on have these traits. Nothing without MLT.
void packet_mlt_next(struct packet_engine *engine, struct packet_mlt_traits traits);
// There are so many jobs, and an iteration of one begins: its servers' budgets begin anew.
void packet_mlt_jobs(struct packet_engine *engine, uint32_t job_count);
void packet_mlt_iteration(struct packet_engine *engine, uint32_t job);

// ---- the trace of a step (mlt_step.c) ----

void packet_step_init(struct packet_mlts *mlts, struct weft_arena *arena);
// A packet was made, and goes to its sender's port now.
void packet_step_sent(struct packet_mlts *mlts, enum weft_step_kind kind, uint32_t bytes,
                      uint64_t now_ps);
// A packet was lost, on a link or in a port.
void packet_step_lost(struct packet_engine *engine, uint32_t id);
void packet_step_lost_in_port(struct packet_engine *engine, uint32_t id);
// What a packet is, by its flags.
enum weft_step_kind packet_step_kind(uint32_t flags);
// The trace of a run that is over; NULL: it was none of MLT.
const struct weft_step_trace *packet_step_trace(const struct packet_engine *engine,
                                                struct weft_arena *arena);

#endif
