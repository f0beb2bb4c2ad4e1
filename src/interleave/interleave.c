// SPDX-License-Identifier: Apache-2.0
// Time-shifts for a snapshot of jobs that share links (Cassini: Rajasekaran et al., NSDI 2024, with
// the differences of docs/interleave.md): the affinity graph divides the links into groups, each
// group's circles are wound and searched, a traversal joins the groups, and every link is scored.
//
// The work of proofs is counted in cells looked at and limited; what one group leaves of its share,
// later ones may use. With the heuristic no group is proved, and the cost is that of descend.c.

#include "affinity.h"
#include "cells.h"

#include <math.h>
#include <string.h>

// Scores closer than this are equal. The work limit is about a second (bench_interleave 10:
// docs/interleave.md, "Measured"). The numbers of starts and the largest group that is proved are
// not measured: more starts trade time against the chance of a worse minimum, and larger groups end
// at the work limit. SLACK_LOSS: the part of its score that a link may lose to a job that strays.
#define SCORE_EQUAL 1e-6
#define WORK_LIMIT 500000000ull
#define STARTS 16u
#define STARTS_FAST 2u
#define PIECES_MAX 64u // of a group that is proved
#define SLACK_LOSS 0.01

struct solving {
    const struct weft_snapshot *snapshot;
    const struct weft_interleave_options *options;
    struct affinity affinity;
    struct weft_link_score *links;
    double upper_bound;
    uint64_t work;
    uint64_t work_limit;
};

static bool prepare(struct solving *solving, const struct weft_snapshot *snapshot,
                    const struct weft_interleave_options *options, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    if (!weft_snapshot_check(snapshot, error)) {
        return false;
    }
    *solving = (struct solving){
        .snapshot = snapshot,
        .options = options,
        .links = WEFT_NEW(arena, struct weft_link_score, snapshot->link_count),
        .upper_bound = 1,
        .work_limit = options->work_limit > 0 ? options->work_limit : WORK_LIMIT,
    };
    interleave_affinity(&solving->affinity, snapshot, arena, scratch);
    for (uint32_t g = 0; g < solving->affinity.group_count; g++) {
        if (!interleave_wind(&solving->affinity.groups[g], snapshot, options, arena, scratch,
                             error)) {
            return false;
        }
    }
    return true;
}

static void lower_bound_to(double *bound, double value)
{
    *bound = value < *bound ? value : *bound;
}

// First along the circle, with half of the work that is left, then over rotations.
static void prove(struct found *found, const struct cells *cells,
                  const struct search_limits *limits, struct weft_arena scratch)
{
    struct search_limits half = *limits;
    uint64_t work = found->work < limits->work_limit ? found->work : limits->work_limit;
    half.work_limit = work + (limits->work_limit - work) / 2;
    interleave_sweep(found, cells, &half, scratch);
    if (!found->proved) {
        double bound = found->bound;
        interleave_prove(found, cells, limits, scratch);
        found->bound = fmin(fmax(found->bound, bound), found->value.worst);
    }
}

// A link of a loop by itself: no joint shifts do better.
static void bound_link(struct solving *solving, const struct circle *circle, uint64_t share,
                       struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct circle alone = *circle;
    struct circle_job *jobs = WEFT_NEW(&kept, struct circle_job, circle->job_count);
    uint32_t *angles = WEFT_NEW(&kept, uint32_t, circle->job_count);
    for (uint32_t j = 0; j < circle->job_count; j++) {
        jobs[j] = circle->jobs[j];
        jobs[j].piece = j;
        angles[j] = jobs[j].angles;
    }
    alone.jobs = jobs;
    const struct group single = {
        .job_count = circle->job_count, .circle_count = 1, .circles = &alone, .angles = angles};
    struct cells cells;
    struct found found;
    const struct search_limits limits = {
        .starts = STARTS,
        .pairs = true,
        .least = interleave_area_excess(circle),
        .seed = solving->options->seed,
        .work_limit = share,
        .stop = solving->options->stop,
    };
    interleave_cells_build(&cells, &single, true, &kept, scratch);
    if (cells.rounded || cells.piece_count > PIECES_MAX) {
        return;
    }
    interleave_descend(&found, &cells, &limits, &kept, scratch);
    prove(&found, &cells, &limits, scratch);
    solving->work += found.work;
    lower_bound_to(&solving->links[circle->link].upper_bound, 1 - found.bound);
}

