// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WORKLOAD_CHAKRA_H
#define WEFT_WORKLOAD_CHAKRA_H

// Chakra execution traces (MLCommons; Sridharan et al., arXiv:2305.14516): what each rank of a job
// computed, sent and received, and what waited for what inside the rank.
//
//   weft/format/chakra.h ──► [trace ──► task graph] ──► topology, plan, sim
//
// A trace states the ends of a message and the members' parts of a collective each on its own rank;
// which of them belong together is decided here, not by the reader of the files.

#include "weft/workload.h"

WEFT_API_BEGIN

// NodeType of et_def.proto.
enum weft_chakra_node_type {
    WEFT_CHAKRA_INVALID = 0,
    WEFT_CHAKRA_METADATA = 1,
    WEFT_CHAKRA_MEM_LOAD = 2,
    WEFT_CHAKRA_MEM_STORE = 3,
    WEFT_CHAKRA_COMP = 4,
    WEFT_CHAKRA_SEND = 5,
    WEFT_CHAKRA_RECV = 6,
    WEFT_CHAKRA_COLLECTIVE = 7,
    WEFT_CHAKRA_TYPE_COUNT = 11, // with storage, batch and checkpoint nodes
};

// CollectiveCommType of et_def.proto.
enum weft_chakra_collective {
    WEFT_CHAKRA_ALL_REDUCE = 0,
    WEFT_CHAKRA_REDUCE = 1,
    WEFT_CHAKRA_ALL_GATHER = 2,
    WEFT_CHAKRA_GATHER = 3,
    WEFT_CHAKRA_SCATTER = 4,
    WEFT_CHAKRA_BROADCAST = 5,
    WEFT_CHAKRA_ALL_TO_ALL = 6,
    WEFT_CHAKRA_REDUCE_SCATTER = 7,
    WEFT_CHAKRA_REDUCE_SCATTER_BLOCK = 8,
    WEFT_CHAKRA_BARRIER = 9,
    WEFT_CHAKRA_COLLECTIVE_COUNT,
};

// What a node of a trace that Weft wrote stands for, where the schema has no word for it.
enum weft_chakra_kind {
    WEFT_CHAKRA_KIND_FORWARD,
    WEFT_CHAKRA_KIND_BACKWARD,
    WEFT_CHAKRA_KIND_UPDATE,
    WEFT_CHAKRA_KIND_LOCAL,
    WEFT_CHAKRA_KIND_BARRIER,
    WEFT_CHAKRA_KIND_ALLREDUCE, // this and the next two: of one member, so that no network is used
    WEFT_CHAKRA_KIND_REDUCE_SCATTER,
    WEFT_CHAKRA_KIND_ALL_GATHER,
    WEFT_CHAKRA_KIND_INSIDE, // the time that a collective takes inside the servers first
    WEFT_CHAKRA_KIND_SIGNAL, // a send and its receive that stand for a dependency across ranks
    WEFT_CHAKRA_KIND_COUNT,  // not stated
};

// What a node states of its computation.
struct weft_chakra_compute {
    bool on_cpu;
    bool has_runtime; // exact, or a duration in microseconds
    uint64_t runtime_ps;
    double op_count;
    double tensor_bytes;
    uint32_t device; // of the task graph that Weft wrote; WEFT_NONE = not stated
};

// What a node states of its message or collective.
struct weft_chakra_comm {
    uint64_t size_bytes;  // comm_size; WEFT_NEVER = not stated
    uint64_t exact_bytes; // of the task graph that Weft wrote; WEFT_NEVER = not stated
    uint32_t from;        // ranks; WEFT_NONE = not stated
    uint32_t to;
    uint32_t tag;
    uint32_t collective;    // enum weft_chakra_collective, or more
    const char *group_name; // NULL = not stated
    uint32_t order_count;   // of what Weft wrote: the last dependencies, which are not kept
};

