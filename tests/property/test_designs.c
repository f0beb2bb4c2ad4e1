// SPDX-License-Identifier: Apache-2.0
// Designs: whatever the traffic and the moves, planes stay permutations and rings stay rings.

#include "../unit/plan_cases.h"

#include "plan/design/templates.h"
#include "weft/graph.h"

#include <math.h>
#include <string.h>

#define SEEDS 200

// Random groups and transfers over n servers.
static struct weft_taskgraph random_graph(uint32_t n, struct weft_rng *rng)
{
    static struct case_tasks list;
    memset(&list, 0, sizeof list);
    uint32_t group_count = weft_rng_below(rng, 5);
    uint32_t *servers = WEFT_NEW(&case_arena, uint32_t, (size_t)n * 5);
    for (uint32_t g = 0; g < group_count; g++) {
        uint32_t *members = servers + (size_t)g * n;
        for (uint32_t s = 0; s < n; s++) {
            members[s] = s;
        }
        weft_rng_shuffle(rng, members, n);
        uint32_t count = weft_rng_below(rng, 3) == 0 ? n : 1 + weft_rng_below(rng, n);
        case_allreduce(&list, members, count, 1 + weft_rng_below(rng, 1000000));
    }
    for (uint32_t i = weft_rng_below(rng, 60); i > 0; i--) {
        case_transfer(&list, weft_rng_below(rng, n), weft_rng_below(rng, n),
                      weft_rng_below(rng, 1000000));
    }
    return case_graph(&list, n);
}

static struct weft_traffic random_traffic(uint32_t n, struct weft_rng *rng)
{
    struct weft_taskgraph graph = random_graph(n, rng);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, &graph, &case_arena, case_scratch);
    return traffic;
}

// Every cycle of a group is its ring each way, on its own links, beside those that it borrows.
static void check_own_rings(const struct weft_design *design, const struct weft_traffic *traffic,
                            const uint32_t *direct, uint64_t seed)
{
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        uint32_t own = 0;
        for (uint32_t p = 0; p < design->part_count; p++) {
            bool is_own = weft_part_is_cycle(&design->parts[p]) && design->parts[p].group == g;
            own += is_own ? (design->simplex ? 1 : 2) : 0;
        }
        if (direct[g] < own) {
            fail_msg("seed %llu: a ring of group %u leaves its cycle", (unsigned long long)seed, g);
        }
    }
}

static void check_design(const struct weft_design *design, const struct weft_traffic *traffic,
                         uint64_t seed)
{
    uint32_t n = design->server_count;
    struct weft_arena arena = case_arena;
    uint32_t *planes = WEFT_NEW(&arena, uint32_t, (size_t)n * design->degree);
    weft_design_planes(planes, design);
    for (uint32_t p = 0; p < design->degree; p++) {
        if (!weft_graph_is_permutation(planes + (size_t)p * n, n, case_scratch)) {
            fail_msg("seed %llu: plane %u", (unsigned long long)seed, p);
        }
    }
    struct weft_cluster cluster = case_cluster(n, design->degree);
    struct weft_fabric fabric;
    struct weft_error error;
    if (!weft_design_fabric(&fabric, design, &cluster, &arena, case_scratch, &error)) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    if (!weft_fabric_check_connected(&fabric, case_scratch, &error)) {
        return;
    }
    struct weft_ring_set rings = weft_design_rings(design, traffic, &fabric, &arena, case_scratch);
    double *shares = WEFT_NEW(&arena, double, (size_t)traffic->group_count + 1);
    uint32_t *direct = WEFT_NEW(&arena, uint32_t, (size_t)traffic->group_count + 1);
    for (uint32_t r = 0; r < rings.ring_count; r++) {
        const struct weft_ring *ring = &rings.rings[r];
        const struct weft_traffic_group *group = &traffic->groups[ring->group];
        assert_int_equal(ring->member_count, group->member_count);
        uint8_t *seen = WEFT_NEW(&arena, uint8_t, n);
        for (uint32_t i = 0; i < ring->member_count; i++) {
            seen[ring->members[i]]++;
            uint32_t at = ring->members[i];
            for (uint32_t l = ring->hop_first[i]; l < ring->hop_first[i + 1]; l++) {
                assert_int_equal(fabric.links[ring->hop_links[l]].from, at);
                at = fabric.links[ring->hop_links[l]].to;
            }
            assert_int_equal(at, ring->members[(i + 1) % ring->member_count]);
        }
        for (uint32_t i = 0; i < group->member_count; i++) {
            assert_int_equal(seen[group->members[i]], 1);
        }
        shares[ring->group] += ring->share_ratio;
        direct[ring->group] += ring->hop_first[ring->member_count] == ring->member_count ? 1 : 0;
    }
    check_own_rings(design, traffic, direct, seed);
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        if (!(fabs(shares[g] - 1) < 1e-12)) {
            fail_msg("seed %llu: group %u has %g", (unsigned long long)seed, g, shares[g]);
        }
    }
}

static void moves_keep_planes_and_rings_whole(void **state)
{
    (void)state;
    // Mutations seen to fail: a second slot of a cycle not lit backward (its rings stray); a
    // matching that pairs 2i with 2i+2 (plane lit twice); shares not divided by their sum.
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        case_arena = case_whole;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t n = 2 + weft_rng_below(&rng, 15);
        uint32_t degree = 1 + weft_rng_below(&rng, n - 1 < 6 ? n - 1 : 6);
        bool simplex = weft_rng_below(&rng, 2) == 0;
        struct weft_traffic traffic = random_traffic(n, &rng);
        struct template templates[64];
        const struct design_space space =
            design_space_build(&traffic, degree, simplex, &case_arena, case_scratch);
        uint32_t count = design_templates(templates, 64, &space);
        assert_true(count > 0);
        struct weft_design design = design_build(&templates[weft_rng_below(&rng, count)], &space,
                                                 &rng, &case_arena, case_scratch);
        check_design(&design, &traffic, seed);
        struct weft_design kept = weft_design_copy(&design, &case_arena);
        for (int i = 0;
             i < 20 && weft_design_move(&design, WEFT_MOVES_RINGS, NULL, &rng) != WEFT_NONE; i++) {
            check_design(&design, &traffic, seed);
        }
        weft_design_assign(&design, &kept);
        check_design(&design, &traffic, seed);
    }
}