// Rotations of one group, and bounds of its links. A group of one link has its work for one proof;
// a loop spends half of its share on proofs of its links one by one, whose bounds hold for joint
// shifts as well, and half on the joint search. Rotations move to the middle of what costs the same
// at the end, for the most slack.
static uint32_t *solve_group(struct solving *solving, uint32_t g, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    const struct group *group = &solving->affinity.groups[g];
    const bool exact = !solving->options->heuristic;
    struct weft_arena kept = weft_arena_split(&scratch);
    for (uint32_t c = 0; c < group->circle_count; c++) {
        solving->links[group->circles[c].link].upper_bound =
            1 - interleave_area_excess(&group->circles[c]);
    }
    uint64_t left = solving->work_limit > solving->work ? solving->work_limit - solving->work : 0;
    uint64_t share = left / (solving->affinity.group_count - g);
    const bool loop = group->circle_count > 1;
    const struct search_limits limits = {
        .starts = exact ? STARTS : STARTS_FAST,
        .pairs = exact && !loop,
        .least = interleave_area_excess(&group->circles[0]),
        .seed = solving->options->seed,
        .work_limit = loop ? share / 2 : share,
        .stop = solving->options->stop,
    };
    struct cells cells;
    struct found found;
    interleave_cells_build(&cells, group, exact, &kept, scratch);
    interleave_descend(&found, &cells, &limits, arena, scratch);
    if (exact && loop) {
        for (uint32_t c = 0; c < group->circle_count; c++) {
            bound_link(solving, &group->circles[c], share / 2 / group->circle_count, scratch);
        }
    }
    if (exact && !cells.rounded && cells.piece_count <= PIECES_MAX) {
        prove(&found, &cells, &limits, scratch);
        lower_bound_to(&solving->upper_bound, 1 - found.bound);
        if (!loop) {
            lower_bound_to(&solving->links[group->circles[0].link].upper_bound, 1 - found.bound);
        }
    }
    interleave_center(&found, &cells, scratch);
    solving->work += found.work;
    return found.rotations;
}

static enum weft_compatibility compatibility_of(const struct weft_link_score *link)
{
    if (link->score >= 1 - SCORE_EQUAL) {
        return WEFT_COMPATIBLE;
    }
    return link->score > link->mean + SCORE_EQUAL ? WEFT_PARTLY_COMPATIBLE : WEFT_NOT_COMPATIBLE;
}

static void score_circle(struct weft_link_score *link, const struct group *group,
                         const struct circle *circle, const struct weft_snapshot *snapshot,
                         const uint64_t *time_shift_ps, struct weft_arena scratch)
{
    uint64_t *shift = WEFT_NEW(&scratch, uint64_t, circle->job_count);
    link->unshifted = 1 - interleave_excess(circle, shift, scratch);
    for (uint32_t j = 0; j < circle->job_count; j++) {
        uint32_t piece = circle->jobs[j].piece;
        uint32_t job = group->jobs[piece];
        uint64_t period_ps = snapshot->jobs[job].demand.iteration_ps;
        shift[j] = interleave_ticks(time_shift_ps[job], group->angles[piece], period_ps);
        link->period_error_ratio = fmax(link->period_error_ratio, group->period_error_ratio[piece]);
        // The longest job's time is rounded least.
        link->perimeter_ps =
            (uint64_t)llround((double)period_ps / circle->jobs[j].angles * circle->angle_count);
    }
    link->score = 1 - interleave_excess(circle, shift, scratch);
    link->mean = 1 - interleave_mean_excess(circle, scratch);
    link->upper_bound = fmax(link->upper_bound, link->score);
    link->job_count = circle->job_count;
    link->angle_count = circle->angle_count;
    link->compatibility = compatibility_of(link);
}

