// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_H
#define WEFT_WORKLOAD_H

// Workloads: what an engine can play and a planner plans for.
//
//   strategy, format ──► [workload] ──► topology, plan, sim
//
// Task graphs come first, traffic after them.
//
// Task graphs: one training iteration as a DAG of compute, transfer and collective tasks on
// devices.
//
// Struct of arrays, indexed by task; a device runs one compute task at a time, transfers and
// collectives run on the network and hold no device.

#include "weft/base.h"

WEFT_API_BEGIN

enum weft_task_kind {
    WEFT_TASK_FORWARD,
    WEFT_TASK_BACKWARD,
    WEFT_TASK_UPDATE,
    WEFT_TASK_BARRIER,  // no device, no time: joins its predecessors
    WEFT_TASK_LOCAL,    // a copy inside a server: a device and a runtime, no network
    WEFT_TASK_TRANSFER, // size_bytes from server `from` to server `to`
    // Collectives over the k members of `group`. size_bytes is the whole buffer S, of k shards of
    // S/k. Before and behind, a member has:
    WEFT_TASK_ALLREDUCE,      // S of its own; the sum of all
    WEFT_TASK_REDUCE_SCATTER, // S of its own; its shard of the sum of all
    WEFT_TASK_ALL_GATHER,     // its shard; all shards
    WEFT_TASK_KIND_COUNT,
};

// Of a collective's k shards of S/k bytes, which a member must send (or receive) at least S/k of
// each of, whatever the algorithm, unless the network itself reduces: its own one, and the k-1
// that are the others'.
struct weft_task_shards {
    bool own;
    bool others;
};

// What tasks of a kind are.
struct weft_task_facts {
    const char *name;   // for people: "forward", "AllReduce"
    bool on_device;     // holds a device for its runtime
    bool is_collective; // over the members of a group; its runtime is inside the servers, first
    // Collectives: how often the shards go round a ring of k members. A pass is k-1 rounds, in each
    // of which every member sends S/k to its next (Patarasuk and Yuan, JPDC 2009).
    uint32_t ring_passes;
    struct weft_task_shards sends;
    struct weft_task_shards receives;
};
extern const struct weft_task_facts weft_task_facts[WEFT_TASK_KIND_COUNT];

struct weft_taskgraph {
    uint32_t server_count;
    uint32_t device_count;
    const uint32_t *device_server; // server of each device

    uint32_t task_count;
    const uint8_t *kind;        // enum weft_task_kind
    const uint32_t *device;     // compute and LOCAL; else WEFT_NONE
    const uint64_t *runtime_ps; // compute and LOCAL; collectives: time inside the servers first
    const uint64_t *size_bytes; // TRANSFER, collectives
    const uint32_t *from;       // TRANSFER: server
    const uint32_t *to;         // TRANSFER: server
    const uint32_t *group;      // collectives: group index
    const uint32_t *prev_count; // predecessors
    const uint32_t *need; // how many of them a task waits for, the first to end; NULL = all of them
    const uint32_t *next_first; // CSR: successors of t are next[next_first[t] .. next_first[t+1]-1]
    const uint32_t *next;

    // Distinct groups; members keep the order of the first task that names them, so two orders of
    // one set are two groups.
    uint32_t group_count;
    const uint32_t *group_first; // CSR
    const uint32_t *group_members;
};

static inline bool weft_task_is_collective(const struct weft_taskgraph *graph, uint32_t task)
{
    return weft_task_facts[graph->kind[task]].is_collective;
}
// Of a collective.
static inline uint32_t weft_task_member_count(const struct weft_taskgraph *graph, uint32_t task)
{
    const uint32_t *first = graph->group_first + graph->group[task];
    return first[1] - first[0];
}
// Bytes of a collective on a ring: what each member sends to its next, and what all of them send.
// The latter is also the least that any algorithm sends.
double weft_task_ring_bytes(const struct weft_taskgraph *graph, uint32_t task);
double weft_task_wire_bytes(const struct weft_taskgraph *graph, uint32_t task);
// Least bytes that a member of a collective sends, or receives, whatever the algorithm.
double weft_task_least_bytes(const struct weft_taskgraph *graph, uint32_t task, bool receive);

