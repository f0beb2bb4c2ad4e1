// SPDX-License-Identifier: Apache-2.0
// Time-shifts for a snapshot of jobs that share links (Cassini: Rajasekaran et al., NSDI 2024, with
// the differences of docs/interleave.md): the affinity graph divides the links into groups, each
// group's circles are wound and searched, a traversal joins the groups, and every link is scored.
// One link is searched by whole angles first, as Cassini does, then by any time (contacts.c), so
// that its score has two bounds.
//
// The work of proofs is counted in cells looked at and limited; what one group leaves of its share,
// later ones may use. With the heuristic no group is proved, and the cost is that of descend.c.

#include "affinity.h"
#include "contacts.h"

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

// The part of a link's work that the search over shifts by any time may take before the proof by
// whole angles, and of what is left behind it (bench_interleave 10: docs/interleave.md,
// "Measured").
#define ANYWHERE_SHARE 2u
#define ANYWHERE_SHARE_AFTER 64u

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
                  const struct rest_table *const *tables, const struct search_limits *limits,
                  struct weft_arena scratch)
{
    struct search_limits half = *limits;
    uint64_t work = found->work < limits->work_limit ? found->work : limits->work_limit;
    half.work_limit = work + (limits->work_limit - work) / 2;
    interleave_sweep(found, cells, tables, &half, scratch);
    if (!found->proved) {
        double bound = found->bound;
        interleave_prove(found, cells, tables, limits, scratch);
        found->bound = fmin(fmax(found->bound, bound), found->value.worst);
    }
}

static void rotate(uint64_t *shifts, const struct found *found, const struct group *group)
{
    for (uint32_t p = 0; p < group->job_count; p++) {
        shifts[p] = found->rotations[p] * TICKS_PER_ANGLE;
    }
}

// One link that is searched.
struct single {
    const struct group *group;
    const struct circle *circle;
    struct weft_link_score *link;
    struct cells cells;
    const struct rest_table *const *tables; // NULL where cells are rounded or too many
    struct search_limits limits;            // work: for all searches together
    struct found found;                     // by whole angles
    uint64_t *shifts;                       // the best, ticks
    uint64_t work;                          // off the grid
};

// From the best whole angles on, shifts by any time, within some work: the shifts change only where
// finer ones are better, and the link's bound for all shifts becomes what is proved. Returns
// whether nothing is better. Where areas, or the loads that come together, say so at once, nothing
// is searched.
static bool search_anywhere(struct single *single, uint64_t work, struct weft_arena scratch)
{
    const uint32_t jobs = single->circle->job_count;
    const struct rest_table *table = single->tables == NULL ? NULL : single->tables[0];
    const double excess = interleave_excess(single->circle, single->shifts, scratch);
    struct search_limits limits = single->limits;
    struct anywhere anywhere = {
        .shifts = WEFT_NEW(&scratch, uint64_t, jobs),
        .excess = excess,
        .bound = fmax(1 - single->link->all_shifts_bound, table == NULL ? 0 : table->least),
    };
    if (excess > anywhere.bound + VALUE_EQUAL) {
        limits.work_limit = work;
        memcpy(anywhere.shifts, single->shifts, jobs * sizeof anywhere.shifts[0]);
        interleave_contacts(&anywhere, single->circle, table, &limits, scratch);
        single->work += anywhere.work;
    }
    if (anywhere.excess < excess - SCORE_EQUAL) {
        memcpy(single->shifts, anywhere.shifts, jobs * sizeof anywhere.shifts[0]);
    }
    lower_bound_to(&single->link->all_shifts_bound, 1 - anywhere.bound);
    return anywhere.bound >= anywhere.excess - VALUE_EQUAL;
}

// Rotations move to the middle of what costs the same, for the most slack.
static void take_rotations(struct single *single, struct weft_arena scratch)
{
    interleave_center(&single->found, &single->cells, scratch);
    rotate(single->shifts, &single->found, single->group);
}

// What is left of the work is spent on whole angles, and once more around the best of them, where
// they are better than what was found off the grid.
static void search_angles(struct single *single, struct weft_arena scratch)
{
    struct search_limits limits = single->limits;
    limits.work_limit -= single->work < limits.work_limit ? single->work : limits.work_limit;
    prove(&single->found, &single->cells, single->tables, &limits, scratch);
    lower_bound_to(&single->link->upper_bound, 1 - single->found.bound);
    const double excess = interleave_excess(single->circle, single->shifts, scratch);
    if (single->found.value.worst < excess - SCORE_EQUAL) {
        take_rotations(single, scratch);
        search_anywhere(single, single->limits.work_limit / ANYWHERE_SHARE_AFTER, scratch);
    }
}

// Shifts of the jobs of one link, in ticks, and both bounds, within a share of the work. The search
// over shifts by any time comes before the proof by whole angles, since it is mostly the faster one
// and says more.
static void solve_link(struct solving *solving, const struct group *group, uint64_t share,
                       uint64_t *shifts, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct single single = {
        .group = group,
        .circle = &group->circles[0],
        .link = &solving->links[group->circles[0].link],
        .limits = {.starts = STARTS,
                   .pairs = true,
                   .least = interleave_area_excess(&group->circles[0]),
                   .seed = solving->options->seed,
                   .work_limit = share,
                   .stop = solving->options->stop},
        .shifts = shifts,
    };
    interleave_cells_build(&single.cells, group, true, &kept, scratch);
    interleave_descend(&single.found, &single.cells, &single.limits, &kept, scratch);
    take_rotations(&single, scratch);
    const bool small = single.cells.piece_count <= PIECES_MAX;
    if (small && !single.cells.rounded) {
        single.tables = rest_tables_build(&single.cells, &kept, scratch);
    }
    if (small && !search_anywhere(&single, share / ANYWHERE_SHARE, scratch) &&
        single.tables != NULL) {
        search_angles(&single, scratch);
    }
    solving->work += single.found.work + single.work;
}

