// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_AFFINITY_H
#define WEFT_SRC_INTERLEAVE_AFFINITY_H

// The affinity graph (Cassini: Rajasekaran et al., NSDI 2024): jobs on one side, links with two
// jobs or more on the other, an edge where a job uses a link. Its biconnected components are the
// groups of links whose shifts must be found together; between groups a traversal makes shifts
// agree.

#include "circle.h"

struct affinity {
    uint32_t group_count;
    struct group *groups;       // jobs and links known, circles not yet wound
    const uint32_t *link_group; // per link of the snapshot; WEFT_NONE = not shared
};

// Groups of links: two are in one group when a cycle of the graph goes through both, or through
// links of one group. Groups touch at single jobs only, and without cycles. O(jobs' links * log).
void interleave_affinity(struct affinity *affinity, const struct weft_snapshot *snapshot,
                         struct weft_arena *arena, struct weft_arena scratch);

// Shifts of all jobs from the rotations within each group (shifts[group][piece], in ticks): by
// breadth-first traversal, each group rotated as a whole so that it agrees with the job it is
// reached by.
void interleave_traverse(uint64_t *time_shift_ps, const struct affinity *affinity,
                         uint64_t *const *shifts, const struct weft_snapshot *snapshot,
                         struct weft_arena scratch);

#endif
