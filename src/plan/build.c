// SPDX-License-Identifier: Apache-2.0
// Plans: both methods, and the figures of what they chose.

#include "plan/design/method.h"

#include "plan/demand/collectives.h"
#include "figures.h"
#include "plan/design/paper.h"

#include "weft/graph.h"

#include <math.h>
#include <string.h>

#define SECONDS_DEFAULT 2.0
// An iteration this near to the bound is as good as any.
#define GOOD_RATIO 1e-4
// A graph of more tasks gets its bounds once, at the end.
#define BOUND_FIRST_TASKS 6000u

// ---- the weft method ----

static bool plan_weft(struct weft_plan *plan, const struct search *search, double seconds,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct design best;
    struct verdict verdict;
    if (!method_search(&best, &verdict, search, seconds, NULL, 0, &kept, scratch) ||
        !method_settle(plan, search, &best, arena, scratch)) {
        return weft_fail(error, WEFT_INFEASIBLE, "no fabric of %u %s a server connects %u servers",
                         search->cluster->degree, search->cluster->degree == 1 ? "port" : "ports",
                         search->cluster->server_count);
    }
    plan->iteration_s = verdict.iteration_s;
    return true;
}

// ---- the paper's method ----

static bool plan_topoopt(struct weft_plan *plan, const struct search *search, double seconds,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error)
{
    if (!paper_topology(&plan->topology, search, arena, scratch, error) ||
        !paper_fabric(&plan->network, &plan->topology, search, arena, scratch, error)) {
        return false;
    }
    struct weft_routes best = {.kind = WEFT_ROUTES_TABLE};
    double best_s = HUGE_VAL;
    double spent = 0;
    for (uint32_t i = 0; i < PAPER_PATH_COUNTS; i++) {
        if (!paper_affords(i, spent, seconds * WORK_UNITS_PER_S) ||
            (i > 0 && weft_stopped(search->stop))) {
            break;
        }
        struct weft_network *network = &plan->network;
        if (!weft_topology_routes(&network->routes, &plan->topology, &network->fabric,
                                  search->traffic, paper_path_counts[i], arena, scratch, error)) {
            return false;
        }
        struct verdict verdict = search_simulate(search, network, false, scratch);
        spent += verdict.work_units;
        if (i == 0 || verdict.iteration_s < best_s) {
            best_s = verdict.iteration_s;
            best = network->routes;
        }
    }
    plan->network.routes = best;
    plan->iteration_s = best_s;
    if (best_s == HUGE_VAL) {
        return weft_fail(error, WEFT_INFEASIBLE, "the paper's topology does not connect all pairs");
    }
    return true;
}

// ---- what both come to ----

static void measure_topology(struct weft_topology *topology, const struct weft_fabric *fabric,
                             struct weft_arena scratch)
{
    uint32_t *heads = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)fabric->link_count + 1);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        heads[e] = fabric->links[e].to;
    }
    struct weft_graph graph = {fabric->node_count, fabric->link_count, fabric->first, heads};
    struct weft_graph_hops hops = weft_graph_all_hops(NULL, &graph, scratch);
    topology->mean_hops = hops.pair_count > 0 ? (double)hops.sum / (double)hops.pair_count : 0;
    topology->diameter = hops.diameter;
}

bool method_figures(struct weft_plan *plan, const struct search *search, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    struct weft_network *network = &plan->network;
    WEFT_ASSERT(network->routes.fabric == &network->fabric);
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_taskgraph played;
    if (!weft_plan_played(&played, plan, search->graph, &kept, scratch, error)) {
        return false;
    }
    struct figures figures;
    figures_build(&figures, NULL, &played, network, scratch);
    plan->demand_weighted_hops = figures.demand_weighted_hops;
    plan->max_link_load_bytes = figures.max_link_load_bytes;
    plan->mean_link_load_bytes = figures.mean_link_load_bytes;
    plan->bandwidth_tax_ratio = figures.bandwidth_tax_ratio;
    plan->cost = weft_fabric_cost(&network->fabric.parts, &plan->cluster.prices);
    measure_topology(&plan->topology, &network->fabric, scratch);
    return collectives_certify(&plan->certificate, plan, search->graph, arena, scratch, error);
}

static bool check_inputs(const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                         struct weft_error *error)
{
    if (!weft_cluster_check(cluster, error)) {
        return false;
    }
    if (graph->server_count != cluster->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the task graph is for %u servers, but the cluster has %u; plan for a "
                         "cluster of %u",
                         graph->server_count, cluster->server_count, graph->server_count);
    }
    if (graph->task_count == 0) {
        return weft_fail(error, WEFT_INPUT, "the task graph has no tasks; there is no iteration");
    }
    return true;
}

bool method_bound(struct search *search, struct weft_arena scratch, struct weft_error *error)
{
    if (search->graph->task_count > BOUND_FIRST_TASKS) {
        return true;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_certificate certificate;
    if (!weft_certificate_build(&certificate, search->graph, search->cluster, NULL, 0, &kept,
                                scratch, error)) {
        return false;
    }
    search->good_enough_s = certificate.lower_bound_s * (1 + GOOD_RATIO);
    return true;
}

bool weft_plan_build(struct weft_plan *plan, const struct weft_taskgraph *graph,
                     const struct weft_cluster *cluster, const struct weft_plan_options *options,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (!check_inputs(graph, cluster, error)) {
        return false;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &kept, scratch);
    const struct weft_topology_options *wanted = &options->topology;
    struct search search = method_open(graph, &traffic, cluster, options);
    if (!method_bound(&search, scratch, error)) {
        return false;
    }
    double seconds = wanted->seconds > 0 ? wanted->seconds : SECONDS_DEFAULT;
    *plan = (struct weft_plan){
        .cluster = *cluster, .method = wanted->method, .seed = wanted->seed, .sim = search.sim};
    bool found = wanted->method == WEFT_TOPOLOGY_TOPOOPT
                     ? plan_topoopt(plan, &search, seconds, arena, scratch, error)
                     : plan_weft(plan, &search, seconds, arena, scratch, error);
    if (found && options->collectives == WEFT_PLAN_BEST) {
        collectives_choose(plan, &search, seconds * WORK_UNITS_PER_S, arena, scratch);
    }
    return found && method_figures(plan, &search, arena, scratch, error);
}
