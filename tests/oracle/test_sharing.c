// SPDX-License-Identifier: Apache-2.0
// Jobs that share one link in the flow engine: fair, by fixed shares, and with MLTCP as a fluid,
// against closed forms and against a fluid model stepped by hand.
//
// Mutations that made these tests fail (each was run): a slope of 0; shares of a quantum's
// beginning instead of its middle; progress that is not begun anew with an iteration; served bytes
// at the share after a change instead of before it.

#include "../arenas.h"
#include "weft/fabric.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define JOBS_MAX 8u
#define MS_PS 1000000000ull
#define RATE_BPS 25e6

// Equal jobs compute, then send to one receiver over one link.
struct crowd {
    uint32_t job_count;
    double compute_ms;
    double send_ms; // alone
    uint32_t flows; // side by side
    double apart_ms;
    uint32_t iterations;
    double weight[JOBS_MAX];
    struct weft_fluid_options fluid;
    double jitter_ratio;
    double stray_ratio; // that makes jobs wait for those that are late
};

static void build_job(struct weft_taskgraph *graph, const struct crowd *crowd, uint32_t own,
                      struct weft_arena *arena)
{
    static const uint32_t next[] = {1, 2, 3, 4};
    struct weft_task tasks[5] = {{.kind = WEFT_TASK_FORWARD,
                                  .device = 0,
                                  .runtime_ps = (uint64_t)(crowd->compute_ms * MS_PS),
                                  .next = next,
                                  .next_count = crowd->flows}};
    for (uint32_t i = 1; i <= crowd->flows; i++) {
        tasks[i] = (struct weft_task){
            .kind = WEFT_TASK_TRANSFER,
            .size_bytes = (uint64_t)(crowd->send_ms * 1e-3 * RATE_BPS / crowd->flows + 0.5),
            .from = own,
            .to = crowd->job_count};
    }
    struct weft_error error;
    if (!weft_taskgraph_build(graph,
                              &(struct weft_taskgraph_draft){.server_count = crowd->job_count + 1,
                                                             .device_count = 1,
                                                             .device_server = &own,
                                                             .task_count = crowd->flows + 1,
                                                             .tasks = tasks},
                              arena, scratch_kept, &error)) {
        fail_msg("%s", error.message);
    }
}

static void build_bell(struct weft_network *network, uint32_t jobs, struct weft_arena *arena)
{
    struct weft_link links[2 * JOBS_MAX + 2];
    struct weft_error error;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= jobs; i++) {
        links[count++] = (struct weft_link){i, jobs + 1, 100 * RATE_BPS, 0, 1};
        links[count++] = (struct weft_link){jobs + 1, i, i == jobs ? RATE_BPS : 1e12, 0, 1};
    }
    if (!weft_fabric_build(&network->fabric,
                           &(struct weft_fabric_links){"bell", jobs + 1, jobs + 2, links, count},
                           arena, &error) ||
        !weft_routes_build_star(&network->routes, &network->fabric, &error)) {
        fail_msg("%s", error.message);
    }
}

