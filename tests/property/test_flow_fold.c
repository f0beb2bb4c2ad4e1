// SPDX-License-Identifier: Apache-2.0
// Lists of flows that fold end as they do when every flow is played by itself: 500 random small
// instances, on every reference fabric, of servers and of accelerators, with both balances, flows
// that pick a path and flows that take all. Lists have as much symmetry as users' do, and less: all
// pairs, shifts, one group to another, each in two sizes or at two times, with flows left out,
// empty or to their own server.
//
// Mutations that made this test fail (each was run): one round of refinement; colors of flows
// without size and start; the capacity of one link for the joined one; a class of the weight of one
// flow, or with all bytes on each of its paths; a path that crosses a joined link once instead of
// twice.

#include "../arenas.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define INSTANCES 500u
#define FLOWS_MAX 2048u
#define SEED 23u

static struct weft_network network; // its routes point to its fabric

struct instance {
    uint32_t number;
    const char *name;
    struct weft_cluster cluster;
    struct weft_fabric_options options;
    struct weft_scale_up scale_up; // of no accelerators: of servers
};

struct flows {
    struct weft_flow_list list;
    uint32_t from[FLOWS_MAX];
    uint32_t to[FLOWS_MAX];
    uint64_t size_bytes[FLOWS_MAX];
    uint64_t start_ps[FLOWS_MAX];
};

// ---- fabrics ----

static void draw(struct instance *instance, uint32_t number, struct weft_rng *rng)
{
    struct weft_error error;
    uint32_t kinds;
    const struct weft_fabric_reference *names = weft_fabric_references(&kinds);
    *instance = (struct instance){.number = number, .name = names[number % kinds].name};
    bool inside = weft_rng_below(rng, 3) == 0;
    uint32_t n = 2 + weft_rng_below(rng, inside ? 10 : 31);
    uint32_t degree = 1 + weft_rng_below(rng, 4);
    if (inside) {
        instance->scale_up = (struct weft_scale_up){degree > 1 ? degree : 2, 450e9, 600000};
    }
    degree = degree < n ? degree : n - 1;
    assert_true(weft_cluster_build(&instance->cluster, n, degree, 12.5e9, &error));
    instance->cluster.balance = weft_rng_below(rng, 4) == 0 ? WEFT_BALANCE_HASH : WEFT_BALANCE_EVEN;
    instance->options.oversubscription = weft_rng_below(rng, 3); // 0: the fabric's own
    instance->options.radix = weft_rng_below(rng, 2) == 0 ? 0 : 4 + 2 * weft_rng_below(rng, 6);
}

// False where that fabric cannot be built of that cluster.
static bool build(const struct instance *instance, struct weft_arena *arena)
{
    struct weft_error error;
    const struct weft_environment environment = {
        .arena = arena, .scratch = scratch_kept, .error = &error};
    return instance->scale_up.accelerators > 0
               ? weft_fabric_build_scale_up(&network, instance->name, &instance->cluster,
                                            &instance->scale_up, &instance->options, &environment)
               : weft_fabric_build_named(&network, instance->name, &instance->cluster,
                                         &instance->options, &environment);
}

// ---- lists ----

static void add(struct flows *flows, uint32_t from, uint32_t to)
{
    if (flows->list.count < FLOWS_MAX) {
        flows->from[flows->list.count] = from;
        flows->to[flows->list.count++] = to;
    }
}

static void draw_pairs(struct flows *flows, uint32_t n, struct weft_rng *rng)
{
    uint32_t kind = weft_rng_below(rng, 5);
    uint32_t step = 1 + weft_rng_below(rng, n);
    uint32_t group = 1 + weft_rng_below(rng, n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            bool taken = kind == 0   ? i != j                               // all pairs
                         : kind == 1 ? (i + step) % n == j                  // a shift
                         : kind == 2 ? i < group && j >= group              // to another group
                         : kind == 3 ? i % group == j % group               // rails, and itself
                                     : i / group == j / group && i % 2 < 1; // inside groups
            if (taken) {
                add(flows, i, j);
            }
        }
    }
}

