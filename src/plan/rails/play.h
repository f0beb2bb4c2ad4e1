// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RAILS_PLAY_H
#define WEFT_PLAN_RAILS_PLAY_H

// A plan of rails in an engine (docs/photonic-rails.md, "In the engines").
//
//   lower.c   operations as messages between neighbors, each between two barriers
//   follow.c  the circuit controller: asks for changes in the plan's order, when messages have come
//   play.c    the network, the run, and the check of what was asked for

#include "plan/rails/rails.h"

// The task graph that an engine plays. Messages are of circuits: what goes on goes round by round.
struct rail_lowered {
    const struct weft_rail_result *plan;
    const struct weft_taskgraph *source;
    double divisor; // of all bytes
    struct weft_taskgraph graph;
    uint32_t *ready, *done; // per step of the plan: the barriers around its messages
    uint32_t message_count;
    double bytes;
};
// Fills what follows the divisor. Fails with UNSUPPORTED where there are too many messages.
// O(messages).
bool rail_lower(struct rail_lowered *lowered, struct weft_arena *arena, struct weft_arena scratch,
                struct weft_error *error) WEFT_MUST_USE;

// ---- the controller ----

struct rail_follower;
struct rail_follow_setup {
    const struct rail_lowered *lowered;
    const struct weft_rail_options *options;
    const struct weft_fabric *fabric;
    double rate_Bps; // of a circuit
};
// A controller for one run. What it asks for stands in its record, in `arena`.
bool rail_follow(struct rail_follower **follower, struct weft_circuit_controller *controller,
                 const struct rail_follow_setup *setup, struct weft_arena *arena,
                 struct weft_error *error) WEFT_MUST_USE;
// All that was asked for.
struct weft_circuit_schedule rail_followed(const struct rail_follower *follower);

#endif
