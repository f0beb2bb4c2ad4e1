// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_MLT_ENGINE_H
#define WEFT_RUNTIME_MLT_ENGINE_H

// One rank's end of an all-reduce without sockets: datagrams go in, packets come out.
//
//   vector ──► [transfers: senders] ──packets──► wire ──datagrams──► [transfers: receivers] ──►
//   sums
//
// A transfer is one chunk from one rank to another: in a ring, one hop. It has a cookie of its own
// for each half, so that messages find it, and a state machine for each tensor of the chunk.
//
// Receivers of the reduce half stand open for the next step, too, with memory of their own: a rank
// that is one step ahead is not made to send again. It cannot be two ahead, since no sum is made
// without something from everybody. Of the gather half nothing can come early.

#include "layout.h"

#include <netinet/in.h>
#include <nettle/hmac.h>

// ---- what is sent ----

// A part of a bitmap fits into a packet of 1500 bytes.
enum { LAB_MLT_BITMAP_BYTES = 1024 };

struct lab_mlt_packet {
    uint32_t peer;
    bool ecn_capable;    // marked before it is dropped
    uint32_t head_bytes; // all of control; of DATA what stands before the segment
    uint32_t data_bytes;
    const uint8_t *data; // the segment where it lies
    uint8_t head[WEFT_MLT_BITMAP_HEAD_BYTES + LAB_MLT_BITMAP_BYTES];
};

// ---- transfers ----

struct lab_mlt_outgoing {
    uint32_t peer;
    enum lab_mlt_half half;
    uint32_t hop;
    const struct lab_mlt_chunk *chunk;
    struct lab_mlt_memory memory; // what is sent
    bool opened;                  // ever
    struct weft_mlt_step step;    // of the step that it was opened for last
    struct weft_mlt_step_sender all;
    struct weft_mlt_sender *senders;
    uint32_t *order;
    uint8_t *pending;   // bitmaps of all pieces, one behind the other
    uint8_t *important; // the same
};

// A receiver of one step.
struct lab_mlt_slot {
    struct weft_mlt_step step;
    struct weft_mlt_step_receiver all;
    struct weft_mlt_receiver *receivers;
    uint8_t *have; // bitmaps of all pieces
    struct lab_mlt_memory memory;
};

struct lab_mlt_incoming {
    uint32_t peer;
    enum lab_mlt_half half;
    uint32_t hop;
    const struct lab_mlt_chunk *chunk;
    struct lab_mlt_slot slots[2]; // REDUCE: of even and odd steps; GATHER: the first alone
    bool followed;                // in this step: it is done, and what waits for it was begun
    uint32_t then;                // the outgoing one of a ring that waits for it; WEFT_NONE
};

struct lab_mlt_far {
    struct sockaddr_in address;
    struct weft_mlt_rate rate;
    uint64_t free_ps;  // when its rate lets the next packet go
    uint64_t heard_ps; // from it, anything that it alone can say
    bool is_partner;   // there are transfers from or to it
    // What came of it, for its rate. Counts go through all steps.
    uint64_t received, marked, reported, reported_marks;
    uint64_t report_ps;        // of the last REPORT
    uint64_t report_cookie[2]; // of those to it, and from it
};

enum lab_mlt_door_kind { LAB_MLT_DOOR_IN, LAB_MLT_DOOR_OUT, LAB_MLT_DOOR_REPORT };
struct lab_mlt_door {
    uint64_t cookie;
    enum lab_mlt_door_kind kind;
    uint32_t index; // of the transfer, or the peer
};

enum { LAB_MLT_ANSWERS = 512 };

struct lab_mlt_wire;

