// SPDX-License-Identifier: Apache-2.0
// Even balance: fabrics whose parallel cables stand as one link give every flow the end that it has
// where all cables stand apart and a flow of one rate is divided over all its paths, played by a
// program of the test's own. 400 random Fat-trees, oversubscribed ones and fabrics of leaves and
// spines of two tiers and three, whole and in part without servers, and random flows.
//
// Mutations that made this test fail (each was run): join_equals with the width of one uplink;
// join_rails without the spines' factor; the core's links counted for one aggregation switch.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INSTANCES 400u
#define FLOWS_MAX 60u
#define SEED 17u

static struct weft_network apart, joined; // routes point to the fabrics beside them

struct instance {
    struct weft_cluster cluster;
    struct weft_fabric_options options;
    const char *name;
};

static void draw(struct instance *instance, struct weft_rng *rng)
{
    static const char *const names[] = {"fat-tree",  "oversubscribed", "leaf-spine", "leaf-spine",
                                        "rail-only", "multi-plane",    "dual-tor",   "dual-plane"};
    struct weft_error error;
    uint32_t n = 2 + weft_rng_below(rng, 60);
    uint32_t degree = 1 + weft_rng_below(rng, n - 1 < 6 ? n - 1 : 6);
    *instance =
        (struct instance){.name = names[weft_rng_below(rng, sizeof names / sizeof names[0])]};
    assert_true(weft_cluster_build(&instance->cluster, n, degree, 12.5e9, &error));
    instance->options.oversubscription = 1 + weft_rng_below(rng, 3);
    if (instance->name != names[0] &&
        instance->name !=
            names[1]) { // of so many ports that there are spines, or that there are none
        uint32_t radix = 4;
        while (radix * radix / 4 < n) {
            radix += 2;
        }
        uint32_t tall = radix > 6 ? radix / 2 : radix; // three tiers, most often
        instance->options.radix = weft_rng_below(rng, 4) == 0   ? 64
                                  : weft_rng_below(rng, 2) == 0 ? tall
                                                                : radix;
        instance->options.planes =
            strcmp(instance->name, "multi-plane") == 0 ? 2 + weft_rng_below(rng, 2) : 0;
    }
}

// Builds both. A leaf-spine that the drawn radix does not carry is left out: false.
static bool build(struct instance *instance, struct weft_arena *arena)
{
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = arena, .scratch = scratch_kept, .error = &error};
    instance->cluster.balance = WEFT_BALANCE_HASH;
    if (!weft_fabric_build_named(&apart, instance->name, &instance->cluster, &instance->options,
                                 &environment)) {
        return false;
    }
    instance->cluster.balance = WEFT_BALANCE_EVEN;
    assert_true(weft_fabric_build_named(&joined, instance->name, &instance->cluster,
                                        &instance->options, &environment));
    assert_true(weft_routes_check(&joined.routes, scratch_kept, &error));
    assert_memory_equal(&joined.fabric.parts, &apart.fabric.parts, sizeof apart.fabric.parts);
    return true;
}

// ---- the reference ----

// What each link carries of each flow's rate: the shares of all paths that cross it.
static const double *shares_of(const struct weft_network *network,
                               const struct weft_flow_list *flows, struct weft_arena *arena)
{
    uint32_t link_count = network->fabric.link_count;
    double *shares = WEFT_NEW(arena, double, (size_t)link_count *FLOWS_MAX);
    for (uint32_t i = 0; i < FLOWS_MAX; i++) {
        uint32_t paths = weft_routes_path_count(&network->routes, flows->from[i], flows->to[i]);
        for (uint32_t path = 0; path < paths; path++) {
            uint32_t links[8];
            double share;
            uint32_t hops = weft_routes_path(&network->routes, flows->from[i], flows->to[i], path,
                                             links, &share);
            for (uint32_t hop = 0; hop < hops; hop++) {
                shares[(size_t)links[hop] * FLOWS_MAX + i] += share;
            }
        }
    }
    return shares;
}

// Max-min fair rates of the active flows by progressive filling: all grow alike until a link is
// full, and those that cross it stay.
static void fill(double *rate_Bps, const bool *active, const struct weft_fabric *fabric,
                 const double *shares)
{
    bool grows[FLOWS_MAX];
    uint32_t growing = 0;
    for (uint32_t i = 0; i < FLOWS_MAX; i++) {
        rate_Bps[i] = 0;
        grows[i] = active[i];
        growing += active[i];
    }
    while (growing > 0) {
        double step = INFINITY;
        uint32_t full = 0;
        for (uint32_t l = 0; l < fabric->link_count; l++) {
            double used = 0, weight = 0;
            for (uint32_t i = 0; i < FLOWS_MAX; i++) {
                double share = active[i] ? shares[(size_t)l * FLOWS_MAX + i] : 0;
                used += share * rate_Bps[i];
                weight += grows[i] ? share : 0;
            }
            double room = (fabric->links[l].rate_Bps - used) / weight;
            if (weight > 0 && room < step) {
                step = room;
                full = l;
            }
        }
        for (uint32_t i = 0; i < FLOWS_MAX; i++) {
            rate_Bps[i] += grows[i] ? step : 0;
        }
        for (uint32_t i = 0; i < FLOWS_MAX; i++) {
            if (grows[i] && shares[(size_t)full * FLOWS_MAX + i] > 0) {
                grows[i] = false;
                growing--;
            }
        }
    }
}

