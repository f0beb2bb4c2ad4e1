// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_SIMULATE_LEVELS_H
#define WEFT_REQUEST_SIMULATE_LEVELS_H

// Collectives by levels, by rings that keep all ports of a server busy: what is reduced is
// reduce-scattered inside each server, goes over the rails (the accelerators of one place in every
// server), along one dimension of the grid after the other, and is gathered inside. Shares are
// rounded up to bytes.

#include "request/simulate/patterns.h"
#include "request/simulate/simulation.h"

// Who takes part, on the network that was built: all of it.
struct patterns_ranks levels_ranks(const struct simulation *simulation);

// A task graph of one collective over all ranks. O(ranks * dimensions).
bool levels_build(struct weft_taskgraph *graph, const struct weft_flows_spec *spec,
                  const struct patterns_ranks *ranks, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The graph of a job whose server i is rank i, with every collective by levels whose group has as
// many ranks in each of several servers. Others keep the ring of their members' order: inside one
// server its switch carries it, and where ranks stand unevenly nothing says who shares a rail. A
// collective keeps its task and its time inside the ranks; what it sends follows it. Servers stand
// in the order of the group, or where all are in it in that of the grid. The graph itself where
// nothing changes. Fails with INPUT where the tasks are too many. O(tasks + members of what changes
// * dimensions).
bool levels_spread(const struct weft_taskgraph **spread, const struct weft_taskgraph *graph,
                   const struct patterns_ranks *ranks, struct weft_arena *arena,
                   struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
