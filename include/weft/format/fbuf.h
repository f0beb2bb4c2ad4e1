// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_FBUF_H
#define WEFT_FORMAT_FBUF_H

// TopoOpt's task graphs (.fbuf, FlatBuffers): the jobs that the authors' tools write and read, with
// the topology, the routes and the rings that they found (docs/taskgraphs.md).

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// What such a file holds. Operators' names are not kept; tasks do not refer to them.
struct weft_fbuf {
    struct weft_taskgraph graph;
    const uint32_t *listed; // tasks in the order in which the authors' packet simulator starts
                            // those that wait for none; writers do not look at it
    // Kept as the file states them; nothing in Weft uses them. 0 = not stated.
    uint32_t gpus_per_server;
    double inter_gpu_Bps;
    double dram_Bps;
    // The topology in the file: links as counted between nodes 0 .. node_count-1 (servers first),
    // every direction its own entry. link_count 0 = none.
    uint32_t node_count;
    uint32_t link_count;
    const struct weft_link *links; // rate = width * rate_Bps, latency 1 us
    double rate_Bps;               // the file's network rate a link; 0 = not stated
    // Paths as node sequences with weights, as weft_routes_build_table takes them, by first node,
    // then last.
    uint32_t path_count;
    const uint32_t *path_node_first;
    const uint32_t *path_nodes;
    const double *path_weights;
    // Ring descriptors: jump sequences for each ring size (docs/taskgraphs.md).
    uint32_t ring_size_count;
    const uint64_t *ring_sizes;
    const uint32_t *ring_first; // CSR into descriptors
    uint32_t descriptor_count;
    const uint32_t *jump_first; // CSR into jumps
    const int32_t *jumps;
    // Weft's own: rings that jumps cannot say (src/format/fbuf/extra.c). Where there are any, they
    // stand for the descriptors.
    uint32_t ring_word_count;
    const uint32_t *ring_words;
};
// Reads a file's bytes. Tasks keep the file's order; its ids become indices. A file in which no
// connection has its reverse means each for both directions. O(length). docs/taskgraphs.md tells
// what is refused.
bool weft_fbuf_read(struct weft_fbuf *fbuf, const void *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_fbuf_load(struct weft_fbuf *fbuf, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The bytes of a file that holds `fbuf`, readable by the authors' tools: the same value gives the
// same bytes. Runtimes and rates are rounded to floats (6e-8 of themselves), latencies are not
// kept. ReduceScatters and AllGathers are written as AllReduces of half their bytes; that they are
// none, successors of collectives and ring_words stand in fields of Weft's own, which other readers
// skip. Fails with INPUT where the format has no words for the value: links of which none has its
// reverse, a link whose rate is not width * rate_Bps, 2 GiB or more.
bool weft_fbuf_write(const char **data, size_t *length, const struct weft_fbuf *fbuf,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// The file's own network: fabric at rate_Bps a link (0 = the file's), its routes, and its rings for
// the groups of its graph. A group of k members takes the descriptors of ring size k, each an equal
// share of its bytes: from each member the jumps, summed modulo server_count, name the relays and
// at last the next member. A group whose size the file has no rings for, or without bytes and
// without a usable ring, gets none. Where there are ring_words, those rings instead. Fails with
// INPUT: no links, no routes, no rate; a path or ring over a link that is not there; a descriptor
// that does not close into one ring over its group.
bool weft_fbuf_network(struct weft_network *network, const struct weft_fbuf *fbuf, double rate_Bps,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
