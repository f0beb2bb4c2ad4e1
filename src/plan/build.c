// SPDX-License-Identifier: Apache-2.0
// Plans: both methods, and the figures of what they chose.

#include "search.h"

#include "figures.h"

#include "weft/graph.h"

#include <math.h>
#include <string.h>

#define SECONDS_DEFAULT 2.0
// An iteration this near to the bound is as good as any.
#define GOOD_RATIO 1e-4
// Path counts tried for the paper's method.
#define PATH_COUNTS 4
// Paths a transfer may be split over; where servers are many, every path makes simulations dearer.
#define PATHS_MAX 4u
#define MANY_SERVERS 64u
// A graph of more tasks gets its bounds once, at the end.
#define BOUND_FIRST_TASKS 6000u
// Share of the effort that goes into finding topologies by hops alone; of many servers few designs
// can be simulated, so that the first one has to be good.
#define FINDER_SHARE 0.1
#define FINDER_SHARE_MANY 0.5
#define MIXED_SHARE 0.1
#define MIXED_SEEDS 1u

// ---- the weft method ----

// A found topology as a design: its rings as cycles, its other planes as matchings. False when a
// plane is neither.
static bool design_from(struct design *design, const struct weft_topology *topology,
                        const struct weft_traffic *traffic, struct weft_arena *arena)
{
    uint32_t n = topology->server_count;
    *design = (struct design){
        .server_count = n, .degree = topology->degree, .simplex = topology->simplex};
    design->parts = WEFT_NEW(arena, struct part, (size_t)topology->degree + 1);
    uint32_t slot = 0;
    uint32_t step = topology->simplex ? 1 : 2;
    for (uint32_t r = 0; r < topology->rings.ring_count; r += step) {
        const struct weft_ring *ring = &topology->rings.rings[r];
        if (ring->member_count != n || slot + step > topology->degree) {
            return false;
        }
        uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, n);
        memcpy(order, ring->members, n * sizeof *order);
        uint32_t group = ring->group < traffic->group_count ? ring->group : WEFT_NONE;
        design->parts[design->part_count++] = (struct part){true, slot, n, order, group, {1, 1}};
        slot += step;
    }
    for (; slot < topology->degree; slot++) {
        const uint32_t *plane = topology->planes + (size_t)slot * n;
        uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, n);
        uint32_t pairs = 0;
        uint32_t singles = n;
        for (uint32_t s = 0; s < n; s++) {
            if (plane[plane[s]] != s) {
                return false;
            }
            if (plane[s] == s) {
                order[--singles] = s;
            } else if (plane[s] > s) {
                order[pairs++] = s;
                order[pairs++] = plane[s];
            }
        }
        design->parts[design->part_count++] =
            (struct part){false, slot, n, order, WEFT_NONE, {1, 1}};
    }
    return true;
}

// Cycles alone, by hops weighted with the transfers: where simulations are dear, the best start.
static uint32_t find_seeds(struct design *seeds, const struct search *search, double seconds,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology_options options = {.method = WEFT_TOPOLOGY_WEFT,
                                            .simplex = search->simplex,
                                            .seconds = seconds,
                                            .seed = search->seed,
                                            .threads = search->threads,
                                            .stop = search->stop};
    struct weft_topology topology;
    struct weft_error error;
    const struct weft_cluster *cluster = search->cluster;
    if (!weft_topology_find(&topology, search->traffic, cluster->server_count, cluster->degree,
                            &options, arena, scratch, &error)) {
        return 0;
    }
    return design_from(&seeds[0], &topology, search->traffic, arena) ? 1 : 0;
}

// Mixed topologies by the loads of their links.
static uint32_t find_mixed_seeds(struct design *seeds, uint32_t seed_max,
                                 const struct search *search, double seconds,
                                 struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology_options options = {.method = WEFT_TOPOLOGY_WEFT,
                                            .simplex = search->simplex,
                                            .seconds = seconds,
                                            .seed = search->seed,
                                            .threads = search->threads,
                                            .stop = search->stop};
    struct weft_topology_candidate *candidates =
        WEFT_NEW(arena, struct weft_topology_candidate, seed_max);
    struct weft_error error;
    uint32_t count = 0;
    if (!weft_topology_candidates(candidates, seed_max, &count, search->traffic,
                                  search->cluster->degree, &options, arena, scratch, &error)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_topology_candidate *candidate = &candidates[i];
        seeds[i] = (struct design){.server_count = search->cluster->server_count,
                                   .degree = search->cluster->degree,
                                   .simplex = search->simplex,
                                   .part_count = candidate->part_count};
        seeds[i].parts = WEFT_NEW(arena, struct part, (size_t)candidate->part_count + 1);
        for (uint32_t p = 0; p < candidate->part_count; p++) {
            const struct weft_topology_part *part = &candidate->parts[p];
            bool is_cycle = part->kind != WEFT_TOPOLOGY_MATCHING;
            uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, part->size);
            memcpy(order, part->order, part->size * sizeof *order);
            seeds[i].parts[p] = (struct part){
                is_cycle, part->slot, part->size, order, is_cycle ? part->group : WEFT_NONE,
                {1, 1}};
        }
    }
    return count;
}

