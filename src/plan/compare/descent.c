// SPDX-License-Identifier: Apache-2.0
// Descents of strategies on a fabric that stands.

#include "plan/joint/descent.h"
#include "compare.h"
#include "plan/demand/tour.h"

#include <math.h>

#define PATIENCE 96u

struct stand {
    struct weft_network *network;
    bool tours;
    struct weft_sim_options sim;
};

static struct descent_verdict judge(const void *context, const struct weft_taskgraph *graph,
                                    double limit_s, struct weft_arena scratch)
{
    const struct stand *stand = context;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (stand->tours) { // one at a time (see threads below)
        stand->network->rings = tour_rings(graph, stand->network, &kept, scratch);
    }
    const struct search search = {.graph = graph, .sim = stand->sim};
    return descent_simulate(&search, stand->network, limit_s, 0, scratch);
}

double compare_descend(struct weft_strategy *strategy, double *iteration_s,
                       const struct compare_ground *ground, double work_units,
                       struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_strategy_space *space = NULL;
    struct weft_error error;
    *iteration_s = HUGE_VAL;
    if (!weft_strategy_space_build(&space,
                                   &(struct weft_study){.model = ground->model,
                                                        .cluster = ground->cluster,
                                                        .network = ground->network,
                                                        .setting = ground->setting},
                                   &kept, scratch, &error)) {
        return 0;
    }
    struct stand stand = {ground->network, ground->tours, ground->options->plan.sim};
    stand.sim.timeline = false;
    const struct descent_job job = {
        .model = ground->model,
        .cluster = ground->cluster,
        .setting = ground->setting,
        .space = space,
        .judge = judge,
        .context = &stand,
        .threads = ground->tours ? 1 : ground->options->search.threads,
        .stop = ground->options->search.stop,
        .work_units = work_units,
        .patience = PATIENCE,
        .goal_s = HUGE_VAL,
    };
    return descent_run(strategy, iteration_s, &job, arena, scratch);
}
