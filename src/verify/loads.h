// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_LOADS_H
#define WEFT_VERIFY_LOADS_H

// What a task graph asks of a plan's network, pair by pair and ring by ring.
//
// Loads, priced bounds and the player all walk over these messages, so that one definition of what
// a collective puts where is held against the planner's.

#include "weft/plan.h"

// A message of one task: from one server to another, over given links or the pair's routes.
struct message {
    uint32_t from;
    uint32_t to;
    double share;          // of the transfer, or of what each member of a collective sends
    uint32_t ring;         // of the group's, from 0
    const uint32_t *links; // NULL: the pair's routes
    uint32_t link_count;
};
// The index-th message of a transfer (one) or collective (a hop of a ring, ring by ring); false
// past the last. A collective's group without rings is one ring in the group's own order.
// O(rings of the plan) where rings are looked for: `first_ring` is message_rings' answer.
bool message_get(struct message *message, const struct weft_plan *plan,
                 const struct weft_taskgraph *graph, const uint32_t *first_ring, uint32_t task,
                 uint32_t index);
// Per group of the graph: its first ring, and one entry more; rings are sorted by group.
uint32_t *message_rings(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                        struct weft_arena *arena);

// Hops from a server to every node by fewest links, or WEFT_NONE. distance[node_count]. O(n + m).
void hops_from(uint32_t *distance, const struct weft_fabric *fabric, uint32_t from,
               struct weft_arena scratch);

#endif
