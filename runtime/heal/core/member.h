// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_MEMBER_H
#define WEFT_RUNTIME_HEAL_CORE_MEMBER_H

// A host of a job that heals, a rank or a spare, without sockets and without a clock: orders and
// frames go in with their time, frames and reports come out. host.c plays it over TCP, the twin of
// the tests in memory.
//
// Whoever plays it connects edges as the last RESUME says, calls lab_heal_edge_up once both ends
// have said hello in this epoch, and holds frames back while they are early (lab_heal_is_early).

#include "message.h"

enum { LAB_HEAL_REPORTS_MAX = 16 };

struct lab_heal_member {
    struct lab_heal_work work;
    uint32_t host;
    uint32_t epoch;
    uint64_t compute_ns; // of a step, before its collective
    uint64_t begin_ns;   // when the step's collective may begin; WEFT_NEVER: not yet known
    bool frozen;
    bool ended;
    bool awaits_state; // over an edge, or out of the checkpoint
    bool up[LAB_HEAL_SIDES];
    bool gives[LAB_HEAL_SIDES]; // parameters are to go over that edge
    bool ready_told, done_told;
    struct lab_heal_order order; // the last RESUME
    uint64_t dropped;            // frames of former epochs
    uint64_t refused;            // strangers, as its player counts them
    uint32_t report_count;
    struct lab_heal_report reports[LAB_HEAL_REPORTS_MAX]; // that are to be sent, then count = 0
};

void lab_heal_member_init(struct lab_heal_member *member, uint32_t host, uint32_t rank,
                          const struct lab_heal_work *work, uint64_t compute_ns);
struct lab_heal_report lab_heal_report_of(const struct lab_heal_member *member,
                                          enum lab_heal_report_kind kind);
void lab_heal_report(struct lab_heal_member *member, const struct lab_heal_report *report);

// FREEZE, RESUME, COMMIT, END; SAVE, feeding and reading a checkpoint are the player's. Orders of
// former epochs change nothing. Fails with INFEASIBLE where an order does not fit what is here.
bool lab_heal_obey(struct lab_heal_member *member, const struct lab_heal_order *order,
                   uint64_t now_ns, struct weft_error *error) WEFT_MUST_USE;
// Both ends of an edge are in this epoch.
void lab_heal_edge_up(struct lab_heal_member *member, uint32_t side);
// Parameters came: over an edge, out of the checkpoint, or to a spare. False: none were due.
bool lab_heal_take_state(struct lab_heal_member *member, const uint32_t *state, uint32_t step);
// Whether a frame has to wait: this member is not yet in its epoch, or has not begun its step. What
// is not early is taken, or dropped.
bool lab_heal_is_early(const struct lab_heal_member *member, const struct lab_heal_frame *frame);
// A chunk that came over an edge: lane 0 comes from the rank before, lane 1 from the next. False:
// it is of a former epoch or another step, and was dropped.
bool lab_heal_take_chunk(struct lab_heal_member *member, const struct lab_heal_frame *frame,
                         const uint32_t *data);
// What is to be sent next over an edge, which counts as sent; false: nothing now.
bool lab_heal_outgoing(struct lab_heal_frame *frame, const uint32_t **data,
                       struct lab_heal_member *member, uint32_t side);
// Begins the collective when it is time, and reports what is due.
void lab_heal_advance(struct lab_heal_member *member, uint64_t now_ns);

#endif
