// SPDX-License-Identifier: Apache-2.0
// The weft method: any Hamiltonian cycles, chosen by search.

#include "anneal.h"
#include "mix.h"
#include "topology/internal.h"

#define SECONDS_DEFAULT 2.0
// More steps than these no longer help: small problems end early however long they may take.
#define STEPS_BASE 50000u
#define STEPS_PER_NODE 20000u

// The least sum of distances over ordered pairs of any such wiring (Moore's bound).
static uint64_t least_sum(uint32_t n, uint32_t degree, bool directed)
{
    uint64_t left = n - 1;
    uint64_t layer = degree;
    uint64_t sum = 0;
    for (uint64_t hops = 1; left > 0; hops++) {
        uint64_t here = layer < left ? layer : left;
        here = here == 0 ? left : here; // degree 1: nothing grows
        sum += here * hops;
        left -= here;
        layer = here * (directed ? degree : degree - 1);
    }
    return sum * n;
}

// Which parts fill the ports of uniform demand: cycles, and a matching where a duplex port is left.
static void choose_parts(struct weft_wiring_options *search, uint32_t degree, bool simplex)
{
    uint32_t n = search->node_count;
    bool pair = n == 2 && !simplex;
    search->ring_count = simplex ? degree : 0;
    search->cycle_count = simplex || pair ? 0 : degree / 2;
    search->matching_count = simplex ? 0 : pair ? degree : degree % 2;
}

// The rings that run along the parts through all servers, one for each direction, as those of
// `group`. Each has the same share.
static struct weft_ring_set list_rings(const struct weft_wiring *wiring, uint32_t group,
                                       struct weft_arena *arena)
{
    uint32_t n = wiring->node_count;
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, wiring->slot_count);
    uint32_t count = 0;
    for (uint32_t p = 0; p < wiring->part_count; p++) {
        const struct weft_part *part = &wiring->parts[p];
        if (part->kind == WEFT_PART_MATCHING && n > 2) {
            continue;
        }
        uint32_t *nodes = WEFT_NEW_RAW(arena, uint32_t, n);
        weft_wiring_walk(wiring, part, nodes); // a matching of two servers is a ring
        rings[count++] = (struct weft_ring){group, n, nodes, 0, NULL, NULL};
        if (part->kind == WEFT_PART_CYCLE) {
            uint32_t *back = WEFT_NEW_RAW(arena, uint32_t, n);
            for (uint32_t i = 0; i < n; i++) {
                back[i] = nodes[n - 1 - i];
            }
            rings[count++] = (struct weft_ring){group, n, back, 0, NULL, NULL};
        }
    }
    for (uint32_t r = 0; r < count; r++) {
        rings[r].share_ratio = 1.0 / count;
    }
    return (struct weft_ring_set){count, rings};
}

static double work_units(const struct weft_topology_options *options)
{
    double seconds = options->seconds > 0 ? options->seconds : SECONDS_DEFAULT;
    return seconds * WEFT_WORK_UNITS_PER_S;
}

// Transfers plus a trace of uniform demand, which keeps the other pairs near; NULL if none.
static const double *weigh_pairs(const struct weft_traffic *traffic, struct weft_arena *arena)
{
    if (traffic == NULL || traffic->transfer_total_bytes <= 0) {
        return NULL;
    }
    size_t count = (size_t)traffic->server_count * traffic->server_count;
    double *weights = WEFT_NEW_RAW(arena, double, count);
    double trace = 1e-3 * traffic->transfer_total_bytes / (double)count;
    for (size_t i = 0; i < count; i++) {
        weights[i] = traffic->transfer_bytes[i] + trace;
    }
    return weights;
}

// The traffic group of all servers: 0 for uniform demand, WEFT_NONE if there is none.
static uint32_t find_whole_group(const struct weft_traffic *traffic, uint32_t n)
{
    if (traffic == NULL || traffic->group_count == 0) {
        return 0;
    }
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        if (traffic->groups[g].member_count == n) {
            return g;
        }
    }
    return WEFT_NONE;
}

static bool fail_unconnected(uint32_t server_count, uint32_t degree, struct weft_error *error)
{
    return weft_fail(error, WEFT_INFEASIBLE, "no fabric of degree %u connects %u servers", degree,
                     server_count);
}

static bool is_uniform(const struct weft_traffic *traffic)
{
    return traffic == NULL || (traffic->group_count == 0 && traffic->transfer_total_bytes <= 0);
}

// All ports to cycles through everybody, fewest mean hops: of the transfers if there are any.
bool weft_topology_find_weft(struct weft_topology *topology, const struct weft_traffic *traffic,
                             uint32_t server_count, uint32_t degree,
                             const struct weft_topology_options *options, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error)
{
    struct weft_wiring_options search = {
        .node_count = server_count,
        .weights = weigh_pairs(traffic, &scratch),
        .work_units = work_units(options),
        .steps_max = STEPS_BASE + STEPS_PER_NODE * server_count,
        .sum_bound = least_sum(server_count, degree, options->simplex),
        .seed = options->seed,
        .threads = options->threads,
        .stop = options->stop,
    };
    choose_parts(&search, degree, options->simplex);
    struct weft_wiring_result found;
    weft_wiring_search(&found, &search, arena, scratch);
    uint32_t group = find_whole_group(traffic, server_count);
    uint32_t ring_slots = 2 * search.cycle_count + search.ring_count;
    struct weft_topology result = {
        .server_count = server_count,
        .degree = degree,
        .simplex = options->simplex,
        .planes = weft_wiring_planes(&found.wiring, arena),
        .allreduce_degree = server_count == 2 ? degree : ring_slots,
        .steps = found.steps,
        .stopped = found.stopped,
    };
    if (group != WEFT_NONE) {
        result.rings = list_rings(&found.wiring, group, arena);
    }
    if (!weft_topology_measure(&result, arena, scratch)) {
        return fail_unconnected(server_count, degree, error);
    }
    *topology = result;
    return true;
}

bool weft_topology_candidates(struct weft_topology_candidate *candidates, uint32_t candidate_max,
                              uint32_t *candidate_count, const struct weft_traffic *traffic,
                              uint32_t degree, const struct weft_topology_options *options,
                              struct weft_arena *arena, struct weft_arena scratch,
                              struct weft_error *error)
{
    WEFT_ASSERT(candidate_max > 0);
    uint32_t n = traffic->server_count;
    if (!weft_topology_check_options(n, degree, options, error)) {
        return false;
    }
    if (is_uniform(traffic)) {
        candidates[0] = (struct weft_topology_candidate){.busiest_bytes = 0};
        *candidate_count = 1;
        return weft_topology_find_weft(&candidates[0].topology, traffic, n, degree, options, arena,
                                       scratch, error);
    }
    struct weft_mix_problem problem;
    weft_mix_problem_init(&problem, traffic, degree, options->simplex, &scratch);
    struct weft_mix_state *states = WEFT_NEW(&scratch, struct weft_mix_state, candidate_max);
    uint64_t steps = 0;
    bool stopped = false;
    uint32_t count = weft_mix_search(states, candidate_max, &steps, &stopped, &problem, options,
                                     work_units(options), arena, scratch);
    uint32_t published = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_topology_candidate *candidate = &candidates[published];
        published += weft_mix_publish(candidate, &problem, &states[i], arena, scratch);
        candidate->topology.steps = steps;
        candidate->topology.stopped = stopped;
    }
    *candidate_count = published;
    return published > 0 || fail_unconnected(n, degree, error);
}
