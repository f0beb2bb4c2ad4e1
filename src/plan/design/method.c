// SPDX-License-Identifier: Apache-2.0
// The weft method from a task graph to a design: where the search begins, and how it is published.
//
// A search by simulation makes few steps, so that it begins at what cheap searches find: the
// paper's topology, cycles by weighted hops, mixed designs by link loads (src/topology/search), and
// where servers are many a single cycle with its cables side by side. docs/plan.md, "The loop".

#include "method.h"

#include "incumbent.h"
#include "paper.h"

#include <string.h>

// Paths a transfer may be split over during the search, 1 above MANY_SERVERS: of DLRM-128 with d =
// 4 two paths make a simulation four times as long and gain 0 to 5 % (docs/plan.md, "Many
// servers").
#define PATHS_MAX 4u
#define MANY_SERVERS 64u
// Shares of the effort for cycles by hops and for mixed designs by loads, and how many of the
// latter are taken. Of many servers few designs can be simulated, so that the first one has to be
// good. Not measured one by one: what they take is not there for simulations.
#define FINDER_SHARE 0.1
#define FINDER_SHARE_MANY 0.2
#define MIXED_SHARE 0.1
#define MIXED_SEEDS 1u
// An iteration this near to the bound is as good as any: the search ends.
#define GOOD_RATIO 1e-4
// A graph of more tasks gets its bounds once, at the end: before the search they would take longer
// than they can save. Not measured.
#define BOUND_FIRST_TASKS 6000u

struct search method_open(const struct weft_taskgraph *graph, const struct weft_traffic *traffic,
                          const struct weft_cluster *cluster,
                          const struct weft_plan_options *options,
                          const struct weft_environment *environment)
{
    struct search search = {.graph = graph,
                            .traffic = traffic,
                            .cluster = cluster,
                            .sim = options->sim,
                            .seed = environment->seed,
                            .threads = environment->threads,
                            .stop = environment->stop,
                            .simplex = options->topology.simplex,
                            .paths_max = cluster->server_count > MANY_SERVERS ? 1 : PATHS_MAX};
    search.sim.timeline = false;
    return search;
}

bool method_bound(struct search *search, struct weft_arena scratch, struct weft_error *error)
{
    if (search->graph->task_count > BOUND_FIRST_TASKS) {
        return true;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_certificate certificate;
    const struct weft_environment environment = search_environment(search, &kept, scratch, error);
    if (!weft_certificate_build(&certificate, search->graph, search->cluster, NULL, 0,
                                &environment)) {
        return false;
    }
    search->good_enough_s = certificate.lower_bound_s * (1 + GOOD_RATIO);
    return true;
}

static struct weft_topology_options seed_options(const struct search *search, double seconds)
{
    return (struct weft_topology_options){.method = WEFT_TOPOLOGY_WEFT,
                                          .degree = search->cluster->degree,
                                          .simplex = search->simplex,
                                          .seconds = seconds};
}

// Cycles through all servers serve other groups, too.
static void share_cycles(struct weft_design *design)
{
    for (uint32_t p = 0; p < design->part_count; p++) {
        struct weft_part *part = &design->parts[p];
        bool whole = weft_part_is_cycle(part) && part->size == design->server_count;
        part->shared_ring = whole ? SHARED_RING_WEIGHT : 0;
    }
}

// Cycles alone, by hops weighted with the transfers: where simulations take long, the best start.
static uint32_t find_seeds(struct weft_design *seeds, const struct search *search, double seconds,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology_options options = seed_options(search, seconds);
    struct weft_topology topology;
    struct weft_error error;
    const struct weft_environment environment = search_environment(search, arena, scratch, &error);
    if (!weft_topology_find(&topology, search->traffic, search->cluster->server_count, &options,
                            &environment)) {
        return 0;
    }
    if (!weft_design_from_topology(&seeds[0], &topology, search->traffic, arena, scratch)) {
        return 0;
    }
    share_cycles(&seeds[0]);
    return 1;
}

// All ports on one cycle through the servers in order, cables side by side: nothing is quicker
// where all that matters is one group at a time, and searches from cycles that differ come to it
// rarely.
static uint32_t find_ring_seed(struct weft_design *seed, const struct search *search,
                               struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = search->cluster->server_count;
    uint32_t degree = search->cluster->degree;
    uint32_t *planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)degree * n);
    for (uint32_t slot = 0; slot < degree; slot++) {
        bool dark = !search->simplex && slot + 1 == degree && degree % 2 == 1;
        bool back = !search->simplex && slot % 2 == 1;
        for (uint32_t s = 0; s < n; s++) {
            planes[(size_t)slot * n + s] = dark ? s : (back ? s + n - 1 : s + 1) % n;
        }
    }
    struct weft_topology topology = {
        .server_count = n, .degree = degree, .simplex = search->simplex, .planes = planes};
    if (!weft_design_from_topology(seed, &topology, search->traffic, arena, scratch)) {
        return 0;
    }
    share_cycles(seed);
    return 1;
}

