// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CHAKRA_CHAKRA_H
#define WEFT_FORMAT_CHAKRA_CHAKRA_H

// What the reader and the writer of Chakra execution traces share: Weft's own attributes, and
// where the writer puts each task.
//
// The traces are those of MLCommons Chakra, schema 1.0.2-chakra.0.0.4 (et_def.proto);
// chakra.proto is the part of it that is used, docs/chakra.md the mapping.

#include "weft/workload/chakra.h"

// Weft's own attributes: what the schema has no words for. Other readers skip them.
#define CHAKRA_ATTR_KIND "weft_kind"             // a word of chakra_kinds
#define CHAKRA_ATTR_RUNTIME_PS "weft_runtime_ps" // exact, where durations are microseconds
#define CHAKRA_ATTR_DEVICE "weft_device"         // the task graph's device
#define CHAKRA_ATTR_BYTES "weft_bytes"           // where comm_size had to differ
#define CHAKRA_ATTR_ORDER "weft_order"           // how many of the last data_deps order alone
#define CHAKRA_ATTR_DEVICES "weft_devices"       // of the file: the devices of this rank
#define CHAKRA_ATTR_SERVER "weft_server"         // of the file: the server of this rank

// The word of each kind.
extern const char *const chakra_kinds[WEFT_CHAKRA_KIND_COUNT];

// ---- writing: which node stands on which rank ----

// A task is one to three nodes on each rank that takes part; node ids are CHAKRA_PARTS * task +
// part, the same on every rank, so that ascending ids are ascending tasks. Signals follow.
enum { CHAKRA_PARTS = 3 };
enum chakra_part {
    CHAKRA_PART_INSIDE, // before a collective that has a runtime
    CHAKRA_PART_MAIN,   // compute, join, send, collective
    CHAKRA_PART_RECV,   // of a transfer, on the receiving rank
    CHAKRA_PART_SIGNAL_SEND,
    CHAKRA_PART_SIGNAL_RECV,
};

// A dependency of a task on one of another rank, through a send and a receive of one byte.
struct chakra_signal {
    uint32_t task; // that ends
    uint32_t from;
    uint32_t to;
};

// Nodes of a rank.
struct chakra_wait {
    const uint64_t *nodes;
    uint32_t count;
};

struct chakra_placement {
    const struct weft_taskgraph *graph;
    // Rank s is server s with its first device and its network; each further device has a rank of
    // its own behind them.
    uint32_t rank_count;
    uint32_t *rank_server; // server of each rank
    uint32_t *device_rank;
    uint32_t *home;        // rank of compute and joins, sender of transfers; else WEFT_NONE
    uint32_t *sorted;      // members of each group in ascending order, as group_members
    uint32_t *prev_first;  // CSR by task into prev_edge
    uint32_t *prev_edge;   // index of an edge in graph->next
    uint32_t *edge_from;   // task at which an edge begins
    uint32_t *edge_signal; // signal that carries an edge, or WEFT_NONE
    uint32_t signal_count;
    struct chakra_signal *signals;
    size_t *wait_first; // by collective: its first member in `waits`, where they ascend
    struct chakra_wait *waits;
};

// Where every edge goes; all of it in `arena`, temporaries too. O(tasks log tasks + edges * log
// members + members of all collectives).
void chakra_placement_build(struct chakra_placement *placement, const struct weft_taskgraph *graph,
                            struct weft_arena *arena);
// What the part of collective `task` on a member waits for so that all ranks keep one order.
struct chakra_wait chakra_order_waits(const struct chakra_placement *placement, uint32_t task,
                                      uint32_t rank);
// Fills in these, which chakra_placement_build leaves. O(tasks log tasks + members of all
// collectives + signals).
void chakra_order_build(struct chakra_placement *placement, struct weft_arena *arena);
static inline uint64_t chakra_task_node(uint32_t task, enum chakra_part part)
{
    return (uint64_t)CHAKRA_PARTS * task + part;
}
static inline uint64_t chakra_signal_node(const struct chakra_placement *placement, uint32_t signal,
                                          bool receive)
{
    return (uint64_t)CHAKRA_PARTS * placement->graph->task_count + 2 * (uint64_t)signal + receive;
}
// Whether a task becomes a collective there: with one member it is compute without a device.
bool chakra_is_collective(const struct weft_taskgraph *graph, uint32_t task);
// True where `task` ends on `rank`; *part is then the node that others wait for.
bool chakra_ends_on(const struct chakra_placement *placement, uint32_t task, uint32_t rank,
                    enum chakra_part *part);

#endif
