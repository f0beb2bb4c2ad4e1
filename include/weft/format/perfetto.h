// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PERFETTO_H
#define WEFT_FORMAT_PERFETTO_H

// Timelines of a simulation as native traces of Perfetto (protobuf), to be looked at in its viewer
// (docs/simulation-outputs.md).

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/sim.h"

WEFT_API_BEGIN

// A run for a Perfetto trace: jobs with a timeline, or where there are none records of flows; and
// samples of links.
struct weft_trace {
    const struct weft_fabric *fabric;
    const struct weft_sim_job *jobs;
    uint32_t job_count;
    const uint64_t *const *task_start_ps; // per job, per task
    const uint64_t *const *task_end_ps;
    struct weft_records records;
    uint32_t slice_limit; // those that begin later are left out
};
// A native trace (protobuf): servers are processes with tracks of their tasks, links have counters
// of their load in % and their queue in bytes. Times are whole nanoseconds. *left_out: slices that
// slice_limit or too many at once of one server left no place for. Fails with INPUT for too many
// tasks. O(n log n).
bool weft_perfetto_write(const void **data, size_t *length, uint64_t *left_out,
                         const struct weft_trace *trace, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
