// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_SCHEDULE_H
#define WEFT_RUNTIME_RAILS_SCHEDULE_H

// What each rank does at its ports, in order, and which changes of circuits it waits for: the
// schedule that a planner's replay compiles to, for ranks (shim) and controller alike.
//
//   weft_rail_result + program ──► [schedule] ──► turns of each rank, phases of the controller

#include "phases.h"
#include "runtime/job/program.h"

#include "weft/plan/rails.h"

// One operation of the rail at one rank.
struct lab_turn {
    uint32_t plane;                   // whose port it is about
    uint32_t operation;               // of the program, at this rank, that begins it
    uint32_t last;                    // that ends it
    uint32_t phase;                   // that its circuits come with; WEFT_NONE = they are there
    uint32_t send_to;                 // the circuit from this rank; WEFT_NONE = none
    uint32_t stream;                  // that takes it; WEFT_NONE = none
    bool passive;                     // a receiver, which knows of the operation when bytes come
    bool receives;                    // there is a circuit to this rank
    bool send_beside, receive_beside; // asked for and not used
    bool send_turns, receive_turns;   // these ports change
};
struct lab_turns {
    uint32_t count;
    struct lab_turn *turns;
};
struct lab_rail_schedule {
    uint32_t rank_count;
    uint32_t plane_count; // ports of a rank; the management network is behind them
    struct lab_turns *ranks;
    uint32_t phase_count;
    struct lab_phase_plan *phases;
    uint32_t *outputs;     // as an iteration begins and ends, by plane and rank
    uint32_t moving_ports; // inputs of the switch that ever change
};
// Of one port a server. Fails with UNSUPPORTED for operations that are neither collectives nor
// transfers. O(steps * ranks).
bool lab_rail_schedule_build(struct lab_rail_schedule *schedule,
                             const struct weft_rail_result *rails,
                             const struct lab_program *program, struct weft_arena *arena,
                             struct weft_error *error) WEFT_MUST_USE;

#endif
