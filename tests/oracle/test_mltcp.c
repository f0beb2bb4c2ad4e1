// SPDX-License-Identifier: Apache-2.0
// Jobs that share a link interleave under MLTCP and do not under Reno, as measured on a real kernel
// with the same jobs, rates and marks (docs/transports.md).
//
// Mutations that made these tests fail (each was run): a slope of 0; progress that is not
// begun anew with an iteration.

#include "../arenas.h"
#include "interleaved_jobs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define REPEATS 2u

static double slowdown_of(const struct interleaved_case *a, enum weft_sim_transport transport,
                          bool per_job)
{
    double mean = 0;
    for (uint64_t seed = 1; seed <= REPEATS; seed++) {
        struct interleaved_run run = {
            .transport = transport, .iterations = 60, .seed = seed, .per_job = per_job};
        struct interleaved_result result = {0};
        struct weft_error error;
        if (!play_interleaved(&result, a, &run, arena_kept, scratch_kept, &error)) {
            fail_msg("%s: %s", a->name, error.message);
        }
        assert_true(result.slowdown > 0.999);
        mean += result.slowdown / REPEATS;
    }
    return mean;
}

static double slowdown(const struct interleaved_case *a, enum weft_sim_transport transport)
{
    return slowdown_of(a, transport, false);
}

static void mltcp_interleaves_where_it_was_measured_to(void **state)
{
    (void)state;
    uint32_t played = 0;
    for (size_t c = 0; c < INTERLEAVED_CASE_COUNT; c++) {
        const struct interleaved_case *a = &interleaved_cases[c];
        if (a->flows > 1 || a->mltcp > 1.041) {
            continue;
        }
        double ours = slowdown(a, WEFT_TRANSPORT_MLTCP_RENO);
        print_message("%-36s MLTCP-Reno %.3f, measured %.3f\n", a->name, ours, a->mltcp);
        assert_true(ours < 1.05);
        played++;
    }
    assert_true(played >= 8);
}

static void reno_does_not(void **state)
{
    (void)state;
    uint32_t played = 0;
    for (size_t c = 0; c < INTERLEAVED_CASE_COUNT; c++) {
        const struct interleaved_case *a = &interleaved_cases[c];
        if (a->flows > 1 || a->reno < 1.15) {
            continue;
        }
        double ours = slowdown(a, WEFT_TRANSPORT_RENO);
        print_message("%-36s Reno %.3f, measured %.3f\n", a->name, ours, a->reno);
        assert_true(ours > 1.06);
        played++;
    }
    assert_true(played >= 6);
}

// The other congestion controls learn, too.
static void all_of_mltcp_interleave(void **state)
{
    (void)state;
    static const struct interleaved_case slow = {
        "3 x (200, 96), ECN", 3, 1, 200, 0, SLOW, 15, 0, 0, 0, 0};
    static const struct interleaved_case rdma = {
        "3 x (40, 19), ECN", 3, 1, 40, 0, RDMA, 30, 0, 0, 0, 0};
    const enum weft_sim_transport pairs[][2] = {{WEFT_TRANSPORT_CUBIC, WEFT_TRANSPORT_MLTCP_CUBIC},
                                                {WEFT_TRANSPORT_DCTCP, WEFT_TRANSPORT_MLTCP_DCTCP},
                                                {WEFT_TRANSPORT_DCQCN, WEFT_TRANSPORT_MLTCP_DCQCN}};
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        const struct interleaved_case *a = pairs[p][0] == WEFT_TRANSPORT_DCQCN ? &rdma : &slow;
        double plain = slowdown(a, pairs[p][0]);
        double learns = slowdown(a, pairs[p][1]);
        print_message("%-12s %.3f, %s %.3f\n", weft_transport_name(pairs[p][1]), learns,
                      weft_transport_name(pairs[p][0]), plain);
        assert_true(learns < 1 + 0.5 * (plain - 1));
    }
}

// Several flows of a job that begins each burst anew: progress of the job against each flow's.
static void a_jobs_progress_helps_its_flows(void **state)
{
    (void)state;
    uint32_t played = 0;
    for (size_t c = 0; c < INTERLEAVED_CASE_COUNT; c++) {
        const struct interleaved_case *a = &interleaved_cases[c];
        if (a->flows == 1) {
            continue;
        }
        double each = slowdown_of(a, WEFT_TRANSPORT_MLTCP_RENO, false);
        double all = slowdown_of(a, WEFT_TRANSPORT_MLTCP_RENO, true);
        print_message("%-54s per flow %.3f, per job %.3f\n", a->name, each, all);
        assert_true(a->restart_packets == 0 || all < each);
        played++;
    }
    assert_true(played >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mltcp_interleaves_where_it_was_measured_to),
        cmocka_unit_test(reno_does_not),
        cmocka_unit_test(all_of_mltcp_interleave),
        cmocka_unit_test(a_jobs_progress_helps_its_flows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
