// SPDX-License-Identifier: Apache-2.0
// Routes of random fabrics: loop-free, within their hops, loads as stated, bounds below.
//
// Seen to fail: with layers relaxed from the prices of their own layer (loops); with one path more
// than paths_max, or one hop more than the bound; with settled loads off by 1e-6; with coin change
// started from residue 1; with shortest next hops that need not be nearer.

#include "weft/graph.h"
#include "weft/routing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;

struct instance {
    struct weft_fabric fabric;
    double *demand;
    double *base_bytes;
};

static void draw(struct instance *instance, uint64_t seed, struct weft_arena *kept)
{
    struct weft_rng rng;
    struct weft_error error;
    weft_rng_init(&rng, seed);
    uint32_t n = 3 + weft_rng_below(&rng, 40);
    uint32_t degree = 1 + weft_rng_below(&rng, 4);
    struct weft_link *links = WEFT_NEW(kept, struct weft_link, (size_t)n * degree);
    uint32_t *order = WEFT_NEW(kept, uint32_t, n);
    for (uint32_t d = 0; d < degree; d++) {
        for (uint32_t i = 0; i < n; i++) {
            order[i] = i;
        }
        weft_rng_shuffle(&rng, order, n);
        for (uint32_t i = 0; i < n; i++) {
            double rate_Bps = 1e9 * (1 + weft_rng_below(&rng, 3));
            links[d * n + i] = (struct weft_link){order[i], order[(i + 1) % n], rate_Bps, 0, 1};
        }
    }
    assert_true(weft_fabric_build(&instance->fabric,
                                  &(struct weft_fabric_links){"drawn", n, n, links, n * degree},
                                  kept, &error));
    instance->fabric.forwards = true;
    instance->demand = WEFT_NEW(kept, double, (size_t)n *n);
    for (uint32_t i = 0; i < n * n; i++) {
        bool some = weft_rng_below(&rng, 4) >= seed % 4;
        instance->demand[i] = some && i % (n + 1) != 0 ? weft_rng_exponential(&rng, 1e6) : 0;
    }
    instance->base_bytes = WEFT_NEW(kept, double, instance->fabric.link_count);
    for (uint32_t l = 0; l < instance->fabric.link_count && seed % 3 == 0; l++) {
        instance->base_bytes[l] = weft_rng_unit(&rng) * 1e7;
    }
}

static uint16_t *distances(const struct weft_fabric *fabric, struct weft_arena *kept)
{
    uint32_t *heads = WEFT_NEW(kept, uint32_t, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        heads[l] = fabric->links[l].to;
    }
    struct weft_graph graph = {fabric->node_count, fabric->link_count, fabric->first, heads};
    uint32_t n = fabric->node_count;
    uint16_t *distance = WEFT_NEW(kept, uint16_t, (size_t)n * n);
    weft_graph_all_hops(distance, &graph, scratch);
    return distance;
}

static void expect_minmax(const struct instance *instance, uint64_t seed,
                          const struct weft_routes *routes, const struct weft_minmax_result *result,
                          const struct weft_minmax_options *options, struct weft_arena *kept)
{
    const struct weft_fabric *fabric = &instance->fabric;
    uint32_t n = fabric->server_count;
    uint16_t *distance = distances(fabric, kept);
    double *load_bytes = WEFT_NEW(kept, double, fabric->link_count);
    struct weft_traffic traffic = {.server_count = n, .transfer_bytes = instance->demand};
    weft_routing_load(load_bytes, routes, NULL, &traffic, scratch);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            uint32_t count = weft_routes_path_count(routes, s, t);
            if (count > options->paths_max) {
                fail_msg("seed %llu: %u paths from %u to %u", (unsigned long long)seed, count, s,
                         t);
            }
            for (uint32_t p = 0; p < count; p++) {
                uint32_t hops = weft_routes_hop_count(routes, s, t, p);
                if (hops > distance[s * n + t] + options->extra_hops) {
                    fail_msg("seed %llu: %u hops from %u to %u at distance %u",
                             (unsigned long long)seed, hops, s, t, distance[s * n + t]);
                }
            }
        }
    }
    double most = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        most = fmax(most, (instance->base_bytes[l] + load_bytes[l]) / fabric->links[l].rate_Bps);
    }
    if (fabs(most - result->max_link_seconds) > 1e-9 * most ||
        result->bound_seconds > result->max_link_seconds) {
        fail_msg("seed %llu: largest load %.12g s, stated %.12g s, bound %.12g s",
                 (unsigned long long)seed, most, result->max_link_seconds, result->bound_seconds);
    }
}

