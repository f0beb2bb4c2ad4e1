// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_PROVE_H
#define WEFT_PHOTONICS_COUNTACTION_PROVE_H

// Whether conditions can hold in one cycle, whatever comes from outside and whatever the registers
// hold.
//
// Atoms are lines that come from outside and what a register holds relative to its target: nothing,
// something, all but one, all. All combinations count as possible, so "cannot hold together" is a
// proof, and "can" need not be reached in any run. The search assigns one atom after the other and
// evaluates in three values, as Davis, Putnam, Logemann and Loveland do.

#include "photonics/countaction/link.h"

struct prove_goal {
    uint32_t module;
    uint32_t term;
    uint32_t index;
};
struct prover {
    const struct link_system *system;
    uint64_t *known, *lines; // [net_count]: what is assigned of nets from outside
    uint8_t *states;         // [value_count]: enum below
    const bool *reached;     // [value_count]: registers that may be full; NULL = all may
    uint32_t steps;          // left
    uint32_t atom;           // to assign next: a net, or net_count + value
    uint32_t line;           // of the net
    bool atom_found;
};
enum prove_answer {
    PROVE_NEVER,
    PROVE_CAN,
    PROVE_UNKNOWN, // too many atoms
};
void prove_init(struct prover *prover, const struct link_system *system, struct weft_arena *arena);
// Whether all goals can hold in one cycle. The registers of `full`, where it is not WEFT_NONE, is
// at its target then; that of `not_full` is not.
enum prove_answer prove_together(struct prover *prover, const struct prove_goal *goals,
                                 uint32_t count, uint32_t full, uint32_t not_full);

#endif