uint32_t method_paper_design(struct weft_design *seed, const struct search *search,
                             struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology topology;
    struct weft_error error;
    if (!paper_topology(&topology, search, arena, scratch, &error)) {
        return 0;
    }
    weft_design_from_topology(seed, &topology, search->traffic, arena, scratch);
    seed->finder_paths = 1;
    return 1;
}

void method_offer_first(struct search *search, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_design paper;
    bool screened = search->cluster->server_count >= SCREENED_SERVERS_MIN; // it may be far behind
    if (!screened && incumbent_is_empty(search->incumbent) &&
        method_paper_design(&paper, search, &kept, scratch) > 0) {
        search->paper_score = search_offer(search, &paper, scratch);
        search->paper_known = true;
    }
}

// Mixed topologies by the loads of their links.
static uint32_t find_mixed_seeds(struct weft_design *seeds, uint32_t seed_max,
                                 const struct search *search, double seconds,
                                 struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology_options options = seed_options(search, seconds);
    struct weft_topology_candidate_list candidates;
    struct weft_error error;
    const struct weft_environment environment = search_environment(search, arena, scratch, &error);
    if (!weft_topology_candidates(&candidates, seed_max, search->traffic, &options, &environment)) {
        return 0;
    }
    for (uint32_t i = 0; i < candidates.count; i++) {
        seeds[i] = candidates.list[i].design;
        for (uint32_t p = 0; p < seeds[i].part_count; p++) {
            struct weft_part *part = &seeds[i].parts[p];
            part->group = weft_part_is_cycle(part) ? part->group : WEFT_NONE;
        }
        share_cycles(&seeds[i]);
    }
    return candidates.count;
}

bool method_publish(struct weft_plan *plan, const struct search *search,
                    const struct weft_design *design, struct weft_arena *arena,
                    struct weft_arena scratch)
{
    if (design->finder_paths > 0) {
        return paper_network(&plan->network, &plan->topology, search, design->finder_paths, arena,
                             scratch);
    }
    uint32_t n = design->server_count;
    uint32_t *planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * design->degree);
    weft_design_planes(planes, design);
    plan->topology = (struct weft_topology){
        .server_count = n, .degree = design->degree, .simplex = design->simplex, .planes = planes};
    double work_units = 0;
    if (!search_network(&plan->network, &work_units, search, design, arena, scratch)) {
        return false;
    }
    struct weft_ring_set rings =
        weft_design_rings(design, search->traffic, &plan->network.fabric, arena, scratch);
    struct weft_ring *direct = WEFT_NEW(arena, struct weft_ring, (size_t)rings.ring_count + 1);
    uint32_t count = 0;
    for (uint32_t r = 0; r < rings.ring_count; r++) {
        const struct weft_ring *ring = &rings.rings[r];
        if (ring->hop_first[ring->member_count] == ring->member_count) {
            direct[count++] = *ring;
        }
    }
    plan->topology.rings = (struct weft_ring_set){count, direct};
    return true;
}

bool method_search(struct scored_design *best, const struct search *search, double seconds,
                   const struct seeds *known, struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    uint32_t seed_count = known == NULL ? 0 : known->count;
    struct weft_design *seeds =
        WEFT_NEW(&kept, struct weft_design, (size_t)seed_count + 3 + MIXED_SEEDS);
    for (uint32_t i = 0; i < seed_count; i++) {
        seeds[i] = known->designs[i];
    }
    bool many = search->cluster->server_count > MANY_SERVERS;
    double finder_share = many ? FINDER_SHARE_MANY : FINDER_SHARE;
    struct search own = *search;
    seed_count += method_paper_design(seeds + seed_count, search, &kept, scratch);
    bool screened = search->cluster->server_count >= SCREENED_SERVERS_MIN;
    if (!screened) {
        seed_count +=
            find_seeds(seeds + seed_count, search, seconds * finder_share, &kept, scratch);
        seed_count += find_mixed_seeds(seeds + seed_count, MIXED_SEEDS, search,
                                       seconds * MIXED_SHARE, &kept, scratch);
    }
    if (many && !screened) {
        seed_count += find_ring_seed(seeds + seed_count, search, &kept, scratch);
    }
    double searched = screened ? 1 : 1 - finder_share - MIXED_SHARE;
    double work_units = seconds * searched * WORK_UNITS_PER_S;
    own.paper_units = seconds * WORK_UNITS_PER_S;
    const struct seeds all = {seeds, seed_count};
    return search_run(best, &own, &all, work_units, arena, scratch);
}
