// SPDX-License-Identifier: Apache-2.0
// Completion times of random flows on the reference fabrics, equal to the reference's.
//
// Mutations that made these tests fail (each was run): `project` without the bytes already served;
// `serve` with the new rate instead of the old one; a window of 1 us; SPLIT shares ignored; link
// bytes counted at the first hop only; NEARLY_FULL at 1.5; `meld` keeping the later end on top.

#include "../arenas.h"
#include "reference_flows.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define FLOWS_MAX 250u
#define SEEDS 12u

enum shape { STAR, FAT_TREE, OVERSUBSCRIBED, RING, TORUS, SHAPE_COUNT };

static struct weft_network network; // stays where it is: its routes point to its fabric

static void build(enum shape shape, struct weft_arena *arena)
{
    struct weft_cluster cluster;
    struct weft_error error;
    struct weft_fabric_options options = {.dimensions = 2};
    bool built = weft_cluster_build(&cluster, 16, 4, 12.5e9, &error);
    switch (shape) {
    case STAR:
        built = built && weft_fabric_build_ideal(&network, &cluster, &options, arena, &error);
        break;
    case FAT_TREE:
        built = built && weft_fabric_build_fat_tree(&network, &cluster, &options, arena, &error);
        break;
    case OVERSUBSCRIBED:
        built =
            built && weft_fabric_build_oversubscribed(&network, &cluster, &options, arena, &error);
        break;
    case RING:
        built = built && weft_fabric_build_ring(&network, &cluster, &options, arena, &error);
        break;
    case TORUS:
    case SHAPE_COUNT:
    default:
        built = built && weft_fabric_build_torus(&network, &cluster, &options, arena, &error);
        break;
    }
    if (!built) {
        fail_msg("%s", error.message);
    }
}

struct flows {
    struct weft_flow_list list;
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX];
    uint64_t size_bytes[FLOWS_MAX];
    uint64_t start_ps[FLOWS_MAX];
};

// Bursts at one instant, equal and empty sizes and local flows among exponential ones.
static void random_flows(struct flows *flows, uint64_t seed)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    uint64_t now_ps = 0;
    flows->list = (struct weft_flow_list){FLOWS_MAX, flows->from, flows->to, flows->size_bytes,
                                          flows->start_ps};
    for (uint32_t i = 0; i < FLOWS_MAX; i++) {
        if (weft_rng_below(&rng, 3) > 0) {
            now_ps += (uint64_t)weft_rng_exponential(&rng, 3e6);
        }
        flows->from[i] = weft_rng_below(&rng, 16);
        flows->to[i] = weft_rng_below(&rng, 16);
        flows->size_bytes[i] = weft_rng_below(&rng, 2) == 0
                                   ? (uint64_t)weft_rng_exponential(&rng, 1e6)
                                   : 500000 * (uint64_t)weft_rng_below(&rng, 3);
        flows->start_ps[i] = now_ps;
    }
}

static void check_link_bytes(const struct weft_sim_result *result, const struct weft_routes *routes,
                             const struct flows *flows, uint64_t seed)
{
    double got = 0;
    double want = 0;
    for (uint32_t link = 0; link < routes->fabric->link_count; link++) {
        got += result->link_bytes[link];
    }
    for (uint32_t i = 0; i < FLOWS_MAX; i++) {
        uint32_t from = flows->from[i];
        uint32_t to = flows->to[i];
        uint32_t count = weft_routes_path_count(routes, from, to);
        uint32_t pick =
            count == 0 ? 0 : weft_routes_pick(routes, from, to, weft_hash(seed ^ weft_hash(i)));
        for (uint32_t path = 0; path < count; path++) {
            uint32_t links[REFERENCE_HOPS];
            double share;
            uint32_t hops = weft_routes_path(routes, from, to, path, links, &share);
            share = routes->spread == WEFT_SPREAD_SPLIT ? share : path == pick;
            want += hops * share * (double)flows->size_bytes[i];
        }
    }
    if (fabs(got - want) > 1e-9 * want) {
        fail_msg("seed %llu: links carried %g bytes instead of %g", (unsigned long long)seed, got,
                 want);
    }
}

static void compare(enum shape shape, enum weft_spread spread, uint64_t seed)
{
    struct weft_arena arena = arena_kept;
    build(shape, &arena);
    network.routes.spread = spread;
    struct flows flows;
    random_flows(&flows, seed);
    double want_s[FLOWS_MAX];
    uint64_t got_ps[FLOWS_MAX];
    struct weft_sim_result result;
    struct weft_error error;
    struct weft_sim_options options = {.seed = seed};
    reference_play(want_s, &network.routes, &flows.list, FLOWS_MAX * 16, seed, scratch_kept);
    if (!weft_sim_run_flows(&result, got_ps, &network, &flows.list, &options,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    for (uint32_t i = 0; i < FLOWS_MAX; i++) {
        double got_s = weft_seconds(got_ps[i]);
        // Half a picosecond is the rounding of the answer.
        if (fabs(got_s - want_s[i]) > 1e-9 * want_s[i] + 0.51e-12) {
            fail_msg("seed %llu shape %d spread %d: flow %u ends at %.15g s, reference %.15g s",
                     (unsigned long long)seed, (int)shape, (int)spread, i, got_s, want_s[i]);
        }
    }
    check_link_bytes(&result, &network.routes, &flows, seed);
    struct weft_sim_result again;
    uint64_t again_ps[FLOWS_MAX];
    assert_true(weft_sim_run_flows(
        &again, again_ps, &network, &flows.list, &options,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_memory_equal(again_ps, got_ps, sizeof(got_ps));
}

static void completions_equal_the_reference_on_every_fabric(void **state)
{
    (void)state;
    for (enum shape shape = STAR; shape < SHAPE_COUNT; shape++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            compare(shape, WEFT_SPREAD_PICK, seed);
            compare(shape, WEFT_SPREAD_SPLIT, seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(completions_equal_the_reference_on_every_fabric, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
