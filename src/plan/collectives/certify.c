// SPDX-License-Identifier: Apache-2.0
// What follows from a plan's network and iteration time: the task graph as it is played, its
// metrics and its certificate.
//
// Where collectives run as something else than rings, the graph that is played has their schedules
// as transfers (weft_taskgraph_expand), and two sorts of bounds no longer hold: those of this
// fabric, which count on its rings, and, where some member moves less than it would on a ring (as
// in trees), those for balanced collectives. docs/plan.md, "Collectives".

#include "collectives.h"

#include "plan/demand/metrics.h"
#include "plan/demand/ties.h"
#include "weft/graph.h"

#include <string.h>

bool weft_plan_played(struct weft_taskgraph *played, const struct weft_plan *plan,
                      const struct weft_taskgraph *graph, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    if (plan->collective_count == 0) {
        *played = *graph;
        return true;
    }
    const struct weft_environment environment = {
        .arena = arena, .scratch = scratch, .error = error};
    return weft_taskgraph_expand(played, graph, plan->collectives, plan->collective_count,
                                 &plan->network, &environment) ||
           weft_wrap(error, "collectives");
}

// The kinds of a choice's tasks and the largest of each; 0 = none.
void collectives_list_tasks(uint64_t largest[WEFT_TASK_KIND_COUNT],
                            const struct weft_collective_choice *choice,
                            const struct weft_taskgraph *graph)
{
    memset(largest, 0, WEFT_TASK_KIND_COUNT * sizeof *largest);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint64_t size_bytes = graph->size_bytes[t];
        if (weft_task_is_collective(graph, t) && graph->group[t] == choice->group &&
            size_bytes >= choice->size_min_bytes && size_bytes <= choice->size_max_bytes &&
            size_bytes > largest[graph->kind[t]]) {
            largest[graph->kind[t]] = size_bytes;
        }
    }
}

// ---- the certificate ----

// Whether every rank sends and receives at least what it would on a ring.
static bool is_balanced(const struct weft_schedule *schedule, struct weft_arena scratch)
{
    uint32_t n = schedule->rank_count;
    uint64_t *sent = WEFT_NEW(&scratch, uint64_t, 2 * (size_t)n);
    uint64_t *received = sent + n;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            if (transfer->from != transfer->to) {
                sent[transfer->from] += transfer->slot_count;
                received[transfer->to] += transfer->slot_count;
            }
        }
    }
    uint64_t turns = schedule->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
    uint64_t needed = turns * (n - 1) * schedule->chunk_count; // n-ths of a slot
    for (uint32_t r = 0; r < n; r++) {
        if (sent[r] * n < needed || received[r] * n < needed) {
            return false;
        }
    }
    return true;
}

// Whether all schedules of all choices are balanced: those of the largest task of each kind, as the
// shares of a schedule do not depend on its size. Fails as the builder of a choice does.
static bool all_balanced(bool *balanced, const struct weft_plan *plan,
                         const struct weft_taskgraph *graph, struct weft_arena scratch,
                         struct weft_error *error)
{
    *balanced = true;
    struct weft_arena kept = weft_arena_split(&scratch);
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        uint64_t largest[WEFT_TASK_KIND_COUNT];
        collectives_list_tasks(largest, &plan->collectives[c], graph);
        for (enum weft_task_kind kind = 0; kind < WEFT_TASK_KIND_COUNT; kind++) {
            struct weft_arena arena = kept;
            struct weft_placed_schedule placed;
            if (largest[kind] == 0) {
                continue;
            }
            const struct weft_collective_call call = {kind, largest[kind]};
            const struct weft_environment inner = {
                .arena = &arena, .scratch = scratch, .error = error};
            if (!weft_collective_choice_build(&placed, &plan->collectives[c], &call, graph,
                                              &plan->network, &inner)) {
                return false;
            }
            *balanced = *balanced && is_balanced(&placed.schedule, scratch);
        }
    }
    return true;
}

bool collectives_certify(struct weft_certificate *certificate, const struct weft_plan *plan,
                         const struct weft_taskgraph *graph, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    bool rings = plan->collective_count == 0;
    bool balanced = true;
    const struct weft_environment environment = {
        .arena = arena, .scratch = scratch, .error = error};
    // The bounds of this fabric count on its rings.
    if (!all_balanced(&balanced, plan, graph, scratch, error) ||
        !weft_certificate_build(certificate, graph, &plan->cluster, rings ? &plan->network : NULL,
                                plan->iteration_s, &environment)) {
        return false;
    }
    if (balanced) {
        return true;
    }
    struct weft_bound *kept = WEFT_NEW(arena, struct weft_bound, certificate->bound_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        if (certificate->bounds[i].any_collectives) {
            kept[count++] = certificate->bounds[i];
        }
    }
    weft_certificate_conclude(certificate, kept, count, plan->iteration_s);
    return true;
}

// ---- all of it ----

// Whether a plane leads along all hops of a ring.
static bool plane_holds(const struct weft_topology *topology, uint32_t plane,
                        const struct weft_ring *ring)
{
    const uint32_t *to = topology->planes + (size_t)plane * topology->server_count;
    uint32_t i = 0;
    while (i < ring->member_count &&
           to[ring->members[i]] == ring->members[(i + 1) % ring->member_count]) {
        i++;
    }
    return i == ring->member_count;
}

// Hops between servers, and how many of a server's ports carry rings.
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
    topology->allreduce_degree = 0;
    for (uint32_t p = 0; p < topology->degree; p++) {
        bool carries = false;
        for (uint32_t r = 0; r < topology->rings.ring_count && !carries; r++) {
            carries = plane_holds(topology, p, &topology->rings.rings[r]);
        }
        topology->allreduce_degree += carries ? 1 : 0;
    }
}

// Plays the iteration once more, with its timeline. No ties where it fails: the checker says that
// it finds another time, if it does.
static void find_ties(struct weft_plan *plan, const struct weft_taskgraph *played,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_sim_options timed = plan->sim;
    struct weft_sim_job job = {played, NULL, plan->network.rings, NULL};
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_sim_result result;
    struct weft_error error;
    timed.timeline = true;
    if (played->need != NULL || timed.engine != WEFT_ENGINE_FLOW ||
        !weft_sim_run_jobs(
            &result, &plan->network, &job, 1, &timed,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error})) {
        return;
    }
    const struct weft_task_times times = {result.task_start_ps[0], result.task_end_ps[0],
                                          result.iteration_ps[0]};
    ties_build(&plan->ties, played, &times, arena, scratch);
}

bool collectives_finish(struct weft_plan *plan, const struct search *search,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    struct weft_network *network = &plan->network;
    WEFT_ASSERT(network->routes.fabric == &network->fabric);
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_taskgraph played;
    if (!weft_plan_played(&played, plan, search->graph, &kept, scratch, error)) {
        return false;
    }
    struct metrics metrics;
    metrics_build(&metrics, NULL, &played, network, scratch);
    plan->demand_weighted_hops = metrics.demand_weighted_hops;
    plan->max_link_load_bytes = metrics.max_link_load_bytes;
    plan->mean_link_load_bytes = metrics.mean_link_load_bytes;
    plan->bandwidth_tax_ratio = metrics.bandwidth_tax_ratio;
    plan->cost = weft_fabric_cost(&network->fabric.parts, &plan->cluster.prices);
    measure_topology(&plan->topology, &network->fabric, scratch);
    if (plan->ties.first == NULL) {
        find_ties(plan, &played, arena, scratch);
    }
    return collectives_certify(&plan->certificate, plan, search->graph, arena, scratch, error);
}