struct weft_chakra_node {
    uint64_t id; // unique on its rank
    const char *name;
    uint32_t rank;
    uint32_t type; // enum weft_chakra_node_type, or more
    enum weft_chakra_kind kind;
    struct weft_chakra_compute compute;
    struct weft_chakra_comm comm;
    uint64_t dep_first; // deps[dep_first] .. deps[dep_first + dep_count - 1]: what it waits for
    uint32_t dep_count;
};

// A process group under the name that a rank uses.
struct weft_chakra_group_name {
    const char *name;
    uint32_t rank; // WEFT_NONE = every rank uses the name so
    uint32_t group;
};

// What was found where Kineto's traces, and the host's beside them, were read as a trace.
struct weft_chakra_joined {
    uint32_t kineto_count;     // ranks read so; 0 = the trace is Chakra's own
    uint32_t host_count;       // of those, with the host's trace
    uint64_t kernel_count;     // on the GPUs, copies too, but for
    uint64_t message_count;    // parts of collectives and messages
    uint64_t unlaunched_count; // both: of lenient readings, without the call that launched them
    uint64_t unsized_count;    // of lenient readings: collectives that took their recorded time
    uint64_t operator_count;   // the host's operators that Kineto's trace has, too
    uint64_t lost_count;       // and those that it lacks
    uint64_t stated_count;     // waits of streams as events of synchronization state them
    uint64_t inferred_count;   // as the recorded times have them
    uint64_t open_count;       // without what waits or is waited for
};

// A trace as its files state it: indices in range, dependencies resolved, nothing matched yet.
struct weft_chakra_trace {
    const char *path; // the files' prefix, which messages begin with; NULL = from memory
    uint32_t rank_count;
    uint32_t node_count;
    const struct weft_chakra_node *nodes; // by rank, then as in the file
    uint64_t dep_count;
    const uint32_t *deps;    // indices of nodes, of the same rank
    uint64_t dangling_count; // dependencies on nodes that are not there, which were left out
    struct weft_chakra_joined joined;

    // Devices that Weft's own files state: the rank of each; NULL where a file states none.
    uint32_t device_count;
    const uint32_t *device_rank;
    // Servers, and that of each rank: what Weft's own files state, else every rank is one. The
    // first server_count ranks are the servers' own, rank s on server s; the others are further
    // devices.
    uint32_t server_count;
    const uint32_t *rank_server;

    // Process groups in the order of the file, each with its members in the order listed there. A
    // list that stands there twice is two groups. Group 0 is all ranks.
    uint32_t group_count;
    const uint32_t *group_first; // CSR into group_members
    const uint32_t *group_members;
    uint32_t name_count;
    const struct weft_chakra_group_name *names; // by name, then rank; of equal groups the first
};

// Puts "rank 3: node 12 'name'" before a message. Returns false, as weft_wrap.
bool weft_chakra_wrap(struct weft_error *error, const struct weft_chakra_node *node);

// What a rank computes with, for nodes that state operations and bytes but no duration: they take
// max(operations / flops_per_s, bytes / memory_Bps), as in ASTRA-sim's roofline. 0 = not known:
// then they take no time.
struct weft_chakra_roofline {
    double flops_per_s;
    double memory_Bps;
};

struct weft_chakra_job {
    struct weft_taskgraph graph; // a server for each rank, unless Weft's own files say otherwise
    uint64_t node_count;
    uint64_t untimed_count;      // compute nodes that state operations and took no time
    uint64_t skipped_count;      // nodes of other kinds: they join what they wait for
    uint64_t approximated_count; // broadcasts, reductions: became AllReduces of as many bytes
    uint64_t dangling_count;     // as the trace has it
    struct weft_chakra_joined joined;
};

// Matches messages and collectives and gives the task graph. Tasks stand in ascending order of node
// ids, then ranks. Fails with INPUT naming rank and node: a cycle, a message without its other end,
// a collective that a member lacks, a process group that is not known; with UNSUPPORTED for a
// collective with a root that the trace does not state. O(nodes log nodes + tasks).
bool weft_chakra_lower(struct weft_chakra_job *job, const struct weft_chakra_trace *trace,
                       const struct weft_chakra_roofline *roofline, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
