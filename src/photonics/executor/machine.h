// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_EXECUTOR_MACHINE_H
#define WEFT_PHOTONICS_EXECUTOR_MACHINE_H

// Modules that run: a cycle settles all nets, then the clock changes the registers.

#include "photonics/countaction/link.h"

struct machine {
    const struct link_system *system;
    uint64_t *nets;         // [net_count]: lines that are true
    uint32_t *values;       // [value_count]: registers; tallies are computed
    uint32_t *targets;      // [value_count]
    uint32_t *next;         // scratch of the clock
    uint64_t overruns;      // events past a full target, so far
    uint32_t overrun_value; // the register of the first of them, WEFT_NONE
};

void machine_build(struct machine *machine, const struct link_system *system,
                   struct weft_arena *arena);
// Loads the targets of a layer. Fails where one is not positive, and says which value.
bool machine_load(struct machine *machine, const struct weft_photonic_row *row, uint32_t fifo,
                  uint32_t *bad_value);
// Whether a condition holds now, for an index.
bool machine_holds(const struct machine *machine, uint32_t module, uint32_t term, uint32_t index);
// Computes a net that a module drives from what stands before it in the order.
void machine_drive(struct machine *machine, uint32_t net);
// The clock's edge, when all nets are settled.
void machine_clock(struct machine *machine);

#endif