// Fills topology and network of a plan from a design.
static bool settle_design(struct weft_plan *plan, const struct search *search,
                          const struct design *design, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    uint32_t n = design->server_count;
    uint32_t *planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * design->degree);
    design_planes(planes, design);
    plan->topology = (struct weft_topology){
        .server_count = n, .degree = design->degree, .simplex = design->simplex, .planes = planes};
    double work_units = 0;
    if (!search_network(&plan->network, &work_units, search, design, arena, scratch)) {
        return false;
    }
    struct weft_ring_set rings =
        design_rings(design, search->traffic, &plan->network.fabric, arena, scratch);
    struct weft_ring *direct = WEFT_NEW(arena, struct weft_ring, (size_t)rings.ring_count + 1);
    uint32_t count = 0;
    for (uint32_t r = 0; r < rings.ring_count; r++) {
        const struct weft_ring *ring = &rings.rings[r];
        if (ring->hop_first[ring->member_count] == ring->member_count) {
            direct[count++] = *ring;
        }
    }
    plan->topology.rings = (struct weft_ring_set){count, direct};
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct part *part = &design->parts[p];
        uint32_t end = part->slot + (design->simplex ? 1 : 2);
        if (part->is_cycle && part->group != WEFT_NONE && end > plan->topology.allreduce_degree) {
            plan->topology.allreduce_degree = end;
        }
    }
    return true;
}

static bool plan_weft(struct weft_plan *plan, const struct search *search, double seconds,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_arena kept = arena_split(&scratch);
    struct design seeds[1 + MIXED_SEEDS];
    bool many = search->cluster->server_count > MANY_SERVERS;
    double finder_share = many ? FINDER_SHARE_MANY : FINDER_SHARE;
    uint32_t seed_count = find_seeds(seeds, search, seconds * finder_share, &kept, scratch);
    seed_count += find_mixed_seeds(seeds + seed_count, MIXED_SEEDS, search, seconds * MIXED_SHARE,
                                   &kept, scratch);
    struct design best;
    struct verdict verdict;
    double work_units = seconds * (1 - finder_share - MIXED_SHARE) * WORK_UNITS_PER_S;
    if (!search_run(&best, &verdict, search, seeds, seed_count, work_units, &kept, scratch) ||
        !settle_design(plan, search, &best, arena, scratch)) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "no fabric of %u ports a server connects %u servers",
                         search->cluster->degree, search->cluster->server_count);
    }
    plan->iteration_s = verdict.iteration_s;
    return true;
}

// ---- the paper's method ----

static bool plan_topoopt(struct weft_plan *plan, const struct search *search, double seconds,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error)
{
    static const uint32_t path_counts[PATH_COUNTS] = {1, 2, 4, 8};
    struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                            .simplex = search->simplex,
                                            .seconds = seconds,
                                            .seed = search->seed,
                                            .threads = search->threads,
                                            .stop = search->stop};
    const struct weft_cluster *cluster = search->cluster;
    if (!weft_topology_find(&plan->topology, search->traffic, cluster->server_count,
                            cluster->degree, &options, arena, scratch, error) ||
        !weft_topology_fabric(&plan->network.fabric, &plan->topology, cluster, arena, scratch,
                              error)) {
        return false;
    }
    struct weft_ring_set rings;
    weft_topology_rings(&rings, &plan->topology, &plan->network.fabric, arena);
    plan->network.rings = search_graph_rings(&rings, search, arena);
    struct weft_routes best = {.kind = WEFT_ROUTES_TABLE};
    double best_s = HUGE_VAL;
    double spent = 0;
    for (int i = 0; i < PATH_COUNTS; i++) {
        if (i > 0 &&
            (spent * (i + 2) / i > seconds * WORK_UNITS_PER_S || weft_stopped(search->stop))) {
            break;
        }
        struct weft_network *network = &plan->network;
        if (!weft_topology_routes(&network->routes, &plan->topology, &network->fabric,
                                  search->traffic, path_counts[i], arena, scratch, error)) {
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

// Fills in everything that follows from the chosen network.
static bool settle_figures(struct weft_plan *plan, const struct search *search,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct weft_network *network = &plan->network;
    WEFT_ASSERT(network->routes.fabric == &network->fabric);
    struct figures figures;
    figures_build(&figures, NULL, search->graph, network, scratch);
    plan->demand_weighted_hops = figures.demand_weighted_hops;
    plan->max_link_load_bytes = figures.max_link_load_bytes;
    plan->mean_link_load_bytes = figures.mean_link_load_bytes;
    plan->bandwidth_tax_ratio = figures.bandwidth_tax_ratio;
    plan->cost = weft_fabric_cost(&network->fabric.parts, &plan->cluster.prices);
    measure_topology(&plan->topology, &network->fabric, scratch);
    return weft_certificate_build(&plan->certificate, search->graph, search->cluster, network,
                                  plan->iteration_s, arena, scratch, error);
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

static bool find_good_enough(struct search *search, struct weft_arena kept,
                             struct weft_arena scratch, struct weft_error *error)
{
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
    struct weft_arena kept = arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &kept, scratch);
    const struct weft_topology_options *wanted = &options->topology;
    struct search search = {.graph = graph,
                            .traffic = &traffic,
                            .cluster = cluster,
                            .sim = options->sim,
                            .seed = wanted->seed,
                            .threads = wanted->threads,
                            .stop = wanted->stop,
                            .simplex = wanted->simplex,
                            .paths_max = cluster->server_count > MANY_SERVERS ? 1 : PATHS_MAX};
    if (graph->task_count <= BOUND_FIRST_TASKS &&
        !find_good_enough(&search, kept, scratch, error)) {
        return false;
    }
    search.sim.timeline = false;
    double seconds = wanted->seconds > 0 ? wanted->seconds : SECONDS_DEFAULT;
    *plan = (struct weft_plan){
        .cluster = *cluster, .method = wanted->method, .seed = wanted->seed, .sim = search.sim};
    bool found = wanted->method == WEFT_TOPOLOGY_TOPOOPT
                     ? plan_topoopt(plan, &search, seconds, arena, scratch, error)
                     : plan_weft(plan, &search, seconds, arena, scratch, error);
    return found && settle_figures(plan, &search, arena, scratch, error);
}