struct lab_mlt {
    struct lab_peer *self;
    uint32_t rank, rank_count;
    struct lab_mlt_options options;
    struct weft_arena memory; // of all
    struct weft_arena scratch;
    struct hmac_sha256_ctx hmac; // with the key set
    struct weft_mlt_key key;
    struct weft_mlt_limits limits;
    struct lab_mlt_layout layout;
    struct lab_mlt_far *peers;
    uint32_t outgoing_count, incoming_count;
    struct lab_mlt_outgoing *outgoing;
    struct lab_mlt_incoming *incoming;
    uint32_t door_count;
    struct lab_mlt_door *doors; // by cookie
    struct weft_mlt_budget budgets[2];
    float *first_hop;               // of a ring: the chunk that begins here
    uint32_t epoch;                 // of the step under way, or the last one; 0: none yet
    float *vector;                  // of the step under way
    uint32_t *of_rank;              // PS: the incoming transfer of each rank's contribution
    uint32_t waiting;               // PS: contributions that this rank's sum still waits for
    uint32_t next_peer;             // who is served next
    uint64_t free_ps;               // when the port's rate lets the next packet go
    uint64_t begin_ps;              // of the step
    uint64_t moved_ps;              // when the last news came
    uint64_t beat_ps;               // when peers were told last that this rank is there
    struct lab_mlt_packet *answers; // a ring of LAB_MLT_ANSWERS
    uint32_t answer_begin, answer_end;
    struct lab_mlt_counts counts;
    struct lab_mlt_wire *wire; // NULL: none
};

// Everything but sockets and addresses. Fails with INPUT.
bool lab_mlt_build(struct lab_mlt **mlt, struct lab_peer *self,
                   const struct lab_mlt_options *options, uint64_t now_ps, struct weft_error *error)
    WEFT_MUST_USE;
void lab_mlt_release(struct lab_mlt *mlt);

// ---- a step ----

void lab_mlt_begin(struct lab_mlt *mlt, float *vector, uint64_t now_ps);
// Begins what waited for transfers that are done by now: sums, hops, the gather half.
void lab_mlt_follow(struct lab_mlt *mlt);
// All that is due came, and all peers have what they need of this rank.
bool lab_mlt_is_done(struct lab_mlt *mlt);
// Fails with IO, naming a peer, where one is silent or nothing moves.
bool lab_mlt_check(struct lab_mlt *mlt, uint64_t now_ps, struct weft_error *error) WEFT_MUST_USE;

// ---- datagrams ----

// Takes any bytes from anybody.
void lab_mlt_take(struct lab_mlt *mlt, const uint8_t *bytes, size_t size, bool marked,
                  uint64_t now_ps);

// Queues REPORTs that are due. One without news says that this rank is there.
void lab_mlt_report(struct lab_mlt *mlt, uint64_t now_ps);
// The next packet that may go now; false: none, and lab_mlt_due_ps says when to look again.
// `error` is set, and nothing else, where a peer is given up.
bool lab_mlt_next(struct lab_mlt_packet *packet, struct lab_mlt *mlt, uint64_t now_ps,
                  struct weft_error *error) WEFT_MUST_USE;
uint64_t lab_mlt_due_ps(const struct lab_mlt *mlt, uint64_t now_ps);

// ---- for the files of this chamber ----

static inline struct lab_mlt_slot *lab_mlt_current(const struct lab_mlt *mlt,
                                                   const struct lab_mlt_incoming *incoming)
{
    return (struct lab_mlt_slot *)&incoming
        ->slots[incoming->half == LAB_MLT_REDUCE ? mlt->epoch % 2 : 0];
}
void lab_mlt_slot_open(struct lab_mlt *mlt, struct lab_mlt_incoming *incoming, uint32_t epoch,
                       uint64_t now_ps);
void lab_mlt_outgoing_open(struct lab_mlt *mlt, struct lab_mlt_outgoing *outgoing);
// The transfers of the pattern, in order of hops.
void lab_mlt_transfers_build(struct lab_mlt *mlt);
// Queues a message that is no DATA. What finds no place is as good as lost on the way.
void lab_mlt_answer(struct lab_mlt *mlt, uint32_t peer, const struct weft_mlt_message *message);

#endif