// A link of a loop by itself: no joint shifts do better.
static void bound_link(struct solving *solving, const struct circle *circle, uint64_t share,
                       struct weft_arena scratch)
{
    struct circle alone = *circle;
    struct circle_job *jobs = WEFT_NEW(&scratch, struct circle_job, circle->job_count);
    uint32_t *angles = WEFT_NEW(&scratch, uint32_t, circle->job_count);
    uint64_t *shifts = WEFT_NEW(&scratch, uint64_t, circle->job_count);
    for (uint32_t j = 0; j < circle->job_count; j++) {
        jobs[j] = circle->jobs[j];
        jobs[j].piece = j;
        angles[j] = jobs[j].angles;
    }
    alone.jobs = jobs;
    const struct group single = {
        .job_count = circle->job_count, .circle_count = 1, .circles = &alone, .angles = angles};
    if (single.job_count <= PIECES_MAX) {
        solve_link(solving, &single, share, shifts, scratch);
    }
}

// Shifts of a loop, or of what the heuristic is asked for, by whole angles. A loop spends half of
// its share on proofs of its links one by one, whose bounds hold for joint shifts as well, and half
// on the joint search.
static void solve_jointly(struct solving *solving, const struct group *group, uint64_t share,
                          uint64_t *shifts, struct weft_arena scratch)
{
    const bool exact = !solving->options->heuristic;
    struct weft_arena kept = weft_arena_split(&scratch);
    const struct search_limits limits = {
        .starts = exact ? STARTS : STARTS_FAST,
        .least = interleave_area_excess(&group->circles[0]),
        .seed = solving->options->seed,
        .work_limit = group->circle_count > 1 ? share / 2 : share,
        .stop = solving->options->stop,
    };
    struct cells cells;
    struct found found;
    interleave_cells_build(&cells, group, exact, &kept, scratch);
    interleave_descend(&found, &cells, &limits, &kept, scratch);
    for (uint32_t c = 0; exact && c < group->circle_count; c++) {
        bound_link(solving, &group->circles[c], share / 2 / group->circle_count, scratch);
    }
    if (exact && !cells.rounded && cells.piece_count <= PIECES_MAX) {
        prove(&found, &cells, rest_tables_build(&cells, &kept, scratch), &limits, scratch);
        lower_bound_to(&solving->upper_bound, 1 - found.bound);
    }
    interleave_center(&found, &cells, scratch);
    rotate(shifts, &found, group);
    solving->work += found.work;
}

// Shifts of one group, in ticks, and bounds of its links. What earlier groups left of the work is
// shared by those that are still to come.
static uint64_t *solve_group(struct solving *solving, uint32_t g, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    const struct group *group = &solving->affinity.groups[g];
    uint64_t *shifts = WEFT_NEW(arena, uint64_t, group->job_count);
    for (uint32_t c = 0; c < group->circle_count; c++) {
        struct weft_link_score *link = &solving->links[group->circles[c].link];
        link->upper_bound = link->all_shifts_bound = 1 - interleave_area_excess(&group->circles[c]);
    }
    uint64_t left = solving->work_limit > solving->work ? solving->work_limit - solving->work : 0;
    uint64_t share = left / (solving->affinity.group_count - g);
    if (group->circle_count == 1 && !solving->options->heuristic) {
        solve_link(solving, group, share, shifts, scratch);
    } else {
        solve_jointly(solving, group, share, shifts, scratch);
    }
    return shifts;
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
    link->all_shifts_bound = fmax(link->all_shifts_bound, link->score);
    link->upper_bound = fmax(fmin(link->upper_bound, link->all_shifts_bound), link->score);
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
    double all_shifts_bound = 1;
    uint32_t loops = 0;
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        struct weft_link_score *link = &solving->links[l];
        link->group = solving->affinity.link_group[l];
        if (link->group == WEFT_NONE) {
            link->score = link->unshifted = link->mean = 1;
            link->upper_bound = link->all_shifts_bound = 1;
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
            lower_bound_to(&solving->upper_bound, link->upper_bound);
            lower_bound_to(&all_shifts_bound, link->all_shifts_bound);
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
        .all_shifts_bound = all_shifts_bound,
        .exact = upper_bound <= score + SCORE_EQUAL,
        .all_shifts_exact = all_shifts_bound <= score + SCORE_EQUAL,
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
    uint64_t **shifts = WEFT_NEW(&kept, uint64_t *, affinity->group_count);
    weft_tally_begin(options->tally, affinity->group_count);
    for (uint32_t g = 0; g < affinity->group_count; g++) {
        shifts[g] = solve_group(&solving, g, &kept, scratch);
        weft_tally_add(options->tally, 1);
    }
    uint64_t *time_shift_ps = WEFT_NEW(arena, uint64_t, snapshot->job_count);
    interleave_traverse(time_shift_ps, affinity, shifts, snapshot, scratch);
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
            struct weft_link_score *link = &solving.links[group->circles[c].link];
            link->upper_bound = link->all_shifts_bound =
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