static uint32_t count_templates(struct template *templates, uint32_t most, uint32_t family_count,
                                uint32_t degree, bool simplex)
{
    const struct design_space space = {
        .family_count = family_count, .degree = degree, .simplex = simplex};
    return design_templates(templates, most, &space);
}

static void templates_are_all_ways_to_share_the_planes(void **state)
{
    (void)state;
    struct template templates[128];
    // Duplex 4 planes, 2 families: 2 layers in 3 ways, 1 layer in 2, none.
    assert_int_equal(count_templates(templates, 128, 2, 4, false), 6);
    assert_int_equal(templates[0].cycles[0], 2);
    assert_int_equal(templates[5].cycles[0] + templates[5].cycles[1], 0);
    // Simplex 3 planes, 3 families: 10 + 6 + 3 + 1.
    assert_int_equal(count_templates(templates, 128, 3, 3, true), 20);
    assert_int_equal(count_templates(templates, 7, 3, 3, true), 7);
    // No AllReduce: matchings alone.
    assert_int_equal(count_templates(templates, 128, 0, 4, false), 1);
}

// How many planes join each pair of servers, each way.
static const uint32_t *count_links(const uint32_t *planes, uint32_t n, uint32_t degree)
{
    uint32_t *links = WEFT_NEW(&case_arena, uint32_t, (size_t)n * n);
    for (uint32_t p = 0; p < degree; p++) {
        for (uint32_t s = 0; s < n; s++) {
            uint32_t to = planes[(size_t)p * n + s];
            links[(size_t)s * n + to] += to != s ? 1 : 0;
        }
    }
    return links;
}

static void topologies_become_designs_of_the_same_links(void **state)
{
    (void)state;
    // Mutation seen to fail: pairs on the second plane of a cycle left out.
    uint32_t made = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        case_arena = case_whole;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t n = 4 + weft_rng_below(&rng, 13);
        uint32_t degree = 2 + weft_rng_below(&rng, 3);
        struct weft_traffic traffic = random_traffic(n, &rng);
        struct weft_topology_options options = {.method = WEFT_TOPOLOGY_TOPOOPT,
                                                .simplex = weft_rng_below(&rng, 2) == 0};
        struct weft_topology topology;
        struct weft_design design;
        struct weft_error error;
        options.degree = degree;
        if (!weft_topology_find(&topology, &traffic, n, &options,
                                &(struct weft_environment){.arena = &case_arena,
                                                           .scratch = case_scratch,
                                                           .error = &error}) ||
            !weft_design_from_topology(&design, &topology, &traffic, &case_arena, case_scratch)) {
            continue;
        }
        made++;
        uint32_t *planes = WEFT_NEW(&case_arena, uint32_t, (size_t)n * degree);
        weft_design_planes(planes, &design);
        const uint32_t *want = count_links(topology.planes, n, degree);
        const uint32_t *got = count_links(planes, n, degree);
        if (memcmp(want, got, sizeof *want * n * n) != 0) {
            fail_msg("seed %llu: other links", (unsigned long long)seed);
        }
    }
    assert_true(made > SEEDS / 2);
}

static void the_search_is_never_behind_the_papers_method(void **state)
{
    (void)state;
    // Mutation seen to fail: no find_paper_seed among the seeds (src/plan/design/method.c).
    for (uint64_t seed = 0; seed < SEEDS / 2; seed++) {
        case_arena = case_whole;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t n = 4 + weft_rng_below(&rng, 9);
        struct weft_taskgraph graph = random_graph(n, &rng);
        struct weft_cluster cluster = case_cluster(n, 2 + weft_rng_below(&rng, 2));
        double iteration_s[2];
        for (int method = 0; method < 2 && graph.task_count > 0; method++) {
            struct weft_plan_options options = {
                .topology = {.method = method == 0 ? WEFT_TOPOLOGY_TOPOOPT : WEFT_TOPOLOGY_WEFT,
                             .seconds = 1e-4},
                .sim = {.packet_bytes = 9000, .header_bytes = 64, .seed = 3}};
            struct weft_plan *plan = WEFT_NEW(&case_arena, struct weft_plan, 1);
            struct weft_error error;
            if (!weft_plan_build(plan, &graph, &cluster, &options,
                                 &(struct weft_environment){.seed = seed,
                                                            .arena = &case_arena,
                                                            .scratch = case_scratch,
                                                            .error = &error})) {
                fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
            }
            iteration_s[method] = plan->iteration_s;
        }
        if (graph.task_count > 0 && iteration_s[1] > iteration_s[0]) {
            fail_msg("seed %llu: %g s, the paper's method %g s", (unsigned long long)seed,
                     iteration_s[1], iteration_s[0]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_keep_planes_and_rings_whole),
        cmocka_unit_test(the_search_is_never_behind_the_papers_method),
        cmocka_unit_test(topologies_become_designs_of_the_same_links),
        cmocka_unit_test(templates_are_all_ways_to_share_the_planes),
    };
    return cmocka_run_group_tests_name("designs", tests, case_open, case_close);
}
