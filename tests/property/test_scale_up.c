// SPDX-License-Identifier: Apache-2.0
// Fabrics of accelerators, of 60 random clusters each: every pair is served by loop-free paths as
// short as any, parts are those of the links, and accelerators of a server meet on its own switch.
//
// Mutations that made it fail (each was run): the first link instead of the second to a shared NIC;
// unused ports counted as NICs; the plane of the sender's rail in cross(); groups of NICs by
// servers instead of by rails; the two links of a shared NIC left out of longest().

#include "../arenas.h"
#include "weft/fabric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CLUSTERS 60u
#define LINK_PS 1000000u
#define INSIDE_PS 600000u

static struct weft_network network; // its routes point to its fabric

struct instance {
    uint64_t seed;
    const char *name;
    bool direct;
    struct weft_cluster cluster;
    struct weft_scale_up scale_up;
    struct weft_fabric_options options;
};

#define HOLDS(instance, condition)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("seed %llu, %s of %u servers, %u accelerators, degree %u: %s",                \
                     (unsigned long long)(instance)->seed, (instance)->name,                       \
                     (instance)->cluster.server_count, (instance)->scale_up.accelerators,          \
                     (instance)->cluster.degree, #condition);                                      \
        }                                                                                          \
    } while (0)

static void draw(struct instance *instance, uint64_t seed, const char *name, bool direct)
{
    struct weft_rng rng;
    struct weft_error error;
    weft_rng_init(&rng, seed);
    uint32_t n = 2 + weft_rng_below(&rng, 30);
    uint32_t share = 1 + weft_rng_below(&rng, 3); // accelerators of a NIC
    uint32_t nics = 1 + weft_rng_below(&rng, 4);
    uint32_t accelerators = share * nics < 2 ? 2 : share * nics;
    *instance = (struct instance){.seed = seed, .name = name, .direct = direct};
    assert_true(weft_cluster_build(&instance->cluster, n,
                                   direct ? 2 + weft_rng_below(&rng, 6) : nics, 50e9, &error));
    instance->cluster.balance = (enum weft_balance)weft_rng_below(&rng, 2);
    instance->scale_up = (struct weft_scale_up){accelerators, 450e9, INSIDE_PS};
    instance->options.radix = weft_rng_below(&rng, 2) == 0 ? 0 : 4 + 2 * weft_rng_below(&rng, 20);
}

static void look_at_pairs(const struct instance *instance)
{
    const struct weft_routes *routes = &network.routes;
    uint32_t a = instance->scale_up.accelerators;
    uint32_t n = instance->cluster.server_count * a;
    struct weft_error error;
    HOLDS(instance, network.fabric.server_count == n);
    HOLDS(instance, weft_fabric_check_connected(&network.fabric, scratch_kept, &error));
    if (!weft_routes_check(routes, scratch_kept, &error)) {
        fail_msg("seed %llu, %s: %s", (unsigned long long)instance->seed, instance->name,
                 error.message);
    }
    struct weft_arena arena = arena_kept;
    struct weft_routes shortest;
    HOLDS(instance,
          weft_routes_build_shortest(&shortest, &network.fabric, &arena, scratch_kept, &error));
    uint32_t *links = WEFT_NEW(&arena, uint32_t, routes->hop_max + 1);
    bool minimal = strcmp(instance->name, "dragonfly") == 0; // which need not be shortest
    uint32_t farthest = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (s == t) {
                continue;
            }
            uint32_t hops = weft_routes_hop_count(routes, s, t, 0);
            farthest = hops > farthest ? hops : farthest;
            HOLDS(instance, minimal || hops == weft_routes_hop_count(&shortest, s, t, 0));
            HOLDS(instance, hops == weft_routes_path(routes, s, t, 0, links, NULL));
            if (s / a == t / a) {
                HOLDS(instance, hops == 2 && weft_routes_path_count(routes, s, t) == 1);
                HOLDS(instance, network.fabric.links[links[0]].rate_Bps == 450e9);
            }
        }
    }
    HOLDS(instance, farthest == routes->hop_max);
}

