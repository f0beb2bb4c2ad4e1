// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_LOWERING_CHAKRA_H
#define WEFT_WORKLOAD_LOWERING_CHAKRA_H

// What the steps of lowering a Chakra trace share:
//
//   trace ──► chakra_match.c: pairs, collectives ──► chakra_tasks.c: a node's tasks
//         ──► chakra_lower.c: order, edges, cycles ──► task graph

#include "weft/workload/chakra.h"

// Which nodes of the ranks belong together.
struct chakra_matches {
    const struct weft_chakra_trace *trace;
    uint32_t *peer;       // by node: the send of a receive and the receive of a send
    uint32_t *collective; // by node: its collective
    uint32_t collective_count;
    uint32_t *collective_group;
    uint32_t *collective_first; // CSR into collective_nodes
    uint32_t *collective_nodes; // in ascending order of ranks
};
// Sends with their receives, and the nodes of each collective, in `arena`.
bool chakra_match(struct chakra_matches *matches, const struct weft_chakra_trace *trace,
                  struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

struct chakra_edge {
    uint32_t from; // task
    uint32_t to;
};

// A task graph under construction. Arrays have the room that the trace can need.
struct chakra_lowering {
    const struct weft_chakra_trace *trace;
    const struct chakra_matches *matches;
    const struct weft_chakra_roofline *roofline;
    struct weft_arena *scratch;
    struct weft_error *error;
    struct weft_chakra_job *job; // counts

    uint32_t *start; // by node: the task that waits for what the node waits for; WEFT_NONE = none
    uint32_t *end;   // by node: the task that others wait for
    bool *has_next;  // by node: others wait for it

    struct weft_task *tasks;
    uint32_t *task_node; // a node of the task, for messages
    uint32_t task_count;

    struct chakra_edge *edges;
    uint64_t edge_count;

    uint32_t device_count;
    uint32_t *device_server;
    uint32_t *host_device; // by rank; WEFT_NONE = not yet
};

static inline void chakra_add_edge(struct chakra_lowering *lowering, uint32_t from, uint32_t to)
{
    if (from != to) {
        lowering->edges[lowering->edge_count++] = (struct chakra_edge){from, to};
    }
}
// Adds the tasks that a node becomes, and edges among them; sets start[node] and end[node] where it
// becomes any. A collective is added with the first node of it, for all members.
bool chakra_add_node(struct chakra_lowering *lowering, uint32_t node) WEFT_MUST_USE;
// Weft writes a dependency between ranks as a message of one byte, a signal. Gives the node that
// such a send depends on, so that it can become an edge again; WEFT_NONE where the send is a
// message of the job.
uint32_t chakra_signal_source(const struct chakra_matches *matches, uint32_t send);

#endif
