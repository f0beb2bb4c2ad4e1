// SPDX-License-Identifier: Apache-2.0
// The weft method: seeds by hops and by loads, then the search over designs.

#include "method.h"

#include "paper.h"

#include <string.h>

// Paths a transfer may be split over; where servers are many, every path makes simulations dearer.
#define PATHS_MAX 4u
#define MANY_SERVERS 64u
// Share of the effort that goes into finding topologies by hops alone; of many servers few designs
// can be simulated, so that the first one has to be good.
#define FINDER_SHARE 0.1
#define FINDER_SHARE_MANY 0.2
#define MIXED_SHARE 0.1
#define MIXED_SEEDS 1u

struct search method_open(const struct weft_taskgraph *graph, const struct weft_traffic *traffic,
                          const struct weft_cluster *cluster,
                          const struct weft_plan_options *options)
{
    const struct weft_topology_options *wanted = &options->topology;
    struct search search = {.graph = graph,
                            .traffic = traffic,
                            .cluster = cluster,
                            .sim = options->sim,
                            .seed = wanted->seed,
                            .threads = wanted->threads,
                            .stop = wanted->stop,
                            .simplex = wanted->simplex,
                            .paths_max = cluster->server_count > MANY_SERVERS ? 1 : PATHS_MAX};
    search.sim.timeline = false;
    return search;
}

static struct weft_topology_options seed_options(const struct search *search, double seconds)
{
    return (struct weft_topology_options){.method = WEFT_TOPOLOGY_WEFT,
                                          .simplex = search->simplex,
                                          .seconds = seconds,
                                          .seed = search->seed,
                                          .threads = search->threads,
                                          .stop = search->stop};
}

// Cycles through all servers serve other groups, too.
static void lend_cycles(struct design *design)
{
    for (uint32_t p = 0; p < design->part_count; p++) {
        struct part *part = &design->parts[p];
        part->lend = part->is_cycle && part->size == design->server_count ? DESIGN_LEND : 0;
    }
}

// Cycles alone, by hops weighted with the transfers: where simulations are dear, the best start.
static uint32_t find_seeds(struct design *seeds, const struct search *search, double seconds,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology_options options = seed_options(search, seconds);
    struct weft_topology topology;
    struct weft_error error;
    const struct weft_cluster *cluster = search->cluster;
    if (!weft_topology_find(&topology, search->traffic, cluster->server_count, cluster->degree,
                            &options, arena, scratch, &error)) {
        return 0;
    }
    if (!design_from_topology(&seeds[0], &topology, search->traffic, arena, scratch)) {
        return 0;
    }
    lend_cycles(&seeds[0]);
    return 1;
}

// All ports on one cycle through the servers in order, cables side by side: nothing is quicker
// where all that matters is one group at a time, and searches from cycles that differ come to it
// rarely.
static uint32_t find_ring_seed(struct design *seed, const struct search *search,
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
    if (!design_from_topology(seed, &topology, search->traffic, arena, scratch)) {
        return 0;
    }
    lend_cycles(seed);
    return 1;
}

uint32_t method_paper_design(struct design *seed, const struct search *search,
                             struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology topology;
    struct weft_error error;
    if (!paper_topology(&topology, search, arena, scratch, &error)) {
        return 0;
    }
    design_from_topology(seed, &topology, search->traffic, arena, scratch);
    seed->paper_paths = 1;
    return 1;
}

// Mixed topologies by the loads of their links.
static uint32_t find_mixed_seeds(struct design *seeds, uint32_t seed_max,
                                 const struct search *search, double seconds,
                                 struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_topology_options options = seed_options(search, seconds);
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
                {1, 1},   0};
        }
        lend_cycles(&seeds[i]);
    }
    return count;
}

bool method_settle(struct weft_plan *plan, const struct search *search, const struct design *design,
                   struct weft_arena *arena, struct weft_arena scratch)
{
    if (design->paper_paths > 0) {
        struct weft_error error;
        return paper_network(&plan->network, &plan->topology, search, design->paper_paths, arena,
                             scratch, &error);
    }
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

bool method_search(struct design *best, struct verdict *verdict, const struct search *search,
                   double seconds, const struct design *known, uint32_t known_count,
                   struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct design *seeds = WEFT_NEW(&kept, struct design, known_count + 3 + MIXED_SEEDS);
    for (uint32_t i = 0; i < known_count; i++) {
        seeds[i] = known[i];
    }
    bool many = search->cluster->server_count > MANY_SERVERS;
    double finder_share = many ? FINDER_SHARE_MANY : FINDER_SHARE;
    uint32_t seed_count = known_count;
    seed_count += method_paper_design(seeds + seed_count, search, &kept, scratch);
    seed_count += find_seeds(seeds + seed_count, search, seconds * finder_share, &kept, scratch);
    seed_count += find_mixed_seeds(seeds + seed_count, MIXED_SEEDS, search, seconds * MIXED_SHARE,
                                   &kept, scratch);
    if (many) {
        seed_count += find_ring_seed(seeds + seed_count, search, &kept, scratch);
    }
    double work_units = seconds * (1 - finder_share - MIXED_SHARE) * WORK_UNITS_PER_S;
    struct search own = *search;
    own.paper_units = seconds * WORK_UNITS_PER_S;
    return search_run(best, verdict, &own, seeds, seed_count, work_units, arena, scratch);
}