// What belongs to the network is told from servers' insides by its latency.
static void look_at_parts(const struct instance *instance)
{
    const struct weft_fabric *fabric = &network.fabric;
    uint64_t cable_ends = 0;
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        uint32_t back = weft_fabric_find_link(fabric, link->to, link->from);
        HOLDS(instance, back != WEFT_NONE && fabric->links[back].width == link->width);
        cable_ends += link->latency_ps == LINK_PS ? link->width : 0;
    }
    bool split = strncmp(instance->name, "dual-", 5) == 0;
    uint64_t nics = (uint64_t)instance->cluster.server_count * instance->cluster.degree;
    uint64_t ports = nics * (split ? 2 : strcmp(instance->name, "multi-plane") == 0 ? 4 : 1);
    HOLDS(instance, instance->direct ? fabric->parts.nics <= ports : fabric->parts.nics == ports);
    if (strcmp(instance->name, "ideal") != 0) { // priced as a Fat-tree
        HOLDS(instance, fabric->parts.transceivers == cable_ends);
        HOLDS(instance,
              instance->direct || fabric->parts.switch_ports == cable_ends - fabric->parts.nics);
    }
}

static void fabrics_of_accelerators_hold(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool direct;
    } names[] = {{"ideal", false},    {"fat-tree", false},        {"oversubscribed", false},
                 {"clos", false},     {"leaf-spine", false},      {"rail-only", false},
                 {"torus-2d", true},  {"torus-3d", true},         {"ring", true},
                 {"expander", true},  {"cost-equivalent", false}, {"multi-plane", false},
                 {"dual-tor", false}, {"dual-plane", false},      {"dragonfly", false}};
    struct weft_arena start = arena_kept;
    uint32_t built = 0;
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            struct instance instance;
            struct weft_error error = {.code = WEFT_OK};
            arena_kept = start;
            draw(&instance, seed, names[i].name, names[i].direct);
            if (!weft_fabric_build_scale_up(&network, instance.name, &instance.cluster,
                                            &instance.scale_up, &instance.options,
                                            &(struct weft_environment){.arena = &arena_kept,
                                                                       .scratch = scratch_kept,
                                                                       .error = &error})) {
                HOLDS(&instance, error.code == WEFT_INPUT || error.code == WEFT_INFEASIBLE);
                continue;
            }
            built++;
            look_at_pairs(&instance);
            look_at_parts(&instance);
        }
    }
    arena_kept = start;
    assert_true(built > 6 * CLUSTERS);
}

static void what_does_not_divide_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t degree;
        uint32_t accelerators;
        double rate_Bps;
        const char *message;
    } cases[] = {
        {"leaf-spine", 3, 8, 450e9, "degree: 3 NICs for 8 accelerators"},
        {"leaf-spine", 16, 8, 450e9, "degree: 16 NICs for 8 accelerators"},
        {"leaf-spine", 8, 1, 450e9, "scale-up: 1 accelerators"},
        {"leaf-spine", 8, 8, 0, "scale-up: 8 accelerators at 0 GB/s"},
        {"leaf-spine", 8, 1u << 18, 450e9, "scale-up: 8388608 accelerators are more than"},
        {"mesh", 8, 8, 450e9, "'mesh' is no fabric; choose one of ideal"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_cluster cluster;
        struct weft_error error;
        assert_true(weft_cluster_build(&cluster, 32, cases[i].degree, 50e9, &error));
        const struct weft_scale_up scale_up = {cases[i].accelerators, cases[i].rate_Bps, 0};
        assert_false(weft_fabric_build_scale_up(&network, cases[i].name, &cluster, &scale_up, NULL,
                                                &(struct weft_environment){.arena = &arena_kept,
                                                                           .scratch = scratch_kept,
                                                                           .error = &error}));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, cases[i].message));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fabrics_of_accelerators_hold),
        cmocka_unit_test(what_does_not_divide_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
