// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_IDEAL_H
#define WEFT_VERIFY_IDEAL_H

// Tasks on the best network there could be: what each must move, and when each can start and must
// have ended.
//
// docs/certificate.md, "Heads and tails" and "One machine", has the definitions and the proofs.

#include "weft/plan.h"

// What the network is taken to be able to do.
struct ideal {
    const struct weft_taskgraph *graph;
    double port_Bps;  // what a server can send, and receive
    double latency_s; // of the one link that every byte crosses at least
    bool network;     // false: what crosses it takes no time
    bool balanced;    // collectives move on every member what a ring would, once the servers are
                      // done inside; else any algorithm, which may do both at once
};

// Whether a task is a collective over the members of a group.
bool ideal_is_collective(const struct weft_taskgraph *graph, uint32_t task);
uint32_t ideal_member_count(const struct weft_taskgraph *graph, uint32_t task);
// How often the shards of a collective go round a ring: 2 for an AllReduce, 1 for its halves.
uint32_t ideal_passes(const struct weft_taskgraph *graph, uint32_t task);
// Least bytes that the sender of a transfer, or each member of a collective, must send, or receive.
double ideal_bytes(const struct ideal *ideal, uint32_t task, bool receive);
// Least bytes that all servers together must send for it.
double ideal_all_bytes(const struct weft_taskgraph *graph, uint32_t task);

// No schedule starts a task before head_s, and the iteration goes on for tail_s after its end.
struct ideal_times {
    double *head_s;
    double *network_s; // from when it may use the network
    double *tail_s;
    double longest_s; // the largest head + duration + tail
};
// O(edges + tasks^2 / 64), and a pass over earlier tasks for each that waits for several.
struct ideal_times ideal_times(const struct ideal *ideal, struct weft_arena *arena);

// A task on one machine, and the soonest end of many: the largest least head + sum of bodies +
// least tail over all subsets. Orders the items. O(count log count).
struct ideal_item {
    double head_s;
    double body_s;
    double tail_s;
};
double ideal_machine(struct ideal_item *items, uint32_t count, struct weft_arena scratch);

#endif
