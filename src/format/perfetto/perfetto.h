// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PERFETTO_PERFETTO_H
#define WEFT_FORMAT_PERFETTO_PERFETTO_H

// A Perfetto trace before it is written: slices with their lanes, and values of counters.
//
// perfetto.c decides what is shown and in which lane; write.c spells it in the protobuf of
// Perfetto's native traces (protos/perfetto/trace).

#include "weft/format.h"

#define PERFETTO_PS_PER_NS 1000u

enum perfetto_sort { LANE_COMPUTE, LANE_SEND, LANE_COLLECTIVE, LANE_SORTS };

struct perfetto_slice {
    uint64_t start_ps;
    uint64_t end_ps;
    uint64_t size_bytes;
    uint32_t server;
    uint32_t job;
    uint32_t task;
    uint32_t peer; // a transfer's end, a collective's ranks
    uint32_t retransmits;
    uint32_t lane; // in `lanes`; WEFT_NONE: it found none
    uint8_t sort;  // enum perfetto_sort
    uint8_t kind;  // enum weft_task_kind
};

struct perfetto_lane {
    uint64_t end_ns;
    uint32_t server;
    uint32_t next; // of the same server and sort
    uint32_t number;
    uint8_t sort;
};

struct perfetto_count {
    uint64_t time_ns;
    uint64_t order;
    double value;
    uint32_t link;
    bool is_backlog;
};

struct perfetto {
    const struct weft_trace *trace;
    struct weft_arena *arena;
    struct perfetto_slice *slices; // in order of their beginnings
    uint32_t slice_count;
    struct perfetto_lane *lanes;
    uint32_t lane_count;
    struct perfetto_count *counts;
    uint32_t count_count;
    uint8_t *data;
    size_t length;
    size_t room;
};

// Fills the slices, in order of their beginnings, their lanes and the counters, in order of time.
bool perfetto_collect(struct perfetto *writer, uint64_t *left_out, struct weft_error *error)
    WEFT_MUST_USE;

#endif
