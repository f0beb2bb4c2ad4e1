// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_FBUF_FBUF_H
#define WEFT_FORMAT_FBUF_FBUF_H

// The schema of TopoOpt's task graphs (Wang et al., NSDI 2023; simulation/ of the artifact),
// shared by its reader and its writer: docs/taskgraphs.md.
//
// Read and written are tasks, devices, connections, routes and ring descriptors; operators'
// names are neither. Fields behind ROOT_RINGS are Weft's own, which other readers skip.

#include "flatbuf.h"
#include "weft/format.h"

// Later stages keep arrays of the servers squared: at this many, 128 MiB a matrix.
#define WEFT_FBUF_SERVERS_MAX 4096u
#define WEFT_FBUF_NODES_MAX 65536u
#define WEFT_FBUF_CABLES_MAX 65535u
// The format states no latency; this is the one that the authors' simulator plays.
#define WEFT_FBUF_LATENCY_PS 1000000u

// Fields by their order in the schema.
enum { TASK_TYPE, TASK_ID, TASK_DEVICE, TASK_RUNTIME_MS, TASK_SIZE, TASK_NEXT, TASK_FIELDS };
enum { DEVICE_TYPE, DEVICE_ID, DEVICE_NODE, DEVICE_PROPERTY, DEVICE_BANDWIDTH, DEVICE_FIELDS };
enum { CONNECTION_FROM, CONNECTION_TO, CONNECTION_COUNT, CONNECTION_FIELDS };
enum { PATH_HOPS, PATH_CHANCE, PATH_FIELDS };
enum { ROUTE_FROM, ROUTE_TO, ROUTE_PATHS, ROUTE_FIELDS };
enum { DESCRIPTOR_JUMPS, DESCRIPTOR_FIELDS };
enum { RINGS_SIZE, RINGS_DESCRIPTORS, RINGS_FIELDS };
enum {
    ROOT_GPUS_PER_NODE,
    ROOT_NODES,
    ROOT_SWITCHES,
    ROOT_INTER_GPU_RATE,
    ROOT_DRAM_RATE,
    ROOT_NETWORK_RATE,
    ROOT_CONNECTIONS,
    ROOT_OPERATORS,
    ROOT_TASKS,
    ROOT_DEVICES,
    ROOT_ROUTES,
    ROOT_RINGS,
    ROOT_WEFT_RINGS, // Weft's own, from here on: src/format/fbuf/extra.c
    ROOT_WEFT_NEXT,
    ROOT_WEFT_KINDS,
    ROOT_FIELDS
};

extern const struct weft_flatbuf_layout weft_fbuf_task_layout;
extern const struct weft_flatbuf_layout weft_fbuf_device_layout;
extern const struct weft_flatbuf_layout weft_fbuf_connection_layout;
extern const struct weft_flatbuf_layout weft_fbuf_path_layout;
extern const struct weft_flatbuf_layout weft_fbuf_route_layout;
extern const struct weft_flatbuf_layout weft_fbuf_descriptor_layout;
extern const struct weft_flatbuf_layout weft_fbuf_rings_layout;
extern const struct weft_flatbuf_layout weft_fbuf_root_layout;

// Values of Task.type and Device.type.
enum fbuf_task_type {
    FBUF_TASK_FORWARD,
    FBUF_TASK_BACKWARD,
    FBUF_TASK_COMM,
    FBUF_TASK_UPDATE,
    FBUF_TASK_BARRIER,
    FBUF_TASK_NOMINAL_COMM,
    FBUF_TASK_ALLREDUCE,
    FBUF_TASK_TYPES
};
enum { FBUF_DEVICE_GPU = 0, FBUF_DEVICE_NETWORK = 13, FBUF_DEVICE_NOMINAL = 14, FBUF_DEVICE_TYPES };

// A file being read: what its parts need of each other.
struct weft_fbuf_reader {
    struct weft_flatbuf flatbuf;
    struct weft_flatbuf_table root;
    uint32_t server_count;
    uint32_t node_count; // servers, then switches
    double rate_Bps;
    struct weft_arena *arena;
    struct weft_arena *scratch; // lives until the file is read
    struct weft_error *error;
};

// Tasks in the order in which the authors' packet simulator goes through them, by their ids in the
// order of the file. O(count).
void weft_fbuf_listed(uint32_t *order, const uint64_t *ids, uint32_t count,
                      struct weft_arena scratch);

// Each reads one part of the file into `fbuf` (src/format/fbuf/tasks.c, topology.c).
bool weft_fbuf_read_tasks(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader) WEFT_MUST_USE;
bool weft_fbuf_read_topology(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader) WEFT_MUST_USE;
bool weft_fbuf_read_ring_words(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
    WEFT_MUST_USE;
// Makes AllReduces the ReduceScatters and AllGathers that they stand for.
bool weft_fbuf_read_kinds(struct weft_task *tasks, uint32_t task_count,
                          struct weft_fbuf_reader *reader) WEFT_MUST_USE;
// Gives collectives their successors, which lie in the reader's scratch.
bool weft_fbuf_read_reduce_next(struct weft_task *tasks, uint32_t task_count,
                                struct weft_fbuf_reader *reader) WEFT_MUST_USE;

// What stands in the file for a task's bytes, and in Weft's own field for its kind: WEFT_NONE where
// the format has words for it.
uint64_t weft_fbuf_file_bytes(const struct weft_taskgraph *graph, uint32_t task);
uint32_t weft_fbuf_kind_word(const struct weft_taskgraph *graph, uint32_t task);

// Rings, and how flows spread over paths, to fbuf->ring_words and back. Unpacking fails with INPUT
// where a ring is not over its group or takes a link that is not there.
void weft_fbuf_pack_rings(struct weft_fbuf *fbuf, const struct weft_network *network,
                          struct weft_arena *arena);
bool weft_fbuf_unpack_rings(struct weft_ring_set *set, const struct weft_fbuf *fbuf,
                            const struct weft_fabric *fabric, struct weft_arena *arena,
                            struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