// Ends of iterations, in `arena`.
static struct weft_sim_result play(const struct crowd *crowd, struct weft_arena *arena)
{
    struct weft_network *network = WEFT_NEW(arena, struct weft_network, 1);
    struct weft_taskgraph graphs[JOBS_MAX];
    struct weft_sim_job jobs[JOBS_MAX];
    struct weft_job_timing timings[JOBS_MAX] = {0};
    build_bell(network, crowd->job_count, arena);
    for (uint32_t job = 0; job < crowd->job_count; job++) {
        build_job(&graphs[job], crowd, job, arena);
        jobs[job] = (struct weft_sim_job){.graph = &graphs[job]};
        timings[job].start_ps = (uint64_t)(job * crowd->apart_ms * MS_PS + 0.5);
        timings[job].weight_ratio = crowd->weight[job];
        timings[job].jitter_ratio = crowd->jitter_ratio;
        timings[job].stray_ratio = crowd->stray_ratio;
        timings[job].period_ps = (uint64_t)((crowd->compute_ms + crowd->send_ms) * MS_PS + 0.5);
    }
    struct weft_sim_options options = {
        .iterations = crowd->iterations, .timings = timings, .fluid = crowd->fluid};
    struct weft_sim_result result;
    struct weft_error error;
    if (!weft_sim_run_jobs(
            &result, network, jobs, crowd->job_count, &options,
            &(struct weft_environment){.arena = arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s", error.message);
    }
    return result;
}

static double iteration_ms(const struct weft_sim_result *result, const struct crowd *crowd,
                           uint32_t job, uint32_t i)
{
    const uint64_t *ends = result->iteration_end_ps[job];
    double before = i == 0 ? job * crowd->apart_ms * MS_PS : (double)ends[i - 1];
    return ((double)ends[i] - before) / MS_PS;
}

// ---- a fluid stepped by hand ----

#define STEP_MS 0.02

struct stepped {
    double begin_ms, next_ms, sent_ms; // of this iteration; bytes as time alone
    bool is_sending;
    uint32_t iterations;
};

static double share_of(const struct weft_fluid_options *fluid, double part)
{
    double f = fluid->mltcp.slope * fmin(1, part) + fluid->mltcp.intercept;
    return !fluid->learns ? 1 : fluid->square_root ? sqrt(f) : f;
}

// Means over the jobs of each iteration.
static void step_by_hand(double *mean_ms, const struct crowd *crowd)
{
    struct stepped jobs[JOBS_MAX] = {0};
    uint32_t left = crowd->job_count;
    for (uint32_t job = 0; job < crowd->job_count; job++) {
        jobs[job].begin_ms = job * crowd->apart_ms;
        jobs[job].next_ms = jobs[job].begin_ms + crowd->compute_ms;
    }
    memset(mean_ms, 0, crowd->iterations * sizeof(double));
    for (uint64_t step = 1; left > 0; step++) {
        double now_ms = (double)step * STEP_MS;
        double total = 0;
        for (uint32_t job = 0; job < crowd->job_count; job++) {
            double part = jobs[job].sent_ms / crowd->send_ms;
            total += jobs[job].is_sending ? share_of(&crowd->fluid, part) : 0;
        }
        for (uint32_t job = 0; job < crowd->job_count; job++) {
            struct stepped *at = &jobs[job];
            if (at->is_sending) {
                double part = at->sent_ms / crowd->send_ms;
                at->sent_ms += STEP_MS * share_of(&crowd->fluid, part) / total;
            }
        }
        for (uint32_t job = 0; job < crowd->job_count; job++) {
            struct stepped *at = &jobs[job];
            if (at->is_sending && at->sent_ms >= crowd->send_ms - 1e-9) {
                if (at->iterations < crowd->iterations) {
                    mean_ms[at->iterations] += (now_ms - at->begin_ms) / crowd->job_count;
                    left -= ++at->iterations == crowd->iterations;
                }
                *at =
                    (struct stepped){now_ms, now_ms + crowd->compute_ms, 0, false, at->iterations};
            } else if (!at->is_sending && now_ms >= at->next_ms - 1e-9) {
                at->is_sending = true;
            }
        }
    }
}

// Iterations until the mean of all jobs' stays within 5 % of the ideal one.
static uint32_t converged(const double *mean_ms, const struct crowd *crowd)
{
    uint32_t after = 0;
    for (uint32_t i = 0; i < crowd->iterations; i++) {
        after = mean_ms[i] > 1.05 * (crowd->compute_ms + crowd->send_ms) ? i + 1 : after;
    }
    return after;
}

static void play_means(double *mean_ms, const struct crowd *crowd)
{
    struct weft_arena arena = arena_kept;
    struct weft_sim_result result = play(crowd, &arena);
    for (uint32_t i = 0; i < crowd->iterations; i++) {
        mean_ms[i] = 0;
        for (uint32_t job = 0; job < crowd->job_count; job++) {
            mean_ms[i] += iteration_ms(&result, crowd, job, i) / crowd->job_count;
        }
    }
}

static double late_mean(const double *mean_ms, uint32_t count)
{
    double sum_ms = 0;
    for (uint32_t i = count / 2; i < count; i++) {
        sum_ms += mean_ms[i] / (count - count / 2);
    }
    return sum_ms;
}

enum { FAIR, LINEAR, ROOT, WAYS };
#define ITERATIONS 40u

// With slope 4, as a model stepped elsewhere had it: 2, 3 and 5 iterations with shares as F, 5, 8
// and 10 as its root, fair never; fair means of 291, 406 and 938 ms. Which iteration is the first
// within 5 % turns on less than 2 % of it, and three fair jobs never settle.
static void progress_interleaves_as_a_fluid_stepped_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t jobs;
        double compute_ms, fair_ms;
        uint32_t after[WAYS];
    } known[] = {{2, 100, 291, {0, 2, 5}}, {3, 200, 406, {0, 3, 8}}, {6, 500, 938, {0, 5, 10}}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        double ideal_ms = known[k].compute_ms + 96;
        print_message("%u jobs, %.0f ms alone:", known[k].jobs, ideal_ms);
        for (int way = FAIR; way < WAYS; way++) {
            struct crowd crowd = {
                known[k].jobs, known[k].compute_ms, 96, 1, 1, ITERATIONS, {0}, {0}, 0, 0};
            crowd.fluid = (struct weft_fluid_options){
                .learns = way > FAIR, .square_root = way == ROOT, .mltcp = {4, 0.25, false, 0}};
            double ours_ms[ITERATIONS], stepped_ms[ITERATIONS];
            play_means(ours_ms, &crowd);
            step_by_hand(stepped_ms, &crowd);
            uint32_t after = converged(ours_ms, &crowd);
            double late_ms = late_mean(ours_ms, ITERATIONS);
            print_message(" %.1f ms after %u", late_ms, after);
            if (way == FAIR) {
                assert_int_equal(after, ITERATIONS);
                assert_true(fabs(late_ms - known[k].fair_ms) < 0.12 * known[k].fair_ms);
                assert_true(known[k].jobs > 2 || fabs(late_ms - known[k].fair_ms) < 0.1);
                continue;
            }
            assert_true(after <= known[k].after[way] + 1 && after + 1 > known[k].after[way]);
            assert_true(way == LINEAR || after == known[k].after[way]);
            assert_int_equal(after, converged(stepped_ms, &crowd));
            assert_true(fabs(late_ms - ideal_ms) < 0.05);
            for (uint32_t i = 0; i < ITERATIONS; i++) {
                assert_true(fabs(ours_ms[i] - stepped_ms[i]) < 0.01 * ideal_ms);
            }
        }
        print_message("\n");
    }
}

