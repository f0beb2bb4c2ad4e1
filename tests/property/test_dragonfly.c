// SPDX-License-Identifier: Apache-2.0
// Dragonflies of 300 random shapes: their minimal paths are those that a search finds in the links
// alone, ports suffice, and every two groups have as many links.
//
// Mutations that made it fail (each was run): gateways without the offset; the links that the
// receiver's router has left out in fly(); the width of links between groups not divided by the
// other groups; the longest path that can be taken for the longest that there is.

#include "../arenas.h"
#include "fabric/routes_kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INSTANCES 300u

static struct weft_network network; // its routes point to its fabric

struct instance {
    uint64_t seed;
    struct weft_cluster cluster;
    struct weft_fabric_options options;
};

#define HOLDS(instance, condition)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_msg("seed %llu, %u servers, degree %u, radix %u: %s",                             \
                     (unsigned long long)(instance)->seed, (instance)->cluster.server_count,       \
                     (instance)->cluster.degree, (instance)->options.radix, #condition);           \
        }                                                                                          \
    } while (0)

static void draw(struct instance *instance, uint64_t seed)
{
    struct weft_rng rng;
    struct weft_error error;
    weft_rng_init(&rng, seed);
    *instance = (struct instance){.seed = seed};
    uint32_t n = 2 + weft_rng_below(&rng, 80);
    uint32_t degree = 1 + weft_rng_below(&rng, 3);
    assert_true(weft_cluster_build(&instance->cluster, n, degree < n ? degree : 1, 50e9, &error));
    instance->options.radix = 3 + weft_rng_below(&rng, 30);
    if (weft_rng_below(&rng, 3) == 0) {
        for (uint32_t i = 0; i < 3; i++) {
            instance->options.sides[i] = 1 + weft_rng_below(&rng, 6);
        }
    }
}

// Minimal paths of a dragonfly counted from its links alone: those of one link between groups at
// most, from one router to another, by their length; how many have the least goes to *count.
static uint32_t count_minimal(uint32_t *count, const struct weft_routes *routes, uint32_t from,
                              uint32_t to)
{
    const struct weft_fabric *fabric = routes->fabric;
    uint32_t n = fabric->server_count;
    uint32_t a = routes->shape[DRAGONFLY_ROUTERS];
    struct weft_arena local = scratch_kept;
    struct walks {
        uint32_t with[2]; // so many links between groups
    };
    struct walks *walks = WEFT_NEW(&local, struct walks, fabric->node_count);
    walks[from].with[0] = 1;
    for (uint32_t hops = 0; hops <= 3; hops++) {
        *count = walks[to].with[0] + walks[to].with[1];
        if (*count > 0) {
            return hops;
        }
        struct walks *next = WEFT_NEW(&local, struct walks, fabric->node_count);
        for (uint32_t i = 0; i < fabric->link_count; i++) {
            const struct weft_link *link = &fabric->links[i];
            bool between = link->from >= n && link->to >= n;
            bool leaves = between && (link->from - n) / a != (link->to - n) / a;
            next[link->to].with[1] += between ? walks[link->from].with[leaves ? 0 : 1] : 0;
            next[link->to].with[0] += between && !leaves ? walks[link->from].with[0] : 0;
        }
        walks = next;
    }
    return UINT32_MAX;
}

// All paths of a pair of a dragonfly are there, once each, rail by rail.
static void look_at_minimal(const struct instance *instance, uint32_t s, uint32_t t,
                            uint32_t *farthest)
{
    const struct weft_routes *routes = &network.routes;
    const struct weft_fabric *fabric = &network.fabric;
    uint32_t seen[256] = {0};
    uint32_t index = 0;
    for (uint32_t rail = 0; rail < routes->shape[DRAGONFLY_RAILS]; rail++) {
        uint32_t count = 0;
        uint32_t hops = 2 + count_minimal(&count, routes, fabric->links[fabric->first[s] + rail].to,
                                          fabric->links[fabric->first[t] + rail].to);
        *farthest = hops > *farthest ? hops : *farthest;
        HOLDS(instance, count < 256);
        for (uint32_t i = 0; i < count; i++, index++) {
            uint32_t links[8];
            HOLDS(instance, index < weft_routes_path_count(routes, s, t));
            HOLDS(instance, hops == weft_routes_hop_count(routes, s, t, index));
            HOLDS(instance, hops == weft_routes_path(routes, s, t, index, links, NULL));
            HOLDS(instance, links[0] == fabric->first[s] + rail);
            seen[i] = links[1] * 31 + links[2] * (hops > 3); // these two tell them apart
            for (uint32_t j = 0; j < i; j++) {
                HOLDS(instance, seen[i] != seen[j]);
            }
        }
    }
    HOLDS(instance, index == weft_routes_path_count(routes, s, t));
}

