// SPDX-License-Identifier: Apache-2.0
// The weft method's parts on random instances: designs stay what they are under moves, sums of
// distances and loads equal those of plain searches, candidates hold what they promise.

#include "topology/search/hops.h"
#include "topology/search/load.h"
#include "topology/search/mix.h"
#include "weft/topology.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 60

static struct weft_arena arena;
static struct weft_arena scratch;

// ---- designs ----

static uint32_t divisor_below(uint32_t n, struct weft_rng *rng)
{
    uint32_t s = 1 + weft_rng_below(rng, n / 3);
    while (n % s != 0) {
        s--;
    }
    return s;
}

// Cycles, rings and a matching over all orbits, in a random proportion.
static struct weft_design random_design(uint32_t n, uint32_t symmetry, struct weft_rng *rng,
                                        struct weft_arena *room)
{
    uint32_t orbits = n / symmetry;
    uint32_t count = 1 + weft_rng_below(rng, 3);
    enum weft_part_kind kinds[3];
    uint32_t degree = 0;
    for (uint32_t p = 0; p < count; p++) {
        bool matching = p > 0 && symmetry == 1 && weft_rng_below(rng, 3) == 0;
        kinds[p] = weft_rng_below(rng, 2) == 0 ? WEFT_PART_CYCLE : WEFT_PART_RING;
        kinds[p] = matching ? WEFT_PART_MATCHING : kinds[p];
        degree += weft_part_planes(kinds[p]);
    }
    struct weft_design design = weft_design_open(n, degree, symmetry, count, room);
    uint32_t slot = 0;
    for (uint32_t p = 0; p < count; p++) {
        weft_design_add(&design, kinds[p], slot, NULL, orbits, room);
        slot += weft_part_planes(kinds[p]);
    }
    weft_design_light(&design, room);
    weft_design_shuffle(&design, rng);
    return design;
}

static void check_design(const struct weft_design *design, uint64_t seed)
{
    uint32_t n = design->server_count;
    struct weft_arena room = arena;
    for (uint32_t slot = 0; slot < design->degree; slot++) {
        bool *hit = WEFT_NEW(&room, bool, n);
        for (uint32_t v = 0; v < n; v++) {
            uint32_t to = design->next[(size_t)v * design->degree + slot];
            if (to >= n || hit[to]) {
                fail_msg("seed %llu: slot %u is no permutation", (unsigned long long)seed, slot);
            }
            hit[to] = true;
        }
    }
    for (uint32_t p = 0; p < design->part_count; p++) {
        const struct weft_part *part = &design->parts[p];
        if (part->kind == WEFT_PART_MATCHING) {
            continue;
        }
        bool *seen = WEFT_NEW(&room, bool, n);
        uint32_t at = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (seen[at]) {
                fail_msg("seed %llu: part %u closes after %u of %u", (unsigned long long)seed, p, i,
                         n);
            }
            seen[at] = true;
            at = design->next[(size_t)at * design->degree + part->slot];
        }
        assert_int_equal(at, 0);
    }
}

// Fails when repair_shifts takes every sum for a unit (cycles close early), and when an undo leaves
// the shifts.
static void moves_keep_cycles_whole_and_can_be_undone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct weft_arena before = arena;
        uint32_t n = 3 + weft_rng_below(&rng, 60);
        struct weft_design design = random_design(n, divisor_below(n, &rng), &rng, &arena);
        struct weft_part_copy copy = weft_part_copy_init(n, &arena);
        size_t size = (size_t)n * design.degree * sizeof(uint32_t);
        uint32_t *old = WEFT_NEW(&arena, uint32_t, (size_t)n * design.degree);
        for (int i = 0; i < 30; i++) {
            memcpy(old, design.next, size);
            uint32_t part = weft_design_move(&design, WEFT_MOVES_EDGES, &copy, &rng);
            check_design(&design, seed);
            if (part != WEFT_NONE && i % 3 == 0) {
                weft_design_undo(&design, part, &copy);
                if (memcmp(old, design.next, size) != 0) {
                    fail_msg("seed %llu: an undone move left a trace", (unsigned long long)seed);
                }
            }
        }
        arena = before;
    }
}