// How far one iteration moves the offset of two jobs, relative to Shift(D).
static double shift_error(double offset_ms, uint32_t steps)
{
    struct weft_mltcp_options mltcp = WEFT_MLTCP_DEFAULTS;
    struct crowd crowd = {2, 100, 96, 1, offset_ms, 2, {0}, {true, false, steps, mltcp}, 0, 0};
    struct weft_arena arena = arena_kept;
    struct weft_sim_result result = play(&crowd, &arena);
    double after_ms =
        ((double)result.iteration_end_ps[1][0] - (double)result.iteration_end_ps[0][0]) / MS_PS;
    double want_ms = mltcp.slope * offset_ms * (96 - offset_ms) /
                     (96 * mltcp.intercept + mltcp.slope * offset_ms);
    return (after_ms - offset_ms - want_ms) / want_ms;
}

static void an_iteration_moves_two_jobs_apart_by_the_closed_form(void **state)
{
    (void)state;
    static const double offsets_ms[] = {0.5, 1, 5, 20, 48, 80, 95};
    for (size_t i = 0; i < sizeof offsets_ms / sizeof offsets_ms[0]; i++) {
        double coarse = fabs(shift_error(offsets_ms[i], 0));
        double fine = fabs(shift_error(offsets_ms[i], 1024));
        print_message("D = %4.1f ms: off by %.1e with 256 steps, %.1e with 1024\n", offsets_ms[i],
                      coarse, fine);
        assert_true(coarse < 0.003);
        assert_true(fine < coarse / 10 + 1e-9);
    }
}

