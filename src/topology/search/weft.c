// SPDX-License-Identifier: Apache-2.0
// The weft method: any Hamiltonian cycles, chosen by search.
//
// An AllReduce does not care which Hamiltonian cycle it runs on, and among all unions of cycles
// there are some whose distances come near the least that any network can have (Moore's bound).
// Uniform demand is annealed by distances alone (anneal.c), real traffic by the loads of links as
// well, over all splits of the degree (mix.h). docs/weft-topology.md has derivation, effort and
// figures.

#include "anneal.h"
#include "mix.h"

// The effort where none is asked for.
#define SECONDS_DEFAULT 2.0
// Steps of a chain at most: more no longer help, so that small searches end early however much
// effort is given (docs/weft-topology.md, "Effort").
#define STEPS_BASE 50000u
#define STEPS_PER_SERVER 20000u
// What pairs without transfers weigh, as a share of the mean pair: they stay near at no cost.
#define TRACE_RATIO 1e-3

// The least sum of distances over ordered pairs of any such design (Moore's bound).
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
static void choose_parts(struct weft_hops_options *search, uint32_t degree, bool simplex)
{
    uint32_t n = search->server_count;
    bool pair = n == 2 && !simplex;
    search->ring_count = simplex ? degree : 0;
    search->cycle_count = simplex || pair ? 0 : degree / 2;
    search->matching_count = simplex ? 0 : pair ? degree : degree % 2;
}

// The rings that run along the parts through all servers, one for each direction, as those of
// `group`. Each has the same share.
static struct weft_ring_set list_rings(const struct weft_design *design, uint32_t group,
                                       struct weft_arena *arena)
{
    uint32_t n = design->server_count;
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, design->degree);
    uint32_t count = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct weft_part *part = &design->parts[p];
        if (part->kind == WEFT_PART_MATCHING && n > 2) {
            continue;
        }
        uint32_t *servers = WEFT_NEW_RAW(arena, uint32_t, n);
        weft_design_walk(design, part, servers); // a matching of two servers is a ring
        rings[count++] = (struct weft_ring){group, n, servers, 0, NULL, NULL, NULL};
        if (part->kind == WEFT_PART_CYCLE) {
            uint32_t *back = WEFT_NEW_RAW(arena, uint32_t, n);
            for (uint32_t i = 0; i < n; i++) {
                back[i] = servers[n - 1 - i];
            }
            rings[count++] = (struct weft_ring){group, n, back, 0, NULL, NULL, NULL};
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
    double trace = TRACE_RATIO * traffic->transfer_total_bytes / (double)count;
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

// All ports to cycles through everybody, fewest mean hops: of the transfers if there are any.
bool weft_topology_find_weft(struct weft_topology *topology,
                             const struct weft_topology_request *request,
                             const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_environment inner = *environment;
    uint32_t n = request->server_count;
    uint32_t degree = request->options->degree;
    bool simplex = request->options->simplex;
    struct weft_hops_options search = {
        .server_count = n,
        .weights = weigh_pairs(request->traffic, &inner.scratch),
        .work_units = work_units(request->options),
        .steps_max = STEPS_BASE + STEPS_PER_SERVER * n,
        .sum_bound = least_sum(n, degree, simplex),
    };
    choose_parts(&search, degree, simplex);
    struct weft_hops_found found;
    weft_hops_search(&found, &search, &inner);
    uint32_t group = find_whole_group(request->traffic, n);
    uint32_t ring_slots = 2 * search.cycle_count + search.ring_count;
    uint32_t *planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * degree);
    weft_design_planes(planes, &found.design);
    struct weft_topology result = {
        .server_count = n,
        .degree = degree,
        .simplex = simplex,
        .planes = planes,
        .allreduce_degree = n == 2 ? degree : ring_slots,
        .steps = found.steps,
        .stopped = found.stopped,
    };
    if (group != WEFT_NONE) {
        result.rings = list_rings(&found.design, group, arena);
    }
    if (!weft_topology_measure(&result, arena, inner.scratch)) {
        return fail_unconnected(n, degree, environment->error);
    }
    *topology = result;
    return true;
}

bool weft_topology_find_mixed(struct weft_topology_candidate_list *candidates,
                              uint32_t candidate_max, const struct weft_topology_request *request,
                              const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    uint32_t degree = request->options->degree;
    struct weft_mix_space space;
    weft_mix_space_init(&space, request->traffic, degree, request->options->simplex,
                        &inner.scratch);
    struct weft_mix_found found;
    weft_mix_search(&found, candidate_max, &space, work_units(request->options), &inner);
    struct weft_topology_candidate *list =
        WEFT_NEW(environment->arena, struct weft_topology_candidate, found.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < found.count; i++) {
        struct weft_topology_candidate *candidate = &list[count];
        count += weft_mix_publish(candidate, &space, &found.states[i], environment->arena,
                                  inner.scratch);
        candidate->topology.steps = found.steps;
        candidate->topology.stopped = found.stopped;
    }
    if (count == 0) {
        return fail_unconnected(request->server_count, degree, environment->error);
    }
    *candidates = (struct weft_topology_candidate_list){count, list};
    return true;
}
