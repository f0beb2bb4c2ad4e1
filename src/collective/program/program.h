// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_PROGRAM_PROGRAM_H
#define WEFT_COLLECTIVE_PROGRAM_PROGRAM_H

// Thread-block programs taken apart, for check.c: who sends to whom (order.c) or signals whom
// (signals.c), which steps are ordered (races.c), and the transfers that a program amounts to
// (lower.c). Steps, blocks and ranks are indices into the program throughout; WEFT_NONE stands for
// none.

#include "weft/collective.h"

// Steps, blocks and ranks are indices into the program. WEFT_NONE = none.
struct weft_program_order {
    const struct weft_program *program;
    uint32_t block_count;
    const uint32_t *rank_of;     // of a block
    const uint32_t *block_of;    // of a step
    const uint32_t *sent_to;     // the step that receives what this step sends
    const uint32_t *got_from;    // the step that sent what this step receives
    const uint32_t *waits_for;   // the step whose signal this step waits for
    const uint32_t *window_from; // the receive that makes room for what this step sends
    const uint32_t *sequence;    // all steps, each after what it needs
};

// Fills report->why and where for a step (WEFT_NONE: for none) and returns false.
bool weft_program_blame(struct weft_program_report *report, const struct weft_program_order *order,
                        uint32_t step, const char *format, ...) WEFT_PRINTF(4, 5);
// "gpu 3, thread block 2, step 5" in a caller's buffer of that size.
#define WEFT_PROGRAM_PLACE 64
const char *weft_program_place(char *buffer, const struct weft_program_order *order, uint32_t step);

// Matches sends with receives and orders the steps; false with a report where that cannot be.
bool weft_program_order(struct weft_program_order *order, struct weft_program_report *report,
                        const struct weft_program *program, struct weft_arena *arena,
                        struct weft_arena scratch);
// Whether steps that touch the same memory, one of them writing, are ordered. False with a report,
// or with *fits false where clocks would take more memory than there is reason for.
bool weft_program_races(bool *fits, struct weft_program_report *report,
                        const struct weft_program_order *order, bool in_place,
                        struct weft_arena scratch);

// The chunk as a slot of the schedule for a mode.
uint32_t weft_program_slot(const struct weft_program *program, bool in_place, uint32_t rank,
                           enum weft_block_buffer buffer, uint32_t chunk);

// Whose memory a step's `from` or `to` is: a peer's, or that of its own rank.
uint32_t weft_program_owner(const struct weft_program_order *order, uint32_t step, bool to);
// One-sided programs: fills got_from of each wait with its signal, the k-th with the k-th, and of
// each read of packets with their write. False with a report where there is none.
bool weft_program_signals(uint32_t *got_from, struct weft_program_report *report,
                          const struct weft_program_order *order, struct weft_arena scratch);

// What of its two addresses a step touches; whether it moves chunks at all.
bool weft_block_op_moves(enum weft_block_op op);
bool weft_block_op_reads_from(enum weft_block_op op);
bool weft_block_op_touches_to(enum weft_block_op op);

// The schedule of an ordered program; of each of its steps the program's steps that send and that
// receive (the same for moves inside a rank).
struct weft_program_origin {
    uint32_t sender;
    uint32_t receiver;
};
void weft_program_transfers(struct weft_schedule *schedule,
                            const struct weft_program_origin **origins,
                            const struct weft_program_order *order, bool in_place,
                            struct weft_arena *arena, struct weft_arena scratch);

#endif
