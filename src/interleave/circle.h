// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_CIRCLE_H
#define WEFT_SRC_INTERLEAVE_CIRCLE_H

// Circles: demands wound on one perimeter, in whole angles.
//
// A group is a set of links solved together, with the jobs on them. Each job's iteration takes a
// whole number of angles, the same on all links of the group; the circle of a link has as many
// angles as the least common multiple over its jobs. Positions on it are ticks.

#include "weft/interleave.h"

#define TICKS_PER_ANGLE ((uint64_t)1 << 20)

// Demand of `load` of the link's capacity from tick `from` of the job's iteration to tick `to`.
struct arc {
    uint64_t from;
    uint64_t to;
    double load;
};

struct circle_job {
    uint32_t piece; // of the group
    uint32_t angles;
    uint32_t arc_count;
    const struct arc *arcs;
};

struct circle {
    uint32_t link; // of the snapshot
    uint32_t angle_count;
    uint32_t job_count;
    const struct circle_job *jobs;
};

struct group {
    uint32_t job_count;
    const uint32_t *jobs; // of the snapshot, ascending
    uint32_t circle_count;
    struct circle *circles;
    uint32_t *angles;           // per job: of its iteration
    double *period_error_ratio; // per job, that rounding made
};

// Fills angles, errors and circles of a group whose jobs and links (circles[].link) are known.
bool interleave_wind(struct group *group, const struct weft_snapshot *snapshot,
                     const struct weft_interleave_options *options, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Which angles an iteration takes, from the iteration times of a group's jobs. members: the jobs of
// each link, CSR.
struct periods {
    uint32_t job_count;
    const uint64_t *iteration_ps;
    uint32_t link_count;
    const uint32_t *member_first;
    const uint32_t *members;
};
bool interleave_quantise(uint32_t *angles, double *period_error_ratio,
                         const struct periods *periods,
                         const struct weft_interleave_options *options, struct weft_arena scratch,
                         struct weft_error *error) WEFT_MUST_USE;

// The part of the circle's area above capacity, with job i of the circle late by shift[i] ticks.
double interleave_excess(const struct circle *circle, const uint64_t *shift,
                         struct weft_arena scratch);
// The same, mean over all rotations.
double interleave_mean_excess(const struct circle *circle, struct weft_arena scratch);
// What no rotation avoids, whole angles or not: more area than there is.
double interleave_area_excess(const struct circle *circle);

uint64_t interleave_ticks(uint64_t time_ps, uint32_t angles, uint64_t iteration_ps);
// Where a job stands on a link, or WEFT_NONE.
uint32_t interleave_place(const struct weft_sharing_job *job, uint32_t link);

#endif
