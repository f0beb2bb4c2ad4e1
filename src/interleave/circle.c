// SPDX-License-Identifier: Apache-2.0
// Demands wound on the unified circle, and how much of them exceeds the link (Cassini: Rajasekaran
// et al., NSDI 2024, section 3).
//
// Cassini compares loads at discrete angles. Here only rotations are discrete; the area above the
// capacity is integrated exactly over the sorted boundaries of all phases, O(phases log phases).
// The mean over all rotations, the score of jobs that drift, convolves the distributions of the
// jobs' loads, which are independent at a random rotation: O(jobs * LOADS_MAX * loads of a job).

#include "circle.h"

#include <math.h>
#include <stdlib.h>

// Different sums of loads that are kept apart in a mean over rotations. Not measured: beyond it
// loads within 1/4096 of the largest are joined at their mean, which errs by less than that.
#define LOADS_MAX 4096u

uint64_t interleave_ticks(uint64_t time_ps, uint32_t angles, uint64_t iteration_ps)
{
    __extension__ unsigned __int128 ticks =
        (unsigned __int128)time_ps * angles * TICKS_PER_ANGLE + iteration_ps / 2;
    return (uint64_t)(ticks / iteration_ps);
}

uint32_t interleave_place(const struct weft_sharing_job *job, uint32_t link)
{
    uint32_t low = 0;
    uint32_t high = job->link_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (job->links[middle] < link) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < job->link_count && job->links[low] == link ? low : WEFT_NONE;
}

// Phases as arcs: none that ask nothing, and those that touch with one load are one.
static void wind_job(struct circle_job *wound, const struct weft_demand *demand,
                     double capacity_Bps, struct weft_arena *arena)
{
    struct arc *arcs = WEFT_NEW(arena, struct arc, demand->phase_count);
    uint32_t count = 0;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        struct arc arc = {
            .from = interleave_ticks(phase->start_ps, wound->angles, demand->iteration_ps),
            .to = interleave_ticks(phase->start_ps + phase->duration_ps, wound->angles,
                                   demand->iteration_ps),
            .load = phase->rate_Bps / capacity_Bps,
        };
        if (arc.load <= 0 || arc.from == arc.to) {
            continue;
        }
        struct arc *last = count == 0 ? NULL : &arcs[count - 1];
        if (last != NULL && last->to == arc.from && last->load == arc.load) {
            last->to = arc.to;
        } else {
            arcs[count++] = arc;
        }
    }
    wound->arc_count = count;
    wound->arcs = arcs;
}

// The circle of one link: its jobs with their arcs in ticks, and its perimeter, the least common
// multiple of their angles. interleave_quantise has made sure that it fits.
static void wind_circle(struct circle *circle, const struct group *group,
                        const struct weft_snapshot *snapshot, struct weft_arena *arena)
{
    struct circle_job *wound = WEFT_NEW(arena, struct circle_job, group->job_count);
    uint64_t perimeter = 1;
    uint32_t count = 0;
    for (uint32_t piece = 0; piece < group->job_count; piece++) {
        const struct weft_sharing_job *job = &snapshot->jobs[group->jobs[piece]];
        uint32_t place = interleave_place(job, circle->link);
        if (place == WEFT_NONE) {
            continue;
        }
        const struct weft_demand *demand =
            job->link_demands == NULL ? &job->demand : &job->link_demands[place];
        wound[count].piece = piece;
        wound[count].angles = group->angles[piece];
        wind_job(&wound[count], demand, snapshot->links[circle->link].capacity_Bps, arena);
        uint64_t a = perimeter;
        uint64_t b = group->angles[piece];
        while (b != 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        perimeter *= group->angles[piece] / a;
        count++;
    }
    WEFT_ASSERT(perimeter <= UINT32_MAX);
    circle->angle_count = (uint32_t)perimeter;
    circle->job_count = count;
    circle->jobs = wound;
}

bool interleave_wind(struct group *group, const struct weft_snapshot *snapshot,
                     const struct weft_interleave_options *options, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    uint32_t place_count = 0;
    uint64_t *iteration_ps = WEFT_NEW(&scratch, uint64_t, group->job_count);
    for (uint32_t j = 0; j < group->job_count; j++) {
        iteration_ps[j] = snapshot->jobs[group->jobs[j]].demand.iteration_ps;
        place_count += snapshot->jobs[group->jobs[j]].link_count;
    }
    uint32_t *member_first = WEFT_NEW(&scratch, uint32_t, (size_t)group->circle_count + 1);
    uint32_t *members = WEFT_NEW(&scratch, uint32_t, place_count);
    uint32_t count = 0;
    for (uint32_t c = 0; c < group->circle_count; c++) {
        for (uint32_t j = 0; j < group->job_count; j++) {
            const struct weft_sharing_job *job = &snapshot->jobs[group->jobs[j]];
            if (interleave_place(job, group->circles[c].link) != WEFT_NONE) {
                members[count++] = j;
            }
        }
        member_first[c + 1] = count;
    }
    const struct periods periods = {
        .job_count = group->job_count,
        .iteration_ps = iteration_ps,
        .link_count = group->circle_count,
        .member_first = member_first,
        .members = members,
    };
    group->angles = WEFT_NEW(arena, uint32_t, group->job_count);
    group->period_error_ratio = WEFT_NEW(arena, double, group->job_count);
    if (!interleave_quantise(group->angles, group->period_error_ratio, &periods, options, scratch,
                             error)) {
        return weft_wrap(error, "link %s", snapshot->links[group->circles[0].link].name);
    }
    for (uint32_t c = 0; c < group->circle_count; c++) {
        wind_circle(&group->circles[c], group, snapshot, arena);
    }
    return true;
}

// ---- what exceeds ----

struct step {
    uint64_t at; // tick of the circle
    double load; // more from here on
};

static int by_place(const void *a, const void *b)
{
    const struct step *x = a;
    const struct step *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

double interleave_excess(const struct circle *circle, const uint64_t *shift,
                         struct weft_arena scratch)
{
    const uint64_t perimeter = circle->angle_count * TICKS_PER_ANGLE;
    size_t most = 0;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        const struct circle_job *job = &circle->jobs[j];
        most += (size_t)2 * job->arc_count * (circle->angle_count / job->angles);
    }
    struct step *steps = WEFT_NEW_RAW(&scratch, struct step, most);
    size_t count = 0;
    double load = 0;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        const struct circle_job *job = &circle->jobs[j];
        uint64_t period = job->angles * TICKS_PER_ANGLE;
        for (uint32_t a = 0; a < job->arc_count; a++) {
            for (uint64_t at = shift[j] % period; at < perimeter + shift[j] % period;
                 at += period) {
                uint64_t from = (at + job->arcs[a].from) % perimeter;
                uint64_t to = (at + job->arcs[a].to) % perimeter;
                steps[count++] = (struct step){from, job->arcs[a].load};
                steps[count++] = (struct step){to, -job->arcs[a].load};
                // An arc that lies over tick 0 is there from the start.
                load += to <= from ? job->arcs[a].load : 0;
            }
        }
    }
    qsort(steps, count, sizeof steps[0], by_place);
    double excess = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        excess += fmax(0, load - 1) * (double)(steps[i].at - before);
        before = steps[i].at;
        load += steps[i].load;
    }
    excess += fmax(0, load - 1) * (double)(perimeter - before);
    return excess / (double)perimeter;
}

