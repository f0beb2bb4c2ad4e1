// SPDX-License-Identifier: Apache-2.0
// Slack: how far a job may stray from its shift, either way and the others staying, before a link
// loses more than a given part of its score.
//
// With all other jobs in place, the price of each rotation of one job is known (cells.c); the slack
// is where the price first exceeds the allowance, interpolated between angles, the least over both
// directions and all links of the job. O(cells + rotations) for each job and link.

#include "cells.h"

#include <math.h>

// The arcs of a job, late by `shift` ticks; one that goes over the end becomes two.
static void shift_arcs(struct circle_job *shifted, const struct circle_job *job, uint64_t shift,
                       struct weft_arena *arena)
{
    const uint64_t period = job->angles * TICKS_PER_ANGLE;
    struct arc *arcs = WEFT_NEW(arena, struct arc, (size_t)job->arc_count + 1);
    uint32_t count = 0;
    for (uint32_t a = 0; a < job->arc_count; a++) {
        uint64_t from = (job->arcs[a].from + shift) % period;
        uint64_t to = from + (job->arcs[a].to - job->arcs[a].from);
        if (to > period) {
            arcs[count++] = (struct arc){0, to - period, job->arcs[a].load};
            to = period;
        }
        arcs[count++] = (struct arc){from, to, job->arcs[a].load};
    }
    *shifted = *job;
    shifted->arc_count = count;
    shifted->arcs = arcs;
}

static void shift_circle(struct circle *shifted, const struct group *group,
                         const struct circle *circle, const struct weft_snapshot *snapshot,
                         const uint64_t *time_shift_ps, struct weft_arena *arena)
{
    struct circle_job *jobs = WEFT_NEW(arena, struct circle_job, circle->job_count);
    for (uint32_t j = 0; j < circle->job_count; j++) {
        uint32_t piece = circle->jobs[j].piece;
        uint32_t job = group->jobs[piece];
        uint64_t shift = interleave_ticks(time_shift_ps[job], group->angles[piece],
                                          snapshot->jobs[job].demand.iteration_ps);
        shift_arcs(&jobs[j], &circle->jobs[j], shift, arena);
    }
    *shifted = *circle;
    shifted->jobs = jobs;
}

// Angles until the price is `loss` above that at 0, in one direction; at most half the circle.
static double stray(const double *price, uint32_t angles, double loss, bool late)
{
    const double limit = price[0] + loss;
    double before = price[0];
    for (uint32_t step = 1; 2 * step <= angles; step++) {
        double here = price[late ? step : angles - step];
        if (here > limit) {
            return step - 1 + (limit - before) / (here - before);
        }
        before = here;
    }
    return angles / 2.0;
}

void interleave_slack(uint64_t *slack_ps, const struct group *group,
                      const struct weft_snapshot *snapshot, const uint64_t *time_shift_ps,
                      double loss, struct weft_arena scratch)
{
    struct circle *circles = WEFT_NEW(&scratch, struct circle, group->circle_count);
    for (uint32_t c = 0; c < group->circle_count; c++) {
        shift_circle(&circles[c], group, &group->circles[c], snapshot, time_shift_ps, &scratch);
    }
    struct group shifted = *group;
    shifted.circles = circles;
    struct cells cells;
    struct weft_arena kept = weft_arena_split(&scratch);
    interleave_cells_build(&cells, &shifted, false, &kept, scratch);
    double **loads = WEFT_NEW(&kept, double *, cells.circle_count);
    for (uint32_t c = 0; c < cells.circle_count; c++) {
        loads[c] = WEFT_NEW(&kept, double, cells.circles[c].cell_count);
    }
    for (uint32_t p = 0; p < cells.piece_count; p++) {
        for (uint32_t i = 0; i < cells.pieces[p].place_count; i++) {
            const struct cell_place *place = &cells.pieces[p].places[i];
            interleave_cells_add(loads[place->circle], &cells, place, 0, 1);
        }
    }
    for (uint32_t p = 0; p < cells.piece_count; p++) {
        const struct cell_piece *piece = &cells.pieces[p];
        struct weft_arena room = scratch;
        double *price = WEFT_NEW_RAW(&room, double, piece->angles);
        uint32_t job = group->jobs[p];
        double angle_ps = (double)snapshot->jobs[job].demand.iteration_ps / piece->angles;
        for (uint32_t i = 0; i < piece->place_count; i++) {
            const struct cell_place *place = &piece->places[i];
            interleave_cells_add(loads[place->circle], &cells, place, 0, -1);
            interleave_cells_price(price, &cells, place, piece->angles, loads[place->circle], room);
            interleave_cells_add(loads[place->circle], &cells, place, 0, 1);
            double angles = fmin(stray(price, piece->angles, loss, true),
                                 stray(price, piece->angles, loss, false));
            uint64_t mine_ps = (uint64_t)floor(angles * angle_ps);
            slack_ps[job] = mine_ps < slack_ps[job] ? mine_ps : slack_ps[job];
        }
    }
}
