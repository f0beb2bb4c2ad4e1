// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_RING_H
#define WEFT_RUNTIME_HEAL_CORE_RING_H

// A step of the job that heals: gradients, an AllReduce over a ring both ways, parameters. Memory
// alone, no sockets and no clock, so that the twin of the tests runs the same code as real ranks.
//
// Parameters and gradients are whole numbers modulo 2^32. A rank's gradient depends on its number,
// the step and the parameters, so that a rank with wrong parameters makes every sum wrong, and the
// sum that is due is known in closed form: each rank checks every element of every step.
//
// Each half of the elements goes round in its own direction (a lane), in as many chunks as there
// are ranks. On a lane a rank sends 2 (n - 1) messages: message m holds chunk (rank - m) of it
// (lane 1: rank + m), and may go once message m - 1 has come. The first n - 1 add up, the others
// carry whole sums. What a rank has received is one number a lane, and that is all that is needed
// to go on after a rank was replaced (lab_heal_resume).

#include "weft/base.h"

#define LAB_HEAL_LANES 2u
#define LAB_HEAL_RANKS_MAX 64u

// How far a rank is on a lane.
struct lab_heal_lane {
    uint32_t received; // messages from the rank before it on the lane
    uint32_t sent;     // messages that need not be sent any more
    uint32_t valid;    // messages below this one cannot be sent again: what went in is not there
};

struct lab_heal_work {
    uint32_t rank; // WEFT_NONE: a spare
    uint32_t count;
    uint32_t chunk_elements;
    uint32_t step; // that is under way; as many were committed
    bool begun;    // sums hold this rank's gradient, or more
    uint32_t *state;
    uint32_t *sums;
    bool *full; // [lane * count + chunk]: the whole sum
    struct lab_heal_lane lanes[LAB_HEAL_LANES];
};

static inline uint32_t lab_heal_messages(uint32_t count)
{
    return 2 * (count - 1);
}
static inline size_t lab_heal_elements(const struct lab_heal_work *work)
{
    return (size_t)LAB_HEAL_LANES * work->count * work->chunk_elements;
}

// Parameters as they are before step 0.
void lab_heal_work_init(struct lab_heal_work *work, uint32_t rank, uint32_t count,
                        uint32_t chunk_elements, struct weft_arena *arena);
// Begins the step from the start: sums are this rank's gradient. O(elements).
void lab_heal_begin(struct lab_heal_work *work);

struct lab_heal_message {
    uint32_t lane;
    uint32_t number;
    bool full;            // a whole sum, which replaces; else a part, which is added
    const uint32_t *data; // chunk_elements
};
// The next message of a lane that may be sent; false: none. The caller counts it as sent.
bool lab_heal_next(struct lab_heal_message *message, const struct lab_heal_work *work,
                   uint32_t lane);
// Takes the message that is due on its lane; false: it is another one, and nothing was changed.
bool lab_heal_take(struct lab_heal_work *work, const struct lab_heal_message *message);
// Every sum is here.
bool lab_heal_complete(const struct lab_heal_work *work);
// Elements of the sums that are not what is due. O(elements).
uint64_t lab_heal_wrong(const struct lab_heal_work *work);
// Adds the sums to the parameters and goes to the next step. O(elements).
void lab_heal_commit(struct lab_heal_work *work);
// A number that differs, as good as surely, for other parameters; of a step: for other parameters
// before it, or other sums.
uint64_t lab_heal_digest(const uint32_t *state, size_t elements);
uint64_t lab_heal_step_digest(const struct lab_heal_work *work);
// The same of the parameters after so many steps that went right, computed by nobody's sums.
void lab_heal_expected(uint32_t *state, size_t elements, uint32_t count, uint32_t steps);

// Where each rank goes on when those that are fresh hold nothing but their gradient:
// lanes[rank][lane] as reported, and then as ordered. The rank behind a fresh one on a lane says
// what it still needs; the fresh one receives from one message earlier on, and in any case the last
// part and all whole sums, which its former self may have had. False: a fresh rank would need a
// message that the rank before it cannot send again, so that the step has to be begun anew. O(n).
bool lab_heal_resume(struct lab_heal_lane (*lanes)[LAB_HEAL_LANES], const bool *fresh,
                     uint32_t count) WEFT_MUST_USE;

#endif
