// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_SCHEDULE_H
#define WEFT_CLI_SCHEDULE_H

// weft schedule: what its files share.

#include "cli/cli.h"
#include "weft/scheduler.h"

struct schedule {
    struct cli *cli;
    const char *path;
    const char *fabric;     // instead of the trace's; NULL
    const char *gantt_path; // NULL = none
    bool all_jobs;
    struct weft_scheduler_options options;
    struct weft_job_trace trace; // with its classes measured
    struct weft_job_trace full;  // with jobs drawn
    struct weft_network network;
};

extern const char *const schedule_engines[]; // names, by enum weft_steady_engine

// Reads the trace, the files that its classes name, and builds the fabric.
bool schedule_load(struct schedule *schedule) WEFT_MUST_USE;
void schedule_tell(const struct schedule *schedule, const struct weft_timetable *result);
void schedule_tell_json(const struct schedule *schedule, const struct weft_timetable *result);

#endif