// ---- distances ----

static void plain_distances(const struct weft_design *design, uint32_t source, uint32_t *distance,
                            struct weft_arena room)
{
    uint32_t n = design->server_count;
    uint32_t *queue = WEFT_NEW(&room, uint32_t, n);
    memset(distance, 0xff, n * sizeof *distance);
    distance[source] = 0;
    queue[0] = source;
    for (uint32_t head = 0, tail = 1; head < tail; head++) {
        for (uint32_t s = 0; s < design->degree; s++) {
            uint32_t to = design->next[(size_t)queue[head] * design->degree + s];
            if (distance[to] == UINT32_MAX) {
                distance[to] = distance[queue[head]] + 1;
                queue[tail++] = to;
            }
        }
    }
}

// Fails when a round leaves out the last word of the rows.
static void sums_of_hops_equal_plain_searches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed + 1000);
        struct weft_arena before = arena;
        uint32_t n = 3 + weft_rng_below(&rng, seed % 10 == 0 ? 700 : 150);
        bool weighted = seed % 2 == 0;
        uint32_t symmetry = weighted ? 1 : divisor_below(n, &rng);
        struct weft_design design = random_design(n, symmetry, &rng, &arena);
        double *weights = weighted ? WEFT_NEW(&arena, double, (size_t)n *n) : NULL;
        for (size_t i = 0; weighted && i < (size_t)n * n; i++) {
            weights[i] = weft_rng_below(&rng, 2) * weft_rng_below(&rng, 4096);
        }
        if (weighted) {
            weights[1] = 4095; // the largest, so that weights are kept as they are
        }
        struct weft_hops hops;
        weft_hops_init(&hops, n, n / symmetry, weights, &arena);
        struct weft_hops_result result = weft_hops_sum(&hops, &design);
        uint32_t *distance = WEFT_NEW(&arena, uint32_t, n);
        double sum = 0;
        uint32_t diameter = 0;
        for (uint32_t s = 0; s < n; s++) {
            plain_distances(&design, s, distance, arena);
            for (uint32_t v = 0; v < n; v++) {
                sum += (weighted ? weights[(size_t)s * n + v] : 1) * distance[v] *
                       (weighted && s == v ? 0 : 1);
                diameter = distance[v] > diameter ? distance[v] : diameter;
            }
        }
        if ((double)result.sum * symmetry != sum || result.diameter != diameter) {
            fail_msg("seed %llu: %.0f hops, plain %.0f", (unsigned long long)seed,
                     (double)result.sum * symmetry, sum);
        }
        arena = before;
    }
}

// ---- loads ----

// The share of one unit from `from` to `to` on every slot, by walking all ways down.
static void plain_load(const struct weft_design *design, const uint32_t *to_distance, uint32_t at,
                       double bytes, double *link_bytes)
{
    uint32_t slots = design->degree;
    if (to_distance[at] == 0) {
        return;
    }
    uint32_t ways = 0;
    for (uint32_t s = 0; s < slots; s++) {
        ways += to_distance[design->next[(size_t)at * slots + s]] + 1 == to_distance[at];
    }
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t next = design->next[(size_t)at * slots + s];
        if (to_distance[next] + 1 == to_distance[at]) {
            link_bytes[(size_t)at * slots + s] += bytes / ways;
            plain_load(design, to_distance, next, bytes / ways, link_bytes);
        }
    }
}

