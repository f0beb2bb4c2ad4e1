// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_SIMULATE_SHARING_H
#define WEFT_CLI_SIMULATE_SHARING_H

// weft simulate SNAPSHOT.json: what is asked and what came of it.

#include "simulate.h"
#include "weft/interleave.h"

struct sharing {
    struct weft_job_set set;
    struct weft_sim_pace *paces; // per job
    double *shares;              // per job: of links, as asked
    double mean_weight;          // geometric
    bool learns;
    struct weft_snapshot_options lower;
    struct weft_sharing_play play;
    struct weft_arena *arena;
};

void simulate_sharing_json(struct simulate *simulate, const struct sharing *sharing);
void simulate_sharing_tell(struct simulate *simulate, const struct sharing *sharing);

#endif
