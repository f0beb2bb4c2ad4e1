// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CHAKRA_H
#define WEFT_FORMAT_CHAKRA_H

// Chakra execution traces (MLCommons; .et, protobuf; Sridharan et al., "Chakra: Advancing
// Performance Benchmarking and Co-design using Standardized Execution Traces", 2023): one file a
// rank, written by profilers of PyTorch and read by ASTRA-sim (docs/chakra.md).

#include "weft/base.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// One file a rank. Rank s is server s with its first device; further devices have ranks of their
// own behind them.
struct weft_chakra_trace {
    uint32_t rank_count;
    const void *const *data; // the bytes of each rank's file
    const size_t *lengths;
    const char *groups;    // process groups, as the JSON that ASTRA-sim takes
    uint32_t signal_count; // one-byte messages that stand for dependencies between ranks
};
// A task graph as a trace that ASTRA-sim reads. Weft's own attributes keep the rest, so that
// weft_chakra_read gives back the same graph. Fails with UNSUPPORTED beyond 5e8 messages. O(tasks +
// edges * log members + members of all collectives).
bool weft_chakra_write(struct weft_chakra_trace *trace, const struct weft_taskgraph *graph,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// PREFIX.<rank>.et and PREFIX.json, all or none. A folder means the prefix "trace" in it. IO where
// a file of a larger trace stands beside.
bool weft_chakra_save(const char *prefix, const struct weft_chakra_trace *trace,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

struct weft_chakra_input {
    uint32_t rank_count;
    const void *const *data; // the bytes of each rank's file
    const size_t *lengths;
    const char *groups; // process groups as JSON; NULL = none beside those in the trace
    size_t groups_length;
    // What a rank computes with, for nodes that state operations and bytes but no duration: they
    // take max(operations / flops_per_s, bytes / memory_Bps), as in ASTRA-sim's roofline. 0 = not
    // known: then they take no time.
    double flops_per_s;
    double memory_Bps;
};
struct weft_chakra {
    struct weft_taskgraph graph; // a server for each rank, unless Weft's own files say otherwise
    uint64_t node_count;
    uint64_t untimed_count;      // compute nodes that state operations and took no time
    uint64_t skipped_count;      // nodes of other kinds: they join what they wait for
    uint64_t approximated_count; // broadcasts, reductions: became AllReduces of as many bytes
};
// A task graph from a trace of any producer. Tasks stand in ascending order of node ids, then
// ranks. Fails with INPUT naming rank and node: bytes that are no trace, a dependency on a node
// that is not there, a cycle, a message without its other end, a collective that a member lacks;
// with UNSUPPORTED for a collective with a root that the trace does not state. O(bytes + nodes
// log nodes + tasks).
bool weft_chakra_read(struct weft_chakra *chakra, const struct weft_chakra_input *input,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// True where `path` means a trace: a folder, one rank's file PREFIX.<rank>.et, PREFIX.%r.et, or a
// PREFIX for which PREFIX.0.et is there.
bool weft_chakra_is_trace(const char *path);
// Reads such a trace. The groups are those of the file groups_path, else of PREFIX.json if that is
// there; of `input` the figures for compute nodes are taken alone. IO or as weft_chakra_read.
bool weft_chakra_load(struct weft_chakra *chakra, const char *path, const char *groups_path,
                      const struct weft_chakra_input *input, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
