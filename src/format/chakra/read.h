// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CHAKRA_READ_H
#define WEFT_FORMAT_CHAKRA_READ_H

// Chakra execution traces: what the files of the reader share.
//
//   bytes ──► parse: nodes ──► groups ──► match: messages, collectives ──► lower: tasks
//
// Everything lives in the reader's scratch arena.

#include "chakra.h"
#include "weft/format.h"

struct chakra_node {
    uint64_t id;
    const char *name;
    const char *pg_name; // NULL = not said
    const char *inputs;  // of a METADATA node
    uint32_t rank;
    uint32_t type;         // enum chakra_node_type, or more
    enum chakra_kind kind; // CHAKRA_KIND_COUNT = not said
    bool cpu;
    bool has_runtime; // exact, or a duration
    uint64_t runtime_ps;
    uint64_t size_bytes;  // comm_size; WEFT_NEVER = not said
    uint64_t exact_bytes; // weft_bytes; WEFT_NEVER = not said
    double op_count;
    double tensor_bytes;
    uint32_t from; // WEFT_NONE = not said
    uint32_t to;
    uint32_t tag;
    uint32_t collective; // enum chakra_collective
    uint32_t device;
    uint32_t dep_count;
    uint64_t dep_first; // into set.deps
};

// A process group under the name that a rank uses; members in `members`.
struct chakra_group_name {
    const char *name;
    uint32_t rank; // WEFT_NONE = of every rank
    uint32_t group;
};

struct chakra_set {
    uint32_t rank_count;
    uint32_t node_count;
    struct chakra_node *nodes; // by rank, then as in the file
    uint32_t *rank_first;
    uint64_t *dep_ids; // as in the files
    uint32_t *deps;    // the same as nodes
    uint64_t dep_count;

    // Devices that Weft's own files state: server of each; NULL where a file states none.
    uint32_t device_count;
    uint32_t *device_rank;
    // Servers, and that of each rank: what Weft's own files state, else every rank is one. Rank s
    // is on server s.
    uint32_t server_count;
    uint32_t *rank_server;

    // Groups by their members as they are listed; group 0 is all ranks.
    uint32_t group_count;
    uint32_t *group_first;
    uint32_t *group_members;
    uint32_t name_count;
    struct chakra_group_name *names; // by name, then rank

    uint32_t *peer;       // by node: the send of a receive and the receive of a send
    uint32_t *collective; // by node: its collective
    uint32_t collective_count;
    uint32_t *collective_group;
    uint32_t *collective_first; // CSR into collective_nodes
    uint32_t *collective_nodes; // in ascending order of ranks
};

// "rank 3: node 12 'name'", before a message.
bool chakra_blame(struct weft_error *error, const struct chakra_node *node);

// All nodes of all files, dependencies resolved.
bool chakra_parse(struct chakra_set *set, const struct weft_chakra_input *input,
                  struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Groups of the JSON and of METADATA nodes, and the group of all ranks.
bool chakra_read_groups(struct chakra_set *set, const struct weft_chakra_input *input,
                        struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The group that a node names. Fails with INPUT where it names none that is known.
bool chakra_find_group(uint32_t *group, const struct chakra_set *set,
                       const struct chakra_node *node, struct weft_error *error) WEFT_MUST_USE;
// Sends with their receives, and the nodes of each collective.
bool chakra_match(struct chakra_set *set, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
struct chakra_edge {
    uint32_t from; // task
    uint32_t to;
};
// Gives the tasks their successors, ascending and each once; sorts `edges`.
void chakra_connect(struct weft_task *tasks, struct chakra_edge *edges, uint64_t edge_count,
                    struct weft_arena *arena);
// Fails with INPUT naming two nodes of a cycle. task_node: a node of each task.
bool chakra_check_acyclic(const struct weft_task *tasks, uint32_t task_count,
                          const uint32_t *task_node, const struct chakra_set *set,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The task graph; counts what was skipped.
bool chakra_lower(struct weft_chakra *chakra, const struct chakra_set *set,
                  const struct weft_chakra_input *input, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