static void minmax_routes_are_what_they_say(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct weft_arena kept = arena;
        struct instance instance;
        struct weft_error error = {.code = WEFT_OK};
        draw(&instance, seed, &kept);
        struct weft_minmax_options options = {.paths_max = 1 + (uint32_t)(seed % 5),
                                              .extra_hops = (uint32_t)(seed % 3),
                                              .link_base_bytes = instance.base_bytes,
                                              .epsilon = 0.01,
                                              .rounds_max = (uint32_t)(seed % 30)};
        struct weft_routes routes;
        struct weft_routes again;
        struct weft_minmax_result result;
        struct weft_minmax_result repeated;
        if (!weft_routing_minmax(
                &routes, &result, &instance.fabric, instance.demand, &options,
                &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}) ||
            !weft_routes_check(&routes, scratch, &error)) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        }
        expect_minmax(&instance, seed, &routes, &result, &options, &kept);
        assert_true(weft_routing_minmax(
            &again, &repeated, &instance.fabric, instance.demand, &options,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
        assert_memory_equal(&result, &repeated, sizeof result);
        uint32_t pairs = instance.fabric.server_count * instance.fabric.server_count;
        assert_memory_equal(routes.path_weight, again.path_weight,
                            routes.pair_first[pairs] * sizeof(double));
    }
}

static void single_and_k_shortest_paths_are_shortest(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct weft_arena kept = arena;
        struct instance instance;
        struct weft_error error = {.code = WEFT_OK};
        draw(&instance, seed, &kept);
        uint32_t n = instance.fabric.server_count;
        uint16_t *distance = distances(&instance.fabric, &kept);
        struct weft_routes one;
        struct weft_routes many;
        assert_true(weft_routing_shortest(
            &one, &instance.fabric,
            &(struct weft_environment){
                .arena = &kept, .scratch = scratch, .seed = seed, .error = &error}));
        assert_true(weft_routing_k_shortest(
            &many, &instance.fabric, 3, instance.demand,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
        assert_true(weft_routes_check(&one, scratch, &error));
        assert_true(weft_routes_check(&many, scratch, &error));
        for (uint32_t s = 0; s < n; s++) {
            for (uint32_t t = 0; t < n; t++) {
                if (s != t) {
                    assert_int_equal(weft_routes_hop_count(&one, s, t, 0), distance[s * n + t]);
                    assert_int_equal(weft_routes_hop_count(&many, s, t, 0), distance[s * n + t]);
                }
            }
        }
    }
}

static void coin_change_is_shortest_on_any_circulant(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct weft_arena kept = arena;
        struct weft_rng rng;
        struct weft_error error;
        weft_rng_init(&rng, seed);
        uint32_t n = 2 + weft_rng_below(&rng, 200);
        uint32_t count = 1 + weft_rng_below(&rng, 4);
        uint32_t jumps[4] = {1, 0, 0, 0};
        struct weft_link *links = WEFT_NEW(&kept, struct weft_link, (size_t)n * count);
        for (uint32_t j = 0; j < count; j++) {
            jumps[j] = j == 0 ? 1 : 1 + weft_rng_below(&rng, n - 1);
            for (uint32_t i = 0; i < n; i++) {
                links[j * n + i] = (struct weft_link){i, (i + jumps[j]) % n, 1e9, 0, 1};
            }
        }
        struct weft_fabric fabric;
        assert_true(weft_fabric_build(
            &fabric, &(struct weft_fabric_links){"circulant", n, n, links, n * count}, &kept,
            &error));
        fabric.forwards = true;
        struct weft_routes routes;
        assert_true(weft_routing_coin_change(
            &routes, &fabric, jumps, count,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = &error}));
        assert_true(weft_routes_check(&routes, scratch, &error));
        uint16_t *distance = distances(&fabric, &kept);
        for (uint32_t t = 1; t < n; t++) {
            uint32_t s = weft_rng_below(&rng, n);
            uint32_t to = (s + t) % n;
            if (weft_routes_hop_count(&routes, s, to, 0) != distance[s * n + to]) {
                fail_msg("seed %llu: %u coins from %u to %u, distance %u", (unsigned long long)seed,
                         weft_routes_hop_count(&routes, s, to, 0), s, to, distance[s * n + to]);
            }
        }
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minmax_routes_are_what_they_say),
        cmocka_unit_test(single_and_k_shortest_paths_are_shortest),
        cmocka_unit_test(coin_change_is_shortest_on_any_circulant),
    };
    return cmocka_run_group_tests_name("routing", tests, NULL, NULL);
}