// Fills the result from the shifts: the scores of all links, shared or not, the slack of each job,
// and the bound. The score of the snapshot is that of its worst link; it is proved where the bound
// does not exceed it.
static void score_all(struct weft_interleaving *result, struct solving *solving,
                      const uint64_t *time_shift_ps, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    const struct weft_snapshot *snapshot = solving->snapshot;
    double score = 1;
    uint32_t loops = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        struct weft_link_score *link = &solving->links[l];
        link->group = solving->affinity.link_group[l];
        if (link->group == WEFT_NONE) {
            link->score = link->unshifted = link->mean = link->upper_bound = 1;
        }
    }
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        for (uint32_t i = 0; i < snapshot->jobs[j].link_count; i++) {
            struct weft_link_score *link = &solving->links[snapshot->jobs[j].links[i]];
            link->job_count += link->group == WEFT_NONE ? 1 : 0;
            link->perimeter_ps = snapshot->jobs[j].demand.iteration_ps;
        }
    }
    for (uint32_t g = 0; g < solving->affinity.group_count; g++) {
        const struct group *group = &solving->affinity.groups[g];
        loops += group->circle_count > 1 ? 1 : 0;
        for (uint32_t c = 0; c < group->circle_count; c++) {
            struct weft_link_score *link = &solving->links[group->circles[c].link];
            score_circle(link, group, &group->circles[c], snapshot, time_shift_ps, scratch);
            score = fmin(score, link->score);
            solving->upper_bound = fmin(solving->upper_bound, link->upper_bound);
        }
    }
    uint64_t *slack_ps = WEFT_NEW(arena, uint64_t, snapshot->job_count);
    double loss = solving->options->slack_loss > 0 ? solving->options->slack_loss : SLACK_LOSS;
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        slack_ps[j] = snapshot->jobs[j].demand.iteration_ps / 2;
    }
    for (uint32_t g = 0; g < solving->affinity.group_count; g++) {
        interleave_slack(slack_ps, &solving->affinity.groups[g], snapshot, time_shift_ps, loss,
                         scratch);
    }
    double upper_bound = fmax(solving->upper_bound, score);
    *result = (struct weft_interleaving){
        .score = score,
        .upper_bound = upper_bound,
        .exact = upper_bound <= score + SCORE_EQUAL,
        .links = solving->links,
        .time_shift_ps = time_shift_ps,
        .slack_ps = slack_ps,
        .group_count = solving->affinity.group_count,
        .loop_count = loops,
        .work = solving->work,
    };
}

bool weft_interleave(struct weft_interleaving *result, const struct weft_snapshot *snapshot,
                     const struct weft_interleave_options *options, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    struct solving solving;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!prepare(&solving, snapshot, options, &kept, scratch, error)) {
        return false;
    }
    const struct affinity *affinity = &solving.affinity;
    uint32_t **rotations = WEFT_NEW(&kept, uint32_t *, affinity->group_count);
    for (uint32_t g = 0; g < affinity->group_count; g++) {
        rotations[g] = solve_group(&solving, g, &kept, scratch);
    }
    uint64_t *time_shift_ps = WEFT_NEW(arena, uint64_t, snapshot->job_count);
    interleave_traverse(time_shift_ps, affinity, rotations, snapshot, scratch);
    const struct weft_link_score *links = solving.links;
    solving.links = WEFT_NEW(arena, struct weft_link_score, snapshot->link_count);
    memcpy(solving.links, links, snapshot->link_count * sizeof links[0]);
    score_all(result, &solving, time_shift_ps, arena, scratch);
    return true;
}

bool weft_interleave_score(struct weft_interleaving *result, const struct weft_snapshot *snapshot,
                           const uint64_t *time_shift_ps,
                           const struct weft_interleave_options *options,
                           const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    struct solving solving;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!prepare(&solving, snapshot, options, &kept, scratch, error)) {
        return false;
    }
    for (uint32_t g = 0; g < solving.affinity.group_count; g++) {
        const struct group *group = &solving.affinity.groups[g];
        for (uint32_t c = 0; c < group->circle_count; c++) {
            solving.links[group->circles[c].link].upper_bound =
                1 - interleave_area_excess(&group->circles[c]);
        }
    }
    const struct weft_link_score *links = solving.links;
    solving.links = WEFT_NEW(arena, struct weft_link_score, snapshot->link_count);
    memcpy(solving.links, links, snapshot->link_count * sizeof links[0]);
    uint64_t *shift_ps = WEFT_NEW(arena, uint64_t, snapshot->job_count);
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        shift_ps[j] = time_shift_ps[j] % snapshot->jobs[j].demand.iteration_ps;
    }
    score_all(result, &solving, shift_ps, arena, scratch);
    return true;
}
