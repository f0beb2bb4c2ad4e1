// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_INTERLEAVE_H
#define WEFT_CLI_INTERLEAVE_H

// What the parts of `weft interleave` share.

#include "cli/cli.h"
#include "weft/interleave.h"

enum { INTERLEAVE_PATHS_MAX = 1024 };

struct interleave_request {
    struct cli *cli;
    const char *paths[INTERLEAVE_PATHS_MAX]; // of snapshots, joined
    uint32_t path_count;
    const char *report_path; // NULL = no picture
    struct weft_interleave_options options;
    const char *series_path; // NULL = no series to measure
    const char *name;        // of its job; NULL = "job"
    uint64_t period_ps;      // of its iterations; 0 = to be found
    double capacity_Bps;     // of its links; 0 = as the file says
};

// Notes what a demand was measured from and how near it is.
void interleave_note_measured(const struct cli *cli, const struct weft_measured_demand *measured,
                              uint32_t link_count);

// Makes a snapshot of one job from --series the result.
bool interleave_series(const struct interleave_request *request) WEFT_MUST_USE;

// Adds shifts and scores to the result, as a table or as JSON.
void interleave_tell(const struct interleave_request *request, const struct weft_snapshot *snapshot,
                     const struct weft_interleaving *found);

#endif