// Fails when only one of several parents is taken (parents == 0 as a condition of the count).
// weft_load splits backwards from the receiver (it walks the sender's search tree): compare on the
// reverse space, demand turned round, which is the same in a design that runs both ways.
static void loads_equal_those_of_walking_every_way(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed + 2000);
        struct weft_arena before = arena;
        uint32_t n = 4 + weft_rng_below(&rng, 14);
        uint32_t slots = 4;
        struct weft_design design = weft_design_open(n, slots, 1, 2, &arena);
        for (uint32_t p = 0; p < 2; p++) {
            weft_design_add(&design, WEFT_PART_CYCLE, 2 * p, NULL, n, &arena);
        }
        weft_design_light(&design, &arena);
        weft_design_shuffle(&design, &rng);
        struct weft_load load;
        weft_load_init(&load, n, slots, &arena);
        double *expected = WEFT_NEW(&arena, double, (size_t)n *slots);
        uint32_t *distance = WEFT_NEW(&arena, uint32_t, n);
        for (uint32_t i = 0; i < n * 2; i++) {
            uint32_t from = weft_rng_below(&rng, n);
            uint32_t to = weft_rng_below(&rng, n);
            double bytes = from == to ? 0 : weft_rng_below(&rng, 1000);
            weft_load_add(&load, to, from, i % WEFT_LOAD_LANES, bytes);
            plain_distances(&design, to, distance, arena);
            plain_load(&design, distance, from, bytes, expected);
        }
        weft_load_measure(&load, &design);
        for (uint32_t v = 0; v < n; v++) {
            for (uint32_t s = 0; s < slots; s++) {
                // The slot back: cycles have forward and back slots side by side.
                uint32_t to = design.next[(size_t)v * slots + s];
                const double *lanes =
                    load.link_bytes + ((size_t)to * slots + (s ^ 1)) * WEFT_LOAD_LANES;
                double sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
                if (fabs(sum - expected[(size_t)v * slots + s]) > 1e-6) {
                    fail_msg("seed %llu: link %u -> %u carries %g, walked %g",
                             (unsigned long long)seed, to, v, sum, expected[(size_t)v * slots + s]);
                }
            }
        }
        arena = before;
    }
}

// ---- candidates ----

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static struct weft_traffic random_traffic(uint32_t n, struct weft_rng *rng, struct weft_arena *room)
{
    uint32_t group_count = weft_rng_below(rng, 5);
    struct weft_traffic_group *groups = WEFT_NEW(room, struct weft_traffic_group, 5);
    struct weft_traffic traffic = {.server_count = n, .group_count = group_count, .groups = groups};
    for (uint32_t g = 0; g < group_count; g++) {
        uint32_t *members = WEFT_NEW(room, uint32_t, n);
        for (uint32_t i = 0; i < n; i++) {
            members[i] = i;
        }
        weft_rng_shuffle(rng, members, n);
        uint32_t count = weft_rng_below(rng, 3) == 0 ? n : 2 + weft_rng_below(rng, n - 1);
        qsort(members, count, sizeof *members, compare_ids);
        double bytes = 1 + weft_rng_below(rng, 1000000);
        double wire = 2.0 * (count - 1) * bytes;
        groups[g] = (struct weft_traffic_group){count, members, bytes, 1, wire};
        traffic.allreduce_wire_bytes += wire;
    }
    double *transfers = WEFT_NEW(room, double, (size_t)n *n);
    for (uint32_t i = weft_rng_below(rng, 60); i > 0; i--) {
        uint32_t from = weft_rng_below(rng, n);
        uint32_t to = (from + 1 + weft_rng_below(rng, n - 1)) % n;
        double bytes = weft_rng_below(rng, 1000000);
        transfers[(size_t)from * n + to] += bytes;
        traffic.transfer_total_bytes += bytes;
    }
    traffic.transfer_bytes = transfers;
    return traffic;
}