// Every flow has one rate on all of its paths, and fills them afresh whenever one comes or goes.
static void play_apart(double *end_s, const struct weft_flow_list *flows, struct weft_arena arena)
{
    const double *shares = shares_of(&apart, flows, &arena);
    double left_bytes[FLOWS_MAX];
    bool active[FLOWS_MAX] = {false};
    double now_s = 0;
    uint32_t come = 0;
    for (uint32_t gone = 0; gone < FLOWS_MAX;) {
        double rate_Bps[FLOWS_MAX];
        fill(rate_Bps, active, &apart.fabric, shares);
        double next_s = come < FLOWS_MAX ? weft_seconds(flows->start_ps[come]) : (double)INFINITY;
        uint32_t first = WEFT_NONE; // to end, before the next one comes
        for (uint32_t i = 0; i < come; i++) {
            if (active[i] && now_s + left_bytes[i] / rate_Bps[i] < next_s) {
                next_s = now_s + left_bytes[i] / rate_Bps[i];
                first = i;
            }
        }
        for (uint32_t i = 0; i < come; i++) {
            left_bytes[i] -= active[i] ? rate_Bps[i] * (next_s - now_s) : 0;
        }
        now_s = next_s;
        uint32_t ended = first;
        if (first == WEFT_NONE) {
            left_bytes[come] = (double)flows->size_bytes[come];
            active[come] = flows->from[come] != flows->to[come];
            ended = active[come] ? WEFT_NONE : come;
            come++;
        }
        if (ended != WEFT_NONE) {
            active[ended] = false;
            gone++;
            uint32_t from = flows->from[ended], to = flows->to[ended];
            uint32_t hops = from == to ? 0 : weft_routes_hop_count(&apart.routes, from, to, 0);
            end_s[ended] = now_s + hops * 1e-6;
        }
    }
}

static void joined_cables_carry_what_they_carry_apart(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    print_message("seed %u\n", SEED);
    uint32_t tried = 0;
    uint32_t parallel = 0;
    while (tried < INSTANCES) {
        struct weft_arena arena = arena_kept;
        struct instance instance;
        draw(&instance, &rng);
        if (!build(&instance, &arena)) {
            continue;
        }
        uint32_t n = instance.cluster.server_count;
        uint32_t from[FLOWS_MAX], to[FLOWS_MAX];
        uint64_t size_bytes[FLOWS_MAX], start_ps[FLOWS_MAX], got_ps[FLOWS_MAX];
        double want_s[FLOWS_MAX];
        for (uint32_t i = 0; i < FLOWS_MAX; i++) {
            from[i] = weft_rng_below(&rng, n);
            to[i] = weft_rng_below(&rng, n);
            size_bytes[i] = (uint64_t)weft_rng_exponential(&rng, 1e6);
            start_ps[i] = i == 0 ? 0 : start_ps[i - 1] + weft_rng_below(&rng, 4) * 7000000;
        }
        const struct weft_flow_list flows = {FLOWS_MAX, from, to, size_bytes, start_ps};
        play_apart(want_s, &flows, arena);
        struct weft_error error;
        struct weft_sim_result result;
        const struct weft_sim_options options = {.seed = SEED};
        const struct weft_environment environment = {
            .arena = &arena, .scratch = scratch_kept, .error = &error};
        assert_true(weft_sim_run_flows(&result, got_ps, &joined, &flows, &options, &environment));
        for (uint32_t i = 0; i < FLOWS_MAX; i++) {
            double got_s = weft_seconds(got_ps[i]);
            if (fabs(got_s - want_s[i]) > 1e-9 * want_s[i] + 1e-12) {
                fail_msg("instance %u, %s of %u servers: flow %u ends at %.12g s, apart %.12g s",
                         tried, instance.name, n, i, got_s, want_s[i]);
            }
        }
        parallel += joined.fabric.link_count < apart.fabric.link_count;
        tried++;
    }
    print_message("%u of %u fabrics had parallel links\n", parallel, tried);
    assert_true(parallel > INSTANCES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_cables_carry_what_they_carry_apart),
    };
    return cmocka_run_group_tests_name("balance", tests, set_up, tear_down);
}
