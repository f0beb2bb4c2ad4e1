// SPDX-License-Identifier: Apache-2.0
// A design as a network that can be simulated, and its score.
//
// A network is the fabric of the design's planes, its rings bound to links, and routes of the
// transfers: at most as many paths a pair as the search says, chosen so that the busiest link
// carries least beside the rings (weft_routing_minmax, docs/routing.md). The score is the time of
// one iteration of the flow engine (docs/flow-engine.md). A design costs O(pairs with transfers)
// for its routes and what the simulation costs, which is most of it.

#include "search.h"

#include "paper.h"
#include "plan/demand/metrics.h"
#include "plan/demand/ties.h"
#include "weft/routing.h"

#include <math.h>

// Routes: hops beyond a pair's shortest path, how near to the least load of the busiest link they
// must come, and the rounds after which they stop. Looser than weft_routing_minmax's defaults
// because thousands of designs are routed, and 2 % of a link's load is less than what tells designs
// apart; not measured one by one.
#define EXTRA_HOPS 1u
#define ROUTING_EPSILON 0.02
#define ROUTING_ROUNDS 200u
// Work units, fitted to measured times (docs/plan.md, "Effort").
#define UNITS_PER_EVENT 250.0
#define UNITS_PER_WORK 20.0
#define UNITS_PER_PAIR 5000.0
#define UNITS_PER_IDLE_PAIR 500.0

// `ties` are filled where options have a timeline.
static struct score simulate(struct weft_plan_ties *ties, const struct search *search,
                             const struct weft_network *network,
                             const struct weft_sim_options *options, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct weft_taskgraph expanded;
    struct weft_sim_job job = {search->graph, NULL, network->rings, NULL};
    struct weft_sim_result result;
    struct weft_error error;
    const struct weft_environment inner = {.arena = &results, .scratch = scratch, .error = &error};
    bool played = true;
    if (search->choice_count > 0) {
        played = weft_taskgraph_expand(&expanded, search->graph, search->choices,
                                       search->choice_count, network, &inner);
        job.graph = &expanded;
    }
    if (!played || !weft_sim_run_jobs(&result, network, &job, 1, options, &inner)) {
        return (struct score){HUGE_VAL, UNITS_PER_EVENT * search->graph->task_count};
    }
    double units = UNITS_PER_EVENT * (double)(result.event_count + job.graph->task_count) +
                   UNITS_PER_WORK * (double)result.work_count;
    if (options->timeline) {
        const struct weft_task_times times = {result.task_start_ps[0], result.task_end_ps[0],
                                              result.iteration_ps[0]};
        ties_build(ties, job.graph, &times, arena, scratch);
    }
    return (struct score){weft_seconds(result.iteration_ps[0]), units};
}

struct score search_simulate(const struct search *search, const struct weft_network *network,
                             bool quick, struct weft_arena scratch)
{
    struct weft_sim_options options = search->sim;
    options.one_round = options.one_round || quick;
    return simulate(NULL, search, network, &options, NULL, scratch);
}

struct score search_simulate_ties(struct weft_plan_ties *ties, const struct search *search,
                                  const struct weft_network *network, struct weft_arena *arena,
                                  struct weft_arena scratch)
{
    struct weft_sim_options options = search->sim;
    *ties = (struct weft_plan_ties){.first = NULL};
    options.timeline = search->graph->need == NULL && options.engine == WEFT_ENGINE_FLOW;
    return simulate(ties, search, network, &options, arena, scratch);
}

// What the rings put on each link.
static double *ring_load(const struct weft_ring_set *rings, const struct weft_traffic *traffic,
                         const struct weft_fabric *fabric, struct weft_arena *arena)
{
    double *load_bytes = WEFT_NEW(arena, double, (size_t)fabric->link_count + 1);
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        const struct weft_ring *ring = &rings->rings[r];
        const struct weft_traffic_group *group = &traffic->groups[ring->group];
        double bytes = group->wire_bytes / group->member_count * ring->share_ratio;
        for (uint32_t l = 0; l < ring->hop_first[ring->member_count]; l++) {
            load_bytes[ring->hop_links[l]] += bytes;
        }
    }
    return load_bytes;
}

// Of routes; pairs without demand take one path, without balance, or none where servers are many.
static double pair_units(const struct weft_traffic *traffic)
{
    size_t pairs = (size_t)traffic->server_count * traffic->server_count;
    size_t wanted = 0;
    for (size_t i = 0; i < pairs; i++) {
        wanted += traffic->transfer_bytes[i] > 0 ? 1 : 0;
    }
    bool all = traffic->server_count <= WEFT_ROUTING_ALL_PAIRS_SERVERS_MAX;
    return UNITS_PER_PAIR * (double)wanted + (all ? UNITS_PER_IDLE_PAIR * (double)pairs : 0);
}

bool search_network(struct weft_network *network, double *work_units, const struct search *search,
                    const struct weft_design *design, struct weft_arena *arena,
                    struct weft_arena scratch)
{
    WEFT_ASSERT(design->server_count == search->cluster->server_count);
    uint32_t n = design->server_count;
    struct weft_error error;
    *work_units += UNITS_PER_PAIR * n;
    if (design->finder_paths > 0) {
        struct weft_topology *topology = WEFT_NEW(arena, struct weft_topology, 1);
        *work_units += pair_units(search->traffic) * design->finder_paths;
        return paper_network(network, topology, search, design->finder_paths, arena, scratch);
    }
    if (!weft_design_fabric(&network->fabric, design, search->cluster, arena, scratch, &error) ||
        !weft_fabric_check_connected(&network->fabric, scratch, &error)) {
        return false;
    }
    struct weft_ring_set rings =
        weft_design_rings(design, search->traffic, &network->fabric, arena, scratch);
    network->rings = rings_by_graph_group(&rings, search->graph, search->traffic, arena);
    struct weft_minmax_options options = {.paths_max =
                                              design->paths > 0 ? design->paths : search->paths_max,
                                          .extra_hops = EXTRA_HOPS,
                                          .epsilon = ROUTING_EPSILON,
                                          .rounds_max = ROUTING_ROUNDS,
                                          .unproved = true};
    if (search->choice_count == 0) {
        options.link_base_bytes = ring_load(&rings, search->traffic, &network->fabric, &scratch);
    }
    struct weft_minmax_result result;
    *work_units += pair_units(search->traffic);
    return weft_routing_minmax(
        &network->routes, &result, &network->fabric, search->traffic->transfer_bytes, &options,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = &error});
}

struct score search_screen(const struct search *search, const struct weft_design *design,
                           struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct weft_network network;
    struct score score = {HUGE_VAL, UNITS_PER_EVENT * search->graph->task_count};
    if (!search_network(&network, &score.work_units, search, design, &results, scratch)) {
        return score;
    }
    const struct weft_fabric *fabric = &network.fabric;
    double *load_bytes = WEFT_NEW(&results, double, (size_t)fabric->link_count + 1);
    struct metrics metrics;
    metrics_build(&metrics, load_bytes, search->graph, &network, scratch);
    score.iteration_s = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        score.iteration_s = fmax(score.iteration_s, load_bytes[l] / fabric->links[l].rate_Bps);
    }
    return score;
}
