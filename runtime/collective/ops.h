// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_COLLECTIVE_OPS_H
#define WEFT_RUNTIME_COLLECTIVE_OPS_H

// What one rank has to do of a schedule, and what each operation must wait for.
//
//   schedule ──► [ops] ──► exec
//
// A slot is read and written in a fixed order: reads of a round come before its writes, writes of
// one slot follow one another as the schedule lists them. So an access may go ahead when as many
// reads and writes of that place are done as stand before it. Segments of a slot count for
// themselves, so that a message can be passed on while its end is still coming in.

#include "runtime/process/connections.h"

#include "weft/collective.h"

enum lab_op_kind {
    LAB_OP_SEND,
    LAB_OP_RECEIVE,
    LAB_OP_MOVE_OUT, // of a move inside the rank: its reading half,
    LAB_OP_MOVE_IN,  // and its writing half
};

// Of one slot: an access may go ahead when so many are done.
struct lab_need {
    uint32_t reads;
    uint32_t writes;
};

struct lab_op {
    uint8_t kind;
    bool adds;
    uint32_t round;
    uint32_t slot; // the first
    uint32_t slot_count;
    uint32_t stream;     // the first lane's; WEFT_NONE for moves
    uint32_t first_need; // a need for each slot
};

struct lab_ops {
    uint32_t count;
    const struct lab_op *ops; // in order of round; a round's reads before its writes
    const struct lab_need *needs;
    uint64_t sent_slots;
};

// The streams that a schedule needs: `lanes` in a row for each pair of ranks that it joins.
struct lab_stream_set {
    uint32_t count;
    struct lab_stream *list;
    uint32_t *pair_first; // [from * rank_count + to]: the first of the pair; WEFT_NONE = none
};
// Fails with INPUT beyond 2^20 streams. O(transfers).
bool lab_streams_of(struct lab_stream_set *streams, const struct weft_schedule *schedule,
                    uint32_t lanes, struct weft_arena *arena, struct weft_arena scratch,
                    struct weft_error *error) WEFT_MUST_USE;

// What `rank` does. O(transfers of all ranks) in time.
void lab_ops_build(struct lab_ops *ops, const struct weft_schedule *schedule, uint32_t rank,
                   const struct lab_stream_set *streams, struct weft_arena *arena,
                   struct weft_arena scratch);

#endif