// The flows get their sizes and starts, in order of start; a few of them may be left out.
static void draw_flows(struct flows *flows, uint32_t n, struct weft_rng *rng)
{
    static struct flows all;
    all.list.count = 0;
    draw_pairs(&all, n, rng);
    uint64_t sizes[2] = {1 + weft_rng_below(rng, 1000000),
                         weft_rng_below(rng, 3) == 0 ? 0 : 1 + weft_rng_below(rng, 3000000)};
    uint64_t starts[2] = {0, weft_rng_below(rng, 2) == 0 ? 0 : weft_rng_below(rng, 100000000)};
    uint32_t by = 1 + weft_rng_below(rng, 3); // what a size and a start go by: nobody, from, to
    uint32_t late = 1 + weft_rng_below(rng, 3);
    uint32_t left_out =
        weft_rng_below(rng, 4) == 0 ? weft_rng_below(rng, all.list.count + 1) : WEFT_NONE;
    flows->list =
        (struct weft_flow_list){0, flows->from, flows->to, flows->size_bytes, flows->start_ps};
    for (uint32_t second = 0; second < 2; second++) {
        for (uint32_t i = 0; i < all.list.count; i++) {
            uint32_t key[4] = {0, 0, all.from[i], all.to[i]};
            if (i == left_out || key[late] % 2 != second) {
                continue;
            }
            uint32_t count = flows->list.count;
            add(flows, all.from[i], all.to[i]);
            flows->size_bytes[count] = sizes[key[by] / 2 % 2];
            flows->start_ps[count] = starts[second];
        }
    }
}

// ---- the comparison ----

struct tally {
    uint32_t folded;
    uint32_t of_several_events;
    uint32_t unfolded;
};

static void compare(const struct instance *instance, const struct flows *flows,
                    const struct weft_sim_options *options, struct weft_arena arena,
                    struct tally *tally)
{
    static uint64_t got_ps[FLOWS_MAX], want_ps[FLOWS_MAX];
    struct weft_error error;
    struct weft_sim_result got, want;
    struct weft_sim_options one_by_one = *options;
    one_by_one.unfolded = true;
    const struct weft_environment environment = {
        .arena = &arena, .scratch = scratch_kept, .error = &error};
    if (!weft_sim_run_flows(&got, got_ps, &network, &flows->list, options, &environment) ||
        !weft_sim_run_flows(&want, want_ps, &network, &flows->list, &one_by_one, &environment)) {
        fail_msg("instance %u: %s", instance->number, error.message);
    }
    assert_false(want.folded);
    for (uint32_t i = 0; i < flows->list.count; i++) {
        double apart_ps = fabs((double)got_ps[i] - (double)want_ps[i]);
        if (apart_ps > 1e-9 * (double)want_ps[i] + 1) {
            fail_msg("instance %u, %s of %u servers, %u accelerators: flow %u of %u from %u to %u "
                     "ends at %llu ps, by itself at %llu ps",
                     instance->number, instance->name, instance->cluster.server_count,
                     instance->scale_up.accelerators, i, flows->list.count, flows->from[i],
                     flows->to[i], (unsigned long long)got_ps[i], (unsigned long long)want_ps[i]);
        }
    }
    for (uint32_t link = 0; link < network.fabric.link_count; link++) {
        assert_true(fabs(got.link_bytes[link] - want.link_bytes[link]) <=
                    1e-9 * want.link_bytes[link]);
    }
    assert_int_equal(got.flow_count, want.flow_count);
    assert_true(fabs((double)got.end_ps - (double)want.end_ps) <= 1e-9 * (double)want.end_ps + 1);
    tally->folded += got.folded;
    tally->of_several_events += got.folded && got.event_count > 3;
    tally->unfolded += !got.folded;
}

static void folded_flows_end_as_by_themselves(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    print_message("seed %u\n", SEED);
    struct tally tally = {0};
    static struct flows flows;
    for (uint32_t tried = 0, number = 0; tried < INSTANCES; number++) {
        struct weft_arena arena = arena_kept;
        struct instance instance;
        draw(&instance, number, &rng);
        if (!build(&instance, &arena)) {
            continue;
        }
        network.routes.spread = (enum weft_spread)weft_rng_below(&rng, 2);
        draw_flows(&flows, network.fabric.server_count, &rng);
        struct weft_sim_options options = {.seed = number};
        if (weft_rng_below(&rng, 2) == 0) {
            options.packet_bytes = 1500;
            options.header_bytes = 60;
            options.acknowledged = weft_rng_below(&rng, 2) == 0;
        }
        compare(&instance, &flows, &options, arena, &tally);
        tried++;
    }
    print_message("%u folded, %u of them with more than three events; %u not\n", tally.folded,
                  tally.of_several_events, tally.unfolded);
    assert_true(tally.folded > INSTANCES / 3);
    assert_true(tally.of_several_events > INSTANCES / 10);
    assert_true(tally.unfolded > INSTANCES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded_flows_end_as_by_themselves),
    };
    return cmocka_run_group_tests_name("flow_fold", tests, set_up, tear_down);
}