static void look_at_paths(const struct instance *instance)
{
    uint32_t n = instance->cluster.server_count;
    uint32_t farthest = 0;
    struct weft_error error;
    HOLDS(instance, weft_routes_check(&network.routes, scratch_kept, &error));
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (s != t) {
                look_at_minimal(instance, s, t, &farthest);
            }
        }
    }
    HOLDS(instance, farthest == network.routes.hop_max);
}

// Cables at every router, and between every two groups.
static void look_at_ports(const struct instance *instance)
{
    const struct weft_fabric *fabric = &network.fabric;
    const uint32_t *shape = network.routes.shape;
    uint32_t n = fabric->server_count;
    uint32_t a = shape[DRAGONFLY_ROUTERS];
    uint32_t g = shape[DRAGONFLY_GROUPS];
    struct weft_arena local = scratch_kept;
    uint32_t *between = WEFT_NEW(&local, uint32_t, (size_t)g * g);
    HOLDS(instance, fabric->node_count == n + g * a);
    for (uint32_t v = n; v < fabric->node_count; v++) {
        uint32_t ports = 0, servers = 0, outside = 0;
        for (uint32_t i = fabric->first[v]; i < fabric->first[v + 1]; i++) {
            const struct weft_link *link = &fabric->links[i];
            bool server = link->to < n;
            bool leaves = !server && (link->to - n) / a != (v - n) / a;
            ports += link->width;
            servers += server;
            outside += leaves ? link->width : 0;
            if (leaves) {
                between[(v - n) / a * g + (link->to - n) / a] += link->width;
            }
        }
        uint32_t radix = instance->options.radix;
        HOLDS(instance, ports <= radix && servers <= shape[DRAGONFLY_SIZE]);
        HOLDS(instance, outside <= shape[DRAGONFLY_PORTS]);
    }
    for (uint32_t i = 0; i < g * g; i++) {
        HOLDS(instance, i / g == i % g || (between[i] > 0 && between[i] == between[1]));
        // What is left to a group are fewer ports than there are other groups, or than routers.
        uint32_t left = a * shape[DRAGONFLY_PORTS] - (g - 1) * between[i];
        HOLDS(instance,
              i / g == i % g || left < (g - 1) * (g - 1 <= shape[DRAGONFLY_PORTS] ? a : 1));
    }
}

static void dragonflies_are_minimal(void **state)
{
    (void)state;
    struct weft_arena start = arena_kept;
    uint32_t built = 0;
    uint32_t many = 0; // of more groups than a router has ports to others
    for (uint64_t seed = 1; seed <= INSTANCES; seed++) {
        struct instance instance;
        struct weft_error error = {.code = WEFT_OK};
        arena_kept = start;
        draw(&instance, seed);
        if (!weft_fabric_build_dragonfly(&network, &instance.cluster, &instance.options,
                                         &arena_kept, &error)) {
            HOLDS(&instance, error.code == WEFT_INPUT && strlen(error.message) > 40);
            continue;
        }
        built++;
        const uint32_t *shape = network.routes.shape;
        many += shape[DRAGONFLY_GROUPS] > shape[DRAGONFLY_PORTS] + 1;
        look_at_paths(&instance);
        look_at_ports(&instance);
    }
    arena_kept = start;
    assert_true(built > INSTANCES / 3 && many > INSTANCES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dragonflies_are_minimal)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
