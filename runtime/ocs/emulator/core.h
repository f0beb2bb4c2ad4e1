// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_EMULATOR_CORE_H
#define WEFT_RUNTIME_OCS_EMULATOR_CORE_H

// The emulated switch behind every protocol: what it says of its circuits, where its mirrors really
// point, the light that follows from that, how long a change takes, and its fault.

#include "runtime/ocs/ocs.h"

struct weft_ocs_core {
    uint32_t port_count;
    uint32_t *reported; // outputs, as the switch says
    uint32_t *mirrors;  // outputs, as light goes
    uint32_t *moves;    // how often the circuit of each input became another
    uint32_t switch_ms;
    struct weft_ocs_fault fault;
    uint32_t change_count; // requests so far that changed something
};
// How a change is answered.
struct weft_ocs_core_answer {
    uint32_t wait_ms;
    bool is_lost;
};

// Fails with INPUT where there are no or too many ports, or the fault's port is none.
bool weft_ocs_core_init(struct weft_ocs_core *self, const struct weft_ocs_emulator *options,
                        struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Takes a new set of circuits, with the switch's fault. INFEASIBLE where it is no matching.
bool weft_ocs_core_change(struct weft_ocs_core *self, struct weft_ocs_core_answer *answer,
                          const uint32_t *outputs, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;
// levels[port_count]
void weft_ocs_core_measure(const struct weft_ocs_core *self, struct weft_ocs_port *levels,
                           struct weft_arena scratch);

#endif
