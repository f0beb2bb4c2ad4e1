// SPDX-License-Identifier: Apache-2.0
// Poisson flows on a Fat-tree of 1024 hosts at 30 % and 60 % of the host rate: every completion
// time equal to the reference's within 1e-9. At 60 % the flows join into one component.
//
// Mutations that made this test fail: those of test_sim_flows.c.

#include "reference_flows.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HOSTS 1024u
#define RATE_BPS 50e9
#define MEAN_BYTES 1e6

static struct weft_arena arena, scratch_kept;

static void compare(double load_ratio, uint32_t count, uint64_t seed)
{
    struct weft_cluster cluster;
    struct weft_network network;
    struct weft_error error;
    struct weft_fabric_options options = {0};
    if (!weft_cluster_build(&cluster, HOSTS, 1, RATE_BPS, &error) ||
        !weft_fabric_build_fat_tree(&network, &cluster, &options, &arena, &error)) {
        fail_msg("%s", error.message);
    }
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    uint32_t *from = WEFT_NEW_RAW(&arena, uint32_t, count);
    uint32_t *to = WEFT_NEW_RAW(&arena, uint32_t, count);
    uint64_t *size_bytes = WEFT_NEW_RAW(&arena, uint64_t, count);
    uint64_t *start_ps = WEFT_NEW_RAW(&arena, uint64_t, count);
    double gap_ps = MEAN_BYTES / (load_ratio * HOSTS * RATE_BPS) * (double)WEFT_PS_PER_S;
    double now_ps = 0;
    for (uint32_t i = 0; i < count; i++) {
        now_ps += weft_rng_exponential(&rng, gap_ps);
        from[i] = weft_rng_below(&rng, HOSTS);
        to[i] = (from[i] + 1 + weft_rng_below(&rng, HOSTS - 1)) % HOSTS;
        size_bytes[i] = 1 + (uint64_t)weft_rng_exponential(&rng, MEAN_BYTES);
        start_ps[i] = (uint64_t)now_ps;
    }
    struct weft_flow_list list = {count, from, to, size_bytes, start_ps};
    double *want_s = WEFT_NEW_RAW(&arena, double, count);
    uint64_t *got_ps = WEFT_NEW_RAW(&arena, uint64_t, count);
    struct weft_sim_result result;
    struct weft_sim_options sim = {.seed = seed};
    if (!weft_sim_run_flows(&result, got_ps, &network, &list, &sim,
                            &(struct weft_environment){
                                .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    reference_play(want_s, &network.routes, &list, count, seed, scratch_kept);
    double worst = 0;
    for (uint32_t i = 0; i < count; i++) {
        double difference = fabs(weft_seconds(got_ps[i]) - want_s[i]) - 0.51e-12;
        worst = fmax(worst, difference / want_s[i]);
        if (difference > 1e-9 * want_s[i]) {
            fail_msg("seed %llu load %g: flow %u ends at %.15g s, reference %.15g s",
                     (unsigned long long)seed, load_ratio, i, weft_seconds(got_ps[i]), want_s[i]);
        }
    }
    print_message("load %g, %u flows: largest relative difference %.2g\n", load_ratio, count,
                  worst);
}

static void completions_equal_the_reference_at_30_and_60_percent(void **state)
{
    (void)state;
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch_kept, 0, &error));
    compare(0.3, 4000, 1);
    compare(0.6, 4000, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_equal_the_reference_at_30_and_60_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