// What a builder hands over, one per task; `next` points anywhere. Fields that the kind does not
// use are ignored.
struct weft_task {
    enum weft_task_kind kind;
    uint32_t device;
    uint64_t runtime_ps;
    uint64_t size_bytes;
    uint32_t from;
    uint32_t to;
    const uint32_t *members; // collectives
    uint32_t member_count;
    const uint32_t *next;
    uint32_t next_count;
    uint32_t need; // of its predecessors; 0 = all
};

// All that a task graph is built of.
struct weft_taskgraph_draft {
    uint32_t server_count;
    uint32_t device_count;
    const uint32_t *device_server; // server of each device
    uint32_t task_count;
    const struct weft_task *tasks;
};

// Hands each task its successors, before[e] -> after[e], in order of the edges; next_count must be
// 0 before. The lists lie in `arena`. O(tasks + edges).
void weft_task_connect(struct weft_task *tasks, uint32_t task_count, const uint32_t *before,
                       const uint32_t *after, size_t edge_count, struct weft_arena *arena);

// Builds a task graph and checks it: every index in range, no cycle (named by one of its tasks), no
// member twice in a group, no task that needs more predecessors than it has; the bytes on the wire
// of all tasks together, and their runtimes, stay below 2^63, so that no later sum overflows. A
// transfer of 0 bytes or to its own server becomes a BARRIER: it joins tasks and takes no network
// time. A collective keeps its kind whatever its bytes, because it may have a runtime; with one
// member or 0 bytes it takes no network time. The draft may go when the graph is there. Fails with
// INPUT naming the task. O(tasks + edges + members + server_count).
bool weft_taskgraph_build(struct weft_taskgraph *graph, const struct weft_taskgraph_draft *draft,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;
// A task as a builder would hand it over again; its lists are the graph's. O(1).
struct weft_task weft_taskgraph_task(const struct weft_taskgraph *graph, uint32_t task);
// Tasks in topological order into order[task_count]: Kahn's algorithm (CACM 1962), first in first
// out, beginning with the tasks that wait for none by index. O(tasks + edges).
void weft_taskgraph_order(const struct weft_taskgraph *graph, uint32_t *order,
                          struct weft_arena scratch);

#define WEFT_TASK_ALL_KINDS ((1u << WEFT_TASK_KIND_COUNT) - 1)
// Whether two task graphs have the same servers, devices and tasks, by index: kinds, places, bytes,
// groups with their order, and who waits for whom (in any order of the edges). Runtimes are held
// against each other only for tasks of the kinds whose bits (1 << kind) stand in timed_kinds, and
// may differ by 1 ps and a millionth. False: `difference` tells the first one, what `a` has before
// what `b` has. O(tasks + edges + members).
bool weft_taskgraph_same(const struct weft_taskgraph *a, const struct weft_taskgraph *b,
                         uint32_t timed_kinds, struct weft_arena scratch,
                         struct weft_error *difference) WEFT_MUST_USE;

// ---- traffic ----

// Traffic: what a task graph demands of the network. Groups of collectives are mutable (any ring
// over the members will do); the transfer matrix is not.
struct weft_traffic_group {
    uint32_t member_count;
    const uint32_t *members; // ascending
    double size_bytes; // of the AllReduce that would put as much on a ring as the group's tasks
    uint32_t task_count;
    double wire_bytes; // 2 (k-1) size_bytes: what all members send together
};

struct weft_traffic {
    uint32_t server_count;
    // Groups with the same set of members are one group here; groups of one member move nothing and
    // are left out. Falling wire_bytes, ties by members.
    uint32_t group_count;
    const struct weft_traffic_group *groups;
    const uint32_t *group_of; // task graph's group index -> group here, WEFT_NONE for one member
    const double *transfer_bytes; // n*n, row = sender; the diagonal is 0
    double transfer_total_bytes;
    double allreduce_wire_bytes;  // of all groups
    double allreduce_share_ratio; // of wire bytes; 0 when there is no traffic
};

// Extracts the traffic of a task graph. O(tasks + n^2 + total members).
void weft_traffic_build(struct weft_traffic *traffic, const struct weft_taskgraph *graph,
                        struct weft_arena *arena, struct weft_arena scratch);
// The whole wire matrix: transfers plus each group's ring neighbors in ascending order; n*n.
double *weft_traffic_matrix(const struct weft_traffic *traffic, struct weft_arena *arena);

WEFT_API_END

#endif
