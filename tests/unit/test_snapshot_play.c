// SPDX-License-Identifier: Apache-2.0
// Snapshots as networks and jobs, and what is told of them.

#include "../arenas.h"
#include "weft/interleave.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000000ull
#define RATE 1e9

static const struct weft_shared_link links[] = {{"a", RATE}, {"b", 2 * RATE}, {"c", RATE}};
static const uint32_t both[] = {0, 1};

// Bursts at two rates, at the iteration's beginning and in its middle.
static const struct weft_demand_phase bursts[] = {{0, 5 * MS, RATE}, {12 * MS, 4 * MS, RATE / 2}};
static const struct weft_demand two_bursts = {20 * MS, bursts, 2};
static const struct weft_demand_phase burst[] = {{10 * MS, 10 * MS, RATE}};
static const struct weft_demand half = {20 * MS, burst, 1};

static struct weft_sharing_play play(const struct weft_snapshot *snapshot,
                                     const struct weft_sim_options *sim,
                                     const struct weft_snapshot_options *options,
                                     struct weft_arena *arena)
{
    struct weft_sharing_play out;
    struct weft_error error;
    if (!weft_snapshot_play(
            &out, snapshot, options, sim,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return out;
}

static void an_iteration_alone_is_the_demands(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_sharing_job jobs[] = {
        {.name = "x", .demand = two_bursts, .links = both, .link_count = 2}};
    struct weft_snapshot snapshot = {links, 3, jobs, 1};
    struct weft_sim_options sim = {.iterations = 4};
    struct weft_sharing_play out =
        play(&snapshot, &sim, &(struct weft_snapshot_options){0}, &arena);
    assert_true(fabs(out.jobs[0].ideal_s - 0.020) < 1e-11);
    assert_true(fabs(out.jobs[0].mean_s - 0.020) < 1e-11);
    assert_int_equal(out.jobs[0].converged_after, 0);
    // 5 ms at the rate and 4 ms at half of it, over both links, four times.
    assert_true(fabs(out.sim.link_bytes[out.links[0]] - 4 * 7e6) < 1);
    assert_true(fabs(out.sim.link_bytes[out.links[1]] - 4 * 7e6) < 1);
    assert_true(out.sim.link_bytes[out.links[2]] == 0);
    // A NIC and two links each way, for each of two messages.
    struct weft_snapshot_options late = {.latency_ps = 1000000};
    out = play(&snapshot, &sim, &late, &arena);
    assert_true(fabs(out.jobs[0].ideal_s - (0.020 + 2 * 3e-6)) < 1e-11);
    sim.acknowledged = true;
    out = play(&snapshot, &sim, &late, &arena);
    assert_true(fabs(out.jobs[0].ideal_s - (0.020 + 2 * 6e-6)) < 1e-11);
}

static void packets_take_as_long_as_the_fluid(void **state)
{
    (void)state;
    const struct weft_sharing_job jobs[] = {
        {.name = "x", .demand = two_bursts, .links = both, .link_count = 2}};
    struct weft_snapshot snapshot = {links, 3, jobs, 1};
    struct weft_sim_options sim = {.iterations = 4,
                                   .engine = WEFT_ENGINE_PACKET,
                                   .transport = WEFT_TRANSPORT_DCTCP,
                                   .dctcp = WEFT_DCTCP_DEFAULTS,
                                   .packet_bytes = 1500,
                                   .header_bytes = 60,
                                   .persistent = true};
    for (int shaped = 0; shaped < 2; shaped++) {
        struct weft_arena arena = arena_kept;
        struct weft_snapshot_options options = {1000000, 0.96, shaped == 1};
        struct weft_sharing_play out = play(&snapshot, &sim, &options, &arena);
        assert_true(fabs(out.jobs[0].ideal_s - 0.020) < 2e-4);
        assert_true(fabs(out.sim.link_bytes[out.links[0]] - 4 * 7e6) < 4 * 2 * 1500);
        assert_int_equal(out.sim.packets.drops, 0);
    }
}

static void links_with_demands_of_their_own_are_used_side_by_side(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_demand demands[] = {two_bursts, half};
    const struct weft_sharing_job jobs[] = {
        {.name = "x", .demand = half, .links = both, .link_count = 2, .link_demands = demands},
        {.name = "idle", .demand = half}};
    struct weft_snapshot snapshot = {links, 3, jobs, 2};
    struct weft_sim_options sim = {.iterations = 3};
    struct weft_sharing_play out =
        play(&snapshot, &sim, &(struct weft_snapshot_options){0}, &arena);
    assert_true(fabs(out.jobs[0].mean_s - 0.020) < 1e-11);
    assert_true(fabs(out.sim.link_bytes[out.links[0]] - 3 * 7e6) < 1);
    assert_true(fabs(out.sim.link_bytes[out.links[1]] - 3 * 10e6) < 1);
    assert_true(fabs(out.jobs[1].mean_s - 0.020) < 1e-11); // computes only
}

static void collisions_and_convergence_are_told(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_sharing_job jobs[] = {
        {.name = "x", .demand = half, .links = both, .link_count = 1},
        {.name = "y", .demand = half, .links = both, .link_count = 1}};
    struct weft_snapshot snapshot = {links, 3, jobs, 2};
    struct weft_job_timing timings[2] = {{0}, {.start_ps = MS}};
    struct weft_sim_options sim = {.iterations = 30, .timings = timings};
    const struct weft_snapshot_options none = {0};
    struct weft_sharing_play out = play(&snapshot, &sim, &none, &arena);
    assert_true(fabs(out.all.mean_s - 0.029) < 1e-11); // 10 ms, and twice 10 less 1
    assert_true(fabs(out.all.ideal_s - 0.020) < 1e-11);
    assert_true(fabs(out.jobs[1].slowdown - 1.45) < 1e-9);
    assert_int_equal(out.all.converged_after, WEFT_NONE);
    sim.fluid = (struct weft_fluid_options){.learns = true, .mltcp = WEFT_MLTCP_DEFAULTS};
    out = play(&snapshot, &sim, &none, &arena);
    assert_true(fabs(out.all.mean_s - 0.020) < 1e-6);
    assert_in_range(out.all.converged_after, 1, 8);
    assert_true(out.sim.share_count > 0);
}

static void those_that_share_links_keep_in_step(void **state)
{
    (void)state;
    struct weft_arena arena = arena_kept;
    const struct weft_sharing_job jobs[] = {
        {.name = "x", .demand = half, .links = both, .link_count = 1},
        {.name = "y", .demand = half, .links = both, .link_count = 2},
        {.name = "z", .demand = half, .links = &both[1], .link_count = 1},
        {.name = "apart", .demand = half, .links = (const uint32_t[]){2}, .link_count = 1}};
    struct weft_snapshot snapshot = {links, 3, jobs, 4};
    struct weft_job_timing timings[4] = {
        {.stray_ratio = 0.01}, {.stray_ratio = 0.01}, {.stray_ratio = 0.01}, {.stray_ratio = 0.01}};
    struct weft_sim_options sim = {.iterations = 10, .timings = timings};
    struct weft_sharing_play out =
        play(&snapshot, &sim, &(struct weft_snapshot_options){0}, &arena);
    // x and y hold each other up; z, which is never held up, waits for them; the fourth does not.
    assert_true(out.jobs[0].slowdown > 1.4);
    assert_true(fabs(out.jobs[2].mean_s - out.jobs[0].mean_s) < 1e-9);
    assert_true(out.jobs[3].slowdown < 1 + 1e-9);
    assert_true(out.sim.wait_count > 0);
}

static void what_cannot_be_played_is_refused(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_sharing_play out;
    const struct weft_snapshot_options options = {0};
    struct weft_sharing_job job = {.name = "x", .demand = half, .links = both, .link_count = 1};
    struct weft_snapshot snapshot = {links, 3, &job, 1};
    struct weft_sim_options sim = {.iterations = 1};
    struct weft_arena arena = arena_kept;
    assert_false(weft_snapshot_play(
        &out, &snapshot, &options, &sim,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_non_null(strstr(error.message, "2 or more"));
    sim.iterations = 2;
    snapshot.job_count = 0;
    assert_false(weft_snapshot_play(
        &out, &snapshot, &options, &sim,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    snapshot.job_count = 1;
    // A rate a phase, without end.
    enum { PHASES = 5000 };
    struct weft_demand_phase *phases = WEFT_NEW(&arena, struct weft_demand_phase, PHASES);
    for (uint32_t p = 0; p < PHASES; p++) {
        phases[p] = (struct weft_demand_phase){p * MS, MS, RATE * (p + 1) / PHASES};
    }
    job.demand = (struct weft_demand){PHASES * MS, phases, PHASES};
    assert_false(weft_snapshot_play(
        &out, &snapshot, &options, &sim,
        &(struct weft_environment){.arena = &arena, .scratch = scratch_kept, .error = &error}));
    assert_non_null(strstr(error.message, "job x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_iteration_alone_is_the_demands),
        cmocka_unit_test(packets_take_as_long_as_the_fluid),
        cmocka_unit_test(links_with_demands_of_their_own_are_used_side_by_side),
        cmocka_unit_test(collisions_and_convergence_are_told),
        cmocka_unit_test(those_that_share_links_keep_in_step),
        cmocka_unit_test(what_cannot_be_played_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
