// SPDX-License-Identifier: Apache-2.0
// No bound of the certificate is above the simulated time: random task graphs on random designs
// with random shares and routes, and on the reference fabrics.

#include "../unit/plan_cases.h"

#include "plan/design/search.h"

#include <math.h>
#include <string.h>

#define SEEDS 400

static struct case_tasks list;

static void add_task(uint32_t n, uint32_t *members, struct weft_rng *rng)
{
    uint64_t size_bytes = (uint64_t)1 << weft_rng_below(rng, 27);
    size_bytes += weft_rng_below(rng, 5000);
    switch (weft_rng_below(rng, 4)) {
    case 0:
    case 1:
        case_compute(&list, weft_rng_below(rng, n), (uint64_t)weft_rng_below(rng, 2000) * 1000000);
        break;
    case 2:
        case_transfer(&list, weft_rng_below(rng, n), weft_rng_below(rng, n), size_bytes);
        break;
    default: {
        for (uint32_t s = 0; s < n; s++) {
            members[s] = s;
        }
        weft_rng_shuffle(rng, members, n);
        uint32_t count = weft_rng_below(rng, 2) == 0 ? n : 1 + weft_rng_below(rng, n);
        uint32_t task = case_allreduce(&list, members, count, size_bytes);
        list.tasks[task].kind += weft_rng_below(rng, 3);
        list.tasks[task].runtime_ps = (uint64_t)weft_rng_below(rng, 200) * 1000000;
    }
    }
}

// Random tasks; edges go from earlier to later ones, some of them twice.
static struct weft_taskgraph random_graph(uint32_t n, struct weft_rng *rng)
{
    memset(&list, 0, sizeof list);
    uint32_t count = 2 + weft_rng_below(rng, 40);
    uint32_t *members = WEFT_NEW(&case_arena, uint32_t, (size_t)n * count);
    for (uint32_t t = 0; t < count; t++) {
        add_task(n, members + (size_t)t * n, rng);
        for (uint32_t e = weft_rng_below(rng, 4); e > 0 && t > 0; e--) {
            uint32_t near = t < 8 ? t : 8;
            uint32_t before = t - 1 - weft_rng_below(rng, near);
            if (list.tasks[before].next_count < 60) {
                case_after(&list, before, t);
            }
        }
    }
    return case_graph(&list, n);
}

static double simulate(const struct weft_taskgraph *graph, const struct weft_network *network,
                       struct weft_rng *rng, uint64_t seed)
{
    struct weft_sim_options options = {.packet_bytes = weft_rng_below(rng, 2) == 0 ? 9000 : 0,
                                       .small_in_one_round = weft_rng_below(rng, 2) == 0,
                                       .one_round = weft_rng_below(rng, 4) == 0,
                                       .seed = seed};
    options.header_bytes = options.packet_bytes > 0 && weft_rng_below(rng, 2) == 0 ? 64 : 0;
    struct weft_sim_job job = {graph, NULL, network->rings};
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_arena results = case_arena;
    if (!weft_sim_run_jobs(&result, network, &job, 1, &options,
                           &(struct weft_environment){
                               .arena = &results, .scratch = case_scratch, .error = &error})) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    return weft_seconds(result.iteration_ps[0]);
}

// `direct`: whether the network is in the class of direct fabrics of d ports.
static void check_bounds(const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                         const struct weft_network *network, bool direct, double iteration_s,
                         uint64_t seed)
{
    struct weft_certificate certificate;
    struct weft_error error;
    struct weft_arena arena = case_arena;
    if (!weft_certificate_build(&certificate, graph, cluster, network, iteration_s,
                                &(struct weft_environment){
                                    .arena = &arena, .scratch = case_scratch, .error = &error})) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    }
    for (uint32_t i = 0; i < certificate.bound_count; i++) {
        const struct weft_bound *bound = &certificate.bounds[i];
        if (bound->scope == WEFT_BOUND_DIRECT_FABRIC && !direct) {
            continue;
        }
        if (bound->seconds > iteration_s) {
            fail_msg("seed %llu: %s says %.12g s on %s, but the iteration takes %.12g s",
                     (unsigned long long)seed, bound->name, bound->seconds, network->fabric.name,
                     iteration_s);
        }
    }
}

static void no_bound_is_above_a_design(void **state)
{
    (void)state;
    // Mutations seen to fail: each transfer at a port given its latency; an edge that stands twice
    // counted twice; AllReduce counted 2 S a member; the last path instead of the cheapest under
    // the LP's prices; heads added up instead of waited for. Moore's bound is too loose here to
    // fail; test_certificate.c counts it by hand.
    uint32_t played = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        case_arena = case_whole;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t n = 2 + weft_rng_below(&rng, 7);
        uint32_t degree = 1 + weft_rng_below(&rng, n - 1 < 4 ? n - 1 : 4);
        bool simplex = weft_rng_below(&rng, 2) == 0;
        struct weft_taskgraph graph = random_graph(n, &rng);
        struct weft_traffic traffic;
        weft_traffic_build(&traffic, &graph, &case_arena, case_scratch);
        struct weft_cluster cluster = case_cluster(n, degree);
        struct search search = {.graph = &graph,
                                .traffic = &traffic,
                                .cluster = &cluster,
                                .simplex = simplex,
                                .paths_max = 1 + weft_rng_below(&rng, 4)};
        struct template templates[64];
        const struct design_space space =
            design_space_build(&traffic, degree, simplex, &case_arena, case_scratch);
        uint32_t count = design_templates(templates, 64, &space);
        struct weft_design design = design_build(&templates[weft_rng_below(&rng, count)], &space,
                                                 &rng, &case_arena, case_scratch);
        for (uint32_t i = weft_rng_below(&rng, 10);
             i > 0 && weft_design_move(&design, WEFT_MOVES_RINGS, NULL, &rng) != WEFT_NONE; i--) {
        }
        struct weft_network network;
        double work_units = 0;
        if (!search_network(&network, &work_units, &search, &design, &case_arena, case_scratch)) {
            continue;
        }
        played++;
        double iteration_s = simulate(&graph, &network, &rng, seed);
        check_bounds(&graph, &cluster, &network, true, iteration_s, seed);
    }
    assert_true(played > SEEDS / 3);
}

static void no_bound_is_above_a_reference_fabric(void **state)
{
    (void)state;
    uint32_t played = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        case_arena = case_whole;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        uint32_t n = 3 + weft_rng_below(&rng, 8);
        struct weft_cluster cluster = case_cluster(n, 2);
        struct weft_taskgraph graph = random_graph(n, &rng);
        uint32_t reference_count;
        const struct weft_fabric_reference *references = weft_fabric_references(&reference_count);
        const char *name = references[weft_rng_below(&rng, reference_count)].name;
        struct weft_fabric_options options = {.seed = seed};
        struct weft_network network;
        struct weft_error error;
        if (strcmp(name, "cost-equivalent") == 0 || // another port rate: another class
            !weft_fabric_build_named(&network, name, &cluster, &options,
                                     &(struct weft_environment){.arena = &case_arena,
                                                                .scratch = case_scratch,
                                                                .error = &error})) {
            continue;
        }
        played++;
        double iteration_s = simulate(&graph, &network, &rng, seed);
        check_bounds(&graph, &cluster, &network, network.fabric.forwards, iteration_s, seed);
    }
    assert_true(played > SEEDS / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bound_is_above_a_design),
        cmocka_unit_test(no_bound_is_above_a_reference_fabric),
    };
    return cmocka_run_group_tests_name("bounds", tests, case_open, case_close);
}