double interleave_area_excess(const struct circle *circle)
{
    double area = 0;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        const struct circle_job *job = &circle->jobs[j];
        for (uint32_t a = 0; a < job->arc_count; a++) {
            double ticks = (double)(job->arcs[a].to - job->arcs[a].from);
            area += job->arcs[a].load * ticks / (double)(job->angles * TICKS_PER_ANGLE);
        }
    }
    return fmax(0, area - 1);
}

// ---- the mean over all rotations ----

struct chance {
    double load;
    double share; // of the time
};

static int by_load(const void *a, const void *b)
{
    const struct chance *x = a;
    const struct chance *y = b;
    return (x->load > y->load) - (x->load < y->load);
}

// Sorts and joins loads that are equal, or nearly so where there are too many.
static uint32_t join(struct chance *chances, uint32_t count)
{
    qsort(chances, count, sizeof chances[0], by_load);
    double apart = count <= LOADS_MAX ? 1e-12 : chances[count - 1].load / LOADS_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 1; i < count; i++) {
        struct chance *last = &chances[kept];
        if (chances[i].load - last->load > apart) {
            chances[++kept] = chances[i];
        } else if (chances[i].share > 0) {
            // The mean load of both stays.
            double share = last->share + chances[i].share;
            last->load += (chances[i].load - last->load) * chances[i].share / share;
            last->share = share;
        }
    }
    return kept + 1;
}

double interleave_mean_excess(const struct circle *circle, struct weft_arena scratch)
{
    // Each job's rotation is independent and uniform: at an angle it asks each of its loads for
    // that load's share of its iteration.
    uint32_t count = 1;
    struct chance *now = WEFT_NEW(&scratch, struct chance, 1);
    now[0].share = 1;
    for (uint32_t j = 0; j < circle->job_count; j++) {
        const struct circle_job *job = &circle->jobs[j];
        struct chance *loads = WEFT_NEW(&scratch, struct chance, (size_t)job->arc_count + 1);
        loads[0].share = 1;
        for (uint32_t a = 0; a < job->arc_count; a++) {
            double share = (double)(job->arcs[a].to - job->arcs[a].from) /
                           (double)(job->angles * TICKS_PER_ANGLE);
            loads[a + 1] = (struct chance){job->arcs[a].load, share};
            loads[0].share -= share;
        }
        uint32_t load_count = join(loads, job->arc_count + 1);
        struct chance *next = WEFT_NEW_RAW(&scratch, struct chance, (size_t)count * load_count);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t k = 0; k < load_count; k++) {
                next[(size_t)i * load_count + k] =
                    (struct chance){now[i].load + loads[k].load, now[i].share * loads[k].share};
            }
        }
        count = join(next, count * load_count);
        now = next;
    }
    double excess = 0;
    for (uint32_t i = 0; i < count; i++) {
        excess += fmax(0, now[i].load - 1) * now[i].share;
    }
    return excess;
}
