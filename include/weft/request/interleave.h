// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_INTERLEAVE_H
#define WEFT_REQUEST_INTERLEAVE_H

// When jobs that share links should start; and a job's entry in a snapshot, measured from what its
// links carried.

#include "weft/interleave.h"
#include "weft/request.h"

WEFT_API_BEGIN

struct weft_interleave_request {
    const char *const
        *paths; // of snapshots, at least one; several are joined by their links' names
    uint32_t path_count;
    struct weft_interleave_options options; // seed and stop come from the environment
};

struct weft_interleave_result {
    struct weft_snapshot snapshot; // of all files together
    struct weft_interleaving found;
    double wall_s; // how long it took; the door, which has a clock, fills it
};

// Searches until it has proved the best time-shifts, or for as long as options.work_limit says, or
// until the environment's stop. Fails with INPUT where a snapshot is wrong.
bool weft_request_interleave(struct weft_interleave_result *result,
                             const struct weft_interleave_request *request,
                             struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.interleave/1"
const char *weft_request_interleave_json(const struct weft_interleave_result *result,
                                         struct weft_arena *arena);
// "fully compatible", "partially compatible" or "not compatible", Cassini's classes of a link.
const char *weft_compatibility_text(enum weft_compatibility compatibility);

// ---- from measured links to a snapshot ----

struct weft_series_request {
    const char *path;    // rates of links over time (CSV), of one job alone
    const char *name;    // of the job; NULL = "job"
    uint64_t period_ps;  // of its iterations; 0: it is found
    double capacity_Bps; // of its links; 0: as the file says, else the largest rate
};

// The snapshot of the one job, as text of the object "weft.snapshot/1". Notes how near the phases
// are to what was measured, and which capacities were assumed.
bool weft_request_series(const char **snapshot, const struct weft_series_request *request,
                         struct weft_request_environment *environment) WEFT_MUST_USE;
// Notes what a demand was measured from and how near it is.
void weft_request_note_measured(const struct weft_measured_demand *measured, uint32_t link_count,
                                struct weft_request_environment *environment);

WEFT_API_END

#endif
