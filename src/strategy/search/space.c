// SPDX-License-Identifier: Apache-2.0
// The operators space for callers that evaluate strategies by other means, such as the plan room by
// simulation: the search's estimate of a strategy, placements of branches to start from, and a
// neighbor by one move. Each call takes O(nodes * servers) to set up a placement.

#include "search.h"
#include "starts.h"

#include <math.h>

bool weft_strategy_space_build(struct weft_strategy_space **space, const struct weft_study *study,
                               struct weft_arena *arena, struct weft_arena scratch,
                               struct weft_error *error)
{
    struct weft_strategy_space *built = WEFT_NEW(arena, struct weft_strategy_space, 1);
    if (!weft_search_space_build(built, study, arena, scratch, error)) {
        return false;
    }
    *space = built;
    return true;
}

uint64_t weft_strategy_estimate(const struct weft_strategy_space *space,
                                const struct weft_strategy *strategy, struct weft_arena scratch)
{
    struct placement placement;
    weft_placement_init(&placement, space, &scratch);
    if (!weft_placement_load(&placement, strategy, scratch)) {
        return WEFT_NEVER;
    }
    return weft_picoseconds(weft_estimate(weft_estimator_init(space, &scratch), &placement));
}

bool weft_strategy_branches(struct weft_strategy *strategy, const struct weft_strategy_space *space,
                            uint32_t parts, bool in_strips, struct weft_arena *arena,
                            struct weft_arena scratch)
{
    struct placement placement;
    struct weft_error error;
    weft_placement_init(&placement, space, &scratch);
    weft_start_parallel(&placement, scratch);
    if (in_strips) {
        weft_start_strips(&placement, parts, scratch);
    } else {
        weft_start_branches(&placement, parts, scratch);
    }
    return weft_placement_store(strategy, &placement, arena, scratch, &error);
}

bool weft_strategy_neighbor(struct weft_strategy *neighbor, const struct weft_strategy_space *space,
                            const struct weft_strategy *strategy, uint32_t draws,
                            struct weft_rng *rng, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct placement placement;
    struct best_k best;
    struct weft_error error;
    weft_placement_init(&placement, space, &scratch);
    weft_best_k_init(&best, space, 1, &scratch);
    if (!weft_placement_load(&placement, strategy, scratch)) {
        return false;
    }
    struct estimator *estimator = weft_estimator_init(space, &scratch);
    struct mover *movers[2] = {weft_mover_init(space, false, &scratch),
                               weft_mover_init(space, true, &scratch)};
    double *server_bytes = WEFT_NEW(&scratch, double, space->server_count);
    double limit_bytes = space->study.setting->memory_limit_bytes;
    for (uint32_t draw = 0; draw < draws; draw++) {
        weft_move(movers[weft_rng_below(rng, 2)], &placement, rng);
        weft_placement_apply(&placement);
        bool fits =
            limit_bytes <= 0 || weft_placement_memory(&placement, server_bytes) <= limit_bytes;
        if (placement.changed_count > 0 && fits) {
            weft_best_k_add(&best, &placement, weft_estimate(estimator, &placement));
        }
        weft_placement_undo(&placement);
    }
    if (best.count == 0) {
        return false;
    }
    weft_kept_load(&placement, &best.kept[0]);
    return weft_placement_store(neighbor, &placement, environment->arena, scratch, &error);
}
