// SPDX-License-Identifier: Apache-2.0
// The operators space for callers with judgements of their own.

#include "search.h"
#include "starts.h"

#include <math.h>

struct weft_strategy_space {
    struct problem problem;
};

bool weft_strategy_space_build(struct weft_strategy_space **space, const struct weft_study *study,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error)
{
    struct weft_strategy_space *built = WEFT_NEW(arena, struct weft_strategy_space, 1);
    if (!weft_problem_build(&built->problem, study, arena, scratch, error)) {
        return false;
    }
    *space = built;
    return true;
}

uint64_t weft_strategy_estimate(const struct weft_strategy_space *space,
                                const struct weft_strategy *strategy, struct weft_arena scratch)
{
    struct layout layout;
    weft_layout_init(&layout, &space->problem, &scratch);
    if (!weft_layout_load(&layout, strategy, scratch)) {
        return WEFT_NEVER;
    }
    return weft_picoseconds(weft_estimate(weft_estimator_init(&space->problem, &scratch), &layout));
}

bool weft_strategy_branches(struct weft_strategy *strategy, const struct weft_strategy_space *space,
                            uint32_t parts, bool cut, struct weft_arena *arena,
                            struct weft_arena scratch)
{
    struct layout layout;
    struct weft_error error;
    weft_layout_init(&layout, &space->problem, &scratch);
    weft_start_parallel(&layout, scratch);
    if (cut) {
        weft_start_strips(&layout, parts, scratch);
    } else {
        weft_start_branches(&layout, parts, scratch);
    }
    return weft_layout_store(strategy, &layout, arena, scratch, &error);
}

bool weft_strategy_neighbor(struct weft_strategy *neighbor, const struct weft_strategy_space *space,
                            const struct weft_strategy *strategy, uint32_t draws,
                            struct weft_rng *rng, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    const struct problem *problem = &space->problem;
    struct layout layout;
    struct shelf best;
    struct weft_error error;
    weft_layout_init(&layout, problem, &scratch);
    weft_shelf_init(&best, problem, 1, &scratch);
    if (!weft_layout_load(&layout, strategy, scratch)) {
        return false;
    }
    struct estimator *estimator = weft_estimator_init(problem, &scratch);
    struct mover *movers[2] = {weft_mover_init(problem, false, &scratch),
                               weft_mover_init(problem, true, &scratch)};
    double *server_bytes = WEFT_NEW(&scratch, double, problem->server_count);
    double limit_bytes = problem->setting->memory_limit_bytes;
    for (uint32_t draw = 0; draw < draws; draw++) {
        weft_move(movers[weft_rng_below(rng, 2)], &layout, rng);
        weft_layout_apply(&layout);
        bool fits = limit_bytes <= 0 || weft_layout_memory(&layout, server_bytes) <= limit_bytes;
        if (layout.changed_count > 0 && fits) {
            weft_shelf_add(&best, &layout, weft_estimate(estimator, &layout));
        }
        weft_layout_undo(&layout);
    }
    if (best.count == 0) {
        return false;
    }
    weft_shelf_load(&layout, &best.kept[0]);
    return weft_layout_store(neighbor, &layout, environment->arena, scratch, &error);
}
