// SPDX-License-Identifier: Apache-2.0
// Direct fabrics whose circuits stand, beside the fabrics that one buys, planned for the model: by
// Weft, strategy and fabric searched together, as weft plan MODEL answers with the same effort and
// seed; and as TopoOpt published it, a strategy searched apart and the paper's topology for it, as
// weft plan MODEL --variant strategy does. What they are made of is counted like any other fabric.

#include "request/buy/buy.h"
#include "weft/plan.h"

#include <string.h>

// The plan's strategy as the answer of a search that found one, with its estimate on the plan's
// own network.
static bool keep_strategy(struct weft_strategy_result *found, const struct weft_plan *plan,
                          const struct weft_study *study,
                          const struct weft_environment *environment)
{
    struct weft_candidate *candidate = WEFT_NEW(environment->arena, struct weft_candidate, 1);
    uint64_t *simulated_ps = WEFT_NEW(environment->arena, uint64_t, 1);
    struct weft_hybrid_estimate *estimate =
        WEFT_NEW(environment->arena, struct weft_hybrid_estimate, 1);
    candidate->strategy = plan->job->strategy;
    simulated_ps[0] = weft_picoseconds(plan->iteration_s);
    candidate->estimate_ps = simulated_ps[0]; // strategies of operators have none of this network
    found->hybrid = candidate->strategy.kind == WEFT_STRATEGY_HYBRID;
    if (found->hybrid) {
        struct weft_study on_plan = *study;
        on_plan.network = &plan->network;
        if (!weft_hybrid_estimate(estimate, &candidate->strategy.hybrid, &on_plan,
                                  environment->scratch, environment->error)) {
            return false;
        }
        candidate->estimate_ps = estimate->iteration_ps;
        found->estimates = estimate;
    }
    found->fabric = plan->method == WEFT_TOPOLOGY_TOPOOPT ? WEFT_BUY_PAPER : WEFT_BUY_OWN;
    found->operator_names = plan->job->operator_names;
    found->simulated_ps = simulated_ps;
    found->found = (struct weft_search_result){1, candidate, plan->job->evaluations};
    found->stopped = plan->cut.published > 0;
    return true;
}

// The plan's network as it is bought: its links at their NICs' rate.
bool weft_buy_count_own(struct weft_buy_row *row, const struct weft_plan *plan,
                        const struct weft_cluster *cluster, const struct weft_environment *base)
{
    const struct weft_cluster bought = weft_cluster_as_bought(cluster);
    struct weft_network network = plan->network;
    if (!weft_topology_fabric(&network.fabric, &plan->topology, &bought, base->arena, base->scratch,
                              base->error)) {
        return false;
    }
    network.fabric.name = plan->network.fabric.name;
    network.fabric.parts = plan->network.fabric.parts;
    return weft_buy_count_parts(row, &network, &bought, base);
}

bool weft_buy_is_planned(const char *fabric)
{
    return strcmp(fabric, WEFT_BUY_OWN) == 0 || strcmp(fabric, WEFT_BUY_PAPER) == 0;
}

bool weft_buy_plan_own(struct weft_buy_row *row, const struct weft_buy_request *request,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const struct weft_strategy_result *given = &row->found;
    const struct weft_study study = {
        .model = &given->model, .cluster = &given->cluster, .setting = &given->setting};
    struct weft_strategy strategy;
    if (study.cluster->server_count > WEFT_BUY_PLANNED_SERVERS_MAX) {
        return weft_fail(base->error, WEFT_UNSUPPORTED,
                         "direct fabrics of more than %u servers are not planned beside others; "
                         "weft plan plans them alone",
                         WEFT_BUY_PLANNED_SERVERS_MAX);
    }
    if (!weft_cluster_check_direct(study.cluster, base->error) ||
        (request->strategy != NULL &&
         !weft_request_hybrid(&strategy, &study, request->strategy, base->error))) {
        return false;
    }
    const struct weft_coplan_options options = {
        .variant =
            strcmp(row->fabric, WEFT_BUY_PAPER) == 0 ? WEFT_COPLAN_STRATEGY : WEFT_COPLAN_BOTH,
        .given = request->strategy != NULL ? &strategy : NULL,
        .seconds = request->seconds,
        .search = {.method = request->job.method, .evaluations = request->job.budget},
        .plan = {.sim = weft_request_task_packets(base->seed)},
        .best_ps = &environment->progress.best_ps,
        .bound_ps = &environment->progress.bound_ps,
        .tally = &environment->progress.tally,
    };
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    weft_request_step_begin(environment, "planning", NULL);
    bool planned = weft_coplan_build(plan, &study, &options, base);
    weft_request_step_end(environment);
    row->own = plan;
    return planned && keep_strategy(&row->found, plan, &study, base) &&
           weft_buy_count_own(row, plan, study.cluster, base);
}
