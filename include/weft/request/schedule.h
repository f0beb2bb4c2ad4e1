// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_SCHEDULE_H
#define WEFT_REQUEST_SCHEDULE_H

// Many jobs on one cluster over time.

#include "weft/request.h"
#include "weft/scheduler.h"

WEFT_API_BEGIN

struct weft_schedule_request {
    const char *path;                      // a trace (YAML); the files that it names lie beside it
    const char *fabric;                    // instead of the trace's; NULL
    struct weft_request_hardware hardware; // wins over the trace's cluster, key by key
    struct weft_fabric_options shape;      // radix and oversubscription, over the trace's; 0 = not
    struct weft_scheduler_options options; // seed, stop and packets come from the environment
};

struct weft_schedule_result {
    struct weft_job_trace trace; // with its classes measured
    struct weft_job_trace full;  // with the jobs drawn that arrive by chance
    struct weft_timetable timetable;
    uint64_t seed;
    double wall_s; // how long it took; the door, which has a clock, fills it
};

// Plays the trace to its end, or until the environment's stop. A class that names a task graph or a
// plan is measured on it first. Fails with INPUT where a file is wrong or does not fit the cluster.
bool weft_request_schedule(struct weft_schedule_result *result,
                           const struct weft_schedule_request *request,
                           struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.schedule/1"
const char *weft_request_schedule_json(const struct weft_schedule_result *result,
                                       const struct weft_schedule_request *request,
                                       struct weft_arena *arena);

WEFT_API_END

#endif
