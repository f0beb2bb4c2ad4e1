// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CHAKRA_H
#define WEFT_FORMAT_CHAKRA_H

// Chakra execution traces (MLCommons; .et, protobuf; Sridharan et al., "Chakra: Advancing
// Performance Benchmarking and Co-design using Standardized Execution Traces", 2023): one file a
// rank, written by profilers of PyTorch and read by ASTRA-sim (docs/chakra.md).

#include "weft/base.h"
#include "weft/workload/chakra.h"

WEFT_API_BEGIN

// The bytes of a trace: one file a rank. In what Weft writes, rank s is server s with its first
// device; further devices have ranks of their own behind them.
struct weft_chakra_files {
    uint32_t rank_count;
    const void *const *data; // the bytes of each rank's file
    const size_t *lengths;
    bool json; // read: they are JSON, as chakra_jsonizer writes or Chakra's feeder reads it, or
               // Kineto's
    const void *const *hosts; // read: PyTorch's trace of the host beside each Kineto's; NULL, or
                              // NULL of a rank = none
    const size_t *host_lengths;
    bool lenient; // read: dependencies on nodes that are not there are taken for done, and counted
    const char *groups; // process groups, as the JSON that ASTRA-sim takes; NULL = none
    size_t groups_length;
    uint32_t signal_count; // written: one-byte messages that stand for dependencies between ranks
};
// A task graph as a trace that ASTRA-sim reads. Weft's own attributes keep the rest, so that
// weft_chakra_read and weft_chakra_lower give back the same graph. Fails with UNSUPPORTED beyond
// 5e8 messages. O(tasks + edges * log members + members of all collectives).
bool weft_chakra_write(struct weft_chakra_files *files, const struct weft_taskgraph *graph,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error) WEFT_MUST_USE;
// PREFIX.<rank>.et and PREFIX.json, all or none. A folder means the prefix "trace" in it. IO where
// a file of a larger trace stands beside.
bool weft_chakra_save(const char *prefix, const struct weft_chakra_files *files,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Reads the files of any producer; weft_chakra_lower makes the task graph. Temporaries lie in
// `arena` behind the result. Fails with INPUT naming rank and node: bytes that are no trace, a
// dependency on a node that is not there (unless lenient), two nodes with one id; with UNSUPPORTED
// beyond 2^26 nodes or 4 GiB. O(bytes + nodes + members of groups * log groups).
bool weft_chakra_read(struct weft_chakra_trace *trace, const struct weft_chakra_files *files,
                      struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// True where `path` means a trace: a folder, one rank's file PREFIX.<rank>.et, PREFIX.%r.et, or a
// PREFIX for which PREFIX.0.et is there. Names may end in .et, .et.gz, .json or .json.gz; a file
// .json only where its first key is one that such a trace has, or it is PyTorch's (of the host or
// Kineto's), with any name.
bool weft_chakra_is_trace(const char *path);
// Reads such a trace; of several forms in one folder the first of that list, Kineto's before other
// JSON: with the host's traces in the folder, their ranks as distributedInfo or names say. The
// groups are those of the file groups_path, else of PREFIX.json if that is there. Everything lives
// in `arena`, the files' bytes too. IO, or as weft_chakra_read.
bool weft_chakra_load(struct weft_chakra_trace *trace, const char *path, const char *groups_path,
                      bool lenient, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

WEFT_API_END

#endif