static void fixed_shares_divide_a_link_in_their_ratio(void **state)
{
    (void)state;
    struct crowd crowd = {2, 100, 96, 1, 0, 1, {3, 2}, {0}, 0, 0};
    struct weft_arena arena = arena_kept;
    struct weft_sim_result result = play(&crowd, &arena);
    assert_true(fabs(iteration_ms(&result, &crowd, 0, 0) - (100 + 96 / 0.6)) < 1e-6);
    assert_true(fabs(iteration_ms(&result, &crowd, 1, 0) - (100 + 2 * 96)) < 1e-6);
    // Weights mean ratios, a job's flows count each, and below 1 is no less than above.
    struct crowd flows = {2, 100, 96, 3, 0, 1, {0.003, 0.002}, {0}, 0, 0};
    result = play(&flows, &arena);
    assert_true(fabs(iteration_ms(&result, &flows, 0, 0) - (100 + 96 / 0.6)) < 1e-6);
}

static void progress_of_a_job_is_that_of_its_equal_flows(void **state)
{
    (void)state;
    double by_flow_ms[ITERATIONS], by_job_ms[ITERATIONS], one_ms[ITERATIONS];
    struct crowd crowd = {3, 200, 96, 4, 1, ITERATIONS, {0}, {true, false, 0, WEFT_MLTCP_DEFAULTS},
                          0, 0};
    play_means(by_flow_ms, &crowd);
    crowd.fluid.mltcp.per_job = true;
    play_means(by_job_ms, &crowd);
    crowd.flows = 1;
    play_means(one_ms, &crowd);
    for (uint32_t i = 0; i < ITERATIONS; i++) {
        assert_true(fabs(by_flow_ms[i] - by_job_ms[i]) < 1e-3);
        assert_true(fabs(by_flow_ms[i] - one_ms[i]) < 1e-3);
    }
}

// Six jobs whose starts interleave them drift into each other under jitter, unless they keep in
// step.
static void shifts_drift_under_jitter(void **state)
{
    (void)state;
    struct crowd crowd = {6, 500, 96, 1, 596.0 / 6, 60, {0}, {0}, 0, 0};
    double still_ms[60], drift_ms[60], kept_ms[60];
    play_means(still_ms, &crowd);
    crowd.jitter_ratio = 0.01;
    play_means(drift_ms, &crowd);
    crowd.stray_ratio = 0.05;
    play_means(kept_ms, &crowd);
    print_message("still %.1f ms, with jitter %.1f, in step %.1f\n", late_mean(still_ms, 60),
                  late_mean(drift_ms, 60), late_mean(kept_ms, 60));
    assert_true(fabs(late_mean(still_ms, 60) - 596) < 1e-6);
    assert_true(late_mean(drift_ms, 60) > 1.05 * 596);
    assert_true(late_mean(kept_ms, 60) < 1.03 * 596);
    crowd.jitter_ratio = 0;
    play_means(drift_ms, &crowd);
    assert_memory_equal(drift_ms, still_ms, sizeof still_ms); // nobody waits without need
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_interleaves_as_a_fluid_stepped_by_hand),
        cmocka_unit_test(an_iteration_moves_two_jobs_apart_by_the_closed_form),
        cmocka_unit_test(fixed_shares_divide_a_link_in_their_ratio),
        cmocka_unit_test(shifts_drift_under_jitter),
        cmocka_unit_test(progress_of_a_job_is_that_of_its_equal_flows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