// Every server must send what starts there; no interface can be idler than their mean.
static double least_busiest(const struct weft_traffic *traffic, uint32_t degree)
{
    double most = 0;
    for (uint32_t v = 0; v < traffic->server_count; v++) {
        double bytes = 0;
        for (uint32_t w = 0; w < traffic->server_count; w++) {
            bytes += traffic->transfer_bytes[(size_t)v * traffic->server_count + w];
        }
        for (uint32_t g = 0; g < traffic->group_count; g++) {
            const struct weft_traffic_group *group = &traffic->groups[g];
            if (bsearch(&v, group->members, group->member_count, sizeof v, compare_ids) != NULL) {
                bytes += group->wire_bytes / group->member_count;
            }
        }
        most = bytes > most ? bytes : most;
    }
    return most / degree;
}

static void check_candidate(const struct weft_topology_candidate *candidate,
                            const struct weft_traffic *traffic, uint64_t seed)
{
    const struct weft_topology *topology = &candidate->topology;
    struct weft_error error;
    if (!weft_topology_check(topology, traffic, scratch, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    struct weft_arena room = arena;
    struct weft_cluster cluster;
    struct weft_fabric fabric;
    uint32_t n = topology->server_count;
    assert_true(weft_cluster_build(&cluster, n, topology->degree, 1e9, &error));
    assert_true(weft_topology_fabric(&fabric, topology, &cluster, &room, scratch, &error));
    double *share = WEFT_NEW(&room, double, (size_t)traffic->group_count + 1);
    double *load = WEFT_NEW(&room, double, fabric.link_count);
    for (uint32_t r = 0; r < topology->rings.ring_count; r++) {
        const struct weft_ring *ring = &topology->rings.rings[r];
        share[ring->group] += ring->share_ratio;
        double bytes =
            ring->share_ratio * traffic->groups[ring->group].wire_bytes / ring->member_count;
        for (uint32_t i = 0; i < ring->member_count; i++) {
            uint32_t at = ring->members[i];
            for (uint32_t h = ring->hop_first[i]; h < ring->hop_first[i + 1]; h++) {
                const struct weft_link *link = &fabric.links[ring->hop_links[h]];
                assert_int_equal(link->from, at);
                at = link->to;
                load[ring->hop_links[h]] += bytes / link->width;
            }
            assert_int_equal(at, ring->members[(i + 1) % ring->member_count]);
        }
    }
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        assert_true(fabs(share[g] - 1) < 1e-9);
    }
    for (uint32_t l = 0; l < fabric.link_count; l++) {
        assert_true(load[l] <= candidate->busiest_bytes * (1 + 1e-9));
    }
    assert_true(candidate->busiest_bytes >= least_busiest(traffic, topology->degree) * (1 - 1e-9));
}

// Fails when the two ways of a ring get the whole share each (double share = share_ratio).
static void candidates_hold_what_they_promise(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed + 3000);
        struct weft_arena before = arena;
        uint32_t n = 2 + weft_rng_below(&rng, seed % 8 == 0 ? 40 : 16);
        bool simplex = weft_rng_below(&rng, 3) == 0;
        uint32_t least = simplex || n == 2 ? 1 : 2;
        uint32_t most = n - 1 < 9 ? n - 1 : 9;
        uint32_t degree = least + weft_rng_below(&rng, most - least + 1);
        struct weft_traffic traffic = random_traffic(n, &rng, &arena);
        struct weft_topology_options options = {
            .method = WEFT_TOPOLOGY_WEFT, .simplex = simplex, .seconds = 0.01};
        struct weft_topology_candidate_list found = {0};
        struct weft_error error;
        options.degree = degree;
        bool answered = weft_topology_candidates(
            &found, 3, &traffic, &options,
            &(struct weft_environment){
                .seed = seed, .threads = 1, .arena = &arena, .scratch = scratch, .error = &error});
        if (!answered || found.count == 0) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        bool uniform = traffic.group_count == 0 && traffic.transfer_total_bytes <= 0;
        for (uint32_t i = 0; i < found.count && !uniform; i++) {
            check_candidate(&found.list[i], &traffic, seed);
        }
        arena = before;
    }
}

