// SPDX-License-Identifier: Apache-2.0
// One iteration of a hybrid strategy on a network that stands, in the flow engine: folded where
// replicas are equal there, else whole. What would take too many messages is refused before it is
// built. It costs what the folding, the task graph and the engine cost.

#include "weft/plan.h"

// How many messages may be played: one that is divided over several paths is a flow on each. The
// first server's paths to all others stand for all pairs.
static uint64_t messages_max(const struct weft_network *network)
{
    uint64_t paths = 0;
    uint32_t others = network->fabric.server_count - 1;
    if (network->routes.spread != WEFT_SPREAD_SPLIT || others == 0) {
        return WEFT_HYBRID_MESSAGES_MAX;
    }
    for (uint32_t to = 1; to <= others; to++) {
        paths += weft_routes_path_count(&network->routes, 0, to);
    }
    return WEFT_HYBRID_MESSAGES_MAX * (uint64_t)others / paths;
}

bool weft_plan_play_hybrid(struct weft_hybrid_run *run, const struct weft_strategy *strategy,
                           const struct weft_study *study, const struct weft_network *network,
                           const struct weft_sim_options *options,
                           const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_network own = *network; // with rings of its own
    own.routes.fabric = &own.fabric;
    inner.arena = &kept;
    struct weft_folded folded = {0};
    bool folds =
        !options->unfolded && options->engine == WEFT_ENGINE_FLOW && options->circuits == NULL;
    if (!(folds ? weft_strategy_fold(&folded, strategy, study, &own, messages_max(&own), &inner)
                : weft_strategy_taskgraph(&folded.graph, strategy, study, &kept, inner.scratch,
                                          inner.error))) {
        return false;
    }
    uint32_t replicas = strategy->hybrid.dp * strategy->hybrid.cp;
    bool some = folds && folded.replica_count < replicas;
    if (some) {
        own.rings = folded.rings;
    } else if (own.fabric.forwards && own.rings.ring_count == 0) {
        own.rings = weft_routing_tours(&folded.graph, NULL, &own.routes, &kept, inner.scratch);
    }
    const struct weft_sim_job job = {.graph = &folded.graph, .rings = own.rings};
    struct weft_sim_result result;
    if (!weft_sim_run_jobs(&result, &own, &job, 1, options, &inner)) {
        return false;
    }
    *run = (struct weft_hybrid_run){
        .iteration_s = weft_seconds(result.iteration_ps[0]),
        .folded = some,
        .replica_classes = some ? folded.replica_count : replicas,
        .event_count = result.event_count,
    };
    return true;
}
