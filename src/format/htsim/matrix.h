// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_HTSIM_MATRIX_H
#define WEFT_FORMAT_HTSIM_MATRIX_H

// htsim's traffic matrices between their reader (matrix_read.c) and the task graph
// (matrix_lower.c).

#include "weft/format.h"

enum matrix_shot {
    MATRIX_UNSAID, // named by connections, not described yet
    MATRIX_ONESHOT,
    MATRIX_MULTISHOT,
    MATRIX_BARRIER,
};

struct matrix_trigger {
    uint64_t id;
    uint32_t line; // where it was first seen
    enum matrix_shot shot;
    uint32_t need;    // BARRIER: activations
    uint32_t sources; // activations that come
    uint32_t targets; // connections that it starts
};

struct matrix_connection {
    uint32_t line;
    uint32_t from;
    uint32_t to;
    uint64_t size_bytes;
    uint64_t start_ps;   // WEFT_NEVER = by a trigger
    uint32_t started_by; // index of a trigger, or WEFT_NONE
    uint32_t fires[2];   // when it was sent, when it was received; the same
    uint32_t priority;   // WEFT_NONE = not stated
};

struct matrix_file {
    uint32_t node_count;
    uint32_t connection_count;
    struct matrix_connection *connections;
    uint32_t trigger_count;
    struct matrix_trigger *triggers;
};

bool matrix_lower(struct weft_taskgraph *graph, struct matrix_file *file, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
