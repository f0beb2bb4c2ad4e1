// SPDX-License-Identifier: Apache-2.0
// Algorithms on planes that follow their steps, beside circuits that are set once.

#include "weft/collective/rewired.h"

#include <math.h>

// Ranks send to one other at a time; trees and several rings at once would be taken apart.
static const enum weft_algorithm algorithms[] = {
    WEFT_ALGORITHM_RING,  WEFT_ALGORITHM_HALVING_DOUBLING, WEFT_ALGORITHM_RECURSIVE_DOUBLING,
    WEFT_ALGORITHM_BRUCK, WEFT_ALGORITHM_DIRECT,
};
enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

static struct weft_plane_problem problem_of(const struct weft_rewired_options *options,
                                            const struct weft_rewired_steps *steps)
{
    return (struct weft_plane_problem){
        .step_count = steps->step_count,
        .steps = steps->steps,
        .pattern_count = steps->pattern_count,
        .patterns = steps->patterns,
        .plane_count = options->plane_count,
        .rate_Bps = options->rate_Bps / options->plane_count,
        .hop_s = options->hop_s,
        .change_s = options->change_s,
        .stop = options->stop,
    };
}

// All steps on the ring, half of the planes each way.
static double stay_s(const struct weft_plane_problem *problem)
{
    double seconds = 0;
    uint32_t up_planes = (problem->plane_count + 1) / 2;
    uint32_t down_planes = problem->plane_count / 2;
    for (uint32_t s = 0; s < problem->step_count; s++) {
        const struct weft_plane_pattern *pattern = &problem->patterns[problem->steps[s].pattern];
        double load = pattern->all_up.load;
        uint32_t hops = pattern->all_up.hops;
        if (down_planes > 0) {
            load = fmax(pattern->up.load / up_planes, pattern->down.load / down_planes);
            hops = pattern->up.hops > pattern->down.hops ? pattern->up.hops : pattern->down.hops;
        }
        seconds += hops * problem->hop_s + problem->steps[s].bytes * load / problem->rate_Bps;
    }
    return seconds;
}

static double always_s(const struct weft_plane_problem *problem)
{
    double seconds = 0;
    uint32_t wired = WEFT_NONE;
    for (uint32_t s = 0; s < problem->step_count; s++) {
        const struct weft_plane_step *step = &problem->steps[s];
        seconds += (step->pattern != wired ? problem->change_s : 0) + problem->hop_s +
                   step->bytes / (problem->rate_Bps * problem->plane_count);
        wired = step->pattern;
    }
    return seconds;
}

// The algorithms of a kind as steps, which do not depend on how long a change takes.
struct prepared {
    uint32_t count;
    enum weft_algorithm algorithm[ALGORITHMS];
    struct weft_rewired_steps steps[ALGORITHMS];
};

static bool prepare(struct prepared *prepared, const struct weft_rewired_options *options,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_algorithm_options asked = {.kind = options->kind,
                                                 .rank_count = options->rank_count};
    struct weft_arena found = weft_arena_split(&scratch);
    *prepared = (struct prepared){0};
    for (uint32_t a = 0; a < ALGORITHMS; a++) {
        bool fits = options->kind == WEFT_COLLECTIVE_ALLTOALL ||
                    algorithms[a] != WEFT_ALGORITHM_DIRECT; // to all at once, all of the data
        if (!fits || !weft_algorithm_supports(algorithms[a], options->kind)) {
            continue;
        }
        struct weft_arena kept = found;
        struct weft_schedule schedule;
        if (!weft_algorithm_build(&schedule, algorithms[a], &asked, &kept, scratch, error)) {
            return false;
        }
        weft_rewired_steps(&prepared->steps[prepared->count], &schedule, options->size_bytes, arena,
                           scratch);
        prepared->algorithm[prepared->count++] = algorithms[a];
    }
    WEFT_ASSERT(prepared->count > 0);
    return true;
}

bool weft_rewired_build(struct weft_rewired *rewired, const struct weft_rewired_options *options,
                        struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena found = weft_arena_split(&scratch);
    struct prepared prepared;
    if (!prepare(&prepared, options, &found, scratch, error)) {
        return false;
    }
    const struct weft_cost_model model = {options->hop_s, 1 / options->rate_Bps, 0};
    *rewired = (struct weft_rewired){
        .bound_s = weft_collective_bound_seconds(options->kind, options->rank_count,
                                                 options->size_bytes, &model),
        .row_count = prepared.count,
    };
    weft_rewired_one_shot(&rewired->one_shot, options, scratch);
    for (uint32_t r = 0; r < prepared.count; r++) {
        const struct weft_plane_problem problem = problem_of(options, &prepared.steps[r]);
        struct weft_arena kept = found;
        struct weft_plane_plan plan;
        weft_circuit_planes(&plan, &problem, &kept, scratch);
        rewired->rows[r] = (struct weft_rewired_row){
            .algorithm = prepared.algorithm[r],
            .step_count = problem.step_count,
            .stay_s = stay_s(&problem),
            .always_s = always_s(&problem),
            .seconds = plan.seconds,
            .changes = plan.changes,
            .cut = plan.cut,
        };
        rewired->best = plan.seconds < rewired->rows[rewired->best].seconds ? r : rewired->best;
    }
    return true;
}

// Whether some algorithm is quicker than `limit_s` where a change takes change_s.
static bool is_quicker(const struct prepared *prepared, const struct weft_rewired_options *options,
                       double change_s, double limit_s, struct weft_arena scratch)
{
    for (uint32_t r = 0; r < prepared->count; r++) {
        struct weft_plane_problem problem = problem_of(options, &prepared->steps[r]);
        struct weft_arena room = scratch;
        struct weft_arena found = weft_arena_split(&room);
        struct weft_plane_plan plan;
        problem.change_s = change_s;
        problem.most_s = limit_s * (1 - 1e-9); // not by rounding
        weft_circuit_planes(&plan, &problem, &found, room);
        if (!isinf(plan.seconds)) {
            return true;
        }
    }
    return false;
}

#define CHANGE_LEAST_S 1e-9
#define CHANGE_MOST_S 1e3
#define CHANGE_RATIO 1.01

bool weft_rewired_crossover(double *change_s, const struct weft_rewired_options *options,
                            struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena found = weft_arena_split(&scratch);
    struct prepared prepared;
    struct weft_one_shot shot;
    if (!prepare(&prepared, options, &found, scratch, error)) {
        return false;
    }
    weft_rewired_one_shot(&shot, options, scratch);
    double low_s = CHANGE_LEAST_S; // quicker here
    double high_s = CHANGE_MOST_S; // not here
    if (!is_quicker(&prepared, options, low_s, shot.seconds, scratch)) {
        *change_s = 0;
        return true;
    }
    if (is_quicker(&prepared, options, high_s, shot.seconds, scratch)) {
        *change_s = (double)INFINITY;
        return true;
    }
    while (high_s > low_s * CHANGE_RATIO) {
        double middle_s = sqrt(low_s * high_s);
        if (is_quicker(&prepared, options, middle_s, shot.seconds, scratch)) {
            low_s = middle_s;
        } else {
            high_s = middle_s;
        }
    }
    *change_s = low_s;
    return true;
}
