// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_FILE_H
#define WEFT_FORMAT_FILE_H

// Files as a whole: read with a bound on their size, written so that no half file is ever seen.
//
// The readers of formats take bytes, so that a fuzzer reaches them without a file system; their
// *_load and *_save forms come here.

#include "weft/base.h"

WEFT_API_BEGIN

// What files may have unless the limit is raised: those that people write, plans and all else, and
// those that record a job or a run.
#define WEFT_FILE_YAML_BYTES ((size_t)256 << 10)
#define WEFT_FILE_BYTES ((size_t)64 << 20)
#define WEFT_FILE_TRACE_BYTES ((size_t)2 << 30)
// Raises the limit of every file that is read from now on, before and after unpacking; 0 = as they
// are. For the start of a program, before other threads read.
void weft_file_raise_limit(uint64_t limit_bytes);
// Reads a whole file (at most limit_bytes; 0 = WEFT_FILE_BYTES), unpacked where gzip compressed it.
// "-" is stdin. IO, or INPUT with the remedy "limit" where it is larger.
bool weft_file_load(const char **data, size_t *length, const char *path, size_t limit_bytes,
                    struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Opens a file to read. Where the guard of this thread confines it to a folder (weft_guard_within),
// what lies elsewhere is not opened, however it is reached. IO, or INPUT where it lies elsewhere.
bool weft_file_open(int *file, const char *path, struct weft_error *error) WEFT_MUST_USE;
// Whether `path` leads into that folder, be it there or not.
bool weft_file_is_within(const char *folder, const char *path) WEFT_MUST_USE;
#define WEFT_FILE_NAME_BYTES 256 // what Linux allows a name, and its end
// The name in the folder of `path` that is one or two edits away from its own, or its own with an
// ending; false: there is none.
bool weft_file_near(char near[WEFT_FILE_NAME_BYTES], const char *path) WEFT_MUST_USE;
// Writes to a temporary name beside `path`, syncs and renames, so that no half file is ever seen;
// takes away what killed processes left of that name. Pipes and devices are written in place. In a
// sticky folder that all may write to, links of another user are not followed and their pipes not
// written into. IO.
bool weft_file_save(const char *path, const void *data, size_t length, struct weft_error *error)
    WEFT_MUST_USE;
// Whether those rules let `path` be written, asked before the work. IO.
bool weft_file_may_save(const char *path, struct weft_error *error) WEFT_MUST_USE;
// Opens a file by the same rules that is read and added to, and makes it where it is not there.
// *file = -1: a pipe or device, which cannot be. IO.
bool weft_file_open_kept(int *file, const char *path, struct weft_error *error) WEFT_MUST_USE;
struct weft_file {
    const char *name; // in the folder
    const void *data;
    size_t length;
};
// Several files of one folder, all or none. A folder that is not there is made, and one that holds
// nothing but files of these names is replaced as a whole; beside other files they are put one by
// one, and what they replaced is put back if one of them fails. Nothing of another name is changed.
// At least one file. IO.
bool weft_files_save(const char *folder, const struct weft_file *files, uint32_t count,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Whether `path` still names the file that is open. A lock that was got on a file which its earlier
// holder has removed or replaced keeps nobody else out: whoever locks a file asks this afterwards,
// and opens it anew where the answer is no.
bool weft_file_is_named(int fd, const char *path) WEFT_MUST_USE;

// ---- what a file is ----

enum weft_file_kind {
    WEFT_FILE_UNKNOWN,
    WEFT_FILE_CLUSTER,
    WEFT_FILE_MODEL,
    WEFT_FILE_GRAPH,
    WEFT_FILE_PLAN,
    WEFT_FILE_SNAPSHOT,
    WEFT_FILE_SWEEP,
    WEFT_FILE_JOB_TRACE,
    WEFT_FILE_RAIL_JOB,
    WEFT_FILE_EXPERT_JOB,
    WEFT_FILE_PROFILE,
    WEFT_FILE_CLAIMS,
    WEFT_FILE_RESULT, // JSON of another verb
    WEFT_FILE_CHAKRA,
    WEFT_FILE_GOAL, // text; the binary form says nothing of itself
    WEFT_FILE_MATRIX,
    // Topologies that other programs describe (weft/format/topology_file.h).
    WEFT_FILE_TIERS,
    WEFT_FILE_HOSTS,
    WEFT_FILE_SLURM,
    WEFT_FILE_INFRAGRAPH,
    WEFT_FILE_GRAPHML,
    WEFT_FILE_EDGES,
    WEFT_FILE_MSCCL,
    WEFT_FILE_MSCCLPP,
    WEFT_FILE_NCCL_TOPOLOGY,
    WEFT_FILE_NCCL_GRAPH,
    WEFT_FILE_NCCL_TESTS, // what its benchmarks print
    WEFT_FILE_SIMAI,
    WEFT_FILE_ASTRA_NETWORK,
    WEFT_FILE_KINETO,
    WEFT_FILE_PYTORCH_HOST,
    WEFT_FILE_TRANSFORMERS,
    WEFT_FILE_DOT,
    WEFT_FILE_SVG,
    WEFT_FILE_HTML,
    WEFT_FILE_PDF,
    WEFT_FILE_PICTURE,
    WEFT_FILE_COMPRESSED,
    WEFT_FILE_PROGRAM,
    WEFT_FILE_KINDS,
};
// By the first 64 KiB of the bytes, or of a regular file: for messages, for arguments whose place
// is free, and for topologies and SimAI's workloads, whose names say nothing. UNKNOWN: no kind
// fits, or there is no such file.
enum weft_file_kind weft_file_kind_of(const char *data, size_t length);
enum weft_file_kind weft_file_kind(const char *path);
const char *weft_file_kind_name(enum weft_file_kind kind); // "a cluster file"
static inline bool weft_file_is_topology(enum weft_file_kind kind)
{
    return kind >= WEFT_FILE_TIERS && kind <= WEFT_FILE_EDGES;
}
// For readers that failed: wraps the error by the path or, where the file is of another known kind
// than is wanted, says so instead, with the remedy "file" of that kind. Returns false.
bool weft_file_mistaken(struct weft_error *error, const char *path, enum weft_file_kind wanted);

WEFT_API_END

#endif