// The score that the annealing carried along is that of the state it returns, measured anew. Fails
// when a moved part's rings are not charged along their new order.
static void annealed_states_have_the_score_they_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
        struct weft_rng rng;
        weft_rng_init(&rng, seed + 4000);
        struct weft_arena before = arena;
        uint32_t n = 5 + weft_rng_below(&rng, seed % 8 == 0 ? 40 : 12);
        bool simplex = seed % 3 == 0;
        struct weft_traffic traffic = random_traffic(n, &rng, &arena);
        struct weft_mix_space space;
        weft_mix_space_init(&space, &traffic, 4, simplex, &arena);
        struct weft_mix_split splits[16];
        uint32_t count = weft_mix_list_splits(splits, 16, &space);
        struct weft_mix_state mixed;
        weft_mix_state_init(&mixed, &space, &splits[weft_rng_below(&rng, count)], &arena);
        struct weft_mix_chain chain = {
            .space = &space, .state = &mixed, .fresh = true, .work_units = 2e6, .steps_max = 300};
        weft_mix_anneal(&chain, &rng, scratch);
        struct weft_load load;
        weft_load_init(&load, n, 4, &arena);
        for (uint32_t i = 0; i < n * n; i++) {
            weft_load_add(&load, i / n, i % n, 0, traffic.transfer_bytes[i]);
        }
        load.transfer_bytes = traffic.transfer_total_bytes;
        load.scale_bytes = traffic.transfer_total_bytes + traffic.allreduce_wire_bytes;
        load.scale_bytes = load.scale_bytes > 0 ? load.scale_bytes / (4.0 * n) : 1;
        for (uint32_t r = 0; r < space.ring_count; r++) {
            const struct weft_mix_ring *ring = &mixed.rings[r];
            const uint32_t *order = weft_mix_order(&mixed, ring);
            double bytes = ring->units * weft_mix_unit_bytes(&space, ring->group);
            for (uint32_t i = 0; i < ring->size; i++) {
                uint32_t to = order[(i + 1) % ring->size];
                weft_load_add(&load, order[i], to, ring->lane, bytes);
                weft_load_add(&load, to, order[i], ring->lane, simplex ? 0 : bytes);
            }
        }
        double score = weft_load_measure(&load, &mixed.design);
        if (fabs(score - mixed.score) > 1e-9 * score) {
            fail_msg("seed %llu: score %.12g, measured %.12g", (unsigned long long)seed,
                     mixed.score, score);
        }
        arena = before;
    }
}

// Fails when chains draw from one generator split by the number of threads.
static void candidates_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct weft_arena before = arena;
    struct weft_rng rng;
    weft_rng_init(&rng, 77);
    struct weft_traffic traffic = random_traffic(16, &rng, &arena);
    struct weft_topology_candidate first[3];
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        struct weft_topology_options options = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 0.1};
        struct weft_topology_candidate_list found = {0};
        struct weft_error error;
        options.degree = 4;
        assert_true(weft_topology_candidates(&found, 3, &traffic, &options,
                                             &(struct weft_environment){.seed = 5,
                                                                        .threads = threads,
                                                                        .arena = &arena,
                                                                        .scratch = scratch,
                                                                        .error = &error}));
        for (uint32_t i = 0; i < found.count; i++) {
            if (threads == 1) {
                first[i] = found.list[i];
            }
            assert_memory_equal(first[i].topology.planes, found.list[i].topology.planes,
                                sizeof(uint32_t) * 16 * 4);
            assert_true(first[i].busiest_bytes == found.list[i].busiest_bytes);
        }
    }
    arena = before;
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_keep_cycles_whole_and_can_be_undone),
        cmocka_unit_test(sums_of_hops_equal_plain_searches),
        cmocka_unit_test(loads_equal_those_of_walking_every_way),
        cmocka_unit_test(candidates_hold_what_they_promise),
        cmocka_unit_test(annealed_states_have_the_score_they_say),
        cmocka_unit_test(candidates_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests_name("weft parts", tests, NULL, NULL);
}
