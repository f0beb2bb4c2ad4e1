// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_JOB_PROGRAM_PRIVATE_H
#define WEFT_RUNTIME_JOB_PROGRAM_PRIVATE_H

// The compiler of programs, for program.c and streams.c alone.
//
//   program (operations, edges) ──► streams (rings, transfers)

#include "program.h"

#define LAB_STREAMS_MAX (1u << 16)

struct lab_compiler {
    const struct weft_taskgraph *graph;
    const struct lab_program_options *options;
    struct weft_arena *arena;
    uint32_t server_count;
    uint32_t operation_count;
    struct lab_operation *operations;
    uint32_t *task_operation;
    bool *barrier_at; // [task * server_count + server], rows of barriers alone
    uint32_t *barrier_row;
    uint32_t stream_count;
    struct lab_stream *streams;
    uint32_t *stream_next; // of the same pair of servers
    uint32_t *pair_stream; // [from * server_count + to]: the first
    uint32_t *links;       // room for a path
    uint32_t width_max;    // parallel cables of a link
};

// One of the routes' paths from a server to another, and one of its parallel cables.
struct lab_path_choice {
    uint32_t from;
    uint32_t to;
    uint32_t path;
    uint32_t lane;
};

// ---- streams.c ----

// The stream along that path, a new one if there is none. Fails with INPUT where no route joins the
// servers, with UNSUPPORTED beyond LAB_STREAMS_MAX.
bool lab_compiler_route(uint32_t *stream, struct lab_compiler *compiler,
                        const struct lab_path_choice *choice, struct weft_error *error)
    WEFT_MUST_USE;
// The chunks of all transfers, and the rings of all groups, with the streams they take.
bool lab_compiler_transfers(struct lab_program *program, struct lab_compiler *compiler,
                            struct weft_error *error) WEFT_MUST_USE;
bool lab_compiler_rings(struct lab_program *program, struct lab_compiler *compiler,
                        struct weft_error *error) WEFT_MUST_USE;

#endif
