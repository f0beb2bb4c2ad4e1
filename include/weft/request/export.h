// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_EXPORT_H
#define WEFT_REQUEST_EXPORT_H

// A plan in the files that other tools take.

#include "weft/request.h"

WEFT_API_BEGIN

enum weft_export_kind {
    WEFT_EXPORT_DOT,
    WEFT_EXPORT_SVG,
    WEFT_EXPORT_CIRCUITS_CSV,
    WEFT_EXPORT_CIRCUITS_JSON,
    WEFT_EXPORT_IP_ROUTES,
    WEFT_EXPORT_FBUF,
    WEFT_EXPORT_CHAKRA,
    WEFT_EXPORT_GOAL,
    WEFT_EXPORT_SLURM_TOPOLOGY,
    WEFT_EXPORT_TOPOLOGY_CONF,
    WEFT_EXPORT_INFRAGRAPH,
    WEFT_EXPORT_PROMETHEUS,
    WEFT_EXPORT_ALLREDUCE, // as weft_request_collective_export writes it for MSCCL++
    WEFT_EXPORT_KIND_COUNT,
};
// "circuits-csv"
const char *weft_export_kind_name(enum weft_export_kind kind);

struct weft_export_request {
    // Of a plan; of SLURM_TOPOLOGY, TOPOLOGY_CONF and INFRAGRAPH also a fabric in words, or a
    // topology's file.
    const char *path;
    enum weft_export_kind kind;
    struct weft_request_hardware hardware; // of such a fabric
    // FBUF, CHAKRA, GOAL: the job that was planned; NULL: the one that the plan holds.
    const char *job_path;
    bool strict;     // FBUF: what TopoOpt's simulator reads, and nothing else
    uint32_t server; // IP_ROUTES: the script of this one alone; WEFT_NONE: of all
    // Those two: as Slurm calls server 0 (the others count on; NULL: node0), and the servers
    // of a block where servers forward, 0: a server and as many neighbors as make a power of two.
    const char *first_node;
    uint32_t block;
};

// One of three: a document, a script a server, or the files of a trace.
struct weft_export_result {
    const char *data;
    size_t length;
    const char *const *scripts; // NULL = none
    uint32_t script_count;
    const struct weft_chakra_files *trace; // NULL = none; for weft_chakra_save
};

// Notes what the form cannot say. Fails with INPUT where the job is not the plan's, with USAGE
// where something is asked for that the kind does not have.
bool weft_request_export(struct weft_export_result *result,
                         const struct weft_export_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.export/1": what was written where.
const char *weft_request_export_json(const struct weft_export_request *request, const char *output,
                                     struct weft_arena *arena);

WEFT_API_END

#endif
