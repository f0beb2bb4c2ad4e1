// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CHAKRA_READ_H
#define WEFT_FORMAT_CHAKRA_READ_H

// What the files of the reader share:
//
//   JSON ──► json.c ──► bytes ──► read.c: messages ──► node.c: a node from each
//     Kineto's: join.c                     ──► groups.c: process groups ──► trace
//
// Everything lives in the caller's arena; temporaries lie behind it.

#include "chakra.h"
#include "weft/format.h"

#include <jansson.h>

// Messages of protobuf-c (chakra.pb-c.h, generated).
struct Chakra__Attribute;
struct Chakra__Node;

// The process groups of a METADATA node, as PyTorch writes them.
struct chakra_note {
    uint32_t node;
    const char *text;
};

// A trace that is being read; as struct weft_chakra_trace, not yet const. Texts that are kept lie
// in `texts`, which has the size of the files: a text takes more bytes there than here.
struct chakra_reading {
    uint32_t rank_count;
    uint32_t node_count;
    struct weft_chakra_node *nodes;
    uint32_t *rank_first; // nodes of rank r: rank_first[r] .. rank_first[r+1]-1
    uint64_t dep_count;
    uint64_t *dep_ids;       // as in the files
    uint64_t kept_count;     // of those: all but what a lenient reading leaves out
    uint32_t *deps;          // the kept ones as nodes
    bool lenient;            // dependencies on nodes that are not there are left out
    uint64_t dangling_count; // these
    uint32_t note_count;
    struct chakra_note *notes;
    char *texts;
    uint32_t device_count;
    uint32_t *device_rank;
    uint32_t server_count;
    uint32_t *rank_server;
};

// A whole number of whatever type: producers do not agree on types. False: it is none.
bool chakra_attribute_whole(uint64_t *value, const struct Chakra__Attribute *attribute);
// Adds the node that a message holds.
bool chakra_keep_node(struct chakra_reading *reading, const struct Chakra__Node *message,
                      uint32_t rank, struct weft_error *error) WEFT_MUST_USE;

// A rank whose file is Kineto's, and what stands beside it.
struct chakra_pair {
    uint32_t rank;
    uint32_t rank_count;
    bool lenient;
    const void *host; // PyTorch's trace of the host, as JSON; NULL = none
    size_t host_length;
    uint64_t device_count;             // of this rank and those before it
    struct weft_chakra_joined *joined; // what was found is added
    struct weft_arena scratch;
};
// What a Kineto trace and its host's mean: an object with the nodes as Chakra's feeder reads them
// and a "head" as the schema has it, which the caller owns. Fails with INPUT naming the event.
#define CHAKRA_FEEDER_NODES "workload_graph"
bool chakra_join(json_t **graph, struct chakra_pair *pair, const json_t *document,
                 struct weft_error *error) WEFT_MUST_USE;
// Turns a file's JSON into the bytes of a trace, in `arena`. Fails with INPUT, "line N: ...".
bool chakra_from_json(const void **data, size_t *length, struct chakra_pair *pair,
                      struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Whether a file is such a trace of PyTorch's, of either kind, or one that gzip compressed.
bool chakra_is_pytorch(const char *path);
// Looks for Kineto's traces, and the host's beside them, in the folder that `path` is or lies in.
// *found is false where there are none, or Chakra's own.
bool chakra_find_pairs(struct weft_chakra_files *files, bool *found, const char *path,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Adds the groups of the JSON and of METADATA nodes, and the group of all ranks, to `trace`, whose
// nodes are there.
bool chakra_read_groups(struct weft_chakra_trace *trace, const struct chakra_reading *reading,
                        const struct weft_chakra_files *files, struct weft_arena *arena,
                        struct weft_error *error) WEFT_MUST_USE;

#endif
