// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_PROGRAM_H
#define WEFT_RUNTIME_JOB_PROGRAM_H

// Programs: what the servers of a lab do in one iteration of a task graph, who performs which
// operation of each task, what it waits for, and over which connection its bytes go.
//
//   taskgraph + network + rings ──► [program] ──► workers (a process for each server)
//
// An operation is a task at one server. Compute is one operation, a transfer one at either end, a
// collective one for each member, a barrier one wherever a successor is. An operation waits for
// others at its own server; what it must know of another server comes as a signal, a message
// without bytes. Only barriers and edges without data between servers need signals; the simulation
// lets them take no time.

#include "runtime/process/connections.h"

#include "weft/fabric.h"
#include "weft/workload.h"

enum lab_operation_kind {
    LAB_OPERATION_COMPUTE,
    LAB_OPERATION_SEND,
    LAB_OPERATION_RECEIVE,
    LAB_OPERATION_COLLECTIVE,
    LAB_OPERATION_BARRIER,
};

struct lab_operation {
    uint8_t kind;
    uint32_t task;
    uint32_t server;
    uint32_t wait_count; // operations here and signals that it waits for
    uint32_t position;   // COLLECTIVE: of the member in its group
    uint32_t next_first; // into nexts: operations of the same server
    uint32_t next_count;
    uint32_t signal_first; // into signals
    uint32_t signal_count;
    uint32_t chunk_first; // SEND: into chunks
    uint32_t chunk_count; // SEND: how many there are; RECEIVE: how many must come
};

struct lab_signal {
    uint32_t operation; // that it is for
    uint32_t stream;
};

struct lab_chunk {
    uint32_t stream;
    uint64_t bytes;
};

// A ring of a group: the stream from each member to its next, by place in the ring. Where a hop is
// of parallel cables, a plan's ring is several with a part of its share each.
struct lab_ring {
    uint32_t member_count;
    double share_ratio;
    const uint32_t *members; // servers, in ring order
    const uint32_t *streams; // from members[i] to members[i+1]
};

struct lab_program {
    const struct weft_taskgraph *graph;
    uint32_t operation_count;
    const struct lab_operation *operations;
    // Those of task t are task_part[t] .. task_part[t+1]-1: a transfer's sending and receiving one,
    // a collective's in order of its group's members.
    const uint32_t *task_operation; // [task_count + 1]
    const uint32_t *nexts;
    const struct lab_signal *signals;
    const struct lab_chunk *chunks;
    const uint32_t *ring_first; // [group_count + 1], into rings
    const struct lab_ring *rings;
    uint32_t stream_count;
    const struct lab_stream *streams;
    uint32_t signal_count;
    bool small_in_one_round; // as in weft_sim_options
    uint32_t packet_bytes;
};

// Fills the addresses of a stream, which say over which connection its bytes go: along
// links[0 .. link_count-1], by the lane-th of parallel cables.
typedef void (*lab_address)(void *context, struct lab_stream *stream, const uint32_t *links,
                            uint32_t link_count, uint32_t lane);

struct lab_program_options {
    const struct weft_network *network;
    const struct weft_ring_set *rings; // by group of the graph
    uint64_t seed;                     // of choices among paths
    bool small_in_one_round;
    uint32_t packet_bytes;
    bool one_lane; // parallel cables are one port of their rate
    lab_address address;
    void *context;
};

// The programs of all servers. Fails with INPUT where servers and network do not fit or a pair has
// no route, with UNSUPPORTED for tasks that wait for some of their predecessors only, and beyond
// 2^24 operations or 2^16 connections. O(tasks * group size + edges).
bool lab_program_build(struct lab_program *program, const struct weft_taskgraph *graph,
                       const struct lab_program_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
